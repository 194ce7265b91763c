"""The network of `cross_kv` as it is trained: whole texts at once, every token as a draft would reach it.

Its layers are in `cross_network`, its shapes in `cross_shape`. Registers nothing.

Shapes: B texts, T tokens, K depths, H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.parts.cross_network import CrossLayer, Masks, Own, Turns, as_they_run, by_blocks, look
from specviz.drafters.parts.cross_shape import ANCHORS, LONGSPEC, CrossKVShape
from specviz.drafters.parts.first_guess import QUIET, least_squares
from specviz.drafters.parts.trained import DrafterModule, FeatureBatch, TargetParts
from specviz.drafters.parts.weights_read import bytes_of
from specviz.lm.kernels import Projection
from specviz.options import Options


class CrossTrunk(DrafterModule[CrossKVShape]):
    """A subclass is registered."""

    reads_rows: ClassVar[bool] = True

    def __init__(self, target: TargetParts, options: CrossKVShape) -> None:
        super().__init__(target, options)
        hidden = target.head.shape[1]
        count = max(1, len(options.depths(self.target.layers)))
        self.layers = nn.ModuleList(CrossLayer(hidden, options, target.row) for _ in range(count))
        self.enter = nn.Linear(hidden, hidden, bias=False)
        spread = float(target.embedding.float().std())
        self.scale = 1.0 / spread if spread > 0 else 1.0
        self._lean: LeanCross | None = None

    @classmethod
    def folder_name(cls, options: Options) -> str:
        assert isinstance(options, CrossKVShape), "these are options of another module."
        return cls.name if options.preset == LONGSPEC else f"{cls.name}_{options.preset}"

    def stack(self) -> list[CrossLayer]:
        """Its layers, first to last."""
        return [layer for layer in self.layers if isinstance(layer, CrossLayer)]

    def depths(self) -> Sequence[int]:
        return self.options.depths(self.target.layers)

    def positions(self, length: int) -> Tensor | None:
        """Anchor-offset positions: the first tokens stay, the others move on together, up to the end of the context."""
        if not (self.options.moves_text and self.training):
            return None
        most = max(0, self.target.context_length - length)
        anchors, offset = int(torch.randint(0, ANCHORS + 1, ())), int(torch.randint(0, most + 1, ()))
        place = torch.arange(length)
        return torch.where(place < anchors, place, place + offset)

    @torch.no_grad()
    def begin(self, batch: FeatureBatch) -> None:
        """Tokens enter as the least squares of the target's state there, to which the layers add little at first."""
        self.enter.weight.copy_(least_squares(self._scaled(batch.tokens).flatten(0, 1), batch.final.flatten(0, 1)))
        for layer in self.stack():
            layer.out.weight.mul_(QUIET)
            layer.down.weight.mul_(QUIET)
            if layer.across is not None:
                layer.across_out.weight.mul_(QUIET)

    def _scaled(self, tokens: Tensor) -> Tensor:
        return functional.embedding(tokens, self.embedding) * self.scale

    def embedded(self, tokens: Tensor) -> Tensor:
        """What the layers read of tokens [...]; [..., H]."""
        found: Tensor = self.enter(self._scaled(tokens))
        return found

    def weights_read(self) -> int:
        """Its layers and the target's head, less what projects the target's states, which is done once a round; what a
        token enters as is looked up."""
        return bytes_of(self.layers, self.head) - bytes_of(*self.projections())

    def projections(self) -> list[nn.Module]:
        """What the target's states go through, where they do."""
        return [one for layer in self.stack() if layer.project is not None for one in (layer.state_norm, layer.project)]

    def read(self, states: Tensor) -> Tensor:
        """Logits [..., V] of the last layer's states [..., H], which stand for the target's behind its norm."""
        return functional.linear(states, self.head)

    def states(self, batch: FeatureBatch, masks: Masks) -> Tensor:
        """The last layer's [B, T, H] at all tokens of the texts, each as a draft with this root would reach it; where
        the batch holds the ends of texts alone, `masks` knows how many of the target's rows stand before them."""
        rows = batch.rows
        assert rows is not None, "the target's rows are missing in this batch."
        positions, x = rows.positions[-batch.tokens.shape[1] :], self.embedded(batch.tokens)

        def across(queries: Tensor) -> Tensor:
            return look(rows.turned(queries, positions), rows.keys, rows.values, masks.target)

        turns = self.stack()[0].turns(positions)
        for number, layer in enumerate(self.stack()):
            x = layer(x, turns, self._own(layer, number, batch, turns, masks), across)
        return x

    def _own(self, layer: CrossLayer, number: int, batch: FeatureBatch, turns: Turns, masks: Masks) -> Own:
        """Attention of a layer to its own rows, and by the same softmax to projected states where it reads those."""
        if not self.options.projects:
            return lambda queries, keys, values: look(queries, keys, values, masks.own)
        kept, held = layer.state_rows(batch.features[:, :, number], turns)
        seen = torch.cat([masks.target, masks.own], 1)
        return lambda queries, keys, values: look(
            queries, torch.cat([kept, keys], -2), torch.cat([held, values], -2), seen
        )

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """The distance of the target to it wherever the target has read something, and its cross entropy to the text;
        the target's last rows are left out as `noisy` and the preset say."""
        length, device = batch.tokens.shape[1], batch.tokens.device
        masks = Masks(self._gaps(length, device), self.options.text_tokens)
        places = (masks.root >= 1).nonzero()[:, 0]
        logits = self.read(self.states(batch, masks)[:, places])
        known = batch.target_logits(self.head)[:, places].log_softmax(-1)
        terms = {"token": batch.distance(logits, known)}
        if self.options.share_of_text:
            said, follows = logits[:, :-1].flatten(0, 1).float(), batch.tokens[:, places[:-1] + 1].flatten()
            terms["text"] = self.options.share_of_text * functional.cross_entropy(said, follows)
        return terms

    def _gaps(self, length: int, device: torch.device) -> Tensor:
        """Flash-noisy training leaves out as many rows for all of a text; the block mask of the other two goes by where
        in a block a token stands."""
        if not self.options.noisy:
            return torch.ones(length, dtype=torch.int64, device=device)
        drawn = int(torch.randint(0, self.options.block, ()))
        if self.options.preset == LONGSPEC:
            return torch.full((length,), 1 + drawn, device=device)
        return by_blocks(length, self.options.block, drawn, device)

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """Of drafts begun at every place: with blocks of `most` tokens, cut at each of their places in turn. Of a text
        whose end alone the batch holds (longspec; see `TargetRows`), those are right whose window lies within it."""
        texts, length = batch.tokens.shape
        before = 0 if batch.rows is None else batch.rows.keys.shape[2] - length
        assert before == 0 or self.options.preset == LONGSPEC, "own rows of the whole text are needed."
        most = min(most, length - 1)
        found = [batch.final.new_empty(texts, length - 1 - k, self.head.shape[0]) for k in range(most)]
        place = torch.arange(length, device=batch.tokens.device)
        for phase in range(most):
            gaps = by_blocks(length, most, phase, batch.tokens.device)
            logits = self.read(self.states(batch, Masks(gaps, self.options.text_tokens, before)))
            for k in range(most):
                here = place[(gaps == k + 1) & (place > k)]
                found[k][:, here - 1 - k] = logits[:, here].to(found[k].dtype)
        return found

    def lean(self) -> LeanCross:
        """As it runs, with the weights it has now; made once."""
        if self._lean is None:
            self._lean = LeanCross(self)
        return self._lean


class LeanCross:
    """The network as it runs: the fastest products for few rows, and what enters for a token looked up."""

    @torch.inference_mode()
    def __init__(self, trunk: CrossTrunk) -> None:
        self._head = Projection(trunk.head)
        self.layers = as_they_run(trunk.stack(), self._head)
        self._entering = trunk.embedded(torch.arange(len(trunk.embedding), device=trunk.embedding.device))

    def embedded(self, tokens: Tensor) -> Tensor:
        """What the layers read of tokens [n]; [n, H]."""
        return functional.embedding(tokens, self._entering)

    def read(self, states: Tensor) -> Tensor:
        """Logits [n, V] of the last layer's states [n, H]."""
        return self._head(states)
