"""Drafts with the target less some of its sub-layers: the same weights, fewer products.

Which sub-layers can be missed is found by a search (`specviz/training/skips.py`), or given.
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
from specviz.resources import ROOT as ASSETS
from specviz.resources import read_json

SKIPS_FILE = ASSETS / "skips.json"


@dataclass(frozen=True)
class SelfSpeculativeOptions(ShapeOptions):
    """Shape of the draft, and what is skipped."""

    gamma: int = option(
        2, help="tokens drafted per round, as a chain", minimum=1, maximum=32, unless="branching", shape=True
    )
    skip_attention: tuple[int, ...] = option(
        (),
        help="layers, from 1, whose attention is skipped; neither this nor skip_mlp: what the search found for this "
        "target, or else every second layer",
        minimum=1,
        maximum=512,
    )
    skip_mlp: tuple[int, ...] = option((), help="layers, from 1, whose MLP is skipped", minimum=1, maximum=512)


@DRAFTERS.register("self_speculative")
class SelfSpeculativeDrafter(OwnLayersDrafter[SelfSpeculativeOptions]):
    """The target itself drafts, with some attention and MLP sub-layers left out.

    No second model and no training: a search finds which sub-layers the target can miss. The target's pass then runs
    every layer anew for every candidate. Goes with the stop policy `draft_verify`, whose threshold adapts.
    Draft & Verify (Zhang et al., 2309.08168).
    """

    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target, some sub-layers left out", training="none; a search for the sub-layers to leave out"
    )
    pass_reads: ClassVar[str] = "the target's sub-layers that are not skipped, and its head"

    def blocks(self, target: SplitModel) -> Blocks:
        attention, mlp = skipped(self.options, target)
        layers = target.info.layers
        beyond = [layer for layer in (*attention, *mlp) if layer > layers]
        if beyond:
            raise OptionError(
                f"layer {beyond[0]} is to be skipped, but {target.info.name} has {layers} layers; choose 1 to {layers}."
            )
        self._skipped = (attention, mlp)
        every = range(layers)
        return Blocks(
            frozenset(i for i in every if i + 1 not in attention), frozenset(i for i in every if i + 1 not in mlp)
        )

    def close(self, rows: BorrowedRows, proposal: Proposal) -> Proposal:
        rows.drop()
        proposal.note["skipped_attention"], proposal.note["skipped_mlp"] = map(list, self._skipped)
        return proposal


def skipped(options: SelfSpeculativeOptions, target: SplitModel) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Layers, from 1, whose attention and whose MLP are skipped: as asked, as found by the search, or every second."""
    if options.skip_attention or options.skip_mlp:
        return options.skip_attention, options.skip_mlp
    found = found_by_search(target.info.weights_sha256)
    if found is not None:
        return found
    half = tuple(range(2, target.info.layers + 1, 2))
    return half, half


def found_by_search(weights_sha256: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shipped result for these weights, if there is one."""
    if not SKIPS_FILE.is_file():
        return None
    entry = read_json(SKIPS_FILE).get(weights_sha256)
    return None if entry is None else (tuple(entry["skip_attention"]), tuple(entry["skip_mlp"]))
