"""How many bytes of weights a pass of a model reads, by its card: what MBSU counts.

Read by metrics, drafters and the check of a trace.
"""

from __future__ import annotations

from typing import Protocol

NUMBER_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
"""of a model card's dtype"""


class Weighed(Protocol):
    """A model by its card, in a trace or of one that is loaded."""

    @property
    def dtype(self) -> str: ...
    @property
    def read_per_pass(self) -> int: ...


def bytes_per_pass(card: Weighed) -> int:
    """Of weights that one of its passes reads; 0 where it is not known."""
    return card.read_per_pass * NUMBER_BYTES.get(card.dtype, 0)
