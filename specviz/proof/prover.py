"""Answers a screen's questions about losslessness: lines of an exact proof, and counts of a sampling test.

Place in the flow: the live source hands it out; it runs toys, and the pair of models that it is given. Runs take turns
with all others on one engine lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.errors import OptionError, PromptError
from specviz.lm.load import LoadedModel
from specviz.lm.text import TextCodec
from specviz.proof.exhaustive import ProofCase, Text, session_of
from specviz.proof.lines import case_of, lines, models_of
from specviz.proof.sampled import Cells, Models, Sample, cells_of
from specviz.protocol.proofs import NAMES, Cell, Lines, Sampled, SampleQuestion, Toy

MOST_RUNS = 100_000
MOST_PROMPT = 16
"""tokens of a prompt's end that the pair continues: every run reads them anew"""
PAIR_TOKENS = 2
LOOKS = 20
"""answers on the way to the last"""
SHOWN = 24
"""characters of a text on a label"""
Pair = Callable[[], tuple[LoadedModel, LoadedModel]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is run again and again, and how its texts are counted."""

    case: ProofCase
    models: Models
    depth: int
    """tokens of a text that are looked at"""
    cells: Cells
    labels: tuple[str, ...]


class ToyAndPair:
    """A `Prover` over toys and one pair of models."""

    def __init__(self, pair: Pair, lane: AbstractContextManager[object]) -> None:
        """`pair` loads target and drafter when they are first needed."""
        self._pair = pair
        self._lane = lane

    def lines(self, toy: Toy) -> Lines:
        """See `Prover.lines`."""
        return lines(toy)  # some 30 ms: waiting for the lane would take longer than it could disturb

    def sample(self, question: SampleQuestion, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Sampled]:
        """See `Prover.sample`."""
        if not 1 <= question.runs <= MOST_RUNS:
            raise OptionError(f"{question.runs} runs were asked for; choose 1 to {MOST_RUNS}.")
        experiment = self._on_pair(question) if question.prompt else _on_toy(question)
        counts = [0] * len(experiment.labels)
        every = max(1, question.runs // LOOKS)
        for number in range(question.runs):
            if cancelled():
                break
            with self._lane:
                text = _text(experiment, question.seed * 1_000_003 + number)
            counts[experiment.cells.cell(text)] += 1
            if (number + 1) % every == 0 and number + 1 < question.runs:
                yield summed(experiment, counts, question.runs)
        yield summed(experiment, counts, question.runs)

    def _on_pair(self, question: SampleQuestion) -> Experiment:
        if question.temperature <= 0:
            raise OptionError("at temperature 0 there is one text and nothing to count; compare greedy texts instead.")
        target, drafter = self._pair()
        ids = target.tokenizer.encode(question.prompt)[-MOST_PROMPT:]
        if not ids:
            raise PromptError("the prompt is empty; give it a word to continue.")
        sampling = Sampling(question.temperature)
        case = replace(case_of(question.toy), sampling=sampling, prompt=tuple(ids), length=PAIR_TOKENS)
        with self._lane:
            cells = cells_of(target.model, case, question.runs)
        cells.probs = [min(1.0, prob) for prob in cells.probs]  # a sum over the vocabulary may round above 1
        return Experiment(case, (target.model, drafter.model), PAIR_TOKENS, cells, _labels(cells, target.tokenizer))


def _on_toy(question: SampleQuestion) -> Experiment:
    case, models = case_of(question.toy), models_of(question.toy)
    cells = Cells()
    for token, prob in enumerate(models[0].exact_probs(()).tolist()):
        cells.add([(token,)], prob)
    return Experiment(case, models, 1, cells, tuple(NAMES))


def _text(experiment: Experiment, seed: int) -> Text:
    case, wanted = experiment.case, len(experiment.case.prompt) + experiment.depth
    session = session_of(case, SeededRandom(seed), experiment.models)
    session.begin()
    while len(session.tokens) < wanted and session.finished is None:
        session.round()
    return tuple(session.tokens[len(case.prompt) : wanted])


def summed(experiment: Experiment, counts: list[int], wanted: int) -> Sampled:
    """The counts with their statistics; a text that the target never writes makes the p-value 0."""
    probs, runs = experiment.cells.probs, sum(counts)
    shown = tuple(Cell(*cell) for cell in zip(experiment.labels, probs, counts, strict=True))
    possible = [(count, prob) for count, prob in zip(counts, probs, strict=True) if prob > 0.0]
    sample = Sample(
        experiment.case, runs, 0.0, 0.0, tuple(count for count, _ in possible), tuple(prob for _, prob in possible)
    )
    total_variation = sum(abs(cell.count / max(1, runs) - cell.prob) for cell in shown) / 2
    if not runs or sample.freedom < 1:
        statistic, p_value = 0.0, 1.0
    else:
        statistic, p_value = sample.statistic, sample.p_value
    if sum(sample.counts) < runs:
        statistic, p_value = math.inf, 0.0
    noise = sample.noise if runs else 1.0
    return Sampled(wanted, runs, shown, statistic, sample.freedom, p_value, total_variation, noise)


def _labels(cells: Cells, text: TextCodec) -> tuple[str, ...]:
    """What stands for each cell: its text, or of how many rarer texts it is made."""
    members: list[list[Text]] = [[] for _ in cells.probs]
    for prefix, cell in cells.of.items():
        members[cell].append(prefix)

    def shown(ids: Text) -> str:
        return repr(text.decode(ids))[1:-1][:SHOWN]

    return tuple(
        shown(member[0]) if len(member) == 1 else f"{shown(member[0][:-1])}… ({len(member)} texts)"
        for member in members
    )
