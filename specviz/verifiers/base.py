"""What a verifier is: it judges a draft tree against the target's distributions and picks the last token.

One file per verifier. Knows nothing about drafters, models, caches or traces.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol

from torch import Tensor

from specviz.core.draws import Walk
from specviz.core.randomness import RandomSource
from specviz.core.transfer import Fetch
from specviz.core.tree import DraftTree, Shape
from specviz.options import Options
from specviz.registry import OptionsT_co, PlugIn, Registry
from specviz.trace.declared_rule import Rule, parse
from specviz.trace.events import CandidateKind, Order, Origin, Trial


class TargetRows(Protocol):
    """The target's distributions at the tree's nodes, after the sampling transform, computed on demand."""

    def probs(self, node: int) -> Tensor:
        """p(· | path to node) [V]."""
        ...

    def all_probs(self) -> Tensor:
        """p at every node [nodes, V]."""
        ...

    def walk(self, seed: int, position: int) -> Walk | None:
        """Of a chain whose candidates were drawn by one call, or none of them drawn, the whole walk of the sequential
        rule; see `draws.walk`. None where it goes step by step."""
        ...

    @property
    def fetch(self) -> Fetch | None:
        """Where a rule leaves what it wants to see of a device, before its first question; None on a CPU, where nothing
        waits."""
        ...

    def candidate_prob(self, node: int) -> float:
        """p(token of `node` | path to its parent), of a node that is not the root; one transfer for the whole tree."""
        ...

    @property
    def greedy(self) -> bool:
        """Temperature 0: every distribution is a point mass on the most probable token."""
        ...

    def share_of_best(self, node: int) -> float:
        """p(token of `node`) / max p at its parent, of a node that is not the root, by the model's own softmax.

        Before temperature, top-k and top-p: what is left to compare at temperature 0."""
        ...

    def entropy_of_likeliest(self, node: int, count: int) -> float:
        """-Σ p ln p over the `count` most probable tokens at the node, in nats, not made whole; at temperature 0 by the
        model's own softmax."""
        ...

    def argmax(self, node: int) -> int:
        """The most probable token at the node, lowest id on a tie; no softmax, one transfer for the whole tree."""
        ...


@dataclass(slots=True)
class Verdict:
    path: list[int]
    """accepted nodes from depth 1 on"""
    token: int
    """the token that ends the round, drawn at `final_node`"""
    origin: Origin
    trials: list[Trial] = field(default_factory=list)
    residual: Tensor | None = None
    """the distribution [V] the correction was drawn from, where it is not the target's own"""
    residual_mass: float | None = None
    u: float | None = None
    order: Order = "top_down"
    """how the trials went through the tree"""


class Verifier(PlugIn[OptionsT_co], ABC):
    """Stateless across rounds."""

    judges: ClassVar[frozenset[CandidateKind]]
    """candidate kinds for which the rule is what it claims to be, each judged by its own kind where several of them
    stand in one tree"""
    temperatures: ClassVar[str] = "any"
    """`any` or `zero`"""
    shapes: ClassVar[Shape] = "tree"
    """`chain`: judges trees without siblings only"""
    takes_the_targets: ClassVar[bool] = False
    """it has a rule for candidates that the target itself proposed (source `FROM_TARGET`)"""
    counts_siblings: ClassVar[bool] = False
    """its rule depends on how many siblings there are, and so must that number not depend on them"""
    judges_merged: ClassVar[bool] = False
    """its rule holds for drawn candidates of several merged trees: siblings come from several distributions, and what
    stands below a node may depend on what a later sibling of it was drawn as"""
    samples_target: ClassVar[bool] = False
    """the token at every visited position is drawn from the target's own distribution with the key
    (`noise`, position, 0), or that of a race in several lanes, whatever was drafted there: only then may a draft look
    at that noise"""
    noise: ClassVar[str] = "target"
    """purpose of the keys that a draft may look at; `RACE`: a time per token, and drafted tokens run the same race with
    their own q"""

    rule: ClassVar[Rule | None] = None
    """how it decides, as data for those who check or show a trace; None: they show its numbers and recompute nothing"""

    @abstractmethod
    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        """`position` is the index in the text of the first token to be decided (a child of the root).

        Keys: ("accept", position, node) for trials; ("target", position + depth, 0) for the draw that ends the
        round, so that the naive rule and plain decoding use the same noise for the same position.
        """


def ending(tree: DraftTree, children: Sequence[int]) -> Origin:
    """What the round's last token is called where the walk ends at a node with these children, all rejected."""
    if children:
        return "correction"
    return "bonus" if tree.drafted else "target"


VERIFIERS: Registry[type[Verifier[Options]]] = Registry("verifier", package="specviz.verifiers")


def _declared(verifier: type[Verifier[Options]]) -> dict[str, Any]:
    """One verifier's rule and what its class says besides, as JSON data."""
    assert verifier.rule is not None
    return {
        **asdict(verifier.rule),
        "equation": verifier.rule.threshold,
        "threshold": parse(verifier.rule.threshold),
        "lossless": verifier.lossless,
        "judges": sorted(verifier.judges),
        "chains": verifier.shapes == "chain",
        "greedy": verifier.temperatures == "zero",
    }


def declared_rules() -> str:
    """What `assets/rules.json` holds: every registered verifier that declares a rule, indented, so that changes are
    read easily. The check of a trace, the player and the documentation read it instead of knowing each rule again."""
    rules = {name: _declared(kind) for name, kind in VERIFIERS.items() if kind.rule is not None}
    return json.dumps(rules, indent=1, ensure_ascii=False) + "\n"
