"""What a drafter is: it proposes a tree of candidates for the continuation of a text.

One file per drafter. Knows nothing about verifiers, the target's cache or traces; it sees the text so far,
the dice, and (through `Proposal`) says what it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from torch import Tensor

from specviz.core.randomness import Dice
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree, Shape
from specviz.datastore.store import Datastore
from specviz.lm.base import Cache, LanguageModel, Unfinished
from specviz.options import Options
from specviz.registry import Registry
from specviz.stop_policies.base import Stop
from specviz.stop_policies.fixed import FixedOptions, FixedStop
from specviz.trace.events import CandidateKind, Option
from specviz.trace.exhibits import Exhibit
from specviz.tree_policies.base import Growth, Opening, StepCosts


@dataclass(frozen=True, slots=True)
class DraftPass:
    """One forward pass of the drafter's model, timed by the drafter (device synchronised)."""

    rows: int
    cached_rows: int
    seconds: float
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft and what went into it."""

    tree: DraftTree
    passes: list[DraftPass] = field(default_factory=list)
    note: dict[str, Option] = field(default_factory=dict)
    beliefs: list[tuple[Sequence[int], Tensor]] = field(default_factory=list)
    """(nodes, logits [len(nodes), V]) wherever a model was asked what follows: for showing, nothing is judged by it"""
    knew: list[Exhibit] = field(default_factory=list)
    """what the draft was made from, for showing"""
    unfinished: Unfinished | None = None
    """the nodes' first layers, where the drafter ran them with the target's own: row i is node i"""


@dataclass(frozen=True, slots=True)
class DraftContext:
    """What a drafter may look at in one round."""

    tokens: Sequence[int]
    """the committed text, prompt included; its last token is the tree's root"""
    round: int
    max_depth: int
    """no deeper than this (what is left of the output length and of the context)"""
    sampling: Sampling
    dice: Dice
    """use keys ("draft", round, index) with an index not used before in this round"""
    noise: str = "guess"
    """purpose of the keys (noise, position, 0) with which `dice.foresee` may be asked what a position of the text will
    be: `target`, the very noise of the token there, where the verifier samples the target; `guess`, one of its own"""
    opening: Opening | None = None
    """what follows the root by the target's last pass, where its last token was left open for the growth policy"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the target said to a draft, for drafters that learn from it."""

    tree: DraftTree
    """as it was judged"""
    logits: Tensor
    """[len(tree), V], the target's, before the sampling transform: row i is what follows node i, accepted or not"""
    path: Sequence[int]
    """accepted nodes from depth 1 on"""
    tokens: Sequence[int]
    """the text with what this round committed"""


@dataclass(frozen=True, slots=True)
class Habit:
    """How the drafts of a run grow and when they stop: two choices beside that of the drafter."""

    growth: Growth | None = None
    """None: as the drafter's own options say"""
    stop: Stop = field(default_factory=lambda: FixedStop(FixedOptions()))


class Drafter(Protocol):
    """A drafter lives for one run. Its class carries `name`, `options_type`, `lossless` and its docstring.

    Drafters derive from this class, which gives `begin` and `model` sensible defaults.
    """

    name: ClassVar[str]
    options_type: ClassVar[type[Options]]
    lossless: ClassVar[bool]
    needs_model: ClassVar[bool]
    grows: ClassVar[bool] = False
    """its drafts are made by a growth policy and ended by a stop policy: it does what `habit` says"""
    adds: ClassVar[frozenset[CandidateKind]] = frozenset()
    """kinds of the candidates that it puts among those of its growth policy, in view of what that policy has drawn"""
    reads_prompt: ClassVar[bool] = False
    """it wants the target's logits at every position of the prompt (`read_prompt`)"""
    remembers: ClassVar[bool] = False
    """it can hand what it learnt to a later run (`memory`, `recall`)"""
    memory_options: ClassVar[tuple[str, ...] | None] = None
    """the options that a memory depends on: with others alike it is shared; None: all. None that `tune` may change"""

    gives_hidden: ClassVar[bool] = False
    """a stop policy may look at the hidden states of its model"""

    options: Any
    """what it runs with, an instance of `options_type`"""
    habit: Habit
    """set before `begin` where it is not to be the default"""

    def __init__(self, options: Options, model: LanguageModel | None) -> None:
        """`options` is an instance of `options_type`; `model` is None unless `needs_model`."""
        self.options = options
        self.habit = Habit()

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        """Which candidate kinds it will draw with these options under this sampling; the pairing check reads it."""
        ...

    @classmethod
    def shape(cls, options: Options, sampling: Sampling) -> Shape:
        """`chain` where no candidate will ever have a sibling; some verifiers judge nothing else."""
        return "tree"

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Called once, before `begin`, with the target and the run's own cache of it: for drafters that draft with
        parts of the target. What they write to the cache they must drop again, but for what the target's pass over
        the tree takes over."""
        return

    def tune(self, costs: StepCosts) -> None:
        """Told once, after `attach`, what passes cost on this machine. What it makes of that belongs into `options`,
        and so into the header. Most drafters do not ask."""
        return

    @classmethod
    def retrieves(cls, options: Options) -> bool:
        """Whether with these options it looks continuations up in a datastore (`consult`)."""
        return False

    def consult(self, datastore: Datastore) -> None:
        """Called before `begin` with the datastore of the target's tokenizer. Only where `retrieves` says so."""
        raise NotImplementedError

    def recall(self, memory: bytes) -> None:
        """Called before `begin` with what an earlier run's `memory` gave. Raises MemoryFileError where it does not
        fit the options. Only where `remembers` is set."""
        raise NotImplementedError

    def memory(self) -> bytes:
        """All it learnt, for `recall` of a later run with the same options. Only where `remembers` is set."""
        raise NotImplementedError

    def read_prompt(self, tokens: Sequence[int], logits: Tensor) -> None:
        """Called before `begin`, once per stretch of the prompt in order, where `reads_prompt` is set: logits [n, V]
        are what the target says follows each of the n `tokens`. Its time counts as prefill."""
        return

    def begin(self, tokens: Sequence[int]) -> None:
        """Called once, before the first round, with the text so far: the place to read the prompt.

        Its time counts as prefill. A drafter that keeps nothing needs not implement it.
        """
        return

    def propose(self, context: DraftContext) -> Proposal:
        """A tree rooted at the last committed token. A root alone is a legal answer.

        Adaptedness: whether a candidate exists may depend on anything but its own value, unless it is a point mass;
        a drawn token is always submitted."""
        ...

    def observe(self, outcome: Outcome) -> list[Exhibit]:
        """Called after every round with the target's answer; returns what that changed, for showing. Its time counts
        as drafting. A drafter that learns nothing needs not implement it."""
        return []

    @property
    def model(self) -> LanguageModel | None:
        """Its own language model, if it has one."""
        return None


DRAFTERS: Registry[type[Drafter]] = Registry("drafter", package="specviz.drafters")
