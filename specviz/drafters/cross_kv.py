"""A small network that reads the target's own cache: LongSpec, GliDe and Tandem as three presets of it.

    root, drafted tokens ─► small layers ─► target's head ─► draft
                                ▲
             what the target keeps of the text: its last keys and values, or its states, projected

The network and its three shapes are in `learned/cross_network.py`; training in `specviz train module cross_kv`. Here
are the rows of a run: of the text, as few as the shape needs, and of the draft under way. Both are attended to apart:
the long text needs no mask, the small tree does (LongSpec's hybrid tree attention, 2502.17421, §3.3).

    text's rows ─ no mask ─┐
                           ├ merge (log-sum-exp) ─► what one softmax over both would give
    draft's rows ─ a tree ─┘

Shapes: A heads, L rows, n new ones or queries, m rows looked at, D components, H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from specviz.core.clock import now
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal, RoundOutcome, bytes_of
from specviz.drafters.capabilities import Observes, ReadsFeatures, reading
from specviz.drafters.drafting.growing import GrowingDraft, GrowingDrafter, LastDraft, ShapeOptions
from specviz.drafters.learned.cross_network import LONGSPEC, PRESETS, Across, CrossLayer, CrossTrunk, look
from specviz.drafters.learned.module import MODULES
from specviz.drafters.learned.weights import WEIGHTS_HELP, module_for, shown_weights
from specviz.errors import OptionError
from specviz.lm.base import Cache, LanguageModel
from specviz.options import option
from specviz.protocol.trainings import SHIPPED
from specviz.trace.events import Pass
from specviz.trace.header import Exhibit


@dataclass(frozen=True, slots=True)
class Attended:
    """Softmax attention over some rows, and what it takes to merge it with that over others."""

    found: Tensor
    """[..., n, D]; zeros where a query sees no row"""
    mass: Tensor
    """logarithm of the sum of all exponentiated scores [..., n]; minus infinity where a query sees no row"""


def attend(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None = None) -> Attended:
    """queries [..., n, D] over keys and values [..., m, D]; `seen` [n, m] says which, and None: all of them."""
    scores = queries @ keys.mT * queries.shape[-1] ** -0.5  # [..., n, m]
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    mass = scores.logsumexp(-1)
    # a query that sees nothing has the mass -inf, and weights of zero
    weights = (scores - mass.clamp(min=torch.finfo(mass.dtype).min)[..., None]).exp()
    return Attended(weights @ values, mass)


def merge(attended: Attended, other: Attended) -> Tensor:
    """[..., n, D] over the rows of both; every query sees a row of either."""
    share = torch.sigmoid(attended.mass - other.mass)[..., None]
    return share * attended.found + (1 - share) * other.found


FIRST_ROWS = 64
"""rows there is room for at first; it doubles when full"""


class TextRows:
    """Keys and values [2, A, L, D] of the last tokens of the text: at most `most` of them, or all."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._rows: Tensor | None = None
        self.length = 0

    def append(self, keys: Tensor, values: Tensor) -> None:
        """Rows [A, n, D] of the next n tokens."""
        new = torch.stack([keys, values])  # [2, A, n, D]
        if self._most is not None:
            old = self._rows[:, :, : self.length] if self._rows is not None else new[:, :, :0]
            self._rows = torch.cat([old, new], 2)[:, :, -self._most :] if self._most else new[:, :, :0]
            self.length = self._rows.shape[2]
            return
        stop = self.length + new.shape[2]
        if self._rows is None or stop > self._rows.shape[2]:
            room = FIRST_ROWS
            while room < stop:
                room *= 2
            grown = new.new_empty(*new.shape[:2], room, new.shape[3])
            if self._rows is not None:
                grown[:, :, : self.length] = self._rows[:, :, : self.length]
            self._rows = grown
        self._rows[:, :, self.length : stop] = new
        self.length = stop

    @property
    def kept(self) -> tuple[Tensor, Tensor] | None:
        """Keys and values [A, L, D]; None where there are none."""
        if self._rows is None or not self.length:
            return None
        return self._rows[0, :, : self.length], self._rows[1, :, : self.length]

    @property
    def bytes(self) -> int:
        """Of the rows it holds."""
        return 0 if (kept := self.kept) is None else sum(one.numel() * one.element_size() for one in kept)


