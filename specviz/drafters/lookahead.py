"""Lookahead decoding: n-grams from the target's own Jacobi trajectories, guessed when their first token comes up.

window ─► chains of its columns ─┐                        ┌─► n-grams ─► pool
                                 ├─► one tree, one pass ──┤
pool[root] ─► guessed n-grams ───┘                        └─► the window's next level
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Needs, Proposal, RoundOutcome
from specviz.drafters.capabilities import Begins, Observes, Remembers
from specviz.errors import MemoryFileError
from specviz.options import Options, option, to_mapping
from specviz.trace.declared_method import Candidates
from specviz.trace.events import Option
from specviz.trace.header import Exhibit, ExhibitRow

WINDOW, POOL = "window", "pool"
"""what nodes are marked with; a node of both branches is a guess"""


@dataclass(frozen=True)
class LookaheadOptions(Options):
    """Size of the window, of its n-grams and of the pool."""

    window: int = option(5, help="columns of the window: positions ahead that are iterated", minimum=1, maximum=64)
    ngram: int = option(4, help="tokens of an n-gram; the window has one level less", minimum=2, maximum=16)
    guesses: int = option(
        5, help="n-grams kept per first token, and guessed in a round where it is the root", minimum=1, maximum=64
    )
    prompt_pool: bool = option(False, help="take the n-grams of the text itself into the pool too")


class Window:
    """`width` columns of up to `height` levels. Token (level l, column i) stands i + l tokens after the root."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.levels: list[list[int]] = []
        """as they were before the root's own token took the place of level 0, column 0"""
        self._read = 0

    @property
    def is_full(self) -> bool:
        """It gives n-grams."""
        return len(self.levels) == self.height

    def begin(self, tokens: Sequence[int]) -> None:
        """Level 0 begins with tokens of the text, read in a circle: any guess will do, and this one needs no
        randomness."""
        self.levels = [self._fresh(tokens, self.width)]

    def column(self, index: int) -> list[int]:
        """Tokens from level 0 down."""
        return [level[index] for level in self.levels]

    def advance(self, answers: Sequence[int], committed: int, tokens: Sequence[int]) -> None:
        """One iteration: `answers` (of the first columns, at least one) become the last level, `committed` tokens went
        into the text. A full window gives up its first level, which is one position; columns now behind the root
        leave at the left, and tokens of the text fill up the right."""
        answered = [*answers, *self._fresh(tokens, self.width - len(answers))]
        moved = committed - 1 if self.is_full else committed
        levels = [*self.levels, answered][-self.height :]
        kept = [level[moved:] for level in levels]
        self.levels = [[*level, *self._fresh(tokens, self.width - len(level))] for level in kept]

    def _fresh(self, tokens: Sequence[int], count: int) -> list[int]:
        found = [tokens[(self._read + index) % len(tokens)] for index in range(count)]
        self._read += count
        return found


def columns_that_fit(window: Window, max_depth: int) -> int:
    """Columns whose last token is no deeper than `max_depth` below the root."""
    return max(0, min(window.width, max_depth - len(window.levels) + 2))


Ngram = tuple[int, ...]


class NgramPool:
    """First token → the `size` continuations of `length` - 1 tokens that were seen last."""

    def __init__(self, length: int, size: int) -> None:
        self._length = length
        self._size = size
        self._after: dict[int, dict[Ngram, None]] = {}

    def __len__(self) -> int:
        """N-grams held."""
        return sum(map(len, self._after.values()))

    def add(self, ngram: Sequence[int]) -> bool:
        """Take in an n-gram, or make a known one the newest; whether it is new."""
        first, rest = ngram[0], tuple(ngram[1:])
        known = self._after.setdefault(first, {})
        is_new = rest not in known
        known.pop(rest, None)
        known[rest] = None
        if len(known) > self._size:
            del known[next(iter(known))]
        return is_new

    def read(self, tokens: Sequence[int], start: int = 0) -> None:
        """Take in every n-gram of a text that begins at `start` or later."""
        for position in range(max(0, start), len(tokens) - self._length + 1):
            self.add(tokens[position : position + self._length])

    def after(self, token: int) -> list[Ngram]:
        """What followed the token, newest first."""
        return list(reversed(self._after.get(token, {})))

    def to_bytes(self) -> bytes:
        """Everything, the oldest first."""
        return json.dumps([[first, *rest] for first, known in self._after.items() for rest in known]).encode()

    def from_bytes(self, data: bytes) -> None:
        """Take in what `to_bytes` gave. Raises MemoryFileError where it is no list of n-grams of this length."""
        try:
            ngrams = json.loads(data)
            fits = isinstance(ngrams, list) and all(self._is_ngram(one) for one in ngrams)
        except ValueError:
            fits = False
        if not fits:
            raise MemoryFileError(
                f"the memory holds something else than n-grams of {self._length} tokens; begin anew with memory "
                "'reset'."
            )
        for ngram in ngrams:
            self.add(ngram)

    def _is_ngram(self, one: object) -> bool:
        return isinstance(one, list) and len(one) == self._length and all(type(token) is int for token in one)


