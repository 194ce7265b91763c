"""Is a trace true to itself? Every invariant of the format, from its tree to its summary; and what no rule can find
out.

`loads` only makes a trace safe to walk; this says whether its parts agree. The rules are in `rules/`, one file per
concern; docs/trace_format.md lists them in words. What stays unchecked is told in words, so that nobody takes silence
for an answer: some of it no trace can show (what the models really say), some this release does not know (another
package's methods), some the trace left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from specviz.errors import TraceError
from specviz.trace.codec import read
from specviz.trace.declared_method import DRAFTERS, STOP_POLICIES, TREE_POLICIES, known_drafter
from specviz.trace.declared_rule import KNOWN
from specviz.trace.events import FORMAT, Trace
from specviz.trace.files import STANDARD, Limits
from specviz.trace.rules import (
    commit,
    distributions,
    draft,
    header,
    passes,
    races,
    residuals,
    run,
    stops,
    verdicts,
    wholeness,
)
from specviz.trace.rules.scene import producer_of, scenes_of
from specviz.trace.structure import Problem, structure

NO_MODEL = (
    "that the models say what is recorded of them; no model at hand",
    "how long the passes really took; no clock at hand",
)
WIDE = 0.01
"""share of a distribution outside its head"""


def unchecked(trace: Trace) -> list[str]:
    """Each a clause that follows `not recomputed: `; those that every trace has come last."""
    return [*gaps(trace), *NO_MODEL]


def gaps(trace: Trace) -> list[str]:
    """What could have been recomputed if the methods were known or the trace had kept more; often empty."""
    return [*_verdicts(trace), *_methods(trace), *_left_out(trace), *_unsettled(trace)]


def outcome(trace: Trace) -> str:
    """What may be said of a trace in which `check` found no error, and what may not: for a line on a page."""
    verdict = "Checked against itself: sound." if verdicts_known(trace) else "Checked against itself: not recomputed."
    return f"{verdict} Not recomputed: {'; '.join(unchecked(trace))}."


def verdicts_known(trace: Trace) -> bool:
    """Whether every round's rule is known, so that its verdicts were recomputed; only then is a trace called sound."""
    return not list(_verdicts(trace))


def _verdicts(trace: Trace) -> Iterator[str]:
    rules = {this.judged.rule for this in trace.rounds if this.judged.origin != "forced"}
    for rule in sorted({*rules, trace.started.verifier.name} - KNOWN.keys()):
        yield f"verdicts, thresholds and the lossless mark of the verifier {rule!a}, which is unknown here"


def _methods(trace: Trace) -> Iterator[str]:
    started = trace.started
    known = (
        ("drafter", started.drafter, DRAFTERS),
        ("tree policy", started.tree_policy, TREE_POLICIES),
        ("stop policy", started.stop_policy, STOP_POLICIES),
    )
    for what, card, table in known:
        if card is not None and card.name not in table:
            yield f"whether the drafts are those of the {what} {card.name!a}, which is unknown here"


def _left_out(trace: Trace) -> Iterator[str]:
    if producer_of(trace.started) == "other":
        yield f"uniform draws against the seed, and the header's id: written by {trace.started.producer!a}"
    if trace.rounds and not any(node.target.tokens for this in trace.rounds for node in this.nodes):
        yield "probabilities, residuals and draws: the trace kept no distributions"
    rests = [head.rest for this in trace.rounds for node in this.nodes for head in (node.target, node.draft) if head]
    if any(node.target.tokens for this in trace.rounds for node in this.nodes) and max(rests) > WIDE:
        yield f"what the heads leave to their rests, up to {max(rests):.0%}: numbers behind it are held to bounds"


def _unsettled(trace: Trace) -> Iterator[str]:
    """What known methods do by something that a trace does not hold, or what left no mark in this one."""
    started, drafter = trace.started, known_drafter(trace.started.drafter)
    if drafter is not None and (drafter.found or not drafter.draws) and drafter.sources:
        yield f"whether '{started.drafter.name}' found, or knew, other candidates too: nothing was looked up anew"
    if drafter is not None and drafter.merged:
        yield "whether the trees of the single models are whole: they were merged"
    policy = TREE_POLICIES.get(started.tree_policy.name) if started.tree_policy is not None else None
    if started.tree_policy is not None and policy is not None and policy.static:
        yield f"whether the shape is the one that '{started.tree_policy.name}' plans with these options"
    yield from stops.unsettled(list(scenes_of(trace)))
    yield from _weights(trace)
    if any(this.drafted.knew or this.drafted.learned for this in trace.rounds):
        yield "what exhibits show beyond the tree, the text and the heads, such as rows that no candidate came of"
    if drafter is not None and drafter.beside:
        yield "how many tokens were drafted beside the passes, and which of them were thrown away"
    if started.scene is not None:
        yield "that the picture is the one that the target saw: its sizes, colours, shapes and places"


