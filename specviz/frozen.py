"""Data that nobody changes, as cheap to make as any: for what a round makes dozens of.

A frozen dataclass sets each field by a call of its own, which was a tenth of what the engine does around a draft's
passes. Here the type checker alone forbids changes, in our code and in that of whoever checks types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """`dataclass(frozen=True, slots=True)` as types are checked; equal and hashable by its fields."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
