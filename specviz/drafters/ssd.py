"""SSD: while the target reads a draft, the drafter's process drafts on behind the verdicts that are likeliest.

hit   the verdict was drafted for: its draft is there, and the target reads on at once
miss  it was not: the draft is made then, as if in turn
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from specviz.asynchronous.foresight import Plan
from specviz.asynchronous.machines import Machine, Reach, verifier
from specviz.asynchronous.side import DraftingSide
from specviz.drafters.base import DRAFTERS, Needs
from specviz.drafters.drafting.beside import BesideDrafter
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates


@dataclass(frozen=True)
class SsdOptions(Options):
    """How long a draft is, for how many verdicts the next one is prepared, and where."""

    gamma: int = option(4, help="tokens of a draft", minimum=1, maximum=32, counts="levels")
    fan_out: int = option(
        2,
        help="verdicts that are drafted for behind each count of accepted tokens: the tokens likeliest there, by the "
        "drafter; 0: none, which is drafting in turn",
        minimum=0,
        maximum=16,
    )
    in_turn: bool = option(
        False,
        help="draft in this process before each pass of the target, which wins no time, and not in one of its own",
    )


@DRAFTERS.register("ssd")
class SsdDrafter(BesideDrafter[SsdOptions]):
    """While the target reads a draft, a smaller model in a process of its own drafts on behind its likeliest verdicts.

    A verdict is a number of accepted tokens and the token that follows. Where the one that comes was drafted for, the
    next draft is handed over at once; where it was not, it is drafted then. Which tokens are drafted is the same every
    time, whatever the clock says. Candidates are point masses. Speculative speculative decoding, 2603.03251.
    """

    candidates: ClassVar[Candidates] = Candidates(deepest="gamma", beside=True, in_turn="in_turn")
    needs: ClassVar[Needs] = replace(
        BesideDrafter.needs, memory="the small model's weights, cache and branches in a second process"
    )

    def in_turn(self) -> tuple[str, int]:
        return "in_turn", self.options.gamma + 1 if self.options.in_turn else 0

    def ahead(self) -> int:
        return self.options.gamma

    def plan(self, reach: Reach) -> Plan:
        return Plan(self.options.gamma, self.options.fan_out, reach.draft)

    def machine(self, reach: Reach, side: DraftingSide) -> Machine:
        gamma = self.options.gamma
        return verifier(side.board, reach, gamma, gamma, lambda token: False, lambda: side.is_drafting, gamma)
