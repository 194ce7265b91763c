"""The tiny checkpoints of the language models' tests."""

from tests.lm.conftest import checkpoint, one_thread

__all__ = ["checkpoint", "one_thread"]
