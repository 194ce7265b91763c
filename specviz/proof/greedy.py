"""At temperature 0 in float32 every method writes the very text of plain decoding: all legal pairings, many prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.proof.exhaustive import ProofCase, Text, session_of
from specviz.proof.sampled import Models
from specviz.proof.table import cases, legal, says_lossless

COLD = Sampling(0.0)
PLAIN = ProofCase("none", "greedy", sampling=COLD)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One method against plain decoding."""

    case: ProofCase
    prompts: int
    tokens: int
    """committed over all prompts"""
    passes: int
    """target passes that took"""
    different: int
    """prompts whose text is another"""


def greedy_cases() -> list[ProofCase]:
    """Every lossless method of the table that is legal at temperature 0, each once."""
    cold = [
        replace(case, sampling=COLD) for case in cases(full=True) if case.stop_policy == "fixed" and says_lossless(case)
    ]
    return list(dict.fromkeys(case for case in cold if legal(case)))


def plain_texts(models: Models, prompts: Sequence[Text], length: int) -> list[list[int]]:
    """`length` tokens of plain decoding after each prompt."""
    return [_output(replace(PLAIN, prompt=prompt, length=length), models)[0] for prompt in prompts]


def comparisons(
    models: Models,
    prompts: Sequence[Text],
    length: int,
    chosen: Sequence[ProofCase] | None = None,
    plain: Sequence[list[int]] | None = None,
) -> Iterator[Comparison]:
    """Decode `length` tokens of every prompt with every method; `plain`: their `plain_texts`, where they are known."""
    plain = plain_texts(models, prompts, length) if plain is None else plain
    for case in greedy_cases() if chosen is None else chosen:
        written = [_output(replace(case, prompt=prompt, length=length), models) for prompt in prompts]
        different = sum(text != right for (text, _), right in zip(written, plain, strict=True))
        yield Comparison(
            case, len(prompts), sum(len(text) for text, _ in written), sum(rounds for _, rounds in written), different
        )


def _output(case: ProofCase, models: Models) -> tuple[list[int], int]:
    """The tokens after the prompt, and the rounds they took."""
    session = session_of(case, SeededRandom(0), models)
    session.begin()
    while session.finished is None:
        session.round()
    return session.tokens[len(case.prompt) :], session.rounds
