"""Rules about the bytes of weights that a drafter's passes read, from which MBSU follows: none may be left out.

Called by `check` on a structurally sound trace.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Pass, Trace
from specviz.trace.header import ModelCard
from specviz.trace.known_methods import KnownDrafter, known_drafter
from specviz.trace.problems import Problem
from specviz.trace.weights import bytes_per_pass


def reads(trace: Trace) -> Iterator[Problem]:
    """Counted for every pass or for none, said in the drafter's words, as much as its model has, and the same every
    time."""
    card, drafter = trace.started.drafter, known_drafter(trace.started.drafter)
    passes = [one for this in trace.rounds for one in this.drafted.passes]
    counted = sum(one.read is not None for one in passes)
    if 0 < counted < len(passes):
        yield Problem(
            "rounds", f"say what {counted} of {len(passes)} passes of the drafter read, but all do or none does"
        )
    if drafter is None:
        return
    if card.pass_reads not in ("", drafter.pass_reads) and not drafter.hybrid:
        told = f"is {card.pass_reads!a}, but passes of '{card.name}' read {drafter.pass_reads or 'nothing'!a}"
        yield Problem("started.drafter.pass_reads", told)
    if passes and counted and not card.pass_reads:
        yield Problem("started.drafter.pass_reads", "is empty, but passes say how much they read")
    if counted and card.pass_reads and not any(one.read for one in passes):
        yield Problem("rounds", f"say that no pass of the drafter reads anything, but they read {card.pass_reads!a}")
    if passes and card.pass_reads and not counted and _sized(trace, drafter):
        yield Problem("rounds", "do not say how much the drafter's passes read, though the header says what")
    yield from _amounts(trace, drafter)


def _models(trace: Trace) -> list[ModelCard]:
    card = trace.started.drafter
    return [one for one in (card.model, *card.further_models) if one is not None]


def _sized(trace: Trace, drafter: KnownDrafter) -> bool:
    """Whether what a pass reads could be counted: the sizes of the models are known."""
    return all(one.read_per_pass for one in _models(trace) or [trace.started.target])


def _amounts(trace: Trace, drafter: KnownDrafter) -> Iterator[Problem]:
    models = _models(trace)
    due = {bytes_per_pass(one) for one in models}
    before: dict[tuple[bool, int | None], int] = {}
    for this in trace.rounds:
        for index, one in enumerate(this.drafted.passes):
            place = f"rounds[{this.index}].drafted.passes[{index}].read"
            if one.read is None:
                continue
            if models and one.read not in due:
                told = " or ".join(f"{count:,}" for count in sorted(due))
                yield Problem(place, f"is {one.read:,}, but a pass of its model reads {told} bytes")
                return
            if not models and one.read != (first := before.setdefault(_kind(index, one), one.read)):
                yield Problem(place, f"is {one.read:,}, but the same pass of another round reads {first:,}")
                return


def _kind(index: int, one: Pass) -> tuple[bool, int | None]:
    """The round's first pass may read more than those behind it, one for another depth another head."""
    return (index == 0, one.depth)
