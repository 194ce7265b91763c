"""Networks that learn to draft from the target's states: what a drafter, its training and its file share.

    @MODULES.register("x")            in the drafter's own file: the network, which states it reads, its loss
    class X(DrafterModule[XShape])    `specviz train module x` and the Train page follow from it

    FeatureBatch ─► loss ─► weights ─► a folder (`weights`) ─► the drafter

Shapes: B texts, T tokens each, K depths, H hidden size, V vocabulary, V' tokens that can be drafted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.base import bytes_of
from specviz.drafters.learned.token_map import TokenMap
from specviz.errors import ModelError, OptionError
from specviz.lm.base import GivesFeatures, ModelInfo
from specviz.lm.fetched import family
from specviz.options import Options
from specviz.registry import OptionsT_co, Registry


@dataclass(frozen=True, slots=True)
class RowShape:
    """A row of the target's last layer: so many key and value heads, and their components."""

    heads: int
    key_size: int
    value_size: int

    @classmethod
    def of(cls, target: GivesFeatures) -> RowShape:
        """Looked up in a cache of one token."""
        cache = target.new_cache()
        target.forward([0], cache)
        keys, values = target.keys_values(cache, target.info.layers - 1)
        return cls(keys.shape[0], keys.shape[-1], values.shape[-1])


@dataclass(frozen=True, slots=True)
class TargetParts:
    """What of the target a module is built on; frozen, shared, never written to a module's file."""

    info: ModelInfo
    embedding: Tensor
    """[V, H]"""
    head: Tensor
    """[V, H], reads states at depth = layers"""
    row: RowShape

    @classmethod
    def of(cls, target: GivesFeatures) -> TargetParts:
        return cls(target.info, target.embedding().detach(), target.head().detach(), RowShape.of(target))


Distance = Callable[[Tensor, Tensor], Tensor]
"""(logits [..., V], the target's logarithms of probabilities [..., V]) → how far apart they are, the mean over all
places"""


