"""Medusa: several heads on the target's last state, each of which guesses one place further on.

    state of the token before the root ─► head 1, head 2, … ─► what stands 2, 3, … places on ─► tree of ranks, or chain

The heads do not see what the others guessed; `hydra` and `markov` are the two ways to mend that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from torch import Tensor

from specviz.core.draws import Chooser
from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal
from specviz.drafters.learned.head_networks import HeadsShape, ParallelHeads
from specviz.drafters.learned.head_passes import HeadPasses
from specviz.drafters.learned.heads import FeatureText, HeadDrafter, HeadOptions, likely_row
from specviz.drafters.learned.module import MODULES, DrafterModule, TargetParts
from specviz.drafters.learned.published import published_heads_file, read_published_heads
from specviz.errors import OptionError
from specviz.lm.base import Chain, GivesFeatures
from specviz.lm.chains import as_it_runs, write_chain
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates
from specviz.trace.header import Exhibit


@dataclass(frozen=True)
class MedusaShape(HeadsShape):
    """Size of the heads."""

    draft_tokens: int = option(
        0,
        help="tokens that they can draft, the most frequent ones, through the target's head; 0: all of them",
        minimum=0,
    )


@MODULES.register("medusa")
class MedusaModule(ParallelHeads[MedusaShape]):
    """Heads on the target's last state."""

    explanation: ClassVar[str] = "Heads that each guess one place further on, from the target's last state alone."

    def __init__(self, target: TargetParts, options: MedusaShape) -> None:
        """Raises OptionError for heads of their own that are to draft some tokens alone, and for too many of these."""
        if options.own_head and options.draft_tokens:
            raise OptionError("own_head reads out every token; leave draft_tokens at 0, or own_head out.")
        super().__init__(target, options)
        self.keep_tokens(options.draft_tokens)


@dataclass(frozen=True)
class MedusaOptions(HeadOptions):
    """Weights of the heads, and shape of the draft."""


@DRAFTERS.register("medusa")
class MedusaDrafter(HeadDrafter[MedusaOptions]):
    """Trained heads on the target's last state guess the next places, all in one small step.

    Drafts a static tree: the paths of ranks that are accepted most often by the accuracies measured in training. The
    heads do not know of each other's guesses, so a path may hold words that do not fit together. The blocks of a head
    have weights of their own; the authors' code repeats one block by accident. Judged losslessly unless the verifier
    `typical` is chosen, the paper's own rule. Medusa (Cai et al., 2401.10774).
    """

    candidates: ClassVar[Candidates] = Candidates(shows=True, planned="nodes", deepest="gamma", from_states=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's last state, one trained head per place",
        training="the heads, on the target's states",
        memory="the heads' weights",
    )
    pass_reads: ClassVar[str] = "all heads and the target's head, where they have none of their own"
    module_type = MedusaModule

    def load(self, target: GivesFeatures) -> DrafterModule[Options]:
        """Also heads in the layout that others publish."""
        file = published_heads_file(Path(self.options.weights))
        return super().load(target) if file is None else read_published_heads(MedusaModule, file, target)

    def use_module(self, module: DrafterModule[Options]) -> None:
        assert isinstance(module, MedusaModule), f"'{module.name}' are no Medusa heads."
        self._module = module
        self._passes = as_it_runs(module, lambda: HeadPasses.of_parallel(module))
        self._head = module.read_head()  # [V', H]
        self.plan_by_accuracy(module.accuracies)

    def module(self) -> MedusaModule:
        return self._module

    def heads(self) -> int:
        return self._module.options.heads

    def start(self, context: DraftContext, states: FeatureText, proposal: Proposal) -> None:
        state = states.rows(states.length - 1)[0, 0]  # [1, depths, H] → [H]
        known = self.timed(proposal, 1, None, self._known, state)  # [heads, V']
        self._rows = self._module.whole(known)  # [heads, V]

    def _known(self, state: Tensor) -> Tensor:
        if self._passes is not None and self._passes.takes(self.heads()):
            return self._passes.say_all(state)
        return self._module.known_logits(state, self._head)

    def chain(self, proposal: Proposal, chooser: Chooser) -> Chain | None:
        return write_chain(self._rows, chooser)

    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        depths = tree.depths
        return self._rows[[depths[node] for node in nodes]]  # [n, V]: below a node of depth d speaks head d (from 0)

    def done(self, proposal: Proposal) -> None:
        rows = self._rows
        proposal.late_exhibits.append(lambda: heads_exhibit(proposal.tree, rows.softmax(-1)))


def heads_exhibit(tree: DraftTree, probs: Tensor) -> Exhibit:
    """What each head holds probable [heads, V]; one head speaks for all nodes of its level."""
    depths = tree.depths
    rows = []
    for head in range(max(depths)):
        parents = [node for node in range(len(tree)) if depths[node] == head]
        rows.append(likely_row(f"head {head + 1}", tree, parents, probs[head]))
    return Exhibit("what each head holds probable", rows, marked="drafted")
