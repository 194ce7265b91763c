"""Which tokens a smaller head answers for, in a vocabulary too large to be read out whole for every draft.

    text ─ choose ─► the most frequent tokens ─► d2t, t2d, digest ─► the module's file ─ check ─► the head

The buffers are in the module's file, and `d2t` and `t2d` mean what they mean in published EAGLE-3 weights. A map that
does not fit its head makes drafts that only miss, and nothing else tells: so it carries a hash of itself.

Shapes: V vocabulary, V' kept tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from specviz.errors import ModelError, TrainingError

COVERAGE = 0.95
"""least share of held-out text that the kept tokens make up"""
HELD_OUT_SHARE = 5
"""one of so many tokens of a calibration text is held out"""


class TokenMap(nn.Module):
    """Kept tokens, ascending."""

    d2t: Tensor
    """[V'] int64: the kept token number i is i + d2t[i]"""
    t2d: Tensor
    """[V] bool: whether a token is kept"""
    digest: Tensor
    """[32] uint8: SHA-256 of the kept ids, so that a head is never read with another map"""

    def __init__(self, kept: int, vocab_size: int) -> None:
        super().__init__()
        # On the CPU even in a module that is only outlined: their numbers are checked as they are set.
        self.register_buffer("d2t", torch.zeros(kept, dtype=torch.int64, device="cpu"))
        self.register_buffer("t2d", torch.zeros(vocab_size, dtype=torch.bool, device="cpu"))
        self.register_buffer("digest", torch.zeros(32, dtype=torch.uint8, device="cpu"))
        self.coverage: float | None = None
        self.keep(range(kept))

    @property
    def tokens(self) -> Tensor:
        """[V'] ids."""
        return torch.arange(len(self.d2t), device=self.d2t.device) + self.d2t

    def keep(self, ids: Sequence[int]) -> None:
        """Take these ids, ascending."""
        kept = torch.tensor(list(ids), dtype=torch.int64, device=self.d2t.device)
        self.d2t.copy_(kept - torch.arange(len(kept), device=kept.device))
        self.t2d.zero_()
        self.t2d[kept] = True
        self.digest.copy_(digest_of(kept))

    def choose(self, text: Tensor, special: Sequence[int]) -> None:
        """Keep the most frequent tokens of text [n], with the special ones. Raises TrainingError where they are too few
        for a held-out part of it: drafts would miss silently."""
        held_out = text[len(text) - len(text) // HELD_OUT_SHARE :]
        counts = torch.bincount(text[: len(text) - len(held_out)].cpu(), minlength=len(self.t2d)).tolist()
        wanted = {*special}
        if len(wanted) > len(self.d2t):
            raise TrainingError(f"{len(self.d2t)} tokens cannot hold the {len(wanted)} special ones: keep more.")
        for token in sorted(range(len(counts)), key=lambda one: (-counts[one], one)):
            if len(wanted) == len(self.d2t):
                break
            wanted.add(token)
        self.keep(sorted(wanted))
        self.coverage = float(self.t2d[held_out.to(self.t2d.device)].float().mean())
        if self.coverage < COVERAGE:
            raise TrainingError(
                f"{len(self.d2t)} draft tokens cover {self.coverage:.1%} of held-out text, and fewer than "
                f"{COVERAGE:.0%} make drafts miss silently: keep more tokens."
            )

    def check(self, special: Sequence[int]) -> None:
        """Raises ModelError where the map does not fit its head, its vocabulary or its own digest."""
        kept, vocab_size = self.tokens, len(self.t2d)
        reason = ""
        if not bool(((kept >= 0) & (kept < vocab_size)).all()) or not bool((kept.diff() > 0).all()):
            reason = "names tokens that do not exist, or not in ascending order"
        elif int(self.t2d.sum()) != len(kept) or not bool(self.t2d[kept].all()):
            reason = "says of other tokens that they are kept than the ids it lists"
        elif missing := [token for token in special if not bool(self.t2d[token])]:
            reason = f"leaves out the special token {missing[0]}"
        elif not torch.equal(self.digest, digest_of(kept).to(self.digest.device)):
            reason = "has another hash than the one it was trained with"
        if reason:
            raise ModelError(f"the map of draft tokens {reason}; its head would say nonsense. Train it again.")


def digest_of(kept: Tensor) -> Tensor:
    """SHA-256 of ids as little-endian int64 [32] uint8."""
    data = kept.cpu().numpy().astype("<i8").tobytes()
    return torch.tensor(list(hashlib.sha256(data).digest()), dtype=torch.uint8, device="cpu")
