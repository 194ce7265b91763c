"""Hydra: heads like Medusa's that also see what was drafted before them.

    [state; root's token] ─► head 1 ─► children ─► [state; root's token; child] ─► head 2 ─► …

Level by level along a static tree or a chain; one small pass per level instead of one for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.core.draws import Chooser
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal, bytes_of
from specviz.drafters.learned.head_networks import Accuracies, Places, ResidualBlock, held_to
from specviz.drafters.learned.head_passes import HeadPasses, Weights, inner_weights
from specviz.drafters.learned.heads import FeatureText, HeadDrafter, HeadOptions, likely_row
from specviz.drafters.learned.module import MODULES, DrafterModule, FeatureBatch, TargetParts
from specviz.lm.base import Chain
from specviz.lm.chains import as_it_runs
from specviz.lm.products import Linear, linear
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates
from specviz.trace.events import Pass
from specviz.trace.header import Exhibit


class ReadingBlock(nn.Module):
    """S x + SiLU(A x + b) from [state; embeddings] to the state's size. A and b are zero at first and S takes the state
    alone, so that an untrained head says what the target's own head says; S is learnt too, for the widths differ."""

    def __init__(self, size: int, tokens: int) -> None:
        super().__init__()
        self.skip = Linear((1 + tokens) * size, size, bias=False)
        self.linear = Linear((1 + tokens) * size, size)
        with torch.no_grad():
            self.skip.weight.zero_().fill_diagonal_(1.0)
            self.linear.weight.zero_()
            self.linear.bias.zero_()

    def forward(self, inputs: Tensor) -> Tensor:
        found: Tensor = self.skip(inputs) + functional.silu(self.linear(inputs))
        return found


@dataclass(frozen=True)
class HydraShape(Options):
    """Size of the heads."""

    heads: int = option(4, help="how many places on they guess, one head each", minimum=1, maximum=16)
    layers: int = option(2, help="blocks per head, each with weights of its own", minimum=1, maximum=8)


@MODULES.register("hydra")
class HydraModule(DrafterModule[HydraShape]):
    """Heads on the target's last state and the tokens drafted so far (2402.05109, §4)."""

    explanation: ClassVar[str] = (
        "Heads that each guess one place further on and see what the heads before them guessed."
    )

    def __init__(self, target: TargetParts, options: HydraShape) -> None:
        super().__init__(target, options)
        size = target.head.shape[1]
        self.heads = nn.ModuleList(
            nn.Sequential(ReadingBlock(size, k + 1), *(ResidualBlock(size) for _ in range(options.layers - 1)))
            for k in range(options.heads)
        )
        self.accuracies = Accuracies(options.heads)

    def depths(self) -> Sequence[int]:
        return (self.target.layers,)

    def logits(self, head: int, states: Tensor, tokens: Tensor) -> Tensor:
        """What head `head` (from 0) says [..., V], from the target's last states [..., H] and the head + 1 tokens after
        each [..., head + 1], the root's token first."""
        words = functional.embedding(tokens, self.embedding)
        words = functional.rms_norm(words, words.shape[-1:])  # embeddings are small beside states
        states = self.heads[head](torch.cat([states, words.flatten(-2)], -1))
        return linear(states, self.head)

    def passes(self) -> HeadPasses | None:
        """As they run by compiled calls; None where they do not."""
        blocks = list[list[Weights]]()
        for head in self.heads:
            assert isinstance(head, nn.Sequential), "a head is its blocks."
            reading = head[0]
            assert isinstance(reading, ReadingBlock), "the first one reads tokens."
            bias = reading.linear.bias.detach()
            first = torch.cat([reading.skip.weight, reading.linear.weight]).detach()  # S over A
            blocks.append([(first, torch.cat([torch.zeros_like(bias), bias])), *inner_weights(head)])
        return HeadPasses.of(blocks, [], self.head, self.embedding)

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        places = Places.of(batch, self.options.heads, self.training)
        states = places.states(batch)
        logits = [self.logits(k, states, places.tokens(batch, 1, 1 + k)) for k in range(places.heads)]
        counted = self.accuracies if self.training else None
        return held_to(logits, places.wanted(batch, self.head), batch.distance, counted)

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """Having read the text's own tokens, as in training."""
        states, places = batch.features[:, :, 0], batch.tokens.shape[1]
        return [
            self.logits(k, states[:, : places - 1 - k], batch.tokens[:, 1:].unfold(1, k + 1, 1))
            for k in range(min(most, self.options.heads, places - 1))
        ]


