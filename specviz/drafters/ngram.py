"""Drafts copied from the text itself (prompt lookup): no model, no training, almost no time.

An incremental index maps every n-gram to its last occurrences, so that a round costs the same however long the text is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree, Shape
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Needs, Proposal
from specviz.drafters.capabilities import Begins
from specviz.errors import OptionError
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates
from specviz.trace.events import Option
from specviz.trace.header import Exhibit, ExhibitRow

SEARCHED = 32
"""the last occurrences of an n-gram that are looked at for different continuations"""


@dataclass(frozen=True)
class NgramOptions(Options):
    """How much of the end of the text must recur, and how much is copied."""

    gamma: int = option(4, help="tokens copied per round", minimum=1, maximum=64, counts="levels")
    max_ngram: int = option(3, help="longest suffix looked up", minimum=1, maximum=16)
    min_ngram: int = option(1, help="shortest suffix looked up", minimum=1, maximum=16)
    continuations: int = option(
        1,
        help="different continuations copied, longest and latest match first; above 1 the draft is a tree",
        minimum=1,
        maximum=8,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_ngram > self.max_ngram:
            raise OptionError(
                f"min_ngram is {self.min_ngram} and max_ngram {self.max_ngram}, but the shortest suffix cannot be "
                "longer than the longest; lower min_ngram."
            )


class NgramIndex:
    """n-gram → positions of the tokens that followed its last `kept` occurrences. Each token is indexed once."""

    def __init__(self, shortest: int, longest: int, kept: int = 1) -> None:
        self._lengths = range(shortest, longest + 1)
        self._kept = kept
        self._after: dict[tuple[int, ...], list[int]] = {}
        self._indexed = 0

    def extend(self, tokens: Sequence[int]) -> None:
        """Index all n-grams that are followed by a token of `tokens`, a text that only ever grows."""
        for position in range(max(self._indexed, 1), len(tokens)):
            for n in self._lengths:
                if n > position:
                    break
                found = self._after.setdefault(tuple(tokens[position - n : position]), [])
                found.append(position)
                if len(found) > self._kept:
                    del found[0]
        self._indexed = len(tokens)

    def find(self, tokens: Sequence[int]) -> Iterator[tuple[int, int]]:
        """(n, position after the match) wherever a suffix of `tokens` occurred before: the longest suffix first, its
        latest occurrence first, each position once."""
        seen = set[int]()
        for n in reversed(self._lengths):
            if n < len(tokens):
                for after in reversed(self._after.get(tuple(tokens[-n:]), ())):
                    if after not in seen:
                        seen.add(after)
                        yield n, after


@DRAFTERS.register("ngram")
class NgramDrafter(Drafter[NgramOptions], Begins):
    """Copies what followed earlier occurrences of the text's final n-gram.

    Best where the output repeats the input: editing, summarising, code. Longest match first, the latest of equally
    long ones; several different continuations make a tree. A match that runs into the end of the text goes on with the
    copied tokens themselves, so that a repeating pattern continues. Candidates are point masses.
    Prompt lookup decoding (Saxena 2023); LLMA (Yang et al., 2304.04487).
    """

    candidates: ClassVar[Candidates] = Candidates(deepest="gamma", reaches=True, leaves="continuations", shows=True)
    needs: ClassVar[Needs | None] = Needs(guesses_from="the text so far", memory="an index of the text's n-grams")

    def __init__(self, options: NgramOptions) -> None:
        super().__init__(options)
        kept = SEARCHED if options.continuations > 1 else 1
        self._index = NgramIndex(options.min_ngram, options.max_ngram, kept)

    def shape(self, sampling: Sampling) -> Shape:
        return "chain" if self.options.continuations == 1 else "tree"

    def begin(self, tokens: Sequence[int]) -> None:
        self._index.extend(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        tokens = context.tokens
        tree = DraftTree.from_root(tokens[-1])
        self._index.extend(tokens)
        copies = list[_Copy]()
        child: dict[tuple[int, int], int] = {}
        for length, after in self._index.find(tokens):
            if tokens[after] in context.unsaid:
                continue
            copy = _Copy(length, after, min(self.options.gamma, context.max_depth))
            before = len(tree)
            copy.draft(context, tree, child, self.name)
            if len(tree) > before or not copies:
                copies.append(copy)
            if len(copies) == self.options.continuations:
                break
        if not copies:
            return Proposal(tree, note={"match_length": 0})
        note: dict[str, Option] = {"match_length": copies[0].length, "source_position": copies[0].after}
        rows = [row for copy in copies for row in copy.rows(tokens, tree)]
        return Proposal(
            tree, note=note, exhibits=[Exhibit("copied from the text", rows, marked="drafted")] if rows else []
        )


@dataclass(slots=True)
class _Copy:
    """One continuation: `depth` tokens from position `after` on, behind a match of `length` tokens."""

    length: int
    after: int
    depth: int
    nodes: list[int] = field(default_factory=list)

    def draft(self, context: DraftContext, tree: DraftTree, child: dict[tuple[int, int], int], source: str) -> None:
        """Add what the tree does not hold yet; beyond the text's end the copy's own tokens are copied. It stops before
        a mark of a chat template and behind the end of a text, whatever the prompt goes on with."""
        node, tokens = ROOT, context.tokens
        for i in range(self.after, self.after + self.depth):
            token = tokens[i] if i < len(tokens) else tree.tokens[self.nodes[i - len(tokens)]]
            if token in context.unsaid:
                break
            if (node, token) not in child:
                child[node, token] = tree.add(node, token, "point_mass", None, source)
            node = child[node, token]
            self.nodes.append(node)
            if token in context.ends:
                break

    def rows(self, tokens: Sequence[int], tree: DraftTree) -> list[ExhibitRow]:
        """Match and copy as they stand in the text, mark k being node k; what was copied from the copy has no place."""
        inside = self.nodes[: len(tokens) - self.after]
        beyond = self.nodes[len(inside) :]
        start = self.after - self.length
        marks = list(range(self.length, self.length + len(inside)))
        found = []
        if inside:
            text = list(tokens[start : self.after + len(inside)])
            found.append(ExhibitRow(f"after a match of {self.length}", text, marks, inside, start))
        if beyond:
            again = [tree.tokens[node] for node in beyond]
            found.append(ExhibitRow("the copy, copied on", again, list(range(len(again))), beyond))
        return found
