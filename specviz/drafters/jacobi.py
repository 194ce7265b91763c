"""Jacobi decoding: the draft is the last iteration's guess, and verifying it is the next iteration.

    guess y ─► one target pass over y ─► frozen prefix + a new guess at every position ─► …

No model and no training; the guesses come from the target's answers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from specviz.core.sampling import Sampling, transform
from specviz.core.tree import ROOT, DraftTree, Shape
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Needs, Proposal, RoundOutcome
from specviz.drafters.capabilities import Attaches, Observes
from specviz.lm.base import Cache, LanguageModel
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates
from specviz.trace.header import ITERATIONS, Exhibit, ExhibitRow

SHOWN = 16
"""iterations of a sliding block that are shown together; a block that does not slide is shown whole"""


@dataclass(frozen=True)
class JacobiOptions(Options):
    """How many positions are iterated together, and from where."""

    block: int = option(8, help="tokens guessed in parallel", minimum=1, maximum=64)
    mode: str = option(
        "jacobi",
        help="jacobi: a new guess enters the block for every token that leaves it; gauss_seidel: a block is finished "
        "before the next one begins",
        choices=("jacobi", "gauss_seidel"),
    )
    start: str = option(
        "repeat",
        help="first guess of a position; repeat: the text's last token, random: any token of the vocabulary",
        choices=("repeat", "random"),
    )


@dataclass(slots=True)
class Iteration:
    """One pass over the block."""

    base: int
    """position in the text of the first guess"""
    guesses: list[int]
    frozen: int = 0
    """so many of them turned out to be final"""


@DRAFTERS.register("jacobi")
class JacobiDrafter(Drafter[JacobiOptions], Attaches, Observes):
    """Guesses a block of tokens and lets the target correct all of it at once, until it no longer changes.

    Every iteration freezes at least one token, so it never takes more target passes than plain decoding; behind
    a right prefix a guess is right. Above temperature 0 the noise of each position is fixed, and with the verifier
    `naive` it is the very noise of the token there, so that sampling converges too. Candidates are point masses.
    Santilli et al. 2305.10427: parallel Jacobi (PJ) and Gauss-Seidel-Jacobi (PGJ) decoding.
    """

    candidates: ClassVar[Candidates] = Candidates(deepest="block")
    needs: ClassVar[Needs | None] = Needs(guesses_from="its own last guesses, corrected by the target")

    def __init__(self, options: JacobiOptions) -> None:
        super().__init__(options)
        self._slides = self.options.mode != "gauss_seidel"
        self._vocab_size = 0
        self._answers: Tensor | None = None
        """the target's logits [positions, V] for the positions after the text, given the last guess"""
        self._end = 0
        """where the block that does not slide ends"""
        self._iterations: list[Iteration] = []

    def shape(self, sampling: Sampling) -> Shape:
        return "chain"

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        self._vocab_size = target.info.vocab_size

    def propose(self, context: DraftContext) -> Proposal:
        base = len(context.tokens)
        if self._slides:
            wanted = self.options.block
        else:
            if base >= self._end:
                self._end, self._answers = base + self.options.block, None
                self._iterations.clear()
            wanted = self._end - base
        guesses = self._guesses(context, base, min(wanted, context.max_depth))
        self._iterations.append(Iteration(base, guesses))
        tree, node = DraftTree.from_root(context.tokens[-1]), ROOT
        for token in guesses:
            node = tree.add(node, token, "point_mass", None, self.name)
        return Proposal(tree, note={} if self._slides else {"iteration": len(self._iterations)})

    def _guesses(self, context: DraftContext, base: int, wanted: int) -> list[int]:
        """What the last answers say at each position, then first guesses."""
        found = list[int]()
        if self._answers is not None and wanted > 0:
            answers = self._answers[:wanted]
            if context.sampling.greedy:
                found = answers.argmax(-1).tolist()
            else:
                rows = transform(answers, context.sampling).unbind(0)
                keys = [(context.noise, base + offset, 0) for offset in range(len(rows))]
                found = [context.randomness.peek(row, key) for row, key in zip(rows, keys, strict=True)]
        return found + self._first_guesses(context, wanted - len(found))

    def _first_guesses(self, context: DraftContext, count: int) -> list[int]:
        if self.options.start == "repeat":
            return [context.tokens[-1]] * count
        evenly = torch.full((self._vocab_size,), 1.0 / self._vocab_size, dtype=torch.float64)
        return [context.randomness.draw(evenly, ("draft", context.round, index)).token for index in range(count)]

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        accepted = len(outcome.path)
        self._answers = outcome.logits[accepted + 1 :]
        if not self._iterations:
            return []  # the round was not drafted here: it committed a forced token
        self._iterations[-1].frozen = accepted
        if self._slides:
            del self._iterations[:-SHOWN]
        return [self._heat_map(outcome.tokens, len(outcome.tree))]

    def _heat_map(self, tokens: Sequence[int], nodes: int) -> Exhibit:
        """One line per iteration, all from the same position on: what was final, then what was guessed."""
        start, rows = self._iterations[0].base, list[ExhibitRow]()
        for number, iteration in enumerate(self._iterations, start=1):
            final = list(tokens[start : iteration.base])
            frozen = range(len(final) + iteration.frozen)
            made = list(range(1, nodes)) if iteration is self._iterations[-1] else []
            rows.append(ExhibitRow(f"iteration {number}", final + iteration.guesses, marks=list(frozen), nodes=made))
        return Exhibit(ITERATIONS, rows, marked="frozen")
