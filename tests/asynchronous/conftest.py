"""The tiny checkpoints of the language models' tests."""

from __future__ import annotations

from tests.lm.conftest import checkpoint, one_thread

__all__ = ["checkpoint", "one_thread"]
