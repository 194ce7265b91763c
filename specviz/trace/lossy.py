"""Which methods of a run are lossy, and how far they were measured to take the text from the target.

The measurements are in `assets/lossy_distances.json`, written by `specviz prove lossy --write`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from specviz.resources import ROOT, without
from specviz.trace.header import MethodCard, Started

DISTANCES_FILE = "lossy_distances.json"


def methods(started: Started) -> list[MethodCard]:
    """Everything that takes part and could be lossy."""
    cards = (started.drafter, started.growth, started.stopping, started.verifier)
    return [card for card in cards if card is not None]


def lossy(started: Started) -> list[MethodCard]:
    """The lossy ones; empty for a run whose text follows the target's distribution."""
    return [card for card in methods(started) if not card.lossless]


@cache
def measured() -> dict[str, Any]:
    """The shipped measurements; none where the file is damaged."""
    return without(ROOT / DISTANCES_FILE, _read, {"rows": []})


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if not all(isinstance(row["method"], str) for row in found["rows"]):
        raise ValueError("a row names no method")
    return found


def distance(card: MethodCard) -> str:
    """What was measured of a lossy method, as words with the conditions; that nothing was, where so."""
    for row in measured()["rows"]:
        if row["method"] == card.name:
            options = "".join(f", {name} {value:g}" for name, value in row["options"].items())
            conditions = f"{row['prompts']} prompts on the bundled pair (T={row['temperature']:g}{options})"
            return f"total variation {row['total_variation']:.3f} of {row['law_of']}, mean of {conditions}"
    return "distance not measured"


def sentence(started: Started) -> str | None:
    """The whole notice; None for a lossless run."""
    found = lossy(started)
    if not found:
        return None
    parts = [f"{card.name}: {distance(card)}" for card in found]
    return f"lossy: the text does not follow the target's distribution; {'; '.join(parts)}"
