"""A lattice of guesses: at each place ahead the likeliest tokens, and how probable each is after each one before it.

    heads ─► k tokens at each of γ places ─► + first-order steps ─► most probable prefixes (a tree), best path

Order 0 prunes, order 1 decides, as in cascaded text generation with Markov transformers (2006.01112). Probabilities
here are normalised step by step, so that a prefix's is the product along it. Registers nothing.

Shapes: γ places, k tokens each.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from specviz.core.tree import ROOT, DraftTree
from specviz.trace.events import Option
from specviz.trace.exhibits import Exhibit, ExhibitRow

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lattice:
    """Natural logarithms of probabilities."""

    tokens: np.ndarray
    """[γ, k] ids, at each place the one that its head holds most probable first"""
    first: np.ndarray
    """[k], of the first place's tokens"""
    steps: np.ndarray
    """[γ - 1, k, k]: steps[i, a, b] of token b at place i + 1 after token a at place i"""

    @property
    def places(self) -> int:
        return len(self.tokens)

    def prefixes(self, most: int) -> list[Path]:
        """The `most` most probable beginnings as token ids, each after its own beginning: exact, for a prefix is never
        more probable than what it begins with. Of equals the one whose tokens rank first."""
        waiting = [(-float(one), (rank,)) for rank, one in enumerate(self.first)]
        heapq.heapify(waiting)
        chosen = list[Path]()
        while waiting and len(chosen) < most:
            cost, ranks = heapq.heappop(waiting)
            chosen.append(tuple(int(self.tokens[place, rank]) for place, rank in enumerate(ranks)))
            if len(ranks) < self.places:
                after = self.steps[len(ranks) - 1, ranks[-1]]
                for rank, one in enumerate(after):
                    heapq.heappush(waiting, (cost - float(one), (*ranks, rank)))
        return chosen

    def best_path(self) -> tuple[list[int], float]:
        """The most probable path through all places, as token ids, and the logarithm of its probability (Viterbi)."""
        score, back = self.first, list[np.ndarray]()
        for step in self.steps:
            through = score[:, None] + step
            back.append(through.argmax(0))
            score = through.max(0)
        rank = int(score.argmax())
        ranks = [rank]
        for came_from in reversed(back):
            ranks.append(int(came_from[ranks[-1]]))
        ranks.reverse()
        return [int(self.tokens[place, one]) for place, one in enumerate(ranks)], float(score.max())

    def max_marginals(self) -> np.ndarray:
        """[γ, k]: the logarithm of the most probable whole path's probability through each token, by which the cascade
        prunes."""
        ahead = [self.first]
        for step in self.steps:
            ahead.append((ahead[-1][:, None] + step).max(0))
        behind = [np.zeros_like(self.first)]
        for step in reversed(self.steps):
            behind.append((step + behind[-1][None]).max(1))
        return np.stack(ahead) + np.stack(behind[::-1])


def shown_lattice(tree: DraftTree, lattice: Lattice) -> tuple[Exhibit, dict[str, Option]]:
    """Each place's tokens with the probability of the best path through them."""
    best, log_prob = lattice.best_path()
    through = np.exp(lattice.max_marginals())
    depths, rows = tree.depths, []
    for place, tokens in enumerate(lattice.tokens.tolist()):
        nodes = [node for node in range(ROOT + 1, len(tree)) if depths[node] == place + 1]
        drafted = {tree.tokens[node] for node in nodes}
        marks = [index for index, token in enumerate(tokens) if token in drafted]
        scores = [round(score, 6) for score in through[place].tolist()]
        rows.append(ExhibitRow(f"place {place + 1}", tokens, marks, nodes, scores=scores))
    rows.append(ExhibitRow("the best path", best))
    exhibit = Exhibit("the lattice: probability of the best path through each token", rows, marked="drafted")
    return exhibit, {
        "lattice_width": lattice.tokens.shape[1],
        "best_path_probability": round(float(np.exp(log_prob)), 6),
    }