def _weights(trace: Trace) -> Iterator[str]:
    """What no card of the header gives of the weights that passes read."""
    card = trace.started.drafter
    passes = [pass_ for this in trace.rounds for pass_ in this.drafted.passes]
    if passes and all(pass_.read is None for pass_ in passes):
        yield "how many bytes of weights the drafter's passes read: nobody counted them"
    elif passes and card.model is None:
        yield f"how many bytes of weights '{card.name}' has of its own; every pass reads as many as the same one before"
    if trace.started.target.read_per_pass:
        yield "that the models have so many weights as their cards say"


__all__ = ["Problem", "check", "errors", "read_checked", "report_of", "unreadable"]

_ROUND_RULES = (
    distributions.tree,
    distributions.transformed,
    distributions.ranks,
    distributions.agreements,
    draft.candidates,
    passes.passes,
    header.exhibits,
    verdicts.verdicts,
    verdicts.thresholds,
    verdicts.reaches,
    residuals.needed,
    residuals.uniforms,
    residuals.candidates,
    residuals.followed,
    races.winners,
    races.drafted,
    residuals.adjusted,
    residuals.residual,
    residuals.scaled_residuals,
    verdicts.kseq_residual,
    commit.last_token,
    residuals.last_drawn,
    commit.committed,
)
_RULES_OVER_ROUNDS = (
    wholeness.alike,
    header.matrices,
    stops.learned,
)
_RUN_RULES = (
    header.header,
    run.prompt,
    run.vocabulary,
    run.chain,
    passes.times,
    passes.lanes,
    passes.reads,
    run.output,
    run.summary,
)


def check(trace: Trace) -> list[Problem]:
    """Every broken rule; empty for a sound trace. Where indices or ids are broken, only those are reported."""
    broken = list(_identity(trace)) + list(structure(trace))
    if broken:
        return broken
    scenes = list(scenes_of(trace))
    in_rounds = chain.from_iterable(rule(scene) for scene in scenes for rule in _ROUND_RULES)
    over_rounds = chain.from_iterable(rule(scenes) for rule in _RULES_OVER_ROUNDS)
    in_run = chain.from_iterable(rule(trace) for rule in _RUN_RULES)
    return [*in_rounds, *over_rounds, *in_run]


def errors(problems: list[Problem]) -> list[Problem]:
    """Contradictions only, warnings left out."""
    return [problem for problem in problems if problem.severity == "error"]


def read_checked(path: str | Path, limits: Limits = STANDARD) -> Trace:
    """Read a file and refuse it where it contradicts itself. Raises TraceError naming file and place."""
    return checked(read(path, limits), Path(path).name)


def checked(trace: Trace, name: str) -> Trace:
    """The trace again. Raises TraceError, by this name, where it contradicts itself."""
    for problem in errors(check(trace)):
        raise TraceError(f"{name}: {problem}")
    return trace


def _identity(trace: Trace) -> Iterator[Problem]:
    if trace.format != FORMAT:
        yield Problem("format", f"is {trace.format!a}, but a trace says '{FORMAT}'")


def report_of(trace: Trace) -> dict[str, Any]:
    """`ok`, `verdict`, `rounds`, `problems` and `not_recomputed`; `sound` only where every verdict was recomputed."""
    found = [{str(key): str(value) for key, value in asdict(problem).items()} for problem in check(trace)]
    report = _with_verdict(found, known=verdicts_known(trace))
    return report | {"rounds": len(trace.rounds), "not_recomputed": unchecked(trace)}


def unreadable(sentence: str) -> dict[str, Any]:
    """The same of what is no trace."""
    return _with_verdict([{"place": "", "sentence": sentence, "severity": "error"}], known=False)


def _with_verdict(problems: list[dict[str, str]], known: bool) -> dict[str, Any]:
    ok = all(problem["severity"] != "error" for problem in problems)
    verdict = "false" if not ok else "sound" if known else "not recomputed"
    return {"ok": ok, "verdict": verdict, "rounds": 0, "problems": problems, "not_recomputed": []}
