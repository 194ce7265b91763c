"""What a target knows of the small world, measured on held-out documents: facts, sums, carried words, endings.

Place in the flow: `specviz train figures` on a checkpoint or an exported folder, and the export, whose `training.json`
keeps the figures. Every text is greedy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.corpus.plain_english import people, questions, sums, words
from specviz.corpus.plain_english.facts import KINDS
from specviz.corpus.plain_english.generator import SHARES, document
from specviz.corpus.plain_english.page import Draw
from specviz.theory.rows import repeats, repetition

SEED = 2026
ROWS_AT_ONCE = 25
MOST_TOKENS = 192
SUM_TOKENS = 96
"""of an answer to a sum, which may be worked out digit by digit"""
PROMPT_SHARE = 0.35


@dataclass
class Figure:
    """A share with its count; `misses` keeps a few wrong answers to read."""

    right: int = 0
    of: int = 0
    misses: list[str] = field(default_factory=list)
    said: list[tuple[str, str, bool]] = field(default_factory=list)
    """prompt, text and whether it is right, of every case whose answer can be shown"""

    def count(self, is_right: bool, shown: str = "", said: tuple[str, str] | None = None) -> None:
        """Adds one case."""
        self.right += is_right
        self.of += 1
        if said is not None:
            self.said.append((*said, is_right))
        if not is_right and shown and len(self.misses) < 5:
            self.misses.append(shown)

    @property
    def share(self) -> float:
        """Right of all, 0 where nothing was counted."""
        return self.right / max(1, self.of)


@torch.inference_mode()
def greedy_ids(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, prompts: Sequence[str], most: int
) -> list[list[int]]:
    """Greedy continuations as token ids, each up to and with end-of-text or `most` tokens."""
    found: list[list[int]] = []
    for first in range(0, len(prompts), ROWS_AT_ONCE):
        rows = [tokenizer(text)["input_ids"] for text in prompts[first : first + ROWS_AT_ONCE]]
        width = max(map(len, rows))
        # Position ids start behind the padding, so a row's text does not depend on its neighbours.
        ids = torch.tensor([[tokenizer.pad_token_id] * (width - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        made = cast(Any, model).generate(  # its types fit classes that mix it in
            ids,
            attention_mask=mask,
            max_new_tokens=most,
            do_sample=False,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        found += [_until_end(row, tokenizer.eos_token_id) for row in made[:, width:].tolist()]
    return found


def _until_end(ids: list[int], end: int) -> list[int]:
    """Cuts behind the first end-of-text."""
    return ids[: ids.index(end) + 1] if end in ids else ids


def greedy_texts(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, prompts: Sequence[str], most: int
) -> list[str]:
    """Greedy continuations as text, without the space that may begin them."""
    return [
        str(tokenizer.decode(ids, skip_special_tokens=True)).lstrip(" ")
        for ids in greedy_ids(model, tokenizer, prompts, most)
    ]


def fact_cases(count: int) -> list[tuple[str, str]]:
    """Prompts in phrasings that never occur in training, with the answers that must follow; all kinds alike often."""
    draw = Draw(f"{SEED}/facts", held_out=True)
    cases = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        asked = [phrasing for phrasing in questions.phrasings(kind) if questions.is_question(phrasing)]
        (phrasing, _) = draw.combination("phrasing", asked, (kind,))
        cases.append(questions.prompt_and_answer(kind, phrasing, draw.one(list(kind.pairs))))
    return cases


def sum_cases(count: int, size: int, form: str) -> list[tuple[str, str]]:
    """Prompts and results for held-out operand pairs of `size` digits; form is bare, asked or steps."""
    draw = Draw(f"{SEED}/sums/{size}/{form}", held_out=True)
    numbers = range(10 ** (size - 1), 10**size)
    cases: list[tuple[str, str]] = []
    while len(cases) < count:
        a, b, sign = draw.combination("sum", numbers, numbers, "+-")
        result = a + b if sign == "+" else a - b
        if not 0 <= result <= 999:
            continue
        page = sums.sum_page(draw, a, b, sign)
        if form == "bare":
            cases.append((f"{a} {sign} {b} =", str(result)))
        else:
            page.say(*(sums.ASKED if form == "asked" else sums.STEPWISE))
            cases.append((page.text.rstrip(" "), f"{a} {sign} {b} = {result}."))
    return cases


def carried_cases(count: int, slot: str) -> list[tuple[str, str]]:
    """Held-out stories cut before a later mention of the person (`name`) or of the thing (`thing`), and that word."""
    cases: list[tuple[str, str]] = []
    for number in range(count * 4):
        made = document("story", SEED, number, held_out=True)
        pool = people.NAMES if slot == "name" else words.THINGS
        places = _mentions(made.text, pool)
        if len(places) < 3 or len(cases) == count:
            continue
        position, word = places[-1]
        if word == places[0][1]:
            cases.append((made.text[:position].rstrip(" "), word))
    return cases


def _mentions(text: str, pool: Sequence[str]) -> list[tuple[int, str]]:
    """Where words of a pool stand in a text."""
    known, found, position = set(pool), [], 0
    for word in text.replace("\n", " ").split(" "):
        bare = word.strip('".,?!:;').removesuffix("'s")
        if bare in known:
            found.append((position + word.index(bare), bare))
        position += len(word) + 1
    return found


def english_prompts(count: int) -> list[tuple[str, str]]:
    """Family and beginning of held-out documents, families in turn; a prompt ends behind a word."""
    prompts = []
    for number in range(count):
        family = list(SHARES)[number % len(SHARES)]
        text = document(family, SEED + 1, number, held_out=True).text
        cut = max(text.find(" ", int(len(text) * PROMPT_SHARE)), 1)
        prompts.append((family, text[:cut]))
    return prompts


def begins_with(prompt: str, answer: str, text: str) -> bool:
    """Whether a text begins with the answer, or with the `?` behind which a bare sum is worked out and then stated."""
    if text.startswith("?"):
        return f"{prompt} {answer}." in text
    return text.startswith(answer) and not text[len(answer) :][:1].isalnum()


def answers(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    cases: list[tuple[str, str]],
    most: int,
    is_anywhere: bool = False,
) -> Figure:
    """How often the text begins with the right answer, or holds it anywhere."""
    figure = Figure()
    for (prompt, answer), text in zip(cases, greedy_texts(model, tokenizer, [p for p, _ in cases], most), strict=True):
        is_right = answer in text if is_anywhere else begins_with(prompt, answer, text)
        figure.count(is_right, f"{prompt} ⟦{text[:90]}⟧ not {answer}", (prompt, text))
    return figure


def carried(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, count: int, slot: str) -> Figure:
    """How often a person or thing that the model mentions next is the story's own; other words are not counted."""
    pool = set(people.NAMES if slot == "name" else words.THINGS)
    figure = Figure()
    cases = carried_cases(count, slot)
    for (prompt, word), text in zip(cases, greedy_texts(model, tokenizer, [p for p, _ in cases], 6), strict=True):
        said = (text.replace("\n", " ").split(" ") or [""])[0].strip('".,?!:;').removesuffix("'s")
        if said in pool:
            figure.count(said == word, f"…{prompt[-60:]} ⟦{said}⟧ not {word}")
    return figure


