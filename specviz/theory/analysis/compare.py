"""Two traces of one prompt side by side: where their texts part, and their rounds aligned by position."""

from __future__ import annotations

from dataclasses import dataclass

from specviz.theory.analysis.analyse import Named
from specviz.theory.analysis.facts import RoundFacts
from specviz.theory.analysis.gather import facts_of
from specviz.trace.replay import display_pieces, token_bytes


@dataclass(frozen=True, slots=True)
class Difference:
    """The first output token in which two texts differ."""

    position: int
    before: str
    """the end of what both wrote"""
    first: str
    """the first text's token there; empty where it ended"""
    second: str


@dataclass(frozen=True, slots=True)
class Aligned:
    """A position of the output at which a round of either run begins."""

    position: int
    first: RoundFacts | None
    second: RoundFacts | None
    """None: this run has no round that begins here"""
    same_text: bool
    """both wrote the same up to here"""


@dataclass(frozen=True, slots=True)
class Comparison:
    first: str
    second: str
    same_prompt: bool
    difference: Difference | None
    """None: the outputs are equal"""
    rows: tuple[Aligned, ...]


def compare(first: Named, second: Named) -> Comparison:
    """Side by side; of different prompts positions mean nothing together, and `same_prompt` says so."""
    (name, trace), (other_name, other) = first, second
    difference = _difference(first, second)
    rounds = [{this.position: this for this in facts_of(*one).rounds} for one in (first, second)]
    same_until = float("inf") if difference is None else difference.position
    rows = [
        Aligned(position, rounds[0].get(position), rounds[1].get(position), position <= same_until)
        for position in sorted({*rounds[0], *rounds[1]})
    ]
    same_prompt = trace.started.prompt_ids == other.started.prompt_ids
    return Comparison(name, other_name, same_prompt, difference, tuple(rows))


def _difference(first: Named, second: Named) -> Difference | None:
    one, other = first[1].finished.output_ids, second[1].finished.output_ids
    shared = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if len(one) == len(other) == shared:
        return None
    before = "".join(display_pieces(token_bytes(first[1], token) for token in one[max(0, shared - 8) : shared]))
    words = [
        trace.vocab[str(trace.finished.output_ids[shared])].text if shared < len(trace.finished.output_ids) else ""
        for _, trace in (first, second)
    ]
    return Difference(shared, before, *words)
