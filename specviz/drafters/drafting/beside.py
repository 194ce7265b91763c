"""What drafters share that draft while the target's pass runs: the other process, its draft as a tree, its lane.

    begin ─► the process reads the prompt
    propose ─► the target's machine waits for a draft as its method says ─► a chain of point masses
    observe ─► what was committed is published, and the process drafts on
    lanes ─► the engine's clock stops, and the process rests until the next round

The machines are those of `specviz/asynchronous`, which the simulation and the tests of interleavings run too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch

from specviz.asynchronous.board import NONE_YET, Size
from specviz.asynchronous.foresight import Plan
from specviz.asynchronous.machines import Machine, Reach, Verify, Wait, Want, after
from specviz.asynchronous.process import DraftingProcess, drafting_process, hand_back
from specviz.asynchronous.side import DraftingSide, Draws, SameProcess
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree, Shape
from specviz.drafters.base import DraftContext, Drafter, Needs, Proposal, RoundOutcome
from specviz.drafters.capabilities import Begins, DraftsBeside, Observes, Releases, UsesModel
from specviz.errors import OptionError
from specviz.lm.base import LanguageModel
from specviz.lm.place import origin_of
from specviz.registry import OptionsT_co
from specviz.trace.cautions import DRAFTER_FULL
from specviz.trace.events import BESIDE, IN_TURN, LaneSpan, LaneWork
from specviz.trace.header import Exhibit

ENDED = "drafter_process_ended"
"""note of a round that was decoded plainly because the process is gone"""
READY = "ready_at_the_verdict"
"""note of a draft that follows a verdict, where verdicts are drafted for: so many of its tokens were there already"""

WORKS: Mapping[str, LaneWork] = {"draft": "draft", "roll back": "roll back"}


class BesideDrafter(Drafter[OptionsT_co], UsesModel, Begins, Observes, DraftsBeside, Releases):
    """One text. A subclass says which machine takes the draft, and how many tokens are ahead of the text at most."""

    needs: ClassVar[Needs] = Needs(
        guesses_from="a smaller language model, while the target's pass runs",
        training="the small model's",
        memory="the small model's weights and cache in a second process",
    )

    def __init__(self, options: OptionsT_co) -> None:
        super().__init__(options)
        self._side: DraftingSide | None = None
        self._machine: Machine | None = None
        self._want: Want | None = None
        self._known = 0
        """tokens of the text that the machine has been told of"""

    @abstractmethod
    def in_turn(self) -> tuple[str, int]:
        """The option that makes it draft in the target's process, and the tokens it then drafts for each of the
        target's passes; 0: it is not set."""

    @abstractmethod
    def ahead(self) -> int:
        """The most tokens that are drafted beyond the text."""

    @abstractmethod
    def machine(self, reach: Reach, side: DraftingSide) -> Machine:
        """The target's side of the method, on the board of the drafter's."""

    def plan(self, reach: Reach) -> Plan | None:
        """What is drafted for verdicts to come; None: nothing."""
        return None

    def shape(self, sampling: Sampling) -> Shape:
        return "chain"

    def use(self, model: LanguageModel) -> None:
        """Raises OptionError for a model that no other process can load."""
        self._model = model
        option, per_pass = self.in_turn()
        if not per_pass and origin_of(model) is None:
            raise OptionError(
                f"the drafter '{self.name}' loads its model again in a process of its own, but this one "
                f"({model.info.name}) was made in memory, or answers in the target's tokens; set the option {option} "
                "to draft in this process, or choose the drafter 'model'."
            )

    def drafting_model(self) -> LanguageModel:
        return self._model

    def begin(self, tokens: Sequence[int]) -> None:
        """Raises ModelError where the process cannot begin."""
        info = self._model.info
        if len(tokens) > info.context_length:
            return
        _, per_pass = self.in_turn()
        if per_pass:
            self._side = SameProcess(self._model, tokens, per_pass)
            return
        origin = origin_of(self._model)
        assert origin is not None, "`use` refuses such a model."
        process = drafting_process(origin, info.weights_sha256)
        self._side = process
        process.begin(tokens, Size(info.context_length + 1, self.ahead() + 1, info.vocab_size))

    def propose(self, context: DraftContext) -> Proposal:
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        if len(context.tokens) > self._model.info.context_length:
            proposal.note[DRAFTER_FULL] = True
        if (side := self._side) is None:
            return proposal
        side.clock.run(context.start_s)
        if self._machine is None:
            self._start(context, side)
        side.tell()
        while isinstance(self._want, Wait):
            side.wait()
            self._go_on(None)
        if isinstance(self._want, Verify):
            self._plant(proposal, side, context, self._want.tail[: context.max_depth])
            if self._want.tail and (ready := side.board.handed_over()) != NONE_YET:
                proposal.note[READY] = ready
        side.overlap()
        if not side.is_drafting:
            proposal.note[ENDED] = True
        return proposal

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        if self._side is not None and isinstance(self._want, Verify):
            new = list(outcome.tokens[self._known :])
            self._known = len(outcome.tokens)
            self._go_on(new)
            self._side.tell()
        return []

    def lanes(self) -> list[LaneSpan]:
        if self._side is None:
            return []
        self._side.clock.stop()
        lane = IN_TURN if self.in_turn()[1] else BESIDE
        return [LaneSpan(lane, WORKS[span.what], span.start_s, span.end_s, span.tokens) for span in self._side.spans()]

    def release(self) -> None:
        side, self._side = self._side, None
        if isinstance(side, DraftingProcess) and self._machine is not None:
            hand_back(side)
        elif side is not None:
            side.close()

    def _start(self, context: DraftContext, side: DraftingSide) -> None:
        """Whatever was committed without a draft is published, and both sides begin."""
        option, per_pass = self.in_turn()
        if not per_pass and not isinstance(context.randomness, SeededRandom):
            raise OptionError(
                f"the drafter '{self.name}' drafts in a process of its own, to which only a seed can be sent, and "
                f"these draws follow none; set the option {option} to draft in this process."
            )
        self._known = len(context.tokens)
        side.board.append_verified(context.tokens[side.board.verified_length() :])
        reach = Reach.of(self._known + context.max_depth + 1, self._model.info.context_length)
        side.go(Draws(context.sampling, context.randomness, context.noise), self.plan(reach))
        self._machine = self.machine(reach, side)
        self._go_on(None)

    def _go_on(self, answer: list[int] | None) -> None:
        assert self._machine is not None, "the machine was not made."
        self._want = after(self._machine, answer)

    def _plant(self, proposal: Proposal, side: DraftingSide, context: DraftContext, tail: Sequence[int]) -> None:
        """The draft as a chain, with what the model says at each node, as far as it has been there."""
        node, length = ROOT, len(context.tokens)
        for token in tail:
            node = proposal.tree.add(node, token, "point_mass", None, self.name)
        known = len(tail) + (side.board.draft_length() > length + len(tail) > length)
        if known:
            rows = np.stack([side.row(length + index) for index in range(known)])
            proposal.draft_logits.append((range(known), torch.from_numpy(rows).to(self._model.device)))
