"""Is a trace true to itself? Every invariant of the format, from its tree to its summary.

`loads` only makes a trace safe to walk; this says whether its parts agree. The rules are in `rules/`, one file per
concern; docs/trace_format.md lists them in words. What no rule can find out is in `unchecked`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from specviz.errors import TraceError
from specviz.trace.codec import read
from specviz.trace.events import FORMAT, Trace
from specviz.trace.limits import STANDARD, Limits
from specviz.trace.rules import (
    agreement,
    commit,
    distributions,
    draft,
    ending,
    exhibits,
    header,
    lanes,
    noise,
    passes,
    residuals,
    run,
    stops,
    thresholds,
    transform,
    verdicts,
    wholeness,
)
from specviz.trace.rules.scene import scenes_of
from specviz.trace.structure import Problem, structure
from specviz.trace.unchecked import unchecked, verdicts_known

__all__ = ["Problem", "check", "errors", "read_checked", "report_of", "unreadable"]

_ROUND_RULES = (
    distributions.tree,
    transform.transformed,
    agreement.ranks,
    agreement.agreements,
    draft.candidates,
    passes.passes,
    exhibits.exhibits,
    verdicts.verdicts,
    thresholds.thresholds,
    thresholds.reaches,
    noise.needed,
    noise.uniforms,
    noise.candidates,
    noise.followed,
    residuals.adjusted,
    residuals.residual,
    residuals.scaled_residuals,
    thresholds.kseq_residual,
    commit.last_token,
    noise.last_drawn,
    commit.committed,
)
_RULES_OVER_ROUNDS = (
    wholeness.alike,
    exhibits.matrices,
    stops.learned,
)
_RUN_RULES = (
    header.header,
    ending.prompt,
    run.vocabulary,
    run.chain,
    passes.times,
    lanes.lanes,
    passes.reads,
    ending.output,
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
    trace = read(path, limits)
    for problem in errors(check(trace)):
        raise TraceError(f"{Path(path).name}: {problem}")
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
