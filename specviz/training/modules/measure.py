"""Held-out acceptance of drafter modules, by depth, exactly: no draw is made.

Place in the flow: asked every few seconds by the training loop. The text is what the target itself writes after
beginnings that nothing was trained on, half of it greedily, half sampled at temperature 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from specviz.drafters.learned.module import DrafterModule
from specviz.options import Options
from specviz.training.modules.teacher import Reading, Teacher
from specviz.training.modules.texts import Domain, beginnings, written

DRAFT_LENGTH = 4
HELD_OUT_SEED = 10_007


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Along a text, drafting from every place of it; one number for each depth 1, 2, …"""

    acceptance: tuple[float, ...]
    """mean of Σ min(p, q) at temperature 1, given that all tokens before are the text's (2211.17192, §3.2)"""
    agreement: tuple[float, ...]
    """share of places where both have the same most likely token"""
    accepted: float
    """tokens of a greedy chain of that many depths that are accepted, on average over the greedy text's places"""

    def row(self) -> dict[str, Any]:
        """As plain data, rounded."""
        return {
            name: [round(one, 4) for one in value] if isinstance(value, tuple) else round(value, 4)
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class HeldOut:
    """A small fixed text of the target, read once."""

    reading: Reading
    probs: Tensor
    """[B, T, V], the target's at temperature 1"""
    greedy_rows: int
    """the first so many rows were written greedily"""

    @classmethod
    def write(
        cls,
        teacher: Teacher,
        domains: Sequence[Domain],
        english: float,
        depths: Sequence[int],
        rows: int,
        length: int,
        keeps_rows: bool = False,
    ) -> HeldOut:
        """Let the target write `rows` rows of `length` tokens after held-out beginnings; `keeps_rows`: the reading
        holds the last layer's keys and values."""
        half = max(1, rows // 2)
        blocks = []
        for temperature, count in ((0.0, half), (1.0, rows - half)):
            if count:
                given = beginnings(domains, english, count, HELD_OUT_SEED, teacher.end, held_out=True)
                blocks.append(written(teacher, given, length, temperature, HELD_OUT_SEED))
        tokens = torch.from_numpy(np.concatenate(blocks).astype(np.int64))
        reading = teacher.read(tokens, depths, keeps_rows)
        return cls(reading, reading.logits.softmax(-1), half)

    @torch.no_grad()
    def measure(self, module: DrafterModule[Options], most: int = DRAFT_LENGTH) -> Acceptance:
        """What of the module's drafts would be accepted; its training mode is left as it was."""
        was_training = module.training
        module.eval()
        drafts = module.drafts(self.reading.batch_for(module), most)
        module.train(was_training)
        wanted = self.reading.logits.argmax(-1)
        acceptance, agreement, alike = [], [], []
        for depth, logits in enumerate(drafts):
            text = slice(1 + depth, None)
            acceptance.append(float(torch.minimum(self.probs[:, text], logits.float().softmax(-1)).sum(-1).mean()))
            alike.append(logits.argmax(-1) == wanted[:, text])
            agreement.append(float(alike[-1].float().mean()))
        return Acceptance(tuple(acceptance), tuple(agreement), self._accepted(alike))

    @torch.no_grad()
    def by_context(
        self, module: DrafterModule[Options], places: Sequence[tuple[int, int]], most: int = DRAFT_LENGTH
    ) -> list[tuple[float, ...]]:
        """For each (shortest, longest) context: acceptance by depth, as in `Acceptance`, of the drafts whose text, root
        included, has so many tokens."""
        was_training = module.training
        module.eval()
        drafts = module.drafts(self.reading.batch_for(module), most)
        module.train(was_training)
        shares = [
            torch.minimum(self.probs[:, 1 + depth :], logits.float().softmax(-1)).sum(-1)  # [B, T - 1 - depth]
            for depth, logits in enumerate(drafts)
        ]
        return [tuple(float(share[:, low - 2 : high - 1].mean()) for share in shares) for low, high in places]

    def _accepted(self, alike: Sequence[Tensor]) -> float:
        """Mean number of leading depths that agree, over the places that every depth has."""
        places = alike[-1].shape[1]
        going, count = torch.ones(self.greedy_rows, places, dtype=torch.bool, device=alike[0].device), 0.0
        for tensor in alike:
            going &= tensor[: self.greedy_rows, :places]
            count += float(going.float().mean())
        return count
