"""One round with its surroundings, as the rules look at it, and how exactly the numbers in a trace are known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from specviz.trace.events import Node, Round, Trace
from specviz.trace.header import Started
from specviz.trace.known_rules import KNOWN, KnownRule, keeps_survivors
from specviz.trace.tree_shape import families_of, rows_of

HALF_DIGIT = 0.5e-6
"""recorded probabilities have six decimals; those that verdicts were based on keep all theirs"""
SINGLE = 2.0**-17
"""how far sums and quotients of single precision, in which models run, may be off: 128 units in the last place of 1"""
EXACT = 1e-9
"""how far the same double-precision arithmetic may differ"""

Producer = Literal["engine", "simulation", "other"]
_ENGINE = re.compile(r"specviz \d+\.\d+\S*")
_SIMULATION = re.compile(r"specviz \d+\.\d+\S* simulate")


def producer_of(started: Started) -> Producer:
    """Who wrote the trace. What holds for one engine alone (its noise, its clock) is asked of that engine alone."""
    if _ENGINE.fullmatch(started.producer):
        return "engine"
    return "simulation" if _SIMULATION.fullmatch(started.producer) else "other"


@dataclass(frozen=True)
class Scene:
    """One round with its place, the run's header, and what was committed before it."""

    place: str
    started: Started
    round: Round
    text: tuple[int, ...] = ()
    """prompt and committed tokens before the round; the last one is the root"""

    @cached_property
    def families(self) -> list[list[Node]]:
        """Per node its children in draw order."""
        nodes = self.round.nodes
        return [[nodes[child] for child in family] for family in families_of([node.parent for node in nodes])]

    def children(self, node: int) -> list[Node]:
        return self.families[node]

    @cached_property
    def rows(self) -> list[int]:
        """Per node its row in the target's pass, where nodes of the same text share one."""
        nodes = self.round.nodes
        return rows_of([node.parent for node in nodes], [node.token for node in nodes])

    def offered(self, node: int) -> list[Node]:
        """The candidates for the token after `node`: its children, and with K-SEQ those of every draft that is still
        alive there."""
        if not keeps_survivors(self.round.judged.rule, self.started.verifier.options):
            return self.children(node)
        return [child for child in self.round.nodes[1:] if self.rows[child.parent] == self.rows[node]]

    def level_of(self, node: Node) -> int:
        """The first node with the text that a candidate follows: candidates with the same one are tried together."""
        if not keeps_survivors(self.round.judged.rule, self.started.verifier.options):
            return node.parent
        return self.rows.index(self.rows[node.parent])

    @cached_property
    def rule(self) -> KnownRule | None:
        """What the format knows of the round's rule; None where it knows nothing, or nothing was decided."""
        return None if self.round.judged.origin == "forced" else KNOWN.get(self.round.judged.rule)

    @property
    def greedy(self) -> bool:
        return self.started.sampling.temperature == 0

    @property
    def keeps_heads(self) -> bool:
        """Whether the round's distributions were recorded."""
        return bool(self.round.nodes[0].target.tokens)

    def path_to(self, node: int) -> Iterator[int]:
        """From `node` up to the root, both included."""
        while node >= 0:
            yield node
            node = self.round.nodes[node].parent


def scenes_of(trace: Trace) -> Iterator[Scene]:
    """Every round with what was committed before it."""
    text = tuple(trace.started.prompt_ids)
    for index, this in enumerate(trace.rounds):
        yield Scene(f"rounds[{index}]", trace.started, this, text)
        text += tuple(token.token for token in this.committed.tokens)
