"""AMUSD: a drafter that waits for no verdict, and a target that takes what is there.

drafter  draft ─► draft ─► draft ─► roll back ─► draft ─► …      in a process of its own
target   ──── pass ────►  verdict  ──── pass ────►  verdict       here, over what was drafted by then
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.asynchronous.machines import Machine, Reach, verifier
from specviz.asynchronous.side import DraftingSide
from specviz.drafters.base import DRAFTERS
from specviz.drafters.drafting.beside import BesideDrafter
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates


@dataclass(frozen=True)
class AmusdOptions(Options):
    """How far the drafter may be ahead, and how much of that the target reads at once."""

    ahead: int = option(8, help="tokens that the drafter may be ahead of the text", minimum=1, maximum=64)
    widest: int = option(
        7, help="drafted tokens that one pass of the target reads", minimum=1, maximum=64, counts="levels"
    )
    drafts_per_pass: int = option(
        0,
        help="0: a process of its own drafts while the target's pass runs; above 0: so many tokens are drafted in this "
        "process before each pass, which is the same every time and wins no time",
        minimum=0,
        maximum=64,
    )


@DRAFTERS.register("amusd")
class AmusdDrafter(BesideDrafter[AmusdOptions]):
    """A smaller model drafts in a process of its own and goes on while the target reads: it waits for no verdict.

    The target takes what is drafted by then (it waits for one token), and what turns out wrong is rolled back. Worth
    it where drafting takes long beside the target's pass. How much is drafted depends on the clock: with the verifier
    `naive` and at temperature 0 the text is plain decoding's all the same; with others its distribution is. Candidates
    are point masses. McDanel 2410.17375.
    """

    candidates: ClassVar[Candidates] = Candidates(deepest="widest", beside=True, in_turn="drafts_per_pass")

    def in_turn(self) -> tuple[str, int]:
        return "drafts_per_pass", self.options.drafts_per_pass

    def ahead(self) -> int:
        return self.options.ahead

    def machine(self, reach: Reach, side: DraftingSide) -> Machine:
        return verifier(
            side.board, reach, self.options.ahead, self.options.widest, lambda token: False, lambda: side.is_drafting
        )
