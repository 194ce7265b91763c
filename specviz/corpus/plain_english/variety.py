"""How varied the generated text is: distinct five-word runs, and skeletons that only the held-out side has.

Place in the flow: measured by `prepare` into `english.json` and bounded from below by a test.
"""

import re
from collections.abc import Iterable, Sequence

from specviz.corpus.plain_english.generator import EnglishDocument

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
