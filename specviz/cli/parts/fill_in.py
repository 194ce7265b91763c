"""What a recording lacks because its format did not have it yet, taken over from the same run made again.

Place in the flow: `specviz record --fill-in`. Rounds, draws and times of the recording stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap

from specviz.trace.check import check, errors
from specviz.trace.events import VERSION, Node, Round, Trace

NEAR = 1e-4
"""how far a probability may move from one process to another, and the run still be the same"""


def filled_in(recorded: Trace, again: Trace) -> Trace | None:
    """The recording with the ranks and agreements of `again`; None where the two are not the same run, or where the
    numbers would contradict what the recording holds."""
    pairs = list(zip(recorded.rounds, again.rounds, strict=False))
    if len(recorded.rounds) != len(again.rounds) or not all(starmap(_same, pairs)):
        return None
    rounds = [replace(was, nodes=list(map(_with_numbers, was.nodes, made.nodes))) for was, made in pairs]
    found = replace(recorded, version=VERSION, rounds=rounds)
    return None if errors(check(found)) else found


def _with_numbers(was: Node, made: Node) -> Node:
    return replace(was, rank=made.rank, agreement=made.agreement, agreement_raw=made.agreement_raw)


def _same(was: Round, made: Round) -> bool:
    same_end = (was.judged.path, was.judged.token) == (made.judged.path, made.judged.token)
    return same_end and len(was.nodes) == len(made.nodes) and all(map(_same_node, was.nodes, made.nodes))


def _same_node(was: Node, made: Node) -> bool:
    same = (was.token, was.parent, was.kind, was.source) == (made.token, made.parent, made.kind, made.source)
    return same and _near(was.target_prob, made.target_prob) and _near(was.draft_prob, made.draft_prob)


def _near(was: float | None, made: float | None) -> bool:
    return was == made if was is None or made is None else abs(was - made) <= NEAR
