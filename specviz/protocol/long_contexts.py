"""What a long text costs a drafter, as a file: time of a drafting pass and bytes of its cache by context, and how
acceptance goes with the context a network was trained for.

Place in the flow: `specviz study long-context` writes it, the documentation's tables and the page read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specviz.errors import BenchError

TARGET = "target"
"""the target itself among those that are measured: one row, beside which a drafter's pass is seen"""


@dataclass(frozen=True, slots=True)
class ContextCost:
    """One pass over one new token at one context."""

    drafter: str
    context: int
    """tokens of the text"""
    median_ms: float
    """that the processor worked for the pass's thread"""
    low_ms: float
    """quartiles"""
    high_ms: float
    bytes: int
    """that it keeps of the text for itself"""


@dataclass(frozen=True, slots=True)
class ContextAcceptance:
    """One network on held-out texts of the target, from drafts begun within these contexts."""

    anchors: bool
    """whether it was trained at anchor-offset positions"""
    shortest: int
    longest: int
    acceptance: tuple[float, ...]
    """mean of Σ min(p, q) at depth 1, 2, …, given that the tokens before are the text's"""


@dataclass(frozen=True, slots=True)
class LongContexts:
    """The whole study."""

    costs: tuple[ContextCost, ...]
    repeats: int
    """drafts that the times are quartiles of"""
    acceptance: tuple[ContextAcceptance, ...]
    trained_tokens: int
    """of each network"""
    window: int
    """tokens of the texts that the networks were trained on"""
    trained_context: int
    """of the target"""
    raised_context: int
    """of target and drafter where time and bytes were measured"""
    models: Mapping[str, str]
    """model → SHA-256 of its weights"""
    command: str
    origin: str
    """machine, versions, weights and date as a sentence"""


def write(study: LongContexts, path: Path) -> None:
    """As JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(study), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> LongContexts:
    """What `write` wrote. Raises BenchError for anything else."""
    try:
        return TypeAdapter(LongContexts).validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, ValueError) as error:
        raise BenchError(
            f"{path.name} holds no study of long contexts ({' '.join(str(error).split())[:200]}); make it anew with "
            "`specviz study long-context --write`."
        ) from error
