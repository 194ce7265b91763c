"""What the check of a trace cannot find out, in words: nobody should take its silence there for an answer.

Some of it no trace can show (what the models really say), some this release does not know (another package's methods),
some the trace left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Trace
from specviz.trace.known_methods import DRAFTERS, STOP_POLICIES, TREE_POLICIES, known_drafter
from specviz.trace.known_rules import KNOWN
from specviz.trace.rules import stops
from specviz.trace.rules.scene import producer_of, scenes_of

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
