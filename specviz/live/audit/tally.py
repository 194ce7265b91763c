"""What was compared and what was wrong, counted as it goes."""

from __future__ import annotations

import numpy as np

from specviz.live.audit.laws import Law, Number
from specviz.protocol.audits import KINDS, MOST_DIFFERENCES, Audit, Count, Difference
from specviz.trace.events import TopK
from specviz.trace.rules.scene import HALF_DIGIT


class Tally:
    """One audit on its way."""

    def __init__(self, rounds: int, how: tuple[str, ...]) -> None:
        self._rounds = rounds
        self._how = how
        self._compared = dict.fromkeys(KINDS, 0)
        self._wrong = dict.fromkeys(KINDS, 0)
        self._differences: list[Difference] = []
        self._gaps: dict[str, int] = {}

    def so_far(self, done: int) -> Audit:
        counts = {kind: Count(self._compared[kind], self._wrong[kind]) for kind in KINDS}
        gaps = tuple(f"{what} ({times} times)" if times > 1 else what for what, times in self._gaps.items())
        return Audit(done, self._rounds, counts, tuple(self._differences), gaps, self._how)

    def skip(self, what: str) -> None:
        """Something was not recomputed; `what` is a clause with the reason."""
        self._gaps[what] = self._gaps.get(what, 0) + 1

    def compare(self, kind: str, place: str, holds: bool, recorded: object, recomputed: object) -> None:
        self._compared[kind] += 1
        if holds:
            return
        self._wrong[kind] += 1
        if len(self._differences) < MOST_DIFFERENCES:
            self._differences.append(Difference(place, _shown(recorded), _shown(recomputed)))

    def number(self, kind: str, place: str, stored: float, due: Number, rounding: float = HALF_DIGIT) -> None:
        """A stored number against a recomputed one; `rounding` is that of its record."""
        self.compare(kind, place, due.holds(stored, rounding), stored, due.value)

    def head(self, kind: str, place: str, head: TopK, law: Law) -> None:
        """Every probability of a recorded head, its rest, and that no token outside is more probable than its last."""
        if not head.tokens:
            return
        for index, (token, prob) in enumerate(zip(head.tokens, head.probs, strict=True)):
            self.number(kind, f"{place}.probs[{index}]", prob, law[token])
        outside = law.probs.copy()
        outside[head.tokens] = 0.0
        near = float(law.near[head.tokens].sum()) + len(head.tokens) * HALF_DIGIT
        self.number(kind, f"{place}.rest", head.rest, Number(float(outside.sum()), near))
        left_out = outside - law.near
        best, last = int(left_out.argmax()), law[head.tokens[-1]]
        bound = min(head.probs[-1] + last.near, head.rest + near) + HALF_DIGIT  # one token has at most all of the rest
        holds = bool(left_out[best] <= bound or np.isclose(outside[best], 0.0))
        self.compare(kind, f"{place}.tokens", holds, f"without token {best}", f"it {outside[best]:.6g}")


def _shown(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
