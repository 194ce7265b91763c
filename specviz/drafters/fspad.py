"""FSPAD-style drafting: EAGLE's network with feature sampling and partial alignment as switches. Our reading.

The paper's exact operators are not public; what is known is two ideas, and this file is one way to build them on
EAGLE's trunk. With both switched off it is EAGLE-1 (a test holds it to that).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from specviz.drafters.base import DRAFTERS, Needs
from specviz.drafters.learned.eagle_drafting import StateDrafter, StateOptions
from specviz.drafters.learned.eagle_layers import Wiring
from specviz.drafters.learned.eagle_network import EAGLE1, EagleShape, EagleTrunk
from specviz.drafters.learned.module import MODULES
from specviz.drafters.learned.weights import module_for
from specviz.errors import OptionError
from specviz.lm.base import GivesFeatures
from specviz.lm.products import Linear, Product, Short, shortened
from specviz.options import option
from specviz.trace.declared_method import Candidates


@dataclass(frozen=True)
class FspadShape(EagleShape):
    """EAGLE's shape, and both ideas."""

    unroll: int = option(1, help="steps that a draft is unrolled in training; 1: as in the paper", minimum=1, maximum=8)
    sampling: int = option(
        2, help="m: how much wider the state is where the token picks from it; 1: both joined, as EAGLE", minimum=1
    )
    alignment: float = option(
        0.3, help="β: share of the token loss's gradient that reaches the state; 1: all", minimum=0.0, maximum=1.0
    )
    beside: float = option(
        0.25, help="r, as a share of the hidden size: outputs for the head alone; 0: none", minimum=0.0, maximum=1.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.wiring != EAGLE1:
            raise OptionError(f"wiring is {self.wiring}, but feature sampling replaces EAGLE-1's join; use {EAGLE1}.")


@MODULES.register("fspad")
class FspadModule(EagleTrunk[FspadShape]):
    """Token and state are joined in m·H dimensions; r outputs beside the state serve the head alone."""

    explanation: ClassVar[str] = (
        "EAGLE's layer in which the token picks from a wider state, and the guess for the head may part from the state."
    )

    @property
    def extra(self) -> int:
        share = self.options.beside
        return max(1, round(share * self.hidden_size)) if share > 0 else 0

    def _add_join(self, hidden: int) -> None:
        wide = self.options.sampling * hidden
        if self.joins_by_one_matrix:
            super()._add_join(hidden)
        else:
            self.up = Linear(hidden, wide, bias=False)
            self.gate = Linear(hidden, wide, bias=False)
            self.down = Linear(wide, hidden, bias=False)
            self.token = Linear(hidden, hidden, bias=False)
        self.to_head = Linear(self.extra, hidden, bias=False) if self.extra else None

    @property
    def joins_by_one_matrix(self) -> bool:
        return self.options.sampling == 1

    def join(self, embedded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if self.joins_by_one_matrix:
            return super().join(embedded, state)
        token = embedded * self.scale
        picked = self.up(state.to(token.dtype)) * torch.sigmoid(self.gate(token))
        x = self.down(picked) + self.token(token)
        return x, x

    def read(self, out: Tensor) -> Tensor:
        if self.to_head is None:
            return out
        hidden = self.hidden_size
        found: Tensor = out[..., :hidden] + self.to_head(out[..., hidden:])
        return found

    def wiring(self) -> Wiring:
        beside = None if self.to_head is None else Product.of(self.to_head.weight.detach(), None)
        if self.joins_by_one_matrix:
            return Wiring(beside=beside)
        both = torch.cat([self.gate.weight, self.token.weight]).detach()  # [(m + 1)·H, H]
        short = shortened(both) or Short(both)
        scales = torch.full((len(both),), self.scale, device=both.device)  # of embeddings
        picks = Product.of(both, None, Short(short.weight, scales if short.scales is None else scales * short.scales))
        up, down = (Product.of(layer.weight.detach(), None) for layer in (self.up, self.down))
        return Wiring(down, picks, up, beside)

    def aligned(self, out: Tensor) -> Tensor:
        """The same values; of the token loss's gradient a share β reaches the state."""
        state, beside = out[..., : self.hidden_size], out[..., self.hidden_size :]
        share = self.options.alignment
        if share == 1.0:
            return out
        return torch.cat([share * state + (1.0 - share) * state.detach(), beside], -1)


@DRAFTERS.register("fspad")
class FspadDrafter(StateDrafter[StateOptions]):
    """EAGLE's layer with feature sampling and partial alignment. Our reading: the paper's operators are not public.

    The drawn token picks from the state in a wider space, where plain joining leaves it open which token was drawn; and
    what the head reads may part from the state that is handed on, so that "look like the target's state" and "be sure
    of the token" do not pull at the same numbers.
    FSPAD (2408.15562): known are these two ideas and the gain over EAGLE-2, not the matrices.
    """

    candidates: ClassVar[Candidates] = Candidates(pairs=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's states along its own passes",
        training="one layer, on the target's states",
        memory="one layer's weights and cache; the target's embedding and head are shared",
    )

    def network(self, target: GivesFeatures) -> EagleTrunk[Any]:
        module = module_for(FspadModule, self.options.weights, target)
        assert isinstance(module, FspadModule), "the registry gave another class."
        return module
