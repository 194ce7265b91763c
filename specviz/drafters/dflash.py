"""DFlash: a block of masked tokens behind the text, filled in one pass from all that the target read.

    states of the whole text (several depths) ─► context ─┐
    root + [mask] … [mask] ───────────────────────────────┴► layers ─► one row for each slot ─► chain, or tree
                                                                        └─ DFlash 2 ─► k tokens, scored after another

The network is in `learned/flash_network.py`. Given the text the slots are independent of each other: what is drafted at
one says nothing of the next, so q of a token is its own slot's distribution, whatever stands before it. With the
selector of DFlash 2 a slot's likeliest k tokens are scored anew after the token before them, and q is the distribution
over those k: nothing else can be drafted there, so nothing else may have a share of q.

Shapes: B texts, T tokens, A blocks, S slots, H hidden size, V vocabulary, V' tokens that are read out, k selected of
them, R rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.base import DRAFTERS, Needs, bytes_of
from specviz.drafters.learned.flash_drafting import FlashDrafter, FlashOptions
from specviz.drafters.learned.flash_network import FlashShape, FlashTrunk, Roots
from specviz.drafters.learned.module import MODULES, DrafterModule, FeatureBatch, TargetParts
from specviz.drafters.learned.weights import MODULES_FOLDER, module_for
from specviz.errors import OptionError
from specviz.lm.base import Cache, GivesFeatures, LanguageModel
from specviz.options import Options, option
from specviz.protocol.trainings import SHIPPED
from specviz.trace.declared_method import Candidates

USUAL, SELECTOR, CAUSAL = "usual", "selector", "causal"
"""what the shipped weights were trained as"""


@dataclass(frozen=True)
class DFlashShape(FlashShape):
    """Size of the network, and how it learns."""

    selector_rank: int = option(
        0, help="rank of the scores of neighbours (DFlash 2: 256); 0: slots do not know of each other", maximum=512
    )
    selected: int = option(
        16, help="likeliest tokens of a slot that the selector scores, and that can be drafted", minimum=1, maximum=512
    )
    selector_tables: bool = option(
        False,
        help="whether the selector has a row of its own for each token, as DFlash 2's weights have; otherwise rows are "
        "worked out of the embedding",
    )


class PairSelector(nn.Module):
    """How well a token follows another at a slot: one product of low rank over rows of both tokens, worked out of the
    target's own embedding, or their own. At first it says nothing."""

    def __init__(self, hidden: int, rank: int, own_rows: int = 0) -> None:
        """`own_rows`: tokens that have rows of their own; 0: none."""
        super().__init__()
        self.slot = nn.Linear(hidden, rank, bias=False)
        # a token's rows [R], as the one before and as the one after
        self.before, self.after = (nn.Linear(own_rows or hidden, rank, bias=False) for _ in range(2))
        nn.init.zeros_(self.after.weight)

    def forward(self, states: Tensor, before: Tensor, after: Tensor) -> Tensor:
        """[..., k], to be added to the logits of k tokens: of slots with the states [..., H], behind tokens with the
        rows [..., R]; `after` [..., k, R] are the k tokens' own rows."""
        wanted = before * self.slot(states)  # [..., R]
        scores: Tensor = (after @ wanted[..., None])[..., 0]
        return scores


