"""Medusa: several heads on the target's last state, each of which guesses one place further on.

    state of the token before the root ─► head 1, head 2, … ─► what stands 2, 3, … places on ─► tree of ranks, or chain

The heads do not see what the others guessed; `hydra` and `markov` are the two ways to mend that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal
from specviz.drafters.parts.feature_text import FeatureText
from specviz.drafters.parts.head_drafter import HeadDrafter, likely_row
from specviz.drafters.parts.head_learning import Accuracies, held_to
from specviz.drafters.parts.head_options import HeadOptions
from specviz.drafters.parts.trained import MODULES, DrafterModule, FeatureBatch, TargetParts
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates
from specviz.trace.exhibits import Exhibit


class ResidualBlock(nn.Module):
    """x + SiLU(A x + b), A and b zero at first, so that an untrained head says what the target's own head says."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, states: Tensor) -> Tensor:
        return states + functional.silu(self.linear(states))


@dataclass(frozen=True)
class MedusaShape(Options):
    """Size of the heads."""

    heads: int = option(4, help="how many places on they guess, one head each", minimum=1, maximum=16)
    layers: int = option(1, help="residual blocks per head, each with weights of its own", minimum=1, maximum=8)
    own_head: bool = option(False, help="each reads out through a matrix of its own instead of the target's")


@MODULES.register("medusa")
class MedusaModule(DrafterModule[MedusaShape]):
    """Heads on the target's last state (2401.10774, §2.1.1)."""

    explanation: ClassVar[str] = "Heads that each guess one place further on, from the target's last state alone."

    def __init__(self, target: TargetParts, options: MedusaShape) -> None:
        super().__init__(target, options)
        vocabulary, size = target.head.shape
        self.heads = nn.ModuleList()
        for _ in range(options.heads):
            parts: list[nn.Module] = [ResidualBlock(size) for _ in range(options.layers)]
            if options.own_head:
                parts.append(nn.Linear(size, vocabulary, bias=False))
                with torch.no_grad():
                    cast(nn.Linear, parts[-1]).weight.copy_(target.head)
            self.heads.append(nn.Sequential(*parts))
        self.accuracies = Accuracies(options.heads)

    def depths(self) -> Sequence[int]:
        return (self.target.layers,)

    def logits(self, states: Tensor) -> Tensor:
        """What each head says [..., heads, V] from the target's last states [..., H]."""
        found = torch.stack([head(states) for head in self.heads], -2)
        return found if self.options.own_head else functional.linear(found, self.head)

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        target = batch.target_logits(self.head).log_softmax(-1)
        return held_to(self.drafts(batch, self.options.heads), target, self.accuracies if self.training else None)

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        logits = self.logits(batch.features[:, :, 0])
        places = batch.tokens.shape[1]
        return [logits[:, : places - 1 - k, k] for k in range(min(most, self.options.heads, places - 1))]


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

    candidates: ClassVar[Candidates] = Candidates(planned="nodes", deepest="gamma", from_states=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's last state, one trained head per place",
        training="the heads, on the target's states",
        memory="the heads' weights",
    )
    module_type = MedusaModule

    def use_module(self, module: DrafterModule[Options]) -> None:
        assert isinstance(module, MedusaModule), f"'{module.name}' are no Medusa heads."
        self._module = module
        self.plan_by_accuracy(module.accuracies)

    def module(self) -> MedusaModule:
        return self._module

    def heads(self) -> int:
        return self._module.options.heads

    def start(self, context: DraftContext, states: FeatureText, proposal: Proposal) -> None:
        state = states.rows(states.length - 1)[0, 0]
        self._rows = self.timed(proposal, 1, None, lambda: self._module.logits(state))

    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        depths = tree.depths
        return self._rows[[depths[node] for node in nodes]]

    def done(self, proposal: Proposal) -> None:
        proposal.exhibits.append(heads_exhibit(proposal.tree, self._rows.softmax(-1)))


def heads_exhibit(tree: DraftTree, probs: Tensor) -> Exhibit:
    """What each head holds probable [heads, V]; one head speaks for all nodes of its level."""
    depths = tree.depths
    rows = []
    for head in range(max(depths)):
        parents = [node for node in range(len(tree)) if depths[node] == head]
        rows.append(likely_row(f"head {head + 1}", tree, parents, probs[head]))
    return Exhibit("what each head holds probable", rows, marked="drafted")
