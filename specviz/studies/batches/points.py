"""What a measurement of batches keeps: its points and texts as they were counted, and what cannot be so.

Place in the flow: `measure` makes it; `result` makes numbers, sentences and a chart of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specviz.bench.core.report import CLOCKS
from specviz.trace.header import Machine, ModelCard

FORMAT = "specviz-batches"
VERSION = "1.0"
Shape = tuple[int, ...]
"""children per node at each level of the draft; all ones: a chain; all zeros: at most one, as the batch's budget grants
it; empty: plain decoding"""
PLAIN: Shape = ()


@dataclass(frozen=True, slots=True)
class BatchPoint:
    """All texts decoded once in one way, in batches of one size one after the other. The prompts' passes are in no
    number."""

    shape: Shape
    size: int
    repeat: int
    seconds: float
    pass_s: float
    """of them inside the models' passes"""
    tokens: int
    """of output"""
    target_passes: int
    shares: int
    """texts in a target pass, summed over the passes: a text that is over is in none"""
    drafter_passes: int
    full_tokens: int = 0
    """of output until the first text of each batch ended"""
    modelled_s: float = 0.0
    """seconds until then, modelled: the sum of measured times of passes over as many rows; 0: not known"""


@dataclass(frozen=True, slots=True)
class BatchText:
    """What was drafted on one prompt; every repeat draws the same."""

    shape: Shape
    size: int
    prompt: str
    """id"""
    drafts: int
    """rounds that drafted"""
    drafted: int
    accepted: int
    same: bool
    """whether it wrote in every repeat, token for token, what the engine wrote without a batch"""


@dataclass(frozen=True, slots=True)
class BatchFile:
    """One measurement."""

    format: str
    version: str
    machine: Machine
    target: ModelCard
    drafter: ModelCard
    created: str
    """UTC, ISO 8601"""
    clock: str
    """`process`: seconds that the processor worked for this process, so that other programs disturb less; `wall`"""
    load: float | None
    """of the machine as it ended, averaged over a minute, this program included; None where the system does not tell"""
    temperature: float
    seed: int
    """of the first prompt; the next has the next"""
    max_new_tokens: int
    points: tuple[BatchPoint, ...]
    texts: tuple[BatchText, ...]


def problems(file: BatchFile) -> Iterator[str]:
    """What cannot be so."""
    keys = [(point.shape, point.size, point.repeat) for point in file.points]
    if file.clock not in CLOCKS:
        yield "its clock is neither of the two"
    if not any(point.shape != PLAIN for point in file.points):
        yield "nothing but plain decoding was measured"
    for shape, size, repeat in keys:
        where = f"{name_of(shape)} in batches of {size}, repeat {repeat + 1},"
        if keys.count((shape, size, repeat)) > 1:
            yield f"{where} is there twice"
        if (PLAIN, size, repeat) not in keys:
            yield f"{where} has no plain decoding to compare with"
        if not any((text.shape, text.size) == (shape, size) for text in file.texts):
            yield f"{where} has no texts"
    for point in file.points:
        if not (0 < point.pass_s <= point.seconds and 0 < point.target_passes <= point.tokens and point.size > 0):
            yield f"{name_of(point.shape)} in batches of {point.size} has impossible times or counts"
        if not point.target_passes <= point.shares <= point.target_passes * point.size:
            yield f"{name_of(point.shape)} in batches of {point.size} has more texts in its passes than there are"
    for text in file.texts:
        if not 0 <= text.accepted <= text.drafted or text.drafts > text.drafted:
            yield f"{name_of(text.shape)} on {text.prompt} has impossible counts"


def by_budget(shape: Shape) -> bool:
    """Whether the batch's budget decides level by level."""
    return shape != PLAIN and max(shape) == 0


def name_of(shape: Shape) -> str:
    """`plain decoding`, `γ = 4` or `tree 2,1`."""
    if shape == PLAIN:
        return "plain decoding"
    if by_budget(shape):
        return f"a budget up to {len(shape)}"
    return f"γ = {len(shape)}" if max(shape) == 1 else f"tree {','.join(map(str, shape))}"