def pair_figures(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, count: int) -> dict[str, Any]:
    """All figures over `count` cases each, as plain data."""
    return plain(*measured_figures(model, tokenizer, count))


def measured_figures(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, count: int
) -> tuple[dict[str, Figure], list[float]]:
    """All figures over `count` cases each, and the repetition of every text that was to end by itself."""
    measured = {"facts": answers(model, tokenizer, fact_cases(count), 40)}
    for size, name in ((2, "two"), (3, "three")):
        for form in ("bare", "asked", "steps"):
            cases = sum_cases(count // 2, size, form)
            measured[f"sums_{name}_digits_{form}"] = answers(
                model, tokenizer, cases, SUM_TOKENS, is_anywhere=form != "bare"
            )
    measured |= {f"{slot}_carried": carried(model, tokenizer, count, slot) for slot in ("name", "thing")}
    prompts = english_prompts(count)
    texts = greedy_ids(model, tokenizer, [text for _, text in prompts], MOST_TOKENS)
    ended = measured["ends_by_itself"] = Figure()
    for (family, prompt), ids in zip(prompts, texts, strict=True):
        ended.count(ids[-1] == tokenizer.eos_token_id, f"{family}: {prompt[-40:]} ⟦{tokenizer.decode(ids)[:120]}⟧")
    return measured, [repetition(ids) for ids in texts]


def plain(measured: Mapping[str, Figure], shares: Sequence[float]) -> dict[str, Any]:
    """The figures as data for JSON."""
    figures: dict[str, Any] = {name: round(figure.share, 4) for name, figure in measured.items()}
    return figures | {
        "repetition_mean": round(sum(shares) / len(shares), 4),
        "texts_above_a_quarter_repeated": round(sum(map(repeats, shares)) / len(shares), 4),
        "cases": {name: figure.of for name, figure in measured.items()},
        "misses": {name: figure.misses for name, figure in measured.items()},
    }
