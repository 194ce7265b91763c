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
from specviz.protocol.sweeps.intervals import Estimate

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
class RaisedLoss:
    """The target's own held-out loss where its context is raised in one way."""

    base: float
    """of the rotary angles"""
    divided_by: float
    """what positions are divided by before they turn anything ("linear interpolation"); 1: they are not"""
    nats: tuple[float, ...]
    """per token, in each of the study's stretches of positions"""


@dataclass(frozen=True, slots=True)
class BeyondContext:
    """Drafts begun at one context, with the target raised: the same tokens are drafted at every context, only how much
    of their text stands before them differs."""

    context: int
    """tokens of the text, at the last of the drafts"""
    raised: bool
    """False: the target as it was trained"""
    nats: float
    """the target's own loss per token there"""
    without_anchors: tuple[float, ...]
    """as `ContextAcceptance.acceptance`, of the network without anchors"""
    with_anchors: tuple[float, ...]
    gain: Estimate
    """with anchors - without, at depth 1; the interval by resampling texts"""


@dataclass(frozen=True, slots=True)
class Beyond:
    """Acceptance beyond the context that the target was trained for: against the raised target, whose own loss stands
    beside it."""

    places: tuple[tuple[int, int], ...]
    """first and last position of the stretches that losses are of"""
    losses: tuple[RaisedLoss, ...]
    base: float
    """the one among them that acceptance was measured with"""
    texts: int
    """half of them English, half Python, held out"""
    drafts: int
    """begun in each text, at each context"""
    contexts: tuple[BeyondContext, ...]


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
    beyond: Beyond | None = None
    """None: not measured"""
    acceptance_origin: str = ""
    """of the acceptance, where it was measured apart from time and bytes"""


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
