"""What the Studies tab needs to know of a study: its question, its shipped result, and what draws that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Study(Generic[T]):
    """A result that was measured once and is shipped."""

    name: str
    """in links"""
    question: str
    intro: str
    """Markdown"""
    shipped: Callable[[], T | None]
    """the result; None where it is missing"""
    build: Callable[[T], None]
    """makes what shows it, inside the column that the tab gives it"""
