"""The prompt set: plain English from held-out documents of the small world, and passages of held-out Python files; and
its families, with what each is called on a page and one line on what to expect of it and why.

Place in the flow: `specviz train prompts` writes it to `assets/prompts/prompts.json`, which page and benches read. The
English prompts follow from a seed alone; the Python passages were chosen by hand and are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specviz.corpus.plain_english.generator import page_of
from specviz.corpus.plain_english.page import Page
from specviz.errors import TrainingError


@dataclass(frozen=True)
class Family:
    """One family of prompts; plain English comes first."""

    name: str
    title: str
    expect: str


ENGLISH = (
    Family(
        "story",
        "Story",
        "A short story to its end. Set phrases are easy to guess; where any animal or place could come next, the "
        "drafter guesses and is often rejected.",
    ),
    Family(
        "facts",
        "Facts",
        "An answer in one sentence. The question returns in it, which any drafter can copy; the one new word, a "
        "capital say, must be known, and a small drafter often does not know it.",
    ),
    Family(
        "sums",
        "Sums",
        "A sum, at once or digit by digit. The form is certain and the digits are not: a drafter that cannot add is "
        "rejected exactly there.",
    ),
    Family(
        "letter",
        "Letter",
        "A letter from its greeting to its name. Phrases are set; the thing and the day must be carried through it.",
    ),
    Family(
        "copy",
        "Copy",
        "A sentence to be written again. All of it stands in the prompt, so drafters that look text up draft long "
        "runs that are accepted.",
    ),
    Family(
        "table",
        "Table",
        "A question about a small table. Names and columns repeat, so lookup helps; the right cell must be found.",
    ),
    Family(
        "recipe",
        "Recipe",
        "Numbered steps. Numbers, line ends and set phrases are nearly certain; what is cut or stirred is not.",
    ),
    Family(
        "talk",
        "Talk",
        "Small talk. Polite phrases are known by heart, so even a weak drafter has many tokens accepted.",
    ),
)
PYTHON = (
    Family(
        "code",
        "Python code",
        "A function to go on with. Names that were used before return; the target writes Python's form, not its sense.",
    ),
    Family(
        "prose",
        "Python prose",
        "Reference text about Python. Ordinary words in long sentences: few certain tokens, so short drafts pay best.",
    ),
    Family(
        "code-copy",
        "Python, repeated",
        "Code whose beginning has just been repeated. Lookup finds the rest of it in the prompt.",
    ),
    Family(
        "code-table", "Python tables", "Entries of one form under each other. The form is certain, the names are not."
    ),
    Family("tests", "Python tests", "Unit tests. Line after line has the same beginning, which any drafter can copy."),
)
FAMILIES = (*ENGLISH, *PYTHON)


SEED = 11
"""of the held-out documents that prompts are cut from; figures are measured on others"""
PROMPTS_PER_FAMILY = 6
LONGEST_TITLE = 56
SHORTEST_TITLE = 12
BY_HAND = "by hand"
SENTENCE_END = re.compile(r"[.!?][\"”]?(?=\s)")
WORD = re.compile(r"[a-z0-9]+")
COMMON = {
    "question",
    "answer",
    "repeat",
    "please",
    "sentence",
    "ingredients",
    "wednesday",
    "write",
    "letter",
    "morning",
}
"""words that say nothing about one prompt"""
VISITORS = {
    "story": ("Once upon a time there was a", "One day Leo was in the garden."),
    "facts": ("What is the capital of France?", "The capital of France is", "What does a cow eat?"),
    "sums": ("34 + 28 =", "What is 47 - 19?"),
    "letter": ("Dear Anna,",),
    "talk": ("Hello, how are you?", "Hello", "Who are you?"),
}
"""what somebody might type; some of it the models have met in training, which its `source` says"""

Cut = Callable[[Page], "tuple[int, str] | None"]


def after_sentences(count: int, shape: int) -> Cut:
    """Behind some sentences of a page, a title before an empty line not counted; `shape` is the number of the frame
    that two prompts are not to share."""

    def cut(page: Page) -> tuple[int, str] | None:
        text = page.text
        ends = [match.end() for match in SENTENCE_END.finditer(text, text.find("\n\n") + 1)]
        return (ends[count - 1], page.frames[shape]) if len(ends) > count else None

    return cut


def before_answer(page: Page) -> tuple[int, str] | None:
    """Before the sentence or word that answers a question."""
    marks = [mark for mark in ("{S}", "{s}", "{Y}") if mark in page.frames[-1]]
    kind, asked, _ = page.frames[0].partition(":")
    if not marks or not asked or "?" not in page.text:
        return None
    return page.text.rindex(str(page.slots[marks[0][1]])), kind


def before_result(page: Page) -> tuple[int, str] | None:
    """Behind `=` of a bare sum, else behind the question."""
    is_bare = len(page.texts) == 1
    longest = max(len(str(page.slots[name])) for name in "ab")
    if longest == 1:
        return None
    shape = f"{len(page.texts)} parts, {longest} digits"
    return (page.text.index("=") + 1 if is_bare else len(page.texts[0])), shape


def before_copy(page: Page) -> tuple[int, str] | None:
    """Where a passage has been given and is to be written again."""
    return (len(page.texts[0]), page.frames[-2]) if "passage" in page.slots else None


def before_cell(page: Page) -> tuple[int, str] | None:
    """Behind the question about a cell, or where a row is to be written as JSON."""
    if page.frames[-1] == "json row":
        return len(page.text) - len(page.texts[-1]), page.frames[-2]
    return (page.text.rindex(str(page.slots["value"])), page.frames[-1]) if "{value}" in page.frames[-1] else None


def first_line(page: Page) -> tuple[int, str] | None:
    """Behind the first turn of a longer talk."""
    line, _, rest = page.text.partition("\n")
    return (len(line), line[:8]) if rest.count("\n") >= 2 else None


def before_steps(page: Page) -> tuple[int, str] | None:
    """Before the first of the numbered steps."""
    return page.text.index("1. "), page.frames[0]


CUTS: Mapping[str, tuple[tuple[str, Cut], ...]] = {
    "story": (("story", after_sentences(2, 1)),),
    "facts": (("facts", before_answer),),
    "sums": (("sums", before_result), ("sums", before_result), ("problem", after_sentences(3, 0))),
    "letter": (("letter", after_sentences(1, -6)),),
    "copy": (("passage", before_copy),),
    "table": (("table", before_cell),),
    "recipe": (("recipe", before_steps),),
    "talk": (("talk", first_line),),
}
"""prompt family → families of documents, in turn, and where each is cut (with the shape, which is not to come twice)"""


def english_prompts(seed: int = SEED) -> Iterator[dict[str, Any]]:
    """All prompts in plain English, those that somebody might type behind the others of their family."""
    for family in ENGLISH:
        shapes: set[str] = set()
        for index in range(PROMPTS_PER_FAMILY):
            documents, cut = CUTS[family.name][index % len(CUTS[family.name])]
            yield _cut_prompt(family.name, documents, cut, seed, shapes)
        for text in VISITORS.get(family.name, ()):
            note = "As a visitor might type it; not held out from training."
            yield _prompt(family.name, text, BY_HAND, note)


def _cut_prompt(family: str, documents: str, cut: Cut, seed: int, shapes: set[str]) -> dict[str, Any]:
    """The first held-out document of a shape that is new, cut; notes the shape."""
    number = 0
    while True:
        page = page_of(documents, seed, number, held_out=True)
        found = cut(page)
        text = page.text[: found[0]].rstrip() if found else ""
        if found is not None and found[1] not in shapes and text not in VISITORS.get(family, ()):
            shapes.add(found[1])
            rest = len(page.text.split()) - len(text.split())
            note = f"From a held-out document, which goes on for {rest} {'word' if rest == 1 else 'words'}."
            return _prompt(family, text, f"plain_english/{documents}/{seed}/{number}", note)
        number += 1


def _prompt(family: str, text: str, source: str, description: str) -> dict[str, Any]:
    lines = [line for line in text.split("\n") if len(line) >= SHORTEST_TITLE] or [text]
    title = lines[-1] if family in ("facts", "sums", "table") else lines[0]
    if len(title) > LONGEST_TITLE:
        title = title[:LONGEST_TITLE].rsplit(" ", 1)[0] + "…"
    return {
        "id": f"{family}-{_short_name(text, source)}",
        "family": family,
        "title": title,
        "description": description,
        "text": text,
        "parts": [text],
        "source": source,
    }


def _short_name(text: str, source: str) -> str:
    """Numbers of the text, or its two longest words, or all of it where somebody might type it."""
    found = [word for word in WORD.findall(text.lower()) if word not in COMMON]
    numbers = [word for word in found if word.isdigit()]
    if source == BY_HAND:
        chosen = WORD.findall(text.lower())
    elif len(numbers) == 2:
        chosen = numbers
    else:
        longest = sorted(dict.fromkeys(found), key=lambda word: -len(word))[:2]
        chosen = [word for word in dict.fromkeys(found) if word in longest]
    return "-".join(chosen)


def held_out_text(source: str) -> str:
    """The document that a prompt's `source` names. Raises TrainingError where it names none."""
    match = re.fullmatch(r"plain_english/(\w+)/(\d+)/(\d+)", source)
    if match is None:
        raise TrainingError(f"'{source}' names no document in plain English; use plain_english/FAMILY/SEED/NUMBER.")
    return page_of(match[1], int(match[2]), int(match[3]), held_out=True).text


def renewed(bundle: Mapping[str, Any], seed: int = SEED) -> dict[str, Any]:
    """The set with its English prompts and family lines written anew and its Python passages kept."""
    names = {family.name for family in ENGLISH}
    python = [prompt for prompt in bundle["prompts"] if not (prompt["family"] in names and is_english(prompt))]
    order = [family.name for family in FAMILIES]
    prompts = [*english_prompts(seed), *sorted(python, key=lambda prompt: order.index(prompt["family"]))]
    return {**bundle, "english_seed": seed, "families": [asdict(family) for family in FAMILIES], "prompts": prompts}


def is_english(prompt: Mapping[str, Any]) -> bool:
    """Whether a prompt is of the small world, by its source."""
    return str(prompt["source"]).startswith(("plain_english/", BY_HAND))


def write(path: Path, count_tokens: Callable[[str], int], seed: int = SEED) -> int:
    """Renews the file with each prompt's length in tokens; returns how many prompts there are."""
    bundle = renewed(json.loads(path.read_text(encoding="utf-8")), seed)
    for prompt in bundle["prompts"]:
        prompt["tokens"] = count_tokens(prompt["text"])
    path.write_text(json.dumps(bundle, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(bundle["prompts"])
