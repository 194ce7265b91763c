"""What a drafter is: it proposes a tree of candidates for the continuation of a text.

    @DRAFTERS.register("name")            the required part: a name, options, and `propose`
    class X(Drafter[XOptions], Observes)  what else it can do: the small protocols of `capabilities`

One file per drafter. Knows nothing about verifiers, the target's cache or traces; it sees the text so far,
the random source, and (through `Proposal`) says what it did.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor, nn

from specviz.core.randomness import RandomSource
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree, Shape
from specviz.frozen import frozen
from specviz.lm.base import Blocks, LanguageModel, SplitModel, Unfinished
from specviz.options import Options
from specviz.registry import OptionsT_co, PlugIn, Registry
from specviz.stop_policies.base import StopOptions, StopPolicy
from specviz.stop_policies.fixed import FixedStopPolicy
from specviz.trace.declared_method import Candidates
from specviz.trace.events import CandidateKind, Option, Pass
from specviz.trace.header import Exhibit, bytes_per_pass
from specviz.tree_policies.base import TargetProposal, TreePolicy


@frozen
class Proposal:
    """A draft and what went into it."""

    tree: DraftTree
    passes: list[Pass] = field(default_factory=list)
    """of the drafter's model, timed by the drafter (device synchronised); `read`: see `bytes_of` below"""
    note: dict[str, Option] = field(default_factory=dict)
    draft_logits: list[tuple[Sequence[int], Tensor]] = field(default_factory=list)
    """(nodes, logits [len(nodes), V]) wherever a model was asked what follows: for showing, nothing is judged by it"""
    exhibits: list[Exhibit] = field(default_factory=list)
    """what the draft was made from, for showing"""
    late_exhibits: list[Callable[[], Exhibit]] = field(default_factory=list)
    """the same, drawn up where the round is recorded: after its clock has stopped, before the next draft"""
    riding: Sequence[int] = ()
    """nodes that ride along for the target's answers there, not as guesses; with a node all below it"""
    unfinished: Unfinished | None = None
    """the nodes' first layers, where the drafter ran them with the target's own: row i is node i"""

    @property
    def candidates(self) -> list[int]:
        """All nodes but the root and those that ride along."""
        riding = set(self.riding)
        return [node for node in range(1, len(self.tree)) if node not in riding]


@frozen
class DraftContext:
    """What a drafter may look at in one round."""

    tokens: Sequence[int]
    """the committed text, prompt included; its last token is the tree's root"""
    round: int
    max_depth: int
    """no deeper than this (what is left of the output length and of the context)"""
    sampling: Sampling
    randomness: RandomSource
    """use keys ("draft", round, index) with an index not used before in this round"""
    noise: str = "guess"
    """purpose of the keys (noise, position, 0) with which `randomness.peek` may be asked what a position of the text
    will be: `target` or `race`, the very noise of the token there, where the verifier samples the target; `guess`, one
    of its own"""
    target_proposal: TargetProposal | None = None
    """what follows the root by the target's last pass, where its last token was left open for the tree policy"""
    ends: frozenset[int] = frozenset()
    """tokens that end the text: what a draft has behind one is never committed"""
    unsaid: frozenset[int] = frozenset()
    """special tokens that end none, such as the marks of a chat template: they stand in a prompt, and the target does
    not write them"""
    start_s: float = 0.0
    """the engine's clock as the round begins, in seconds since the first round did; it stands still between rounds"""


@frozen
class RoundOutcome:
    """What the target said to a draft, for drafters that learn from it."""

    tree: DraftTree
    """as it was judged"""
    logits: Tensor
    """[len(tree), V], the target's, before the sampling transform: row i is what follows node i, accepted or not"""
    path: Sequence[int]
    """accepted nodes from depth 1 on"""
    tokens: Sequence[int]
    """the text with what this round committed"""
    features: Tensor | None = None
    """[len(tree), depths, H], the target's states at every node, for drafters that are `ReadsFeatures`"""

    def features_at(self, nodes: Sequence[int]) -> Tensor:
        """[len(nodes), depths, H], at one node at least; a view where they follow one another, as a chain's do."""
        assert self.features is not None, "this round left no states: the drafter is no `ReadsFeatures`."
        first, count = nodes[0], len(nodes)
        if list(nodes) == list(range(first, first + count)):
            return self.features[first : first + count]
        return self.features[list(nodes)]


@dataclass(frozen=True, slots=True)
class DraftPolicies:
    """The tree policy and the stop policy of a run: two choices beside that of the drafter."""

    tree_policy: TreePolicy[Options] | None = None
    """None: as the drafter's own options say"""
    stop_policy: StopPolicy[StopOptions] = field(default_factory=lambda: FixedStopPolicy(StopOptions()))


@dataclass(frozen=True, slots=True)
class Needs:
    """What a drafter guesses from and what that takes, as the table of drafters says it. Whether it needs a second
    model is no part of it: that it says by `capabilities.UsesModel`."""

    guesses_from: str
    training: str = "none"
    memory: str = "none"
    """what it keeps beside the target and its cache"""


class Drafter(PlugIn[OptionsT_co], ABC):
    """A drafter lives for one run. A subclass names its options, `Drafter[XOptions]`, is registered under its name, and
    proposes. Its docstring is what people read about it. All else it may be given or told is in `capabilities`.
    """

    candidates: ClassVar[Candidates] = Candidates()
    """what a trace shows of its candidates: their marks, and which options bound them; the check goes by it"""
    needs: ClassVar[Needs | None] = None
    """its row in the table of drafters; None: the table says that it does not say"""
    pass_reads: ClassVar[str] = ""
    """which weights `Pass.read` counts, in words, to stand beside MBSU; empty where it makes no passes, or nobody
    counted"""
    learnt_from: str = ""
    """hash of the target's weights that its own learnt from, where those are others of the same model: set by `attach`
    """

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        """Which candidate kinds it will draw under this sampling. The pairing check reads it, and a candidate of
        another kind ends the run as a fault."""
        return frozenset(["point_mass"])

    def shape(self, sampling: Sampling) -> Shape:
        """`chain` where no candidate will ever have a sibling; some verifiers judge nothing else."""
        return "tree"

    @abstractmethod
    def propose(self, context: DraftContext) -> Proposal:
        """A tree rooted at the last committed token. A root alone is a legal answer.

        Adaptedness: whether a candidate exists may depend on anything but its own value, unless it is a point mass;
        a drawn token is always submitted."""


DRAFTERS: Registry[type[Drafter[Options]]] = Registry("drafter", package="specviz.drafters")
"""Drafters, one file per method; found by the registry."""


def bytes_of(*weights: Tensor | nn.Module | None) -> int:
    """Of tensors, and of the parameters of modules; None counts nothing."""
    tensors: list[Tensor] = []
    for weight in weights:
        if isinstance(weight, nn.Module):
            tensors += weight.parameters()
        elif weight is not None:
            tensors.append(weight)
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def by_model(model: LanguageModel) -> int | None:
    """By a whole pass of a language model; None where nobody counted its weights."""
    return bytes_per_pass(model.info) or None


def by_blocks(target: SplitModel, blocks: Blocks) -> int | None:
    """By a pass that runs these blocks alone and reads out through the model's own norm and head; None where nobody
    counted its weights."""
    layers = frozenset(range(target.info.layers))
    missed = Blocks(layers - blocks.attention, layers - blocks.mlp)
    whole, left_out = by_model(target), target.block_bytes(missed)
    return None if whole is None or left_out is None else whole - left_out
