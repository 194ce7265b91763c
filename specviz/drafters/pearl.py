"""PEARL: drafter and target work at the same time, and the target takes the draft γ tokens at a time.

pre-verify   the target says what the first drafted token must be, while γ are drafted
post-verify  the target reads the rest of them, while γ more are drafted
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.asynchronous.machines import Machine, Reach, pearl
from specviz.asynchronous.side import DraftingSide
from specviz.drafters.base import DRAFTERS
from specviz.drafters.drafting.beside import BesideDrafter
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates


@dataclass(frozen=True)
class PearlOptions(Options):
    """How much is drafted during a pass of the target, and where."""

    gamma: int = option(
        4,
        help="tokens drafted during a pass of the target; all but the first become candidates",
        minimum=2,
        maximum=32,
        counts="levels",
    )
    in_turn: bool = option(
        False,
        help="draft in this process before each pass of the target, which wins no time, and not in one of its own",
    )


@DRAFTERS.register("pearl")
class PearlDrafter(BesideDrafter[PearlOptions]):
    """While the target reads γ drafted tokens, a smaller model in a process of its own drafts the γ after them.

    The first token of a draft is confirmed by the very pass that it was drafted beside; where it is right the rest is
    read in the next pass, and where it is wrong the draft is given up and that pass gives one token. Which tokens are
    drafted is the same every time, whatever the clock says. Candidates are point masses.
    Liu et al. 2408.11850: pre-verify and post-verify.
    """

    candidates: ClassVar[Candidates] = Candidates(deepest="gamma", beside=True, in_turn="in_turn")

    def in_turn(self) -> tuple[str, int]:
        return "in_turn", self.options.gamma if self.options.in_turn else 0

    def ahead(self) -> int:
        return 2 * self.options.gamma

    def machine(self, reach: Reach, side: DraftingSide) -> Machine:
        return pearl(side.board, reach, self.options.gamma, lambda token: False, lambda: side.is_drafting)
