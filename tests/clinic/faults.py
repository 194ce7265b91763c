"""Faults of real engines, planted one at a time into a run at temperature 0, whose text is then no longer the target's.

Three places bear them: the cache of the target (what a row sees, where it stands, what stays after a round), the greedy
verdict, and what is handed out at the end.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from specviz.core.tree import ROOT
from specviz.lm.llama.rows import LlamaCache
from specviz.lm.load import LoadedModel, load
from specviz.lm.rows import Placement
from specviz.trace.events import Trace
from specviz.verifiers.base import Verdict
from specviz.verifiers.greedy import GreedyVerifier

WINDOW = 16
"""rows that a fault lets a pass see"""


# --- the target's cache ----------------------------------------------------------------------------------------------


class RowsAsPositions(LlamaCache):
    """Siblings stand at their row's number, not at their depth."""

    def place(self, tokens: Sequence[int], parents: Sequence[int] | None, context_length: int) -> Placement:
        placement = super().place(tokens, parents, context_length)
        return replace(placement, positions=list(range(placement.start, placement.stop)))


class LeakyMask(LlamaCache):
    """Every row of a tree sees all rows before it, other branches too."""

    def place(self, tokens: Sequence[int], parents: Sequence[int] | None, context_length: int) -> Placement:
        placement = super().place(tokens, parents, context_length)
        n = len(placement.tokens)
        if placement.visible is None:
            return placement
        return replace(placement, visible=np.tril(np.ones((n, placement.stop), dtype=np.bool_), placement.start))


class BlindToParent(LlamaCache):
    """A row of a tree does not see its parent."""

    def place(self, tokens: Sequence[int], parents: Sequence[int] | None, context_length: int) -> Placement:
        placement = super().place(tokens, parents, context_length)
        if placement.visible is None:
            return placement
        visible = placement.visible.copy()
        for row, parent in enumerate(placement.parents):
            if parent >= placement.start:
                visible[row, parent] = False
        return replace(placement, visible=visible)


class ShortSight(LlamaCache):
    """A pass that verifies sees the last `WINDOW` rows alone."""

    def place(self, tokens: Sequence[int], parents: Sequence[int] | None, context_length: int) -> Placement:
        placement = super().place(tokens, parents, context_length)
        n, start = len(placement.tokens), placement.start
        if not 1 < n <= 16 or start <= WINDOW:
            return placement
        visible = (
            placement.visible if placement.visible is not None else np.tril(np.ones((n, start + n), np.bool_), start)
        )
        visible = visible.copy()
        visible[:, : start - WINDOW] = False
        return replace(placement, visible=visible)


class NotCompacted(LlamaCache):
    """The rows of an accepted branch stay where they were; the first branch's are read in their place."""

    def _move_rows(self, rows: list[int], start: int) -> None:
        pass


class CutTooFar(LlamaCache):
    """Roll-back drops the last accepted row too."""

    def keep(self, rows: Sequence[int]) -> None:
        super().keep(rows[:-1] if 1 < len(rows) <= 8 else rows)


class RejectedStays(LlamaCache):
    """Roll-back keeps the first rejected row."""

    def keep(self, rows: Sequence[int]) -> None:
        end = rows[-1] if rows else self.base - 1
        extra = next((row for row in range(end + 1, self.length) if self._parents[row] == end), None)
        super().keep([*rows, extra] if extra is not None and len(rows) <= 8 else rows)


class Overwritten(LlamaCache):
    """After each round the newest rows of the text hold those before them: two requests wrote to one block."""

    def keep(self, rows: Sequence[int]) -> None:
        super().keep(rows)
        end = self.length
        if len(rows) <= 8 and end > 8:
            self._kv[:, :, end - 4 : end] = self._kv[:, :, end - 8 : end - 4].clone()


class PositionsRunOn(LlamaCache):
    """Positions go on counting what was rejected."""

    rejected = 0

    def place(self, tokens: Sequence[int], parents: Sequence[int] | None, context_length: int) -> Placement:
        placement = super().place(tokens, parents, context_length)
        return replace(placement, positions=[position + self.rejected for position in placement.positions])

    def keep(self, rows: Sequence[int]) -> None:
        dropped = self.length - self.base - len(rows)
        super().keep(rows)
        if len(rows) <= 8:
            self.rejected += dropped


