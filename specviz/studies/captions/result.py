"""Acceptance on captions as a file: per drafter, grammar tokens and tokens that the picture decides.

Place in the flow: `specviz bench captions` writes it, the documentation's table and the page's chart read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specviz.errors import BenchError
from specviz.protocol.sweeps.intervals import Estimate

DRAFTERS = {
    "caption-drafter-text": "text alone",
    "caption-drafter-tuned": "text, tuned on captions",
    "caption-drafter-eyes": "image adapter",
}
"""bundled name → what it is called in tables and charts, in the order shown"""
SPLITS = {
    "chance": "new scenes",
    "combination": "scenes with a pair that training never had",
}
DIGITS = 4


@dataclass(frozen=True, slots=True)
class CaptionRow:
    """One drafter on one kind of scenes; intervals are central 95 % over resampled scenes."""

    drafter: str
    split: str
    scenes: int
    grammar: Estimate | None
    """accepted / judged places whose token is grammar; see `theory.grounding`"""
    grounded: Estimate | None
    """the same where the picture decides the token"""
    judged: tuple[int, int]
    """places of grammar, and of those that the picture decides"""
    tokens_per_pass: Estimate | None
    speedup: Estimate | None
    """plain decoding's seconds after the prompt over the drafter's, where the caption is the same"""
    same_output: int
    """scenes whose caption is plain decoding's"""


@dataclass(frozen=True, slots=True)
class CaptionReport:
    gamma: int
    rows: tuple[CaptionRow, ...]
    models: Mapping[str, str]
    """model → SHA-256 of its weights"""
    command: str
    origin: str
    """machine, versions, weights and date as a sentence"""


def write(report: CaptionReport, path: Path) -> None:
    """Indented, numbers to four digits."""
    path.write_text(json.dumps(_rounded(asdict(report)), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> CaptionReport:
    """Raises BenchError where the file is missing or is no such report."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return CaptionReport(**data | {"rows": tuple(_row(one) for one in data["rows"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BenchError(
            f"{path.name} is no report on captions ({type(error).__name__}); make it with "
            "`specviz bench captions --write`."
        ) from error


def _row(data: dict[str, Any]) -> CaptionRow:
    estimates = {
        name: None if data[name] is None else Estimate(*data[name])
        for name in ("grammar", "grounded", "tokens_per_pass", "speedup")
    }
    return CaptionRow(**data | estimates | {"judged": tuple(data["judged"])})


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value
