"""A round's forward passes once more, and nothing else: the same models, row counts, cache lengths and branching.

Place in the flow: `speed/efficiency.py` calls it between two rounds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from specviz.lm.base import Cache, LanguageModel
from specviz.lm.step_time import Clock, synchronize
from specviz.trace.events import Pass, Round


@dataclass(slots=True)
class PassReplay:
    """Replays rounds of one pair of models; each has a cache of its own, which follows the text."""

    target: LanguageModel
    drafter: LanguageModel | None = None
    """None: drafting passes are not priced"""
    clock: Clock = time.perf_counter
    seconds: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    """`target` and `drafter`: row count → seconds of every pass"""
    _caches: dict[str, Cache] = field(default_factory=dict)

    def replay(self, one: Round) -> float:
        """Seconds of the drafter's passes and the target's, in their order."""
        drafts = one.drafted.passes if self.drafter is not None else []
        # Both caches are brought to their lengths first, so that weights are as warm or cold as in the round.
        self._bring("target", self.target, one.scored.target_pass.cached_rows)
        total = 0.0
        for number, single in enumerate(drafts):
            assert self.drafter is not None
            self._bring("drafter", self.drafter, single.cached_rows)
            # The first pass reads text, one row after the other; the next ones are a level of the tree each.
            siblings = None if number == 0 or single.rows == 1 else [single.cached_rows - 1] * single.rows
            total += self._pass("drafter", self.drafter, single, siblings, last_only=number == 0)
        start = one.scored.target_pass.cached_rows
        is_chain = all(node.parent == index - 1 for index, node in enumerate(one.nodes))
        parents = None if is_chain else [start + node.parent for node in one.nodes]
        return total + self._pass("target", self.target, one.scored.target_pass, parents)

    def medians(self) -> dict[str, dict[int, float]]:
        """Role → row count → seconds."""
        return {
            role: {rows: median(values) for rows, values in sorted(found.items())}
            for role, found in self.seconds.items()
        }

    def _bring(self, role: str, model: LanguageModel, length: int) -> None:
        """A cache of exactly so many rows, untimed: shortened, or lengthened by any tokens."""
        cache = self._caches.setdefault(role, model.new_cache())
        start = cache.length
        if start > length:
            cache.truncate(length)
        elif start < length:
            model.forward(_tokens(model, length - start), cache, last_only=True)
            cache.keep(range(start, length))

    def _pass(
        self, role: str, model: LanguageModel, single: Pass, parents: Sequence[int] | None, last_only: bool = False
    ) -> float:
        """Seconds of one pass; the rows of a chain stay, as most of them do in a run."""
        cache, tokens = self._caches[role], _tokens(model, single.rows)
        synchronize(model.device)
        began = self.clock()
        model.forward(tokens, cache, parents, last_only)
        synchronize(model.device)
        took = self.clock() - began
        cache.keep(range(single.cached_rows, single.cached_rows + single.rows) if parents is None else [])
        self.seconds.setdefault(role, {}).setdefault(single.rows, []).append(took)
        return took


def _tokens(model: LanguageModel, n: int) -> list[int]:
    """Any tokens do: time does not depend on them."""
    return [i % model.info.vocab_size for i in range(n)]