@dataclass(frozen=True)
class HydraOptions(HeadOptions):
    """Weights of the heads, and shape of the draft."""


@DRAFTERS.register("hydra")
class HydraDrafter(HeadDrafter[HydraOptions]):
    """Trained heads guess the next places one after the other, each seeing what was drafted before it.

    Medusa's heads guess blindly of each other; here head k reads the target's last state and the embeddings of the
    tokens drafted so far, so a path holds together. That costs a small pass per level. The blocks of a head have
    weights of their own (the authors' code repeats one), and embeddings are scaled to the size of states.
    Hydra (Ankner et al., 2402.05109), trained to the target's distribution as Hydra++ is, without its prefix layer.
    """

    candidates: ClassVar[Candidates] = Candidates(shows=True, planned="nodes", deepest="gamma", from_states=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's last state and the tokens drafted so far, one trained head per place",
        training="the heads, on the target's states",
        memory="the heads' weights",
    )
    pass_reads: ClassVar[str] = "the head of its level and the target's head"
    module_type = HydraModule

    def use_module(self, module: DrafterModule[Options]) -> None:
        assert isinstance(module, HydraModule), f"'{module.name}' are no Hydra heads."
        self._module = module
        self._passes = as_it_runs(module, module.passes)
        self._reads_at = [bytes_of(head, module.head) for head in module.heads]
        self.plan_by_accuracy(module.accuracies)

    def module(self) -> HydraModule:
        return self._module

    def heads(self) -> int:
        return self._module.options.heads

    def weights_read(self, depth: int | None) -> int:
        assert depth is not None, "each of its passes is for one level."
        return self._reads_at[depth - 1]

    def start(self, context: DraftContext, states: FeatureText, proposal: Proposal) -> None:
        self._state = states.rows(states.length - 1)[0, 0]  # [1, depths, H] → [H]
        self._proposal = proposal

    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        """One pass per depth among the nodes, which is one where they are a level."""
        depths = tree.depths
        rows: dict[int, Tensor] = {}
        for depth in sorted({depths[node] for node in nodes}):
            level = [node for node in nodes if depths[node] == depth]
            found = self.timed(self._proposal, len(level), 1 + depth, self._ask, tree, depth, level)
            rows |= dict(zip(level, found, strict=True))
        return torch.stack([rows[node] for node in nodes])  # [n, V], in the order asked

    def _ask(self, tree: DraftTree, depth: int, level: Sequence[int]) -> Tensor:
        # [n, 1 + depth]: the root's token, then those of each node's path
        paths = [[tree.tokens[ROOT], *tree.token_path(node)] for node in level]
        if self._passes is not None and self._passes.takes(len(level)):
            return self._passes.say_behind(depth, self._state, paths)
        tokens = torch.tensor(paths, device=self.device)
        return self._module.logits(depth, self._state.expand(len(level), -1), tokens)  # state [H] → [n, H]

    def chain(self, proposal: Proposal, chooser: Chooser) -> Chain | None:
        if self._passes is None or not self._passes.takes(1):
            return None
        chain = self._passes.say_chain(self._state, proposal.tree.tokens[ROOT], chooser)
        for depth, seconds in enumerate(chain.seconds, 1):
            proposal.passes.append(Pass(1, 0, seconds, depth, self.weights_read(depth)))
        return chain

    def done(self, proposal: Proposal) -> None:
        proposal.late_exhibits.append(partial(self._exhibit, proposal))

    def _exhibit(self, proposal: Proposal) -> Exhibit:
        tree, rows = proposal.tree, []
        depths = tree.depths
        for nodes, logits in proposal.draft_logits:
            for node, probs in zip(nodes, logits.softmax(-1), strict=True):
                where = "the root" if node == 0 else f"node {node}"
                rows.append(likely_row(f"head {depths[node] + 1} after {where}", tree, [node], probs))
        return Exhibit("what each head holds probable after what was drafted", rows, marked="drafted")
