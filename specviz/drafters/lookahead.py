"""Lookahead decoding: n-grams from the target's own Jacobi trajectories, guessed when their first token comes up.

    window ─► chains of its columns ─┐                        ┌─► n-grams ─► pool
                                     ├─► one tree, one pass ──┤
    pool[root] ─► guessed n-grams ───┘                        └─► the window's next level

Knows nothing about models or verifiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Outcome, Proposal
from specviz.drafters.parts.lookahead_window import Window, columns_that_fit
from specviz.drafters.parts.ngram_pool import NgramPool
from specviz.lm.base import LanguageModel
from specviz.options import Options, option
from specviz.trace.events import CandidateKind
from specviz.trace.exhibits import Exhibit, ExhibitRow


@dataclass(frozen=True)
class LookaheadOptions(Options):
    """Size of the window, of its n-grams and of the pool."""

    window: int = option(5, help="columns of the window: positions ahead that are iterated", minimum=1, maximum=64)
    ngram: int = option(4, help="tokens of an n-gram; the window has one level less", minimum=2, maximum=16)
    guesses: int = option(
        5, help="n-grams kept per first token, and guessed in a round where it is the root", minimum=1, maximum=64
    )
    prompt_pool: bool = option(False, help="take the n-grams of the text itself into the pool too")


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
class LookaheadDrafter(Drafter):
    """Lets the target continue several positions ahead at once, and guesses the n-grams that come of it later.

    A Jacobi iteration over a window of positions rides along in every target pass; its trajectories are n-grams, kept
    in a pool by their first token. Where that token ends the text, they are drafted. No model and no training, but
    many rows in every pass. Candidates are point masses, the window's own rows too. The pool may outlive a run.
    Fu et al. 2402.02057, lookahead decoding (§3; window, n-gram pool and verification branch).
    """

    name: ClassVar[str] = "lookahead"
    options_type: ClassVar[type[Options]] = LookaheadOptions
    lossless: ClassVar[bool] = True
    needs_model: ClassVar[bool] = False
    remembers: ClassVar[bool] = True

    def __init__(self, options: Options, model: LanguageModel | None) -> None:
        super().__init__(options, model)
        self._pool = NgramPool(self.options.ngram, self.options.guesses)
        self._window = Window(self.options.window, self.options.ngram - 1)
        self._layout: Layout | None = None
        self._read = 0
        """tokens of the text whose n-grams are in the pool"""

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset(["point_mass"])

    def recall(self, memory: bytes) -> None:
        self._pool.from_bytes(memory)

    def memory(self) -> bytes:
        return self._pool.to_bytes()

    def begin(self, tokens: Sequence[int]) -> None:
        self._window.begin(tokens)
        self._read_text(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        layout = Layout(DraftTree.from_root(context.tokens[-1]))
        knew = [*self._guess(layout, context), self._look_ahead(layout, context)]
        self._layout = layout
        return Proposal(layout.tree, note={"pool": len(self._pool)}, knew=knew)

    def _guess(self, layout: Layout, context: DraftContext) -> list[Exhibit]:
        """The verification branch: what followed the root's token before, newest first."""
        rows = list[ExhibitRow]()
        for rest in self._pool.after(context.tokens[-1]):
            nodes = layout.walk(ROOT, rest[: context.max_depth], "pool")
            rows.append(ExhibitRow("after the root", list(rest), marks=list(range(len(nodes))), nodes=nodes))
        return [Exhibit("n-grams from the pool", rows, marked="drafted")] if rows else []

    def _look_ahead(self, layout: Layout, context: DraftContext) -> Exhibit:
        """The lookahead branch: level 0 is the trunk, and each column hangs below its token of the trunk."""
        window = self._window
        window.levels[0][0] = context.tokens[-1]
        columns = columns_that_fit(window, context.max_depth)
        trunk = [ROOT, *layout.walk(ROOT, window.levels[0][1:columns], "window")][:columns]
        chains = [layout.walk(node, window.column(i)[1:], "window") for i, node in enumerate(trunk)]
        layout.ends = [chain[-1] if chain else node for node, chain in zip(trunk, chains, strict=True)]
        rows = list[ExhibitRow]()
        for level, tokens in enumerate(window.levels):
            nodes = [chain[level - 1] if level else node for node, chain in zip(trunk, chains, strict=True)]
            rows.append(ExhibitRow(f"level {level}", list(tokens), marks=list(range(len(nodes))), nodes=nodes))
        return Exhibit("window", rows, marked="in this pass")

    def observe(self, outcome: Outcome) -> list[Exhibit]:
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