def loading(cache: type[LlamaCache], target: str) -> Callable[..., LoadedModel]:
    """A loader whose model of the name `target` has such a cache."""

    def faulty(name: str, **how: Any) -> LoadedModel:
        loaded = load(name, **how)
        if name != target:
            return loaded
        model: Any = copy(loaded.model)

        def new_cache() -> LlamaCache:
            made = loaded.model.new_cache()
            made.__class__ = cache
            return made

        model.new_cache = new_cache
        return replace(loaded, model=model)

    return faulty


# --- the verdict -----------------------------------------------------------------------------------------------------

SOUND = GreedyVerifier.judge


def first_unverified(self: Any, tree: Any, target: Any, randomness: Any, position: int) -> Verdict:
    """The first candidate is taken as it is."""
    return SOUND(
        self, tree, Seen(target, lambda node, best: _child(tree, node) if node == ROOT else best), randomness, position
    )


def lenient(self: Any, tree: Any, target: Any, randomness: Any, position: int) -> Verdict:
    """A candidate among the three most probable tokens passes at temperature 0."""

    def choice(node: int, best: int) -> int:
        likely = target._logits[node].topk(3).indices.tolist()
        return next((tree.tokens[child] for child in tree.children(node) if tree.tokens[child] in likely), best)

    return SOUND(self, tree, Seen(target, choice), randomness, position)


def wrong_row(self: Any, tree: Any, target: Any, randomness: Any, position: int) -> Verdict:
    """The bonus is read at the row before the last accepted one."""
    verdict = SOUND(self, tree, target, randomness, position)
    if verdict.origin != "bonus":
        return verdict
    return replace(verdict, token=target.argmax(tree.parents[verdict.path[-1]]))


def last_row(self: Any, tree: Any, target: Any, randomness: Any, position: int) -> Verdict:
    """The round's last token is read at the pass's last row, whatever was accepted."""
    verdict = SOUND(self, tree, target, randomness, position)
    return replace(verdict, token=target.argmax(len(tree) - 1))


def candidate_kept(self: Any, tree: Any, target: Any, randomness: Any, position: int) -> Verdict:
    """In place of the correction the rejected candidate is committed."""
    verdict = SOUND(self, tree, target, randomness, position)
    if verdict.origin != "correction":
        return verdict
    end = verdict.path[-1] if verdict.path else ROOT
    return replace(verdict, token=_child(tree, end))


def wrong_residual(self: Any, tree: Any, target: Any, randomness: Any, position: int) -> Verdict:
    """The correction leaves out the target's best token, as if that had been rejected."""
    verdict = SOUND(self, tree, target, randomness, position)
    if verdict.origin != "correction":
        return verdict
    end = verdict.path[-1] if verdict.path else ROOT
    return replace(verdict, token=int(target._logits[end].topk(2).indices[1]))


def warm(self: Any, tree: Any, target: Any, randomness: Any, position: int) -> Verdict:
    """The target's choice is drawn at temperature 1, the draft's, where 0 was asked for."""

    def drawn(node: int, best: int) -> int:
        return int(randomness.draw(target._logits[node].float().softmax(-1), ("warm", position, node)).token)

    return SOUND(self, tree, Seen(target, drawn), randomness, position)


def penalised(self: Any, tree: Any, target: Any, randomness: Any, position: int) -> Verdict:
    """A repetition penalty of 1.5 on the draft's tokens, which plain decoding does not have."""

    def choice(node: int, best: int) -> int:
        logits = target._logits[node].float().clone()
        drafted = sorted(set(tree.tokens))
        logits[drafted] = logits[drafted].clamp(min=0) / 1.5 + logits[drafted].clamp(max=0) * 1.5
        return int(logits.argmax())

    return SOUND(self, tree, Seen(target, choice), randomness, position)