@MODULES.register("dflash")
class DFlashModule(FlashTrunk[DFlashShape]):
    """The network, and slots that do not know of each other's tokens, or a selector that lets them."""

    explanation: ClassVar[str] = "A block of masked places, filled in one pass from the states of the whole text."
    added = FlashTrunk.added | {"selector_rank", "selected", "selector_tables"}

    def __init__(self, target: TargetParts, options: DFlashShape) -> None:
        super().__init__(target, options)
        rank = options.selector_rank
        tokens = self.target.vocab_size if options.selector_tables else 0
        self.selector = PairSelector(self.hidden_size, rank, tokens) if rank else None

    @classmethod
    def folder_name(cls, options: Options) -> str:
        assert isinstance(options, DFlashShape), "these are options of another module."
        if options.selector_rank:
            return f"{cls.name}_{SELECTOR}"
        return f"{cls.name}_{CAUSAL}" if options.causal else cls.name

    def weights_read(self) -> int:
        """With a selector also its two matrices for one token, of which a table is read in one row; the third is worked
        into a table once a run."""
        read = list[nn.Module]()
        if self.selector is not None:
            read = [self.selector.slot, *([] if self.options.selector_tables else [self.selector.before])]
        return super().weights_read() + bytes_of(*read)

    def followers(self) -> Tensor | None:
        """The selector's rows [V', R] of the tokens that can be drafted, where there is one."""
        if self.selector is None:
            return None
        if self.options.selector_tables:
            table = self.selector.after.weight.T  # [V, R]
            return table if self.map is None else table[self.map.tokens]
        rows: Tensor = self.selector.after(self.embedding if self.map is None else self.embedding[self.map.tokens])
        return rows

    def rows_before(self, tokens: Tensor) -> Tensor:
        """The selector's rows [..., R] of the tokens [...] that others follow."""
        assert self.selector is not None, "these weights have no selector."
        if self.options.selector_tables:
            return functional.embedding(tokens, self.selector.before.weight.T)
        rows: Tensor = self.selector.before(functional.embedding(tokens, self.embedding))
        return rows

    def selected(
        self, logits: Tensor, states: Tensor, before: Tensor, followers: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Scores [..., k] of the likeliest by logits [..., V'], and which of V' they are [..., k]: of slots with the
        states [..., H], behind tokens [...]."""
        assert self.selector is not None, "these weights have no selector."
        assert followers is not None, "its rows of the tokens were not worked out."
        likeliest = logits.topk(min(self.options.selected, logits.shape[-1]))
        pairs = self.selector(states, self.rows_before(before), followers[likeliest.indices])
        return likeliest.values + pairs, likeliest.indices

    def logits(self, blind: Tensor, states: Tensor, before: Tensor, followers: Tensor | None) -> Tensor:
        """[..., V'] of what is drafted at slots whose rows say `blind` [..., V']; the rest as in `selected`. Minus
        infinity for what is not selected."""
        if self.selector is None:
            return blind
        scores, chosen = self.selected(blind, states, before, followers)
        return torch.full_like(blind, -torch.inf).scatter(-1, chosen, scores.to(blind.dtype))

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """The distance of the target to every slot, the nearer ones with more weight; with a selector also to its
        scores behind the text's own token, among the tokens that it scores."""
        roots = Roots.of(batch, self.options.slots, self.options.anchors if self.training else None)
        wanted = roots.wanted(self.known(batch.target_logits(self.head))).log_softmax(-1)  # [B, A, S, V']
        states = self.states(batch, roots, self.shown(roots))[:, :, : roots.slots]  # [B, A, S, H]
        logits = functional.linear(states, self.read_head())  # [B, A, S, V']
        weights = self.weights_of(roots.slots)
        terms = {
            f"slot_{k + 1}": weight * batch.distance(logits[:, :, k], wanted[:, :, k])
            for k, weight in enumerate(weights)
        }
        if self.selector is not None:
            before = roots.tokens(batch.tokens, roots.slots)  # [B, A, S]
            scores, chosen = self.selected(logits, states, before, self.followers())  # [B, A, S, k] each
            among = wanted.gather(-1, chosen).log_softmax(-1)
            pairs = [weight * batch.distance(scores[:, :, k], among[:, :, k]) for k, weight in enumerate(weights)]
            terms["pairs"] = torch.stack(pairs).sum()
        return terms

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """Without a selector the same whatever stands between the root and the slot."""
        roots, followers = Roots.of(batch, 1, None), self.followers()
        states, count = self.states(batch, roots), len(roots.at[0])  # [B, T - 1, S, H]
        before, drafts = roots.tokens(batch.tokens, self.options.slots), []  # [B, T - 1, S]
        for k in range(min(most, self.options.slots, count)):
            slots = states[:, : count - k, k]  # [B, T - 1 - k, H]
            blind = functional.linear(slots, self.read_head())
            drafts.append(self.whole(self.logits(blind, slots, before[:, : count - k, k], followers)))
        return drafts


@dataclass(frozen=True)
class DFlashOptions(FlashOptions):
    """Weights, and shape of the draft."""

    trained: str = option(
        USUAL,
        help=f"which of the shipped weights; {SELECTOR}: with that of DFlash 2, a place knows the token before it; "
        f"{CAUSAL}: a row sees none behind it, so that ddtree can rescore",
        choices=(USUAL, SELECTOR, CAUSAL),
    )


@DRAFTERS.register("dflash")
class DFlashDrafter(FlashDrafter[DFlashOptions]):
    """A small network fills a block of masked places in one pass, from the target's states of the whole text.

    The states of several depths of the target are worked into keys and values once for each token of the text; behind
    them stand the root and the masks, which see all of that and each other. However long the block, it is one pass.
    The places do not know of each other's tokens, so each is drawn from its own distribution, and judged by it. Weights
    that were trained with the selector of DFlash 2 score a place's likeliest tokens anew after the token before it, and
    each is drawn from those scores, and judged by them. DFlash (2602.06036).
    """

    candidates: ClassVar[Candidates] = Candidates(slots="slots", from_states=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's states of the whole text at several depths, a block of masked places at once",
        training="a network of two layers, on the target's states",
        memory="its weights, and keys and values of the text in its own layers",
    )
    pass_reads: ClassVar[str] = "its layers and the target's head, or the part of it that it drafts from"
    module_type = DFlashModule

    def load(self, target: GivesFeatures) -> DrafterModule[Options]:
        """As there, or other shipped weights. Raises OptionError where a folder is named too."""
        weights, trained = self.options.weights, self.options.trained
        if trained == USUAL:
            return super().load(target)
        if weights != SHIPPED:
            raise OptionError(
                f"trained is {trained}, which chooses among shipped weights, but weights is {weights[:60]}; leave one "
                "of them as it is."
            )
        return module_for(DFlashModule, str(MODULES_FOLDER / f"{self.name}_{trained}"), target)

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        super().attach(target, cache)
        with torch.inference_mode():
            self.followers = self.module.followers()

    def by_depth(self) -> bool:
        return self.followers is None

    @torch.inference_mode()
    def behind(self, blind: Tensor, states: Tensor, tokens: Sequence[int]) -> Tensor:
        if self.followers is None:
            return blind
        return self.module.logits(blind, states, torch.tensor(tokens, device=self.device), self.followers)

    @property
    def module(self) -> DFlashModule:
        """As it was attached."""
        assert isinstance(self.trunk, DFlashModule), f"'{self.trunk.name}' is no block of 'dflash'."
        return self.trunk
