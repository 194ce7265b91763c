"""Drafts with the target's own first layers: no second model, one cache.

The target's pass over the draft goes on from where drafting stopped, so that the first layers run once per token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.drafters.base import DRAFTERS, Needs, Proposal
from specviz.drafters.drafting.growing import ShapeOptions
from specviz.drafters.drafting.target_layers import BorrowedRows, OwnLayersDrafter
from specviz.errors import OptionError
from specviz.lm.base import Blocks, SplitModel
from specviz.options import option
from specviz.trace.declared_method import Candidates


@dataclass(frozen=True)
class EarlyExitOptions(ShapeOptions):
    """Shape of the draft, and after which layer the target is read out."""

    gamma: int = option(
        2, help="tokens drafted per round, as a chain", minimum=1, maximum=32, unless="branching", shape=True
    )
    exit_layer: int = option(2, help="how many of the target's first layers draft", minimum=1, maximum=512)


@DRAFTERS.register("early_exit")
class EarlyExitDrafter(OwnLayersDrafter[EarlyExitOptions]):
    """The target's first layers draft, read out through its own norm and head.

    Nothing to train or load beside the target, and one cache for both: the target's pass begins after the exit layer,
    on the states that drafting left. Drafting costs a share of exit_layer / layers of a pass per token, so short drafts
    pay. A target that was not trained to be read out early drafts badly.
    LayerSkip (Elhoushi et al., 2404.16710).
    """

    candidates: ClassVar[Candidates] = Candidates(hands_over=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's own first layers",
        training="none; a target trained to be read out early drafts better",
        memory="no weights and no cache of its own",
    )
    pass_reads: ClassVar[str] = "the target's first layers and its head"

    def blocks(self, target: SplitModel) -> Blocks:
        layers = target.info.layers
        if self.options.exit_layer >= layers:
            raise OptionError(
                f"exit_layer is {self.options.exit_layer}, but {target.info.name} has {layers} layers, and drafting "
                "with all of them saves nothing; choose fewer."
            )
        return Blocks.first(self.options.exit_layer)

    def close(self, rows: BorrowedRows, proposal: Proposal) -> Proposal:
        return self.hand_over(rows, proposal, self.options.exit_layer)
