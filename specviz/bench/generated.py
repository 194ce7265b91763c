"""Greedy texts of an instruct model beside what `transformers.generate` writes after the same messages, in float32.

    messages ─► transformers.generate ─► Generated ┐
    messages ─► a source, drafter by drafter ──────┴─► Row ─► summary

transformers is another program with other kernels, so that two tokens with almost the same logit may come out in other
order: with every difference stands how far the two lay apart. Rows are data, kept one by one, so that an hour of it can
be stopped and gone on with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError

from specviz.bench.core.run import collect
from specviz.bench.speed.baselines import load_reference
from specviz.errors import BenchError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource


@dataclass(frozen=True, slots=True)
class Generated:
    """What transformers writes after a message."""

    tokens: tuple[int, ...]
    margins: tuple[float, ...]
    """by token: its logit less the next highest"""


@dataclass(frozen=True, slots=True)
class Row:
    """One message, one drafter."""

    prompt: str
    drafter: str
    most: int
    """tokens that a text could have"""
    tokens: int
    """that transformers wrote"""
    equal: int
    """of them, the first ones that this run wrote too"""
    whole: bool
    """whether the texts are the same to their ends"""
    passes: int
    """of the target, that of the prompt left out"""
    written: int
    margin: float | None
    """of the first token that differs; None where none does"""
    least: float
    """the smallest margin of the text"""


@dataclass(frozen=True, slots=True)
class Summary:
    """One drafter over all messages."""

    drafter: str
    whole: int
    prompts: int
    tokens_per_pass: float
    least: float
    """the smallest margin of all its texts"""
    different: tuple[Row, ...]


class Reference:
    """The target as transformers loads it, in float32 on the CPU."""

    def __init__(self, folder: Path) -> None:
        self._model, _, self._tokenizer = load_reference(folder, None, "float32", "cpu")

    def generate(self, message: str, tokens: int) -> Generated:
        """Greedily, in the checkpoint's chat template."""
        asked = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": message}], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with torch.inference_mode():
            answer = self._model.generate(
                **asked, max_new_tokens=tokens, do_sample=False, output_logits=True, return_dict_in_generate=True
            )
        highest = torch.cat(answer.logits).float().topk(2).values  # [tokens, 2]
        return Generated(
            tuple(answer.sequences[0, asked["input_ids"].shape[1] :].tolist()),
            tuple((highest[:, 0] - highest[:, 1]).tolist()),
        )


def spread(prompts: Sequence[PromptCard], count: int) -> list[PromptCard]:
    """So many of them, family by family in turn."""
    families: dict[str, list[PromptCard]] = {}
    for card in prompts:
        families.setdefault(card.family, []).append(card)
    longest = max(map(len, families.values()), default=0)
    return [cards[turn] for turn in range(longest) for cards in families.values() if turn < len(cards)][:count]


def row_of(prompt: str, drafter: str, most: int, expected: Generated, written: Sequence[int], passes: int) -> Row:
    """`written`: the output of the drafter's run, of at most `most` tokens."""
    pairs = zip(expected.tokens, written, strict=False)
    equal = next((at for at, (wanted, written_token) in enumerate(pairs) if wanted != written_token), None)
    if equal is None:
        equal = min(len(expected.tokens), len(written))
    whole = tuple(written) == expected.tokens
    margin = None if whole or equal == len(expected.margins) else expected.margins[equal]
    least = min(expected.margins)
    return Row(prompt, drafter, most, len(expected.tokens), equal, whole, passes, len(written), margin, least)


def rows(
    source: TraceSource,
    reference: Reference,
    prompts: Sequence[PromptCard],
    request: RunRequest,
    drafters: Sequence[str],
    known: Sequence[Row] = (),
) -> Iterator[Row]:
    """Message by message, drafter by drafter; those that are `known` are not run again. `request`: target and length.
    Raises BenchError where a run fails."""  # fmt: skip
    have = {(row.prompt, row.drafter) for row in known}
    for card in prompts:
        missing = [drafter for drafter in drafters if (card.id, drafter) not in have]
        expected = reference.generate(card.text, request.max_new_tokens) if missing else None
        for drafter in missing:
            assert expected is not None
            yield row_of(card.id, drafter, request.max_new_tokens, expected, *_run(source, request, card, drafter))


def _run(source: TraceSource, request: RunRequest, card: PromptCard, drafter: str) -> tuple[Sequence[int], int]:
    """Output and target passes."""
    asked = RunRequest(
        card.text, request.target, prompt_name=card.id, chat=True, dtype="float32", device="cpu", record=False,
        max_new_tokens=request.max_new_tokens,
    ).with_drafter(drafter)  # fmt: skip
    run = collect(source, asked)
    assert run is not None, "nobody can cancel it."
    return run.finished.output_ids, len(run.rounds)


def summaries(compared: Sequence[Row]) -> list[Summary]:
    """By drafter, in the order of the rows."""
    drafters = dict.fromkeys(row.drafter for row in compared)
    return [_summary(name, [row for row in compared if row.drafter == name]) for name in drafters]


def _summary(drafter: str, answers: Sequence[Row]) -> Summary:
    per_pass = sum(row.written for row in answers) / sum(row.passes for row in answers)
    different = tuple(row for row in answers if not row.whole)
    least = min(row.least for row in answers)
    return Summary(drafter, len(answers) - len(different), len(answers), per_pass, least, different)


_ROWS = TypeAdapter(list[Row])


def keep(path: Path, compared: Sequence[Row]) -> None:
    """As JSON."""
    path.write_text(json.dumps([asdict(row) for row in compared], indent=1) + "\n", encoding="utf-8")


def kept(path: Path) -> list[Row]:
    """What `keep` wrote; nothing where there is no file. Raises BenchError where it is no such file."""
    if not path.is_file():
        return []
    try:
        return _ROWS.validate_json(path.read_bytes())
    except ValidationError as error:
        raise BenchError(f"{path} holds no rows of this comparison ({error.error_count()} problems).") from None