def one_shard(self: Any, tree: Any, target: Any, randomness: Any, position: int) -> Verdict:
    """Only the first of two halves of the vocabulary takes part in the argmax."""

    def choice(node: int, best: int) -> int:
        row = target._logits[node]
        return int(row[: len(row) // 2].argmax())

    return SOUND(self, tree, Seen(target, choice), randomness, position)


@dataclass
class Seen:
    """A scored tree whose most probable tokens are told otherwise."""

    rows: Any
    choice: Callable[[int, int], int]

    def argmax(self, node: int) -> int:
        return self.choice(node, self.rows.argmax(node))


def _child(tree: Any, node: int, otherwise: int = 0) -> int:
    children = tree.children(node)
    return int(tree.tokens[children[0]]) if children else otherwise


# --- what is handed out ----------------------------------------------------------------------------------------------


def _twice(trace: Trace) -> list[int]:
    """The last token of every third round is handed out twice."""
    rounds = [[token.token for token in this.committed.tokens] for this in trace.rounds]
    return [token for index, ids in enumerate(rounds) for token in (*ids, *(ids[-1:] if index % 3 == 2 else ()))]


def endless(target: str) -> Callable[..., LoadedModel]:
    """A loader whose model of the name `target` has no end-of-text token that anybody looks for."""

    def faulty(name: str, **how: Any) -> LoadedModel:
        loaded = load(name, **how)
        if name != target:
            return loaded
        model: Any = copy(loaded.model)
        model._info = replace(loaded.info, eos_ids=())
        return replace(loaded, model=model, info=model._info)

    return faulty


# --- all of them -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlantedFault:
    """One fault, and where it is planted."""

    name: str
    rules: tuple[str, ...]
    """which rules it breaks, any of which may show first: keys of `doctor.broken_rules.RULES`"""
    cache: type[LlamaCache] | None = None
    judge: Callable[..., Verdict] | None = None
    output: Callable[[Trace], list[int]] | None = None
    ends: bool = True
    """whether the end of the text is looked for"""
    tree: bool = True
    """drafted as a tree, else as a chain"""

    def loader_of(self, target: Path) -> Callable[..., LoadedModel]:
        """What loads the pair, the target in this folder with the fault."""
        if not self.ends:
            return endless(str(target))
        return loading(self.cache, str(target)) if self.cache else load

    def planted(self) -> AbstractContextManager[object]:
        """While this is entered, the greedy verifier judges so."""
        return patch.object(GreedyVerifier, "judge", self.judge) if self.judge else nullcontext()

    def answer(self, trace: Trace) -> list[int]:
        return self.output(trace) if self.output else list(trace.finished.output_ids)


FAULTS = (
    PlantedFault("siblings at the wrong rotary index", ("tree",), RowsAsPositions),
    PlantedFault("mask leaks between branches", ("tree",), LeakyMask),
    PlantedFault("rows do not see their parent", ("tree",), BlindToParent),
    PlantedFault("verifying pass sees a short window", ("cache",), ShortSight),
    PlantedFault("accepted branch not compacted", ("cache",), NotCompacted),
    PlantedFault("roll-back drops an accepted row", ("roll-back",), CutTooFar),
    PlantedFault("roll-back keeps a rejected row", ("roll-back",), RejectedStays),
    PlantedFault("cache overwritten", ("cache",), Overwritten, tree=False),
    PlantedFault("positions count what was rejected", ("cache",), PositionsRunOn),
    PlantedFault("first token unverified", ("verdict",), judge=first_unverified),
    PlantedFault("accepted among the three best", ("verdict",), judge=lenient, tree=False),
    PlantedFault("bonus from the wrong row", ("last token",), judge=wrong_row, tree=False),
    PlantedFault("last token from the last row", ("last token",), judge=last_row),
    PlantedFault("rejected candidate committed", ("last token",), judge=candidate_kept, tree=False),
    PlantedFault("wrong residual", ("last token",), judge=wrong_residual),
    PlantedFault("the draft's temperature", ("verdict", "last token"), judge=warm, tree=False),
    PlantedFault("repetition penalty on the draft's tokens", ("verdict", "last token"), judge=penalised, tree=False),
    PlantedFault("argmax over half of the vocabulary", ("verdict", "last token"), judge=one_shard, tree=False),
    PlantedFault("last token handed out twice", ("output",), output=_twice, tree=False),
    PlantedFault("end of text not looked for", ("end",), ends=False, tree=False),
)
