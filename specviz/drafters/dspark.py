"""DSpark: one pass fills a block, a small table restores its order, and a head says how far the block will carry.

    block of `learned/flash_network.py` ─► a row for each slot ─ + table[token before] ─► the slots' tokens, in turn
                                               └─► confidence: will the target take the next one?

The pass is made once; what follows it token by token is two look-ups and a product of low rank. So q of a token is
that of its slot, told the token before it: a chain whose places depend on each other at nearly the price of one whose
places do not.

Shapes: B texts, T tokens, A blocks, S slots, H hidden size, V vocabulary, V' tokens that are read out, R rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.core.draws import Chooser
from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS, Needs, bytes_of
from specviz.drafters.learned.flash_drafting import FlashDrafter, FlashOptions
from specviz.drafters.learned.flash_network import FlashShape, FlashTrunk, Roots
from specviz.drafters.learned.head_networks import Bigram
from specviz.drafters.learned.module import MODULES, FeatureBatch, TargetParts
from specviz.lm.base import Cache, Chain, LanguageModel
from specviz.lm.chains import as_it_runs, write_chain
from specviz.lm.products import linear
from specviz.options import option
from specviz.trace.declared_method import Candidates


@dataclass(frozen=True)
class DSparkShape(FlashShape):
    """Size of the network and of the table."""

    rank: int = option(64, help="rank of the table of which token follows which", minimum=1, maximum=512)


@MODULES.register("dspark")
class DSparkModule(FlashTrunk[DSparkShape]):
    """The network of `dflash`, a low-rank table over neighbours, and a head that guesses acceptance."""

    explanation: ClassVar[str] = (
        "A block filled in one pass, a table of which token follows which, and a head that says when to stop."
    )

    def __init__(self, target: TargetParts, options: DSparkShape) -> None:
        super().__init__(target, options)
        kept = len(target.head) if self.map is None else len(self.map.d2t)
        self.bigram = Bigram(kept, options.rank)
        self.confidence = nn.Linear(self.hidden_size + options.rank, 1)
        self.blind = nn.Linear(self.hidden_size, 1)
        """the same guess, before any of the block's tokens is known"""
        for guess in (self.confidence, self.blind):
            nn.init.zeros_(guess.weight)
            nn.init.zeros_(guess.bias)

    def before(self, tokens: Tensor) -> Tensor:
        """What tokens [...] bring into the slot behind them [..., R]; zeros for one that cannot be drafted."""
        if self.map is None:
            return self.bigram.before[tokens]
        kept = self.map.t2d[tokens]
        rows = torch.searchsorted(self.map.tokens, tokens).clamp(max=len(self.map.d2t) - 1)
        return self.bigram.before[rows] * kept[..., None]

    def logits(self, states: Tensor, before: Tensor) -> Tensor:
        """[..., V'] of slots with the states [..., H], behind tokens with the rows [..., R] of `before`."""
        blind = functional.linear(states, self.read_head())
        return blind + functional.linear(before, self.bigram.after)

    def weights_read(self) -> int:
        return super().weights_read() + bytes_of(self.bigram.after, self.confidence, self.blind)

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """The distance of the target to every slot that was told the text's own token before it, and how well both
        guesses say the share that the target would take: 1 - ½ Σ |p - q|."""
        roots = Roots.of(batch, self.options.slots, self.options.anchors if self.training else None)
        said = batch.target_logits(self.head)  # [B, T, V]
        target = roots.wanted(self.known(said) - said.logsumexp(-1, keepdim=True))  # [B, A, S, V'] as logarithms
        wanted = target.log_softmax(-1)  # of the tokens that are read out alone
        states = self.states(batch, roots, self.shown(roots))[:, :, : roots.slots]  # [B, A, S, H]
        before = self.before(roots.tokens(batch.tokens, roots.slots))  # [B, A, S, R]
        logits = self.logits(states, before)  # [B, A, S, V']
        taken = torch.minimum(target.exp(), logits.detach().float().softmax(-1)).sum(-1).clamp(0.0, 1.0)  # [B, A, S]
        sure = self.confidence(torch.cat([states, before.to(states.dtype)], -1))[..., 0].float()  # [B, A, S]
        terms, blind = {}, self.blind(states)[..., 0].float()
        for k, weight in enumerate(self.weights_of(roots.slots)):
            terms[f"slot_{k + 1}"] = weight * batch.distance(logits[:, :, k], wanted[:, :, k])
        share = torch.tensor(self.weights_of(roots.slots), device=sure.device)  # [S]
        for name, guess in (("confidence", sure), ("blind", blind)):
            missed = functional.binary_cross_entropy_with_logits(guess, taken.to(guess.dtype), reduction="none")
            terms[name] = (missed.mean((0, 1)) * share).sum()
        return terms

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        roots = Roots.of(batch, 1, None)
        states, count = self.states(batch, roots), len(roots.at[0])  # [B, T - 1, S, H]
        before = self.before(roots.tokens(batch.tokens, self.options.slots))  # [B, T - 1, S, R]
        return [
            self.whole(self.logits(states[:, : count - k, k], before[:, : count - k, k]))
            for k in range(min(most, self.options.slots, count))
        ]


@dataclass(frozen=True)
class DSparkOptions(FlashOptions):
    """Weights, and shape of the draft."""


@DRAFTERS.register("dspark")
class DSparkDrafter(FlashDrafter[DSparkOptions]):
    """One pass fills a block of masked places, a small table restores its order, and a head says when to stop.

    The block is that of `dflash`. A low-rank table of which token follows which is added to each place once the token
    before it is chosen, so that neighbours fit; a trained head says of each place, before its token is drawn, how
    likely the target takes it, for the stop policy `survival`. DSpark (2607.05147).
    """

    candidates: ClassVar[Candidates] = Candidates(slots="slots", from_states=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's states of the whole text, a block of masked places, and which token follows which",
        training="a network of two layers, a table and a small head, on the target's states",
        memory="its weights, and keys and values of the text in its own layers",
    )
    pass_reads: ClassVar[str] = "its layers, the table, the small heads and the target's head, or its part of it"
    module_type = DSparkModule

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        super().attach(target, cache)
        bigram = self.module.bigram
        self._pairs = as_it_runs(bigram, bigram.as_table)

    def chain(self, root: int, chooser: Chooser) -> Chain | None:
        if self._pairs is None or self.module.map is not None:
            return None
        return write_chain(self.slots, chooser, root, self._pairs)

    def behind(self, blind: Tensor, states: Tensor, tokens: Sequence[int]) -> Tensor:
        if self._pairs is not None and self._pairs.takes(len(tokens)) and self.module.map is None:
            return blind + self._pairs.behind(tokens)
        before = self.module.before(torch.tensor(tokens, device=self.device))  # [n, R]
        rows: Tensor = blind + linear(before, self.module.bigram.after)
        return rows

    def confidence(self, tree: DraftTree, node: int) -> float | None:
        state = self.states[tree.depths[node]]  # [H]
        before = self.module.before(torch.tensor(tree.tokens[node], device=self.device))  # [R]
        return float(self.module.confidence(torch.cat([state, before])).sigmoid())

    @property
    def module(self) -> DSparkModule:
        """As it was attached."""
        assert isinstance(self.trunk, DSparkModule), f"'{self.trunk.name}' has no table."
        return self.trunk
