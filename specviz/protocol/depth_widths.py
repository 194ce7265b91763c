"""Depth against width, as a file: small models of six depths at one size, how well each drafts and how long it takes.

Place in the flow: `specviz study depth-width` writes it, the documentation's tables and the page read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specviz.errors import BenchError
from specviz.protocol.sweeps.intervals import Estimate

FAMILIES = {
    "blocks": "equal parameters between embedding and head",
    "whole": "equal parameters as it runs, embedding and head too",
}
"""what equally many parameters means, and how it is said"""


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds that the processor worked for passes: median and quartiles."""

    median_ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True, slots=True)
class Network:
    """One drafter of a family."""

    family: str
    name: str
    """layers x width"""
    layers: int
    size: int
    block_parameters: int
    running_parameters: int
    """blocks, embedding and head as it runs"""
    trained_parameters: int
    """blocks and the two matrices between its width and the target's"""
    perplexity: float
    """per token of held-out text of the corpus"""
    agreement: float
    """share of places of the target's own held-out text where both have the same first choice"""
    acceptance: float
    """α there: mean of Σ min(p, q) at temperature 1"""
    matched: tuple[Estimate, ...]
    """[γ - 1]: drafted tokens per round that the recorded text of the target agrees with, greedy; the interval is the
    central 95 % over resampled prompts"""
    step: Times
    """a drafting step, behind a pass of the target"""


@dataclass(frozen=True, slots=True)
class Measured:
    """One network in the engine, beside plain decoding of the same prompts."""

    name: str
    gamma: int
    tokens_per_s: Estimate
    """of processor time, prompt's pass left out; everything else that a round does is in it"""
    speedup: Estimate
    """over plain decoding's, prompt by prompt"""
    matched: float
    """per round, counted in these runs"""
    same_text: int
    """runs whose text equals plain decoding's"""
    runs: int


@dataclass(frozen=True, slots=True)
class DepthWidths:
    """The whole study."""

    networks: tuple[Network, ...]
    """family by family, the shallowest first"""
    target_perplexity: float
    """on the same text of the corpus"""
    passes: Mapping[int, Times]
    """rows → the target's pass over them"""
    plain_tokens_per_s: Estimate
    measured: tuple[Measured, ...]
    tokens: int
    """that every network learnt from"""
    loss: str
    replayed_prompts: int
    replayed_tokens: int
    """of the target, recorded once"""
    repeats: int
    """that the times are quartiles of"""
    load: float | None
    """of the machine over the minute before the end, this program included; None where the system does not tell"""
    models: Mapping[str, str]
    """model → SHA-256 of its weights"""
    command: str
    origin: str
    """machine, versions, weights and date as a sentence"""

    def family(self, name: str) -> tuple[Network, ...]:
        """Its networks, the shallowest first."""
        return tuple(one for one in self.networks if one.family == name)

    @property
    def gammas(self) -> range:
        """Lengths that were replayed and timed."""
        return range(1, 1 + min(len(one.matched) for one in self.networks))


def write(study: DepthWidths, path: Path) -> None:
    """As JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(study), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> DepthWidths:
    """What `write` wrote. Raises BenchError for anything else."""
    try:
        study = TypeAdapter(DepthWidths).validate_json(path.read_text(encoding="utf-8"))
        if not study.networks or not all(gamma + 1 in study.passes for gamma in (0, *study.gammas)):
            raise ValueError("networks, or the target's passes over their drafts, are missing")
    except (OSError, ValidationError, ValueError) as error:
        raise BenchError(
            f"{path.name} holds no study of depth against width ({' '.join(str(error).split())[:200]}); make it anew "
            "with `specviz study depth-width --write`."
        ) from error
    return study
