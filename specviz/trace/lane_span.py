"""What a drafter that works beside the target's passes did, and when: spans on the engine's clock.

Part of a round's `drafted` (format 1.2). The words are those of `protocol.lanes`, which sets several runs side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BESIDE = "drafter"
"""lane of a drafter that drafts in a process of its own, while the target's pass runs"""
IN_TURN = "drafter, in turn"
"""lane of the same drafter made to draft in the target's process, where nothing overlaps: a run that can be repeated
candidate by candidate, and no measurement of working side by side"""

LaneWork = Literal["draft", "roll back"]


@dataclass(frozen=True, slots=True)
class LaneSpan:
    """A lane busy with one thing. Between two spans of a lane it waits."""

    lane: str
    """`drafter`: a process of its own; `drafter, in turn`: the target's process, between its passes"""
    what: LaneWork
    """`roll back` takes no time: what was drafted is no continuation of the text any more"""
    start_s: float
    """on the clock of `Round.start_s`, and so mostly inside the target's pass, or before the round began"""
    end_s: float
    tokens: int
    """drafted, or thrown away"""
