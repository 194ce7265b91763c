"""Drafts copied from the text itself (prompt lookup): no model, no training, almost no time.

An incremental index maps every n-gram to its last occurrence, so that a round costs the same however long the text
is. Knows nothing about models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from specviz.chance import Sampling
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Proposal
from specviz.errors import OptionError
from specviz.lm.base import LanguageModel
from specviz.options import Options, option
from specviz.trace.events import CandidateKind
from specviz.tree import ROOT, DraftTree, Shape


@dataclass(frozen=True)
class NgramOptions(Options):
    """How much of the end of the text must recur, and how much is copied."""

    gamma: int = option(4, help="tokens copied per round", minimum=1, maximum=64, counts="levels")
    max_ngram: int = option(3, help="longest suffix looked up", minimum=1, maximum=16)
    min_ngram: int = option(1, help="shortest suffix looked up", minimum=1, maximum=16)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_ngram > self.max_ngram:
            raise OptionError(
                f"min_ngram is {self.min_ngram} and max_ngram {self.max_ngram}, but the shortest suffix cannot be "
                "longer than the longest; lower min_ngram."
            )


class NgramIndex:
    """n-gram → position of the token that followed its last occurrence. Each token is indexed once."""

    def __init__(self, shortest: int, longest: int) -> None:
        self._lengths = range(shortest, longest + 1)
        self._after: dict[tuple[int, ...], int] = {}
        self._indexed = 0

    def extend(self, tokens: Sequence[int]) -> None:
        """Index all n-grams that are followed by a token of `tokens`, a text that only ever grows."""
        for position in range(max(self._indexed, 1), len(tokens)):
            for n in self._lengths:
                if n > position:
                    break
                self._after[tuple(tokens[position - n : position])] = position
        self._indexed = len(tokens)

    def find(self, tokens: Sequence[int]) -> tuple[int, int] | None:
        """(n, position after the match) for the longest suffix of `tokens` that occurred before; None if none did."""
        for n in reversed(self._lengths):
            if n < len(tokens):
                after = self._after.get(tuple(tokens[-n:]))
                if after is not None:
                    return n, after
        return None


@DRAFTERS.register("ngram")
class NgramDrafter(Drafter):
    """Copies what followed the last occurrence of the text's final n-gram.

    Best where the output repeats the input: editing, summarising, code. A match that runs into the end of the text
    goes on with the copied tokens themselves, so that a repeating pattern continues. Candidates are point masses.
    Prompt lookup decoding (Saxena 2023); LLMA (Yang et al., 2304.04487).
    """

    name: ClassVar[str] = "ngram"
    options_type: ClassVar[type[Options]] = NgramOptions
    lossless: ClassVar[bool] = True
    needs_model: ClassVar[bool] = False

    def __init__(self, options: Options, model: LanguageModel | None = None) -> None:
        assert isinstance(options, NgramOptions)
        super().__init__(options, model)
        self._index = NgramIndex(options.min_ngram, options.max_ngram)

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset(["point_mass"])

    @classmethod
    def shape(cls, options: Options, sampling: Sampling) -> Shape:
        return "chain"

    def begin(self, tokens: Sequence[int]) -> None:
        self._index.extend(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        tokens = context.tokens
        tree = DraftTree.from_root(tokens[-1])
        self._index.extend(tokens)
        match = self._index.find(tokens)
        if match is None:
            return Proposal(tree, note={"match_length": 0})
        length, after = match
        node = ROOT
        for i in range(after, after + min(self.options.gamma, context.max_depth)):
            copied = tokens[i] if i < len(tokens) else tree.tokens[1 + i - len(tokens)]
            node = tree.add(node, copied, "point_mass", None, self.name)
        return Proposal(tree, note={"match_length": length, "source_position": after})
