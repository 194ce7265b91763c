"""The alignment study as a file: what each loss and each kind of text made of a drafter, measured on held-out prompts.

Place in the flow: `specviz study alignment` writes it, the documentation's table and the page read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from specviz.errors import BenchError

DOMAINS = ("english", "python")
DIGITS = 4


@dataclass(frozen=True, slots=True)
class AlignmentFigures:
    """One drafter on one domain at one temperature; exact for the given texts, no draft was drawn."""

    alpha: float
    """mean over written positions of sum_v min(p, q)"""
    block_efficiency: float
    """tau: written tokens / expected rounds"""
    mbsu: float
    """tau c / (gamma + c)"""
    coverage: float
    """share of p on the drafter's four most likely tokens"""
    by_position: tuple[float, ...]
    """[d-1] = probability that draft d is accepted once all before it were"""


Measured = Mapping[str, Mapping[str, AlignmentFigures]]
"""temperature as text → domain → figures"""


@dataclass(frozen=True, slots=True)
class AlignmentCell:
    """One alignment: from which drafter, with which loss, on which texts, and what came of it."""

    part: str
    """which question it belongs to: `grid` or `domains`"""
    start: str
    loss: str
    data: str
    domain: str
    temperatures: tuple[float, ...]
    """at which texts were written"""
    seconds: float
    after: Measured


@dataclass(frozen=True, slots=True)
class AlignmentStart:
    """A drafter before any alignment."""

    memory_ratio: float
    """c: bytes that a target pass reads / bytes that a drafter pass reads"""
    lr: float
    """peak learning rate of its alignments"""
    before: Measured


@dataclass(frozen=True, slots=True)
class AlignmentStudy:
    """The whole study; every cell learnt from the same number of tokens."""

    gamma: int
    tokens: int
    prompts: Mapping[str, int]
    """domain → held-out prompts"""
    starts: Mapping[str, AlignmentStart]
    cells: tuple[AlignmentCell, ...]
    planned: int
    """cells of a whole study"""
    models: Mapping[str, str]
    """model → SHA-256 of its weights"""
    command: str
    origin: str
    """machine, versions, weights and date as a sentence"""


def write(study: AlignmentStudy, path: Path) -> None:
    """One line per cell, numbers to four digits."""
    data = _rounded(asdict(study))
    cells = ",\n  ".join(json.dumps(cell, ensure_ascii=False) for cell in data.pop("cells"))
    head = json.dumps(data, indent=1, ensure_ascii=False)
    path.write_text(f'{head[:-2]},\n "cells": [\n  {cells}\n ]\n}}\n', encoding="utf-8")


def read(path: Path) -> AlignmentStudy:
    """Raises BenchError where the file is missing or is no such study."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        starts = {
            name: AlignmentStart(**one | {"before": _measured(one["before"])}) for name, one in data["starts"].items()
        }
        cells = tuple(cell_of(one) for one in data["cells"])
        return AlignmentStudy(**data | {"starts": starts, "cells": cells})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BenchError(
            f"{path.name} is no alignment study ({type(error).__name__}); make it with `specviz study alignment`."
        ) from error


def mean_over_domains(measured: Mapping[str, AlignmentFigures]) -> AlignmentFigures:
    """Both domains with equal weight, whatever the length of their texts."""
    ones = list(measured.values())
    depth = min(len(one.by_position) for one in ones)
    return replace(
        ones[0],
        **{
            name: sum(getattr(one, name) for one in ones) / len(ones)
            for name in ("alpha", "block_efficiency", "mbsu", "coverage")
        },
        by_position=tuple(sum(one.by_position[place] for one in ones) / len(ones) for place in range(depth)),
    )


def cell_of(data: dict[str, Any]) -> AlignmentCell:
    """A cell from plain data."""
    return AlignmentCell(
        **data | {"temperatures": tuple(data["temperatures"]), "after": _measured(data["after"])},
    )


def _measured(data: Mapping[str, Mapping[str, Any]]) -> Measured:
    return {
        temperature: {
            domain: AlignmentFigures(**one | {"by_position": tuple(one["by_position"])}) for domain, one in by.items()
        }
        for temperature, by in data.items()
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value
