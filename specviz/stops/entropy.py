"""Stops where the drafter is so undecided that a bound on the acceptance rate is low."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from specviz.options import Options, option
from specviz.stops.base import STOPS, DraftView, Stop


@dataclass(frozen=True)
class EntropyOptions(Options):
    """The bound, and what it is held against."""

    scale: float = option(0.15, help="c in the bound 1 - sqrt(c H)", minimum=0.0, maximum=10.0)
    floor: float = option(0.3, help="go on while the bound is at least this", minimum=0.0, maximum=1.0)
    keep: bool = option(
        False, help="draw one more token where the bound is too low, then stop (as SVIP does; AdaEDL draws none)"
    )


@STOPS.register("entropy")
class EntropyStop(Stop):
    """Stops where 1 - sqrt(c H(q)) falls below a floor, H the entropy of the drafter's distribution in nats.

    The acceptance rate is estimated to be at least that (AdaEDL, 2410.18351; SVIP, 2411.18462). AdaEDL's form stops
    before drawing from such a distribution; with `keep` the token is drawn and submitted first, which is SVIP's
    form (its h = 0.3 is a floor of 0.7). The floor does not move here. H is taken after temperature, top-k and top-p.
    """

    name: ClassVar[str] = "entropy"
    options_type: ClassVar[type[Options]] = EntropyOptions

    def goes_below(self, draft: DraftView, node: int) -> bool:
        return not self.options.keep or self._sure(draft, draft.parent(node))

    def draws_at(self, draft: DraftView, node: int) -> bool:
        return bool(self.options.keep) or self._sure(draft, node)

    def _sure(self, draft: DraftView, node: int) -> bool:
        return 1.0 - sqrt(float(self.options.scale) * draft.entropy(node)) >= float(self.options.floor)
