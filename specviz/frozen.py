"""Data that nobody changes, as cheap to make as any: for what a round makes dozens of; and data one of whose fields is
made when somebody first looks at it.

A frozen dataclass sets each field by a call of its own, which was a tenth of what the engine does around a draft's
passes. Here the type checker alone forbids changes, in our code and in that of whoever checks types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """`dataclass(frozen=True, slots=True)` as types are checked; equal and hashable by its fields."""
    return dataclass(slots=True, unsafe_hash=True)(cls)


class FormedLater:
    """Of such data, with slots: one field may stay empty until the first look at it, which forms it."""

    __slots__ = ("_later",)
    LATER: ClassVar[str]
    """that field"""

    def _form_later(self, form: Callable[[int], object], number: int) -> None:
        """Let `form(number)` make that field at the first look at it; of data that nobody has seen yet."""
        object.__setattr__(self, "_later", (form, number))
        object.__delattr__(self, self.LATER)

    if not TYPE_CHECKING:  # the field is of the type that its class declares, formed or not

        def __getattr__(self, name: str) -> object:  # asked only where nothing of that name is there
            if name != self.LATER:
                raise AttributeError(f"a {type(self).__name__} has no '{name}'.")
            form, number = self._later
            formed = form(number)
            object.__setattr__(self, name, formed)
            object.__delattr__(self, "_later")
            return formed