@dataclass(slots=True)
class Layout:
    """The tree of a round; paths that begin alike share their nodes, because an answer depends on its path alone."""

    tree: DraftTree
    ends: list[int] = field(default_factory=list)
    """last node per column"""
    known: dict[tuple[int, int], int] = field(default_factory=dict)
    """(parent, token) → node"""

    def walk(self, node: int, tokens: Sequence[int], source: str) -> list[int]:
        """Nodes of a chain below `node`, added where they are missing."""
        path = list[int]()
        for token in tokens:
            following = self.known.get((node, token))
            if following is None:
                following = self.known[node, token] = self.tree.add(node, token, "point_mass", None, source)
            path.append(following)
            node = following
        return path


@DRAFTERS.register("lookahead")
class LookaheadDrafter(Drafter[LookaheadOptions], Remembers, Begins, Observes):
    """Lets the target continue several positions ahead at once, and guesses the n-grams that come of it later.

    A Jacobi iteration over a window of positions rides along in every target pass; its trajectories are n-grams, kept
    in a pool by their first token. Where that token ends the text, they are drafted. No model and no training, but
    many rows in every pass. Candidates are point masses, the window's own rows too. The pool may outlive a run.
    Fu et al. 2402.02057, lookahead decoding (§3; window, n-gram pool and verification branch).
    """

    candidates: ClassVar[Candidates] = Candidates(sources=("window", "pool"), riding="window", shows=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="n-grams that the target wrote ahead of the text", memory="a pool of n-grams"
    )

    def __init__(self, options: LookaheadOptions) -> None:
        super().__init__(options)
        self._pool = NgramPool(self.options.ngram, self.options.guesses)
        self._window = Window(self.options.window, self.options.ngram - 1)
        self._layout: Layout | None = None
        self._read = 0
        """tokens of the text whose n-grams are in the pool"""

    def remembered_for(self) -> Mapping[str, Option]:
        return to_mapping(self.options)

    def recall(self, memory: bytes) -> None:
        self._pool.from_bytes(memory)

    def memory(self) -> bytes:
        return self._pool.to_bytes()

    def begin(self, tokens: Sequence[int]) -> None:
        self._window.begin(tokens)
        self._read_text(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        layout = Layout(DraftTree.from_root(context.tokens[-1]))
        exhibits = [*self._guess(layout, context), self._look_ahead(layout, context)]
        self._layout = layout
        riding = [node for node, source in enumerate(layout.tree.sources) if source == WINDOW]
        return Proposal(layout.tree, note={"pool": len(self._pool)}, exhibits=exhibits, riding=riding)

    def _guess(self, layout: Layout, context: DraftContext) -> list[Exhibit]:
        """The verification branch: what followed the root's token before, newest first."""
        rows = list[ExhibitRow]()
        for rest in self._pool.after(context.tokens[-1]):
            nodes = layout.walk(ROOT, rest[: context.max_depth], POOL)
            rows.append(ExhibitRow("after the root", list(rest), marks=list(range(len(nodes))), nodes=nodes))
        return [Exhibit("n-grams from the pool", rows, marked="drafted")] if rows else []

    def _look_ahead(self, layout: Layout, context: DraftContext) -> Exhibit:
        """The lookahead branch: level 0 is the trunk, and each column hangs below its token of the trunk."""
        window = self._window
        window.levels[0][0] = context.tokens[-1]
        columns = columns_that_fit(window, context.max_depth)
        trunk = [ROOT, *layout.walk(ROOT, window.levels[0][1:columns], WINDOW)][:columns]
        chains = [layout.walk(node, window.column(i)[1:], WINDOW) for i, node in enumerate(trunk)]
        layout.ends = [chain[-1] if chain else node for node, chain in zip(trunk, chains, strict=True)]
        rows = list[ExhibitRow]()
        for level, tokens in enumerate(window.levels):
            nodes = [chain[level - 1] if level else node for node, chain in zip(trunk, chains, strict=True)]
            rows.append(ExhibitRow(f"level {level}", list(tokens), marks=list(range(len(nodes))), nodes=nodes))
        return Exhibit("window", rows, marked="in this pass")

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        layout, self._layout = self._layout, None
        answered = list[int]()
        if layout is not None and layout.ends:
            answered = outcome.logits[layout.ends].argmax(-1).tolist()
        learned = self._collect(answered)
        if answered:
            learned.insert(0, Exhibit("the window's next level", [ExhibitRow("target", answered)]))
            self._window.advance(answered, len(outcome.path) + 1, outcome.tokens)
        self._read_text(outcome.tokens)
        return learned

    def _collect(self, answered: Sequence[int]) -> list[Exhibit]:
        """Columns that are full give an n-gram each: their tokens and the target's answer."""
        if not self._window.is_full:
            return []
        ngrams = [[*self._window.column(i), token] for i, token in enumerate(answered)]
        rows = [ExhibitRow(f"column {i}", ngram) for i, ngram in enumerate(ngrams) if self._pool.add(ngram)]
        return [Exhibit("n-grams new in the pool", rows)] if rows else []

    def _read_text(self, tokens: Sequence[int]) -> None:
        if self.options.prompt_pool:
            self._pool.read(tokens, self._read - self.options.ngram + 1)
            self._read = len(tokens)
