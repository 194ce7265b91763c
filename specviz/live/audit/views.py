"""A checkpoint as a drafter reads it: the target's first layers, or a model whose head keeps some tokens only.

Written down from what the header's options say, and not taken from the drafters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from specviz.live.audit.checkpoints import Checkpoint
from specviz.theory.token_frequencies import kept_by, table_of
from specviz.trace.header import Started


class Says(Protocol):
    """Whatever gives logits after texts."""

    def logits(self, text: Sequence[int], tails: Sequence[Sequence[int]]) -> list[Tensor]:
        """As `Checkpoint.logits`."""
        ...


@dataclass(frozen=True)
class FirstLayers:
    """The target read out after so many layers, through its own norm and head (LayerSkip, 2404.16710)."""

    whole: Checkpoint
    layers: int

    def logits(self, text: Sequence[int], tails: Sequence[Sequence[int]]) -> list[Tensor]:
        return self.whole.logits(text, tails, self.layers)


@dataclass(frozen=True)
class TrimmedHead:
    """A model that can say some tokens only."""

    whole: Checkpoint
    kept: Sequence[int]

    def logits(self, text: Sequence[int], tails: Sequence[Sequence[int]]) -> list[Tensor]:
        found = []
        for rows in self.whole.logits(text, tails):
            trimmed = torch.full_like(rows, -torch.inf)
            trimmed[:, list(self.kept)] = rows[:, list(self.kept)]
            found.append(trimmed)
        return found


def _first_layers(started: Started, target: Checkpoint, own: Sequence[Checkpoint]) -> Says | None:
    after = started.drafter.options.get("exit_layer")
    return FirstLayers(target, after) if isinstance(after, int) and target.has_norm else None


def _trimmed(started: Started, target: Checkpoint, own: Sequence[Checkpoint]) -> Says | None:
    size, calibration = (started.drafter.options.get(name) for name in ("head_size", "calibration"))
    table = table_of(started.tokenizer.sha256)
    if not own or table is None or not isinstance(size, int) or calibration not in table.texts:
        return None
    return TrimmedHead(own[0], kept_by(table, str(calibration), size, started.eos_ids))


BY_OPTIONS: Mapping[str, Callable[[Started, Checkpoint, Sequence[Checkpoint]], Says | None]] = {
    "early_exit": _first_layers,
    "vocabtrim": _trimmed,
}
"""drafters that change a checkpoint as their options say → what they draw from"""


def drafts_through(started: Started, target: Checkpoint, own: Sequence[Checkpoint]) -> dict[str, Says]:
    """What candidates are marked with → what they were drawn from, of `BY_OPTIONS`; empty for others, and where it
    cannot be done with this checkpoint."""
    made = BY_OPTIONS.get(started.drafter.name)
    said = None if made is None else made(started, target, own)
    return {} if said is None else {started.drafter.name: said}
