"""Writes the plain-English corpus: documents of all families in fixed shares of the text, on one side of the split.

Place in the flow: gives `mixture` its English documents, and the figures their held-out ones.
A document is a pure function of seed, side, family and number. How varied they are (distinct five-word runs, skeletons
that only the held-out side has) is measured into `english.json`, and bounded from below by a test.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from specviz.corpus.plain_english import letters, passages, questions, recipes, stories, styles, sums, tables, talk
from specviz.corpus.plain_english.page import Draw, Page
from specviz.errors import TrainingError

FAMILIES: Mapping[str, Callable[[Draw], Page]] = {
    "story": stories.document,
    "facts": questions.document,
    "sums": sums.document,
    "practice": sums.practice,
    "styles": styles.document,
    "problem": sums.problem,
    "talk": talk.document,
    "letter": letters.document,
    "recipe": recipes.document,
    "table": tables.document,
    "passage": passages.document,
}
HELD_OUT_CHARACTERS = 400_000
"""of the held-out documents that losses are measured on"""
# Shares of the characters. Facts and sums must be met often to be known by heart; digits are whole tokens, so that
# sums weigh about twice as much in tokens as here.
SHARES = {
    "story": 0.18,
    "facts": 0.22,
    "sums": 0.10,
    "practice": 0.07,
    "styles": 0.04,
    "problem": 0.06,
    "talk": 0.10,
    "letter": 0.06,
    "recipe": 0.05,
    "table": 0.05,
    "passage": 0.07,
}


@dataclass(frozen=True)
class EnglishDocument:
    """One finished text; `skeleton` is the text with its slots unfilled."""

    family: str
    text: str
    skeleton: str


def shares_with(asked: str) -> dict[str, float]:
    """SHARES with some of them given anew, as "facts=0.5 sums=0.1": the other families share the rest as before.

    Raises TrainingError for an unknown family, a share outside [0, 1), or where nothing is left for the others.
    """
    if not asked:
        return dict(SHARES)
    given: dict[str, float] = {}
    for word in asked.split():
        family, _, value = word.partition("=")
        if family not in SHARES:
            raise TrainingError(f"'{word}' gives a share to an unknown family: choose from {', '.join(SHARES)}.")
        try:
            given[family] = float(value)
        except ValueError:
            raise TrainingError(f"'{word}' is no share: write {family}=0.2, say.") from None
        if not 0 < given[family] < 1:
            raise TrainingError(f"'{word}': a share lies between 0 and 1.")
    rest = 1 - sum(given.values())
    others = sum(share for family, share in SHARES.items() if family not in given)
    if (others and rest <= 0) or (not others and abs(rest) > 1e-9):
        raise TrainingError(f"'{asked}' leaves {rest:g} to the other families: shares add up to 1.")
    return {family: given.get(family, share * rest / others if others else 0.0) for family, share in SHARES.items()}


def page_of(family: str, seed: int, number: int, held_out: bool) -> Page:
    """The numbered document of a family on one side of the split, with its parts and slots."""
    side = "held-out" if held_out else "train"
    return FAMILIES[family](Draw(f"{seed}/{side}/{family}/{number}", held_out))


def document(family: str, seed: int, number: int, held_out: bool) -> EnglishDocument:
    """The same as text and skeleton."""
    page = page_of(family, seed, number, held_out)
    return EnglishDocument(family, page.text, page.skeleton)


def documents(
    seed: int, characters: int, held_out: bool, shares: Mapping[str, float] = SHARES
) -> Iterator[EnglishDocument]:
    """Documents until `characters` are reached; the family furthest behind its share is next."""
    written = dict.fromkeys(shares, 0)
    numbers = dict.fromkeys(shares, 0)
    while sum(written.values()) < characters:
        family = min(shares, key=lambda name: written[name] / shares[name])
        made = document(family, seed, numbers[family], held_out)
        written[family] += len(made.text)
        numbers[family] += 1
        yield made


WORD = re.compile(r"\w+|[^\w\s]")
RUN = 5


def distinct_runs(documents: Iterable[EnglishDocument]) -> tuple[int, int]:
    """Number of different runs of five words within documents, and of all words; punctuation marks are words."""
    runs: set[tuple[str, ...]] = set()
    total = 0
    for document in documents:
        words = WORD.findall(document.text)
        total += len(words)
        runs.update(tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1))
    return len(runs), total


def new_skeleton_share(train: Iterable[EnglishDocument], held_out: Sequence[EnglishDocument]) -> float:
    """Share of the held-out documents whose skeleton no training document has."""
    known = {document.skeleton for document in train}
    return sum(document.skeleton not in known for document in held_out) / max(1, len(held_out))