def divergence(logits: Tensor, target_log_probs: Tensor) -> Tensor:
    """KL(target ‖ drafter) in nats, in the mean over all places [..., V]."""
    own = logits.log_softmax(-1)
    total = functional.kl_div(own, target_log_probs, log_target=True, reduction="sum")
    return total / (own.numel() // own.shape[-1])


@dataclass(frozen=True, slots=True)
class TargetRows:
    """What the target's last layer keeps of a batch of texts: G heads, L rows, D components. L is T, or more where the
    batch holds the last T tokens of longer texts."""

    keys: Tensor
    """[B, G, L, D], turned to their positions"""
    values: Tensor
    """[B, G, L, D]"""
    positions: Tensor
    """[L] int64, at which the target read the texts"""
    turned: Callable[[Tensor, Tensor], Tensor]
    """(queries [..., n, D], positions [n]) → as the target's attention turns them, as `GivesFeatures.turned`"""


@dataclass(frozen=True, slots=True)
class FeatureBatch:
    """Texts and the target's states along them: state t is that of token t, and says what follows it."""

    tokens: Tensor
    """[B, T] int64"""
    features: Tensor
    """[B, T, K, H] at the module's depths, in their order"""
    final: Tensor
    """[B, T, H], as the head reads them"""
    logits: Tensor | None = None
    """[B, T, V], where they are known already: worked out once for all modules that learn from one reading"""

    distance: Distance = divergence
    """what a module learns to make small"""
    rows: TargetRows | None = None
    """for modules with `reads_rows`"""
    text_alone: bool = False
    """for modules with `learns_text`: what follows in the text itself is to be learnt, and nothing of the target is
    read"""

    def target_logits(self, head: Tensor) -> Tensor:
        """What the target says after every token [B, T, V]."""
        return functional.linear(self.final, head.to(self.final.dtype)) if self.logits is None else self.logits


class DrafterModule(nn.Module, ABC, Generic[OptionsT_co]):
    """One network over a target. `options` is its shape: written beside the weights, fixed once it is trained.

    Made with fresh weights, drawn from torch's global generator; `load_state_dict` brings trained ones.
    """

    name: ClassVar[str]
    """set by `register`; that of the drafter it belongs to, where that has one module"""
    options_type: ClassVar[type[Options]] = Options
    """set by `DrafterModule[XShape]`"""
    explanation: ClassVar[str] = ""
    """one sentence for people who choose what to train"""
    reads_rows: ClassVar[bool] = False
    """whether it wants `FeatureBatch.rows`"""
    learns_text: ClassVar[bool] = False
    """whether it can learn from a text without the target, see `FeatureBatch.text_alone`"""
    relearnt: ClassVar[frozenset[str]] = frozenset()
    """options that a training which goes on from earlier weights may change: every weight keeps its shape and use"""
    added: ClassVar[frozenset[str]] = frozenset()
    """options that such a training may switch on: what they add begins fresh"""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for base in vars(cls).get("__orig_bases__", ()):
            for argument in getattr(base, "__args__", ()):
                if isinstance(argument, type) and issubclass(argument, Options):
                    cls.options_type = argument

    def __init__(self, target: TargetParts, options: OptionsT_co) -> None:
        """Raises OptionError or ModelError where the shape does not fit the target."""
        super().__init__()
        self.target = target.info
        self.options = options
        self.register_buffer("embedding", target.embedding.detach(), persistent=False)
        self.register_buffer("head", target.head.detach(), persistent=False)
        self.map: TokenMap | None = None
        self.learnt_from = ""
        """hash of the target's weights that it learnt from, where those of this target are others of its family"""

    embedding: Tensor
    head: Tensor

    @classmethod
    def folder_name(cls, options: Options) -> str:
        """What the folder of its weights is called: several, where shapes of it are shipped beside one another."""
        return cls.name

    @abstractmethod
    def depths(self) -> Sequence[int]:
        """After how many layers it reads the target (see `lm.base.GivesFeatures`); none, where it reads no states."""

    def positions(self, length: int) -> Tensor | None:
        """Where the next texts of `length` tokens stand for the target that reads them in training [length], drawn from
        torch's global generator; None: at 0, 1, 2, … A module with positions of its own is trained alone."""
        return None

    @abstractmethod
    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """Named terms, scalars; their sum is what training minimises."""

    @abstractmethod
    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """What it would draft from every place of a text, its first `most` tokens at the most: logits, one tensor
        [B, T - 1 - k, V] for each k = 0, 1, …; fewer where it drafts no deeper.

        Row t of number k says what follows token t + 1 + k, having read the target's states up to token t and the
        tokens up to t + 1 + k: the text's own, so that its answer is comparable with the target's,
        `target_logits[:, 1 + k :]`. What it would hand itself from one token to the next is its own."""

    def keep_tokens(self, count: int) -> None:
        """Draft `count` tokens alone; 0: all. Raises OptionError for more than there are."""
        if count > self.target.vocab_size:
            raise OptionError(f"draft_tokens is {count}, but {self.target.name} has {self.target.vocab_size} tokens.")
        self.map = TokenMap(count, self.target.vocab_size) if count else None

    def read_head(self) -> Tensor:
        """Rows [V', H] of the target's head that are read out: of all tokens, or of those that can be drafted."""
        return self.head if self.map is None else self.head[self.map.tokens]

    def head_bytes(self) -> int:
        """Of `read_head`, which is not made for it: a copy of its rows takes longer than a draft."""
        return bytes_of(self.head) // len(self.head) * len(self.head if self.map is None else self.map.d2t)

    def known(self, logits: Tensor) -> Tensor:
        """Of the target's logits [..., V] those of the tokens that can be drafted [..., V']."""
        return logits if self.map is None else logits[..., self.map.tokens]

    def whole(self, logits: Tensor) -> Tensor:
        """Logits [..., V] of those [..., V'] that were read out: minus infinity for the others."""
        if self.map is None:
            return logits
        every = logits.new_full((*logits.shape[:-1], self.target.vocab_size), -torch.inf)
        return every.index_copy(-1, self.map.tokens, logits)

    def calibrate(self, tokens: Tensor) -> None:
        """Told once before training, with text [n] of the kind it will draft: what it chooses by that (which tokens it
        can draft) goes into its weights' file."""
        if self.map is not None:
            self.map.choose(tokens, self.target.eos_ids)

    def begin(self, batch: FeatureBatch) -> None:
        """Shown a little text as the target read it, once before training: for first weights that are worked out, not
        drawn."""

    def facts(self) -> dict[str, Any]:
        """What it found while `calibrate` ran, for its card."""
        if self.map is None or self.map.coverage is None:
            return {}
        return {"coverage": round(self.map.coverage, 4), "map_sha256": bytes(self.map.digest.tolist()).hex()}

    def check(self) -> None:
        """Asked once its weights are loaded. Raises ModelError where they do not fit together."""
        if self.map is not None:
            self.map.check(self.target.eos_ids)

    @property
    def hidden_size(self) -> int:
        return self.target.hidden_size

    def weights_read(self) -> int:
        """Bytes of weights that a pass of it reads as it drafts; here all of its own and what it reads of the target's
        head."""
        return bytes_of(self) + self.head_bytes()

    def parameter_count(self) -> int:
        """Numbers that training changes and the file holds."""
        return sum(parameter.numel() for parameter in self.parameters())


MODULES: Registry[type[DrafterModule[Options]]] = Registry("drafter module", package="specviz.drafters")
"""Networks of drafters that learn, found with the drafters."""
MOST_NUMBERS = 1 << 25
"""of a module, or as many as its target has where those are more: the largest that is shipped has a tenth of it"""


def fresh(
    kind: type[DrafterModule[Options]], target: TargetParts, options: Options, seed: int = 0
) -> DrafterModule[Options]:
    """Untrained, with weights that `seed` alone decides; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = kind(target, options)
    reference = target.embedding
    moved: DrafterModule[Options] = module.to(device=reference.device, dtype=reference.dtype)
    return moved.eval()


def drawn(*size: int, over: float = 1.0) -> Tensor:
    """[*size]: numbers of the standard normal law divided by `over`. On torch's device `meta`, which holds no numbers,
    none are drawn: torch would import its compiler for that, three seconds of work."""
    numbers = torch.empty(size)
    return numbers if numbers.is_meta else numbers.normal_().div_(over)


def outline(kind: type[DrafterModule[Options]], target: TargetParts, options: Options) -> dict[str, Tensor]:
    """A module's tensors without their numbers, on torch's device `meta`: they take no memory, whatever sizes the
    options name. Raises ModelError for a module that is too large to be one."""
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            tensors = kind(target, options).state_dict()
    except (RuntimeError, OverflowError, TypeError) as error:  # sizes beyond what torch counts in
        raise ModelError(
            f"no module '{kind.name}' can have the sizes {str(options)[:200]}; take smaller ones."
        ) from error
    numbers, most = sum(tensor.numel() for tensor in tensors.values()), max(MOST_NUMBERS, target.info.parameters)
    if numbers > most:
        raise ModelError(
            f"a module '{kind.name}' of these sizes has {numbers:,} numbers, but at most {most:,} are taken beside "
            f"{target.info.name}; take smaller sizes."
        )
    return tensors


def check_target(made_for: str, of_family: str, called: str, target: ModelInfo) -> None:
    """Weights that were trained on the states of the target with the hash `made_for`, whose name was `of_family`.
    Raises ModelError for another target: they would only be rejected. The same real model in other numbers (its
    original weights, a quantised file of them) is taken; `DrafterModule.learnt_from` then says so."""
    related = family(of_family) != "" and family(of_family) == family(target.name)
    if made_for != target.weights_sha256 and not related:
        named = f" ({of_family})" if of_family else ""
        raise ModelError(
            f"the weights {called} were trained on the states of the target {made_for[:12]}{named}, but {target.name} "
            f"has the weights {target.weights_sha256[:12]}; "
            "choose that target, train them on this one (`specviz train module`), or choose other weights."
        )


RIDGE, QUIET = 0.03, 0.1
"""of the first linear guess, against its mean diagonal; of what the layers add to it at first"""


def least_squares(given: Tensor, wanted: Tensor) -> Tensor:
    """The matrix [out, in] that makes of rows `given` [n, in] the best linear guess of `wanted` [n, out]."""
    gram = given.mT @ given
    gram.diagonal().add_(RIDGE * gram.diagonal().mean())
    found: Tensor = torch.linalg.solve(gram, given.mT @ wanted)
    return found.mT