class DraftRows:
    """Rows of one draft through all layers: the root's is 0, every other one continues an earlier one."""

    def __init__(self, layers: Sequence[CrossLayer], text: Sequence[TextRows], position: int) -> None:
        """`position` is that of the root in the text."""
        self._layers, self._text, self._position = layers, text, position
        self._rows: list[tuple[Tensor, Tensor]] = []
        """per layer, keys and values [A, L, D]"""
        self._lines: list[list[int]] = []
        """per row: its ancestors and itself"""

    @property
    def length(self) -> int:
        """Rows so far."""
        return len(self._lines)

    def place(self, parents: Sequence[int]) -> tuple[Tensor, Tensor | None]:
        """Of new rows that continue these (-1: the text): positions [n], and which rows of the draft each sees
        [n, L + n]; None: all of them."""
        before = len(self._lines)
        for parent in parents:
            line = self._lines[parent] if parent >= 0 else []
            self._lines.append([*line, len(self._lines)])
        new = self._lines[before:]
        positions = torch.tensor([self._position + len(line) - 1 for line in new])
        if all(len(line) == len(self._lines) for line in new):
            return positions, None
        seen = torch.zeros(len(new), len(self._lines), dtype=torch.bool)
        for row, line in enumerate(new):
            seen[row, line] = True
        return positions, seen

    def run(self, x: Tensor, positions: Tensor, seen: Tensor | None, across: Across | None) -> Tensor:
        """x [n, H] of the rows just placed through all layers [n, H]."""
        turns = self._layers[0].turns(positions)
        for number, layer in enumerate(self._layers):

            def own(queries: Tensor, keys: Tensor, values: Tensor, number: int = number) -> Tensor:
                keys, values = self._keep(number, keys, values)
                tree = attend(queries, keys, values, seen)  # the draft's rows: [A, n, D] over [A, L + n, D]
                text = self._text[number].kept
                return tree.found if text is None else merge(attend(queries, *text), tree)

            x = layer(x, turns, own, across)
        return x

    def _keep(self, number: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if number == len(self._rows):
            self._rows.append((keys, values))
        else:
            old = self._rows[number]
            # [A, L, D] and [A, n, D] → [A, L + n, D]
            self._rows[number] = torch.cat([old[0], keys], 1), torch.cat([old[1], values], 1)
        return self._rows[number]


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
    Transformers (Aishwarya et al., 2402.08644); of the last two our reading.
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
        self._module, self._lean, self.learnt_from = module, module.lean(), module.learnt_from
        self._layers = self._lean.layers
        self._reads, self._text_reads = module.weights_read(), bytes_of(*module.projections())
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
            self._text[number].append(*layer.state_rows(features[:, number], turns))  # states [n, H] of its depth
        self._known += len(features)

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        """The states of what was committed stand in for the rows of the draft."""
        if outcome.features is not None:
            path = [ROOT, *outcome.path][: len(outcome.tokens) - 1 - self._known]
            if path:
                self.read_features([], outcome.features_at(path))
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
            entering = self._lean.embedded(torch.tensor(fresh, device=device))  # [n, H]
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
            return look(self._target.turned(queries, positions), keys, values)  # over the target's [G, text, D]

        reads = across if self._cache.length and not module.options.projects else None
        # [n] → [n, H] → [n, H] → [n, V]
        logits = self._lean.read(self._draft.run(self._lean.embedded(tokens), positions, seen, reads))
        text = len(context.tokens) - 1
        read = self._reads + (self._text_reads if level == [ROOT] else 0)
        proposal.passes.append(Pass(len(level), text + before, now(device) - began, depth, read))
        return logits
