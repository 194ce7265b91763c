"""Draws choices and writes one document from templates; keeps the document's skeleton.

Place in the flow: below every family. A document is a pure function of its key and its side of the split.
It knows no family, no token and no file.
"""

import random
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, TypeVar

Item = TypeVar("Item")

HELD_OUT_SHARE = 0.1
MOST_DRAWS = 2000
CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
SOFT_START = re.compile(r"^(hour|[aeio](?!ne\b)|u(?!ni|se))", re.IGNORECASE)


def is_held_out(label: str, *parts: object, share: float = HELD_OUT_SHARE) -> bool:
    """Whether a combination belongs to the held-out side: decided by its own words, never by chance or order."""
    digest = sha256("|".join([label, *map(_name, parts)]).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 < share


def _name(part: object) -> str:
    return "&".join(map(_name, part)) if isinstance(part, tuple) else str(part)


class Word(str):
    """A slot's value that a template may ask for with an article (`{x:a}`) or a capital (`{x:c}`, `{x:A}`)."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """`a`: with a or an; `c`: first letter large; `A`: both."""
        text = str(self)
        if spec in ("a", "A"):
            text = ("an " if SOFT_START.match(text) else "a ") + text
        return text[:1].upper() + text[1:] if spec in ("c", "A") else text


class Draw:
    """Seeded choices for one document, on one side of the split."""

    def __init__(self, key: str, held_out: bool) -> None:
        """`key` decides every choice."""
        self.random = random.Random(key)
        self.held_out = held_out

    def one(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[self.random.randrange(len(items))]

    def several(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` different ones, in random order."""
        return self.random.sample(items, count)

    def chance(self, share: float) -> bool:
        """True in that share of the cases."""
        return self.random.random() < share

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return self.random.randint(low, high)

    def combination(self, label: str, *pools: Sequence[Any]) -> tuple[Any, ...]:
        """One item of every pool, so that together they belong to this document's side."""
        for _ in range(MOST_DRAWS):
            drawn = tuple(self.one(pool) for pool in pools)
            if is_held_out(label, *drawn) == self.held_out:
                return drawn
        raise ValueError(f"No combination of '{label}' on the side held_out={self.held_out}: give more to choose from.")


class Page:
    """One document under construction: its text and its skeleton, the templates before their slots are filled."""

    def __init__(self, draw: Draw, **slots: object) -> None:
        """`slots` may be used by every template."""
        self.draw = draw
        self.slots: dict[str, object] = {}
        self.texts: list[str] = []
        self.frames: list[str] = []
        self.know(**slots)

    def know(self, **slots: object) -> None:
        """Adds slots or replaces them; text becomes a `Word`."""
        self.slots |= {name: Word(value) if isinstance(value, str) else value for name, value in slots.items()}

    def say(self, *templates: str) -> None:
        """Writes one of the templates: `[this|that]` is a choice, `{name}` a slot."""
        frame = self.draw.one(templates)
        while CHOICE.search(frame):
            frame = CHOICE.sub(lambda match: self.draw.one(match[1].split("|")), frame, count=1)
        self.frames.append(frame)
        self.texts.append(frame.format(**self.slots))

    def maybe(self, share: float, *templates: str) -> None:
        """Writes one of the templates in that share of the cases."""
        if self.draw.chance(share):
            self.say(*templates)

    @property
    def text(self) -> str:
        """The document so far."""
        return "".join(self.texts)

    @property
    def skeleton(self) -> str:
        """The document with its slots unfilled."""
        return "".join(self.frames)
