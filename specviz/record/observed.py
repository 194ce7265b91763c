"""One round of `generate` as it was seen from outside: what was drafted, scored, drawn and committed, and how long.

Filled in by `watch`, turned into an event by `rounds`. Tensors are on the device they were computed on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from specviz.trace.events import Pass


@dataclass(slots=True)
class Clock:
    """Seconds per phase; what transformers does between two rounds belongs to the commit of the first."""

    draft: float = 0.0
    score: float = 0.0
    """from the draft's end to the end of the target's pass"""
    target: float = 0.0
    """the target's pass alone, a part of `score`"""
    judge: float = 0.0
    commit: float = 0.0

    @property
    def total(self) -> float:
        return self.draft + self.score + self.judge + self.commit


@dataclass(slots=True)
class Observed:
    """With n candidates and a vocabulary of V."""

    text: list[int]
    """prompt and committed tokens before the round"""
    candidates: list[int] = field(default_factory=list)
    draft_logits: Tensor | None = None
    """[n, V] after temperature and cuts: what the candidates were chosen by; None: they were not a model's"""
    draft_raw: list[Tensor] = field(default_factory=list)
    """[V] per pass of the drafter: its own logits"""
    passes: list[Pass] = field(default_factory=list)
    target_raw: Tensor | None = None
    """[n + 1, V] the target's own logits after the text and after each candidate"""
    target_logits: Tensor | None = None
    """[n + 1, V] the same after temperature and cuts"""
    uniforms: list[float] = field(default_factory=list)
    """one per candidate where candidates are judged with q"""
    drawn: list[int] = field(default_factory=list)
    """tokens that the target drew: one, or one per row where no q is used"""
    committed: list[int] = field(default_factory=list)
    cache: Any = None
    """the target's cache, until the round is over"""
    cache_rows: int = 0
    """its rows then"""
    clock: Clock = field(default_factory=Clock)
