"""A small network that reads the target's own cache: LongSpec, GliDe and Tandem as three presets of it.

    root, drafted tokens ─► small layers ─► target's head ─► draft
                                ▲
             what the target keeps of the text: its last keys and values, or its states, projected

The network is in `parts/cross_trunk.py`, its layers in `parts/cross_network.py`, its shapes in `parts/cross_shape.py`,
the rows of a run in `parts/cross_rows.py`, and how a text and a tree are attended to together in
`parts/merged_attention.py`; training in `specviz train module cross_kv`.

Shapes: n tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from specviz.core.clock import now
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, DraftPass, Needs, Proposal, RoundOutcome
from specviz.drafters.capabilities import Observes, ReadsFeatures
from specviz.drafters.parts.cross_network import look
from specviz.drafters.parts.cross_rows import DraftRows, TextRows
from specviz.drafters.parts.cross_shape import LONGSPEC, PRESETS
from specviz.drafters.parts.cross_trunk import CrossTrunk
from specviz.drafters.parts.growing import GrowingDraft, LastDraft
from specviz.drafters.parts.head_drafter import reading, shown_weights
from specviz.drafters.parts.module_files import WEIGHTS_HELP, module_for
from specviz.drafters.parts.shape import GrowingDrafter, ShapeOptions
from specviz.drafters.parts.trained import MODULES
from specviz.drafters.parts.weights_read import bytes_of
from specviz.errors import OptionError
from specviz.lm.base import Cache, LanguageModel
from specviz.options import option
from specviz.protocol.trainings import SHIPPED
from specviz.trace.exhibits import Exhibit


@MODULES.register("cross_kv")
class CrossKVModule(CrossTrunk):
    """LongSpec by default; GliDe and Tandem are presets of its shape."""

    explanation: ClassVar[str] = "Small layers that read the keys and values which the target keeps anyway."


@dataclass(frozen=True)
class CrossKVOptions(ShapeOptions):
    """Which of the three, its weights, and the shape of the draft."""

    preset: str = option(
        LONGSPEC,
        help="longspec: a window of its own and the target's last keys and values; glide: rows of its own for the "
        "whole text beside them; tandem: projected states of the target",
        choices=PRESETS,
    )
    weights: str = option(SHIPPED, help=WEIGHTS_HELP)


@DRAFTERS.register("cross_kv")
class CrossKVDrafter(GrowingDrafter[CrossKVOptions], ReadsFeatures, Observes):
    """Small layers draft from the keys and values that the target keeps of the text anyway.

    LongSpec's cache of its own is a window: it does not grow with the text. Everything further back is read from the
    target's last layer, whose rows end before the root, for drafted tokens have none. GliDe has rows of its own for the
    whole text, Tandem projects the target's states up to the last verified block. Trees are attended to apart from the
    text, and the two merged by log-sum-exp. LongSpec (Yang et al., 2502.17421), GliDe (Du et al., 2402.02082), Tandem
    Transformers (Nair et al., 2402.08644); of the last two our reading.
    """

    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the keys and values of the target's last layer, or its states",
        training="one or two small layers, on the target's rows",
        memory="its weights, and rows of a window (longspec) or of the whole text (glide, tandem)",
    )
    pass_reads: ClassVar[str] = (
        "its layers and the target's head, of tandem the first pass of a round also what projects the target's states"
    )

    def __init__(self, options: CrossKVOptions) -> None:
        super().__init__(options)
        self._last = LastDraft()

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Raises ModelError or OptionError where the target cannot be read, or the weights are of another preset."""
        self._target, self._cache = reading(target, self.name), cache
        preset, weights = self.options.preset, self.options.weights
        module = module_for(CrossKVModule, weights, self._target, {"preset": preset})
        assert isinstance(module, CrossKVModule), f"'{module.name}' is no cross_kv network."
        if module.options.preset != preset:
            raise OptionError(
                f"preset is {preset}, but the weights in {weights} were trained as {module.options.preset}; set preset "
                "to that, or choose other weights."
            )
        self._module, self._lean = module, module.lean()
        self._layers = self._lean.layers
        self.options = replace(self.options, weights=shown_weights(weights))
        most = None if module.options.projects else module.options.text_tokens
        self._text = [TextRows(most) for _ in self._layers]
        self._known = 0
        """tokens of the text that the own rows speak of"""

    def depths(self) -> Sequence[int]:
        return self._module.depths()

    @property
    def cache_bytes(self) -> int:
        """Of the rows that it keeps of the text, beside the target's cache."""
        return sum(rows.bytes for rows in self._text)

    def read_features(self, tokens: Sequence[int], features: Tensor) -> None:
        positions = torch.arange(self._known, self._known + len(features), device=features.device)
        turns = self._layers[0].turns(positions)
        for number, layer in enumerate(self._layers):
            self._text[number].append(*layer.state_rows(features[:, number], turns))
        self._known += len(features)

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        """The states of what was committed stand in for the rows of the draft."""
        if outcome.features is not None:
            path = [ROOT, *outcome.path][: len(outcome.tokens) - 1 - self._known]
            if path:
                self.read_features([], outcome.features[torch.tensor(path, device=outcome.features.device)])
        return []

    def _catch_up(self, tokens: Sequence[int]) -> None:
        """Own rows of the text before the root; they say nothing but token and position, of one layer."""
        most = self._module.options.text_tokens
        if self._module.options.projects or most == 0:
            return
        start = self._known if most is None else max(self._known, len(tokens) - 1 - most)
        fresh = list(tokens[start:-1])
        if fresh:
            device = self._module.head.device
            positions = torch.arange(start, start + len(fresh), device=device)
            entering = self._lean.embedded(torch.tensor(fresh, device=device))
            _, keys, values = self._layers[0].own_rows(entering, self._layers[0].turns(positions))
            self._text[0].append(keys, values)
            self._known = len(tokens) - 1

    def propose(self, context: DraftContext) -> Proposal:
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        stop_policy = self.draft_policies.stop_policy
        self._last.report(stop_policy, context)
        depth = context.max_depth if (wanted := stop_policy.levels()) is None else min(context.max_depth, wanted)
        if depth >= 1:
            self._catch_up(context.tokens)
            self._draft = DraftRows(self._layers, self._text, len(context.tokens) - 1)
            self._row_of: dict[int, int] = {}
            self.tree_policy.grow(
                GrowingDraft(
                    context,
                    proposal,
                    stop_policy,
                    depth,
                    lambda nodes, at: self._answer(context, proposal, nodes, at),
                    self.name,
                )
            )
            proposal.note.update(stop_policy.state())
            proposal.note["own_rows"] = self._text[0].length
            proposal.note["target_rows"] = len(context.tokens) - 1
        self._last.remember(proposal.tree, context.tokens)
        return proposal

    @torch.inference_mode()
    def _answer(self, context: DraftContext, proposal: Proposal, level: Sequence[int], depth: int) -> Tensor:
        """Logits [len(level), V] after the nodes of a level."""
        module, tree = self._module, proposal.tree
        device = module.head.device
        began, before = now(device), self._draft.length
        parents = [-1 if node == ROOT else self._row_of[tree.parents[node]] for node in level]
        positions, seen = self._draft.place(parents)
        positions, seen = positions.to(device), None if seen is None else seen.to(device)
        self._row_of.update((node, before + offset) for offset, node in enumerate(level))
        tokens = torch.tensor([tree.tokens[node] for node in level], device=device)

        def across(queries: Tensor) -> Tensor:
            keys, values = self._target.keys_values(self._cache, module.target.layers - 1)
            return look(self._target.turned(queries, positions), keys, values)

        reads = across if self._cache.length and not module.options.projects else None
        logits = self._lean.read(self._draft.run(self._lean.embedded(tokens), positions, seen, reads))
        text = len(context.tokens) - 1
        read = module.weights_read() + (bytes_of(*module.projections()) if level == [ROOT] else 0)
        proposal.passes.append(DraftPass(len(level), text + before, now(device) - began, depth, read))
        return logits
