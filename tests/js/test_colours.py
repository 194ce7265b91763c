"""Text colours of the player: 4.5:1 on every ground they stand on, in light and in dark (WCAG 2.2, 1.4.3)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSS = (Path(__file__).parents[2] / "assets" / "css" / "tokens.css").read_text(encoding="utf-8")
PAIRS = dict(re.findall(r"--sv-([\w-]+): light-dark\((#\w{6}, #\w{6})\)", CSS))
TEXTS = ["ink", "quiet", "accepted", "rejected", "alarm", "unreached", "correction", "bonus", "target-ink", "draft-ink"]
GROUNDS = ["ground", "soft", "pick"]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_twenty_one_to_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("light", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_can_be_read(text: str, ground: str, light: int) -> None:
    ratio = contrast(PAIRS[text].split(", ")[light], PAIRS[ground].split(", ")[light])
    assert ratio >= 4.5, f"{text} on {ground}: {ratio:.2f}"
