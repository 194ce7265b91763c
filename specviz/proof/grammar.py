"""Speculative decoding under a grammar, walked: the engine samples the law of the rows it is given, not another.

    Brackets ─► a table that says its masked (or corrected) rows ─► the engine's own session ─► the law of its words

The target is a toy whose rows come from `specviz.theory.grammar`; the drafter knows no grammar at all, so it also
drafts what is illegal, which is rejected as any other token of probability zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from specviz.core.sampling import Sampling
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import ProofCase, law, toy
from specviz.theory.grammar import END, OPEN, TOKENS, Brackets

PLAIN = Sampling(1.0)
MOST_WALKED = 4
"""brackets of a word; six would take minutes"""


class Grammatical(TableModel):
    """Says what follows a text of brackets by the rows of a grammar; after the end nothing but the end."""

    def __init__(self, brackets: Brackets, ahead: int) -> None:
        super().__init__(len(TOKENS), seed=1)
        self._brackets, self._ahead = brackets, ahead
        self._identity = f"{brackets} {ahead}".encode()

    def _random_logits(self, key: tuple[int, ...]) -> Tensor:
        """`key` is the prompt's one token, then the text."""
        text = key[1:]
        if END in text:
            return torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64).log()
        state = _state(text)
        # a drafted token may be illegal: what follows it is never looked at, and any row will do
        row = self._brackets.base if state is None else self._brackets.row(state, self._ahead)
        return torch.tensor(row, dtype=torch.float64).log()


def _state(text: Sequence[int]) -> tuple[int, int] | None:
    """Brackets open and written after a text; None where more were closed than opened."""
    depth = 0
    for token in text:
        depth += 1 if token == OPEN else -1
        if depth < 0:
            return None
    return depth, len(text)


@dataclass(frozen=True)
class GrammarCase(ProofCase):
    """A method decoding words of brackets; `ahead` as in `Brackets.row`."""

    sampling: Sampling = PLAIN
    brackets: Brackets = field(default_factory=lambda: Brackets(most=4))
    ahead: int = 0

    def models(self) -> tuple[TableModel, TableModel]:
        return Grammatical(self.brackets, self.ahead), toy(len(TOKENS), 2)


def words(drafter: str, verifier: str, brackets: Brackets, ahead: int) -> dict[str, float]:
    """The exact law of the words that the engine writes with a chain of two drafted tokens."""
    case = GrammarCase(drafter, verifier, (("gamma", 2),), length=brackets.most + 1, brackets=brackets, ahead=ahead)
    by_word: dict[str, float] = {}
    for text, weight in law(case).items():
        word = "".join(TOKENS[token] for token in text[: text.index(END)])
        by_word[word] = by_word.get(word, 0.0) + weight
    return by_word
