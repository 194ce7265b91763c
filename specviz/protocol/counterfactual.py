"""What other drafters would have proposed at one round of a run, judged by the same target: a comparison, not a run.

Each drafter joins the text as it stood when the round began and makes one draft; the target's pass and the verdicts are
those of a real round. The run itself is not touched. Place in the flow: asks any trace source; commands and the page
show the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from specviz.errors import OptionError, SpecVizError, shown
from specviz.protocol.choice import STANDARD
from specviz.protocol.runs import Catalog, MethodDescription, Resume, RunRequest, TraceSource, request_of
from specviz.trace.events import Node, Round, Trace, VocabEntry
from specviz.trace.header import Started
from specviz.trace.summary import drafts

Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Other:
    """One drafter's answer: a round, or why there is none."""

    drafter: str
    round: Round | None
    vocab: Mapping[str, VocabEntry]
    reason: str = ""
    recorded: bool = False
    """it is the round of the run itself"""


def others(
    source: TraceSource,
    trace: Trace,
    index: int,
    names: Sequence[str] = (),
    cancelled: Cancelled = lambda: False,
) -> Iterator[Other]:
    """The round as recorded, then each drafter's in turn (all that the catalog has, but plain decoding and the run's
    own, where `names` is empty). Raises OptionError where there is no such round, or no such drafter."""
    if not 0 <= index < len(trace.rounds):
        raise OptionError(f"there is no round {index} in this trace; choose 0 to {len(trace.rounds) - 1}.")
    if not trace.started.target.weights_sha256:
        if trace.started.source == "simulated":
            raise OptionError("no model took part in this simulated run, so no other drafter can be asked about it.")
        raise OptionError(
            f"this trace, written by {shown(trace.started.producer)}, does not say which weights its target had "
            "(weights_sha256 is empty), so no other drafter can be asked about it; ask about a run of models that are "
            "loaded here."
        )
    catalog = source.catalog()
    yield Other(trace.started.drafter.name, trace.rounds[index], trace.vocab, recorded=True)
    for method in _chosen(catalog, trace.started, names):
        if cancelled():
            return
        try:
            yield _one(source, trace, index, method)
        except SpecVizError as error:
            yield Other(method.name, None, {}, str(error))


def depth_first(nodes: Sequence[Node]) -> list[Node]:
    """The nodes of a tree, each followed by all below it: the order in which an indented list reads right."""
    children: dict[int, list[Node]] = {}
    for node in nodes[1:]:
        children.setdefault(node.parent, []).append(node)
    found, stack = [], [nodes[0]]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(reversed(children.get(node.id, [])))
    return found


def candidates(this: Round) -> list[Node]:
    """What was drafted, each candidate followed by all below it; nodes that ride along are no guesses."""
    guesses = {node.id for node in drafts(this)}
    return [node for node in depth_first(this.nodes) if node.id in guesses]


def riding_along(this: Round) -> str:
    """How many nodes ride along in the target's pass, in words; empty where none do."""
    count = len(this.drafted.riding)
    which = "1 node rides" if count == 1 else f"{count} nodes ride"
    return f"{which} along in the target's pass, not as a guess" if count else ""


def _chosen(catalog: Catalog, started: Started, names: Sequence[str]) -> list[MethodDescription]:
    known = {method.name: method for method in catalog.drafters}
    wrong = [name for name in names if name not in known]
    if wrong:
        raise OptionError(f"there is no drafter '{wrong[0]}'; choose from {', '.join(known)}.")
    if names:
        return [known[name] for name in names]
    return [method for name, method in known.items() if name not in ("none", started.drafter.name)]


def request_for(trace: Trace, index: int, method: MethodDescription) -> RunRequest:
    """The run's own settings with another drafter, and as many tokens to go as there were at that round."""
    base = request_of(trace.started)
    done = sum(len(one.committed.tokens) for one in trace.rounds[:index])
    request = replace(
        base.with_drafter(method.name, keeps_policies=method.grows),
        max_new_tokens=max(1, base.max_new_tokens - done),
    )
    if trace.started.drafter.model is None:
        request = replace(request, drafter_model=RunRequest("").drafter_model)
    return request


def _one(source: TraceSource, trace: Trace, index: int, method: MethodDescription) -> Other:
    request = request_for(trace, index, method)
    if source.explain(request) is not None:  # the run's verifier may not judge this drafter's candidates
        request = replace(request, verifier=STANDARD["verifier"])
    reason = source.explain(request)
    if reason is not None:
        return Other(method.name, None, {}, reason)
    vocab: dict[str, VocabEntry] = dict(trace.vocab)
    for step in source.run(request, resume=Resume(trace, index)):
        vocab.update(step.vocab)
        if isinstance(step.event, Started) and step.event.target.weights_sha256 != trace.started.target.weights_sha256:
            raise OptionError(
                f"the trace was made with other weights of {trace.started.target.name} than are loaded here; only a "
                "run of these very weights can be compared."
            )
        if isinstance(step.event, Round):
            return Other(method.name, step.event, vocab)
    return Other(method.name, None, {}, "it made no round.")
