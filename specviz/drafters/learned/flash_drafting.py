"""How a block is drafted: the rows of the text that it looks at, its one pass, and the draft that grows from it.

    prompt ─ read_features ─► context rows ─► round: block pass ─► a row for each slot ─ answer(nodes) ─► tree policy
    verdict ─ observe ─► rows of the root and of what was accepted

A row of the text is worked out once, from the target's states, and kept; rows of a block are keys of masks, never of
text, so the next round writes over them.

Shapes: L tokens before the root, n new ones, R rows of a block, S slots, N layers, K depths, H hidden size, h heads, G
heads of keys, D head size, V vocabulary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from specviz.core.clock import now
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, DraftPass, Proposal, RoundOutcome
from specviz.drafters.capabilities import Observes, ReadsBranches, ReadsFeatures, reading
from specviz.drafters.drafting.growing import GrowingDraft, GrowingDrafter, LastDraft, ShapeOptions
from specviz.drafters.learned.flash_network import FlashLayer, FlashTrunk, mixed
from specviz.drafters.learned.flash_published import holds_published_block, read_published_block
from specviz.drafters.learned.module import DrafterModule
from specviz.drafters.learned.weights import WEIGHTS_HELP, module_for, shown_weights
from specviz.errors import ModelError
from specviz.lm.base import Cache, GivesFeatures, LanguageModel
from specviz.lm.kernels import Projection, calibrate
from specviz.lm.rotary import angles, turned_by
from specviz.options import Options, option
from specviz.protocol.trainings import SHIPPED
from specviz.trace.header import Exhibit, ExhibitRow

FIRST_ROWS = 256
"""of the text that there is room for at first; it doubles when full"""
SHOWN = 5
"""tokens of a slot in an exhibit, beside those drafted"""


class LeanLayer:
    """One layer's products, with the factors of the norms before them multiplied in: a convolution treats each channel
    alone, so such a factor may as well come behind it."""

    def __init__(self, layer: FlashLayer) -> None:
        attention, mlp, sizes = layer.self_attn, layer.mlp, layer.self_attn.sizes
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        qkv = torch.cat([projection.weight for projection in projections]).detach()
        gate_up = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]).detach()
        self.qkv = Projection(qkv * layer.input_layernorm.weight.detach())
        self.output = Projection(attention.o_proj.weight.detach())
        self.gate_up = Projection(gate_up * layer.post_attention_layernorm.weight.detach())
        self.down = Projection(mlp.down_proj.weight.detach())
        queries = attention.q_norm.weight.detach().expand(sizes.heads, -1)
        keys = attention.k_norm.weight.detach().expand(sizes.kv_heads, -1)
        self.factors = torch.cat([queries, keys])[:, None].contiguous()  # [h + G, 1, D]
        norms = (layer.input_layernorm, layer.post_attention_layernorm)
        self.convolutions = [
            (each, Projection(each.changes.weight.detach() * norm.weight.detach()))
            for each, norm in zip(layer.mixing(), norms, strict=False)
        ]

    def products(self) -> list[Projection]:
        """All of them."""
        return [self.qkv, self.output, self.gate_up, self.down, *(changes for _, changes in self.convolutions)]

    def going_in(self, sublayer: int, rows: Tensor, above: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Rows [R, H] as attention (0) or MLP (1) reads them, and the taps [R, 2, H] for what comes out of it."""
        if not self.convolutions:
            return rows, None
        convolution, changes = self.convolutions[sublayer]
        taps = convolution.taps(changes(rows))  # [R, 2, 2, H]
        return mixed(rows, taps[:, 0], above), taps[:, 1]


class LeanFlash:
    """The network as it runs: one text, one block."""

    @torch.inference_mode()
    def __init__(self, trunk: FlashTrunk[Any]) -> None:
        network = trunk.network
        self.trunk, self.sizes = trunk, trunk.options.sizes(trunk.hidden_size)
        self.layers = [LeanLayer(layer) for layer in network.stack()]
        attentions = [layer.self_attn for layer in network.stack()]
        halves = [half.weight for each in attentions for half in (each.k_proj, each.v_proj)]
        self._fuse = Projection(network.fc.weight.detach())
        self._context = Projection(torch.cat(halves).detach() * network.hidden_norm.weight.detach())
        keys = [each.k_norm.weight.detach() for each in attentions]
        self._factors = torch.stack(keys)[:, None, None]  # [N, 1, 1, D]
        self._head = Projection(trunk.read_head().detach().contiguous())
        positions = torch.arange(trunk.target.context_length + trunk.options.rows, device=trunk.head.device)
        cos, sin = angles(positions, self.sizes.head_size, self.sizes.theta)
        self._cos, self._sin = cos.to(trunk.head.dtype), sin.to(trunk.head.dtype)  # [positions, D / 2]
        products = [product for layer in self.layers for product in layer.products()]
        calibrate([[product] for product in (*products, self._fuse, self._context, self._head)])

    def _normed(self, rows: Tensor) -> Tensor:
        return functional.rms_norm(rows, rows.shape[-1:], None, self.sizes.eps)

    @torch.inference_mode()
    def context(self, features: Tensor, start: int) -> Tensor:
        """Keys and values [N, 2, G, n, D] of the target's states [n, K, H] of the tokens from `start` on."""
        rows = self._context(self._normed(self._fuse(features.flatten(1))))  # [n, N · 2 · G · D]
        count = len(rows)
        heads = rows.view(count, len(self.layers), 2, self.sizes.kv_heads, self.sizes.head_size)
        heads = heads.permute(1, 2, 3, 0, 4)  # [N, 2, G, n, D]
        keys = self._normed(heads[:, 0]) * self._factors
        cos, sin = self._cos[start : start + count], self._sin[start : start + count]
        return torch.stack([turned_by(keys, cos, sin), heads[:, 1]], 1)

    @torch.inference_mode()
    def states(self, root: int, text: FlashText) -> Tensor:
        """Of the slots [S, H] behind this token."""
        trunk, count = self.trunk, self.trunk.options.rows
        x = trunk.network.mask.detach().expand(count, -1).clone()  # [R, H]
        x[0] = trunk.embedding[root]
        step = torch.arange(count, device=x.device)
        beside = step <= step[:, None] if trunk.options.causal else None
        return self._block(x, step, beside, None, text)[-trunk.options.slots :]

    @torch.inference_mode()
    def branches(self, tree: DraftTree, nodes: Sequence[int], text: FlashText) -> Tensor:
        """Of what follows each node [n, H], told the tokens of its own branch; see `ReadsBranches`. A row stands where
        its token will, and sees the text, itself and the nodes above it."""
        depths, row_of = tree.depths, {node: row for row, node in enumerate(nodes)}
        device = self.trunk.embedding.device
        beside = torch.eye(len(nodes), dtype=torch.bool)
        for row, node in enumerate(nodes[1:], start=1):
            beside[row] |= beside[row_of[tree.parents[node]]]
        above = torch.tensor([row_of[tree.parents[node]] for node in nodes[1:]], dtype=torch.int64, device=device)
        words = self.trunk.embedding[[tree.tokens[node] for node in nodes]]
        steps = torch.tensor([depths[node] for node in nodes], device=device)
        return self._block(words, steps, beside.to(device), above, text)

    def _block(self, x: Tensor, steps: Tensor, beside: Tensor | None, above: Tensor | None, text: FlashText) -> Tensor:
        """States [R, H] of rows with the words x [R, H], `steps` [R] behind the text. beside [R, R]: whom each sees of
        them, None: all. above [R - 1]: which row each but the first is mixed with; None: the one before it."""
        trunk, sizes = self.trunk, self.sizes
        count, length = len(x), text.length
        cos, sin = self._cos[length + steps], self._sin[length + steps]
        rows = text.room(count)  # [N, 2, G, L + R, D]
        seen = None
        if beside is not None:
            whole = functional.pad(beside, (length, 0), value=True)  # [R, L + R]
            seen = whole.repeat(sizes.heads // sizes.kv_heads, 1)  # [h / G · R, L + R]
        for layer, (keys, values) in zip(self.layers, rows, strict=True):
            normed, taps = layer.going_in(0, self._normed(x), above)
            heads = layer.qkv(normed).view(count, -1, sizes.head_size).transpose(0, 1)  # [h + 2 · G, R, D]
            turning = sizes.heads + sizes.kv_heads
            both = turned_by(self._normed(heads[:turning]) * layer.factors, cos, sin)  # [h + G, R, D]
            keys[:, length:], values[:, length:] = both[sizes.heads :], heads[turning:]
            queries = both[: sizes.heads].reshape(sizes.kv_heads, -1, sizes.head_size)  # [G, h / G · R, D]
            read = functional.scaled_dot_product_attention(queries[None], keys[None], values[None], seen)[0]
            read = read.reshape(sizes.heads, count, -1).transpose(0, 1).reshape(count, -1)  # [R, h · D]
            x = _added(x, layer.output, read, taps, above)
            normed, taps = layer.going_in(1, self._normed(x), above)
            gate, up = layer.gate_up(normed).chunk(2, -1)
            x = _added(x, layer.down, functional.silu(gate).mul_(up), taps, above)
        return self._normed(x) * trunk.network.norm.weight

    @torch.inference_mode()
    def read(self, states: Tensor) -> Tensor:
        """Logits [n, V'] of states [n, H]."""
        return self._head(states)


def _added(x: Tensor, last: Projection, rows: Tensor, taps: Tensor | None, above: Tensor | None) -> Tensor:
    """x [R, H] and what a sublayer's last product makes of its rows, mixed by taps [R, 2, H] where there are any."""
    return last(rows, x) if taps is None else x + mixed(last(rows), taps, above)


def lean_of(trunk: FlashTrunk[Any]) -> LeanFlash:
    """The network as it runs, with the weights it has now; made once."""
    if not isinstance(trunk.as_it_runs, LeanFlash):
        trunk.as_it_runs = LeanFlash(trunk)
    return trunk.as_it_runs


class FlashText:
    """Keys and values of the text's first L tokens, with room for a block behind them."""

    def __init__(self) -> None:
        self.length = 0
        self._rows: Tensor | None = None

    def append(self, rows: Tensor) -> None:
        """Of the next n tokens [N, 2, G, n, D]."""
        if self._rows is None:
            self._rows = rows.new_empty(*rows.shape[:3], FIRST_ROWS, rows.shape[-1])
        count = rows.shape[3]
        self.room(count)[:, :, :, self.length :] = rows
        self.length += count

    def room(self, count: int) -> Tensor:
        """A view [N, 2, G, L + count, D], whose last `count` rows may be written to."""
        assert self._rows is not None, "no text was read."
        wanted, capacity = self.length + count, self._rows.shape[3]
        if wanted > capacity:
            while capacity < wanted:
                capacity *= 2
            grown = self._rows.new_empty(*self._rows.shape[:3], capacity, self._rows.shape[4])
            grown[:, :, :, : self.length] = self._rows[:, :, :, : self.length]
            self._rows = grown
        return self._rows[:, :, :, :wanted]


@dataclass(frozen=True)
class FlashOptions(ShapeOptions):
    """Weights, and shape of the draft."""

    weights: str = option(SHIPPED, help=WEIGHTS_HELP)


FlashOptionsT_co = TypeVar("FlashOptionsT_co", bound=FlashOptions, covariant=True)


class FlashDrafter(GrowingDrafter[FlashOptionsT_co], ReadsFeatures, ReadsBranches, Observes):
    """A subclass names its module, and says what follows a node."""

    module_type: ClassVar[type[DrafterModule[Options]]]

    def __init__(self, options: FlashOptionsT_co) -> None:
        super().__init__(options)
        self._last = LastDraft()
        self._text = FlashText()

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Raises ModelError where the target does not give its states, or the weights are not for it."""
        module = self.load(reading(target, self.name))
        assert isinstance(module, FlashTrunk), f"'{module.name}' fills no block."
        policy, shape = self.draft_policies.tree_policy, module.options
        if policy is not None and policy.rereads and not (shape.causal and shape.from_root):
            raise ModelError(
                f"the tree policy '{policy.name}' reads branches anew, but these weights of '{self.name}' were not "
                "trained for that; switch rescore off, or train some with causal and from_root switched on."
            )
        self.trunk, self.device, self.learnt_from = module, target.device, module.learnt_from
        self.lean = lean_of(module)
        gamma = min(self.options.gamma, module.options.slots)
        self.options = replace(self.options, weights=shown_weights(self.options.weights), gamma=gamma)

    def load(self, target: GivesFeatures) -> DrafterModule[Options]:
        """The module that the options name, also in the layouts that others publish. Raises ModelError where there is
        none for this target."""
        folder = Path(self.options.weights)
        if holds_published_block(folder):
            return read_published_block(self.module_type, folder, target)
        return module_for(self.module_type, self.options.weights, target)

    @abstractmethod
    def behind(self, blind: Tensor, states: Tensor, tokens: Tensor) -> Tensor:
        """Logits [n, V'] of what follows tokens [n] at slots with the states [n, H], of which the pass alone says
        `blind` [n, V']: with whatever else the network knows."""

    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        """Logits [len(nodes), V'] of what follows the nodes."""
        depths = tree.depths
        slots = [depths[node] for node in nodes]  # below a node of depth d is slot d (from 0)
        tokens = torch.tensor([tree.tokens[node] for node in nodes], device=self.device)
        return self.behind(self.slots[slots], self.states[slots], tokens)

    def read_branches(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        states = self.lean.branches(tree, nodes, self._text)
        tokens = torch.tensor([tree.tokens[node] for node in nodes], device=self.device)
        return self.trunk.whole(self.behind(self.lean.read(states), states, tokens))

    def _reread(self, proposal: Proposal, nodes: Sequence[int]) -> Tensor:
        """The second pass, beside the first."""
        began = now(self.device)
        logits = self.read_branches(proposal.tree, nodes)
        seconds = now(self.device) - began
        proposal.passes.append(DraftPass(len(nodes), 0, seconds, None, self.trunk.weights_read()))
        return logits

    def confidence(self, tree: DraftTree, node: int) -> float | None:
        """How likely the network expects the target to take what follows the node; None: it has no head for that."""
        return None

    def depths(self) -> Sequence[int]:
        return self.trunk.depths()

    def read_features(self, tokens: Sequence[int], features: Tensor) -> None:
        self._text.append(self.lean.context(features, self._text.length))

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        """The states of the root and of what was accepted behind it; the last token has none yet."""
        assert outcome.features is not None, "this round left no states."
        path = [ROOT, *outcome.path][: len(outcome.tokens) - 1 - self._text.length]
        if path:
            self.read_features([], outcome.features[torch.tensor(path, device=outcome.features.device)])
        return []

    def propose(self, context: DraftContext) -> Proposal:
        """A root alone after a prompt of one token: nothing is known of the target before its first pass."""
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        stop_policy, slots = self.draft_policies.stop_policy, self.trunk.options.slots
        self._last.report(stop_policy, context)
        depth = min(context.max_depth, slots, stop_policy.levels() or slots)
        if depth >= 1 and self._text.length:
            assert self._text.length == len(context.tokens) - 1, "a token of the text has no row."
            self._fill(context.tokens[-1], depth, proposal)
            draft = GrowingDraft(
                context,
                proposal,
                stop_policy,
                depth,
                lambda nodes, at: self.trunk.whole(self.answer(proposal.tree, nodes)),
                self.name,
                confidence_of=lambda node: self.confidence(proposal.tree, node),
                branches_of=lambda nodes: self._reread(proposal, nodes),
            )
            self.tree_policy.grow(draft)
            proposal.note.update(stop_policy.state())
            proposal.note["context_rows"] = self._text.length
            proposal.exhibits.append(self._exhibit(proposal.tree))
        self._last.remember(proposal.tree, context.tokens)
        return proposal

    def _fill(self, root: int, depth: int, proposal: Proposal) -> None:
        """The pass: states [depth, H] of the slots in use, and what they say [depth, V']."""
        began = now(self.device)
        self.states = self.lean.states(root, self._text)[:depth]
        self.slots = self.lean.read(self.states)
        seconds = now(self.device) - began
        proposal.passes.append(DraftPass(self.trunk.options.rows, 0, seconds, None, self.trunk.weights_read()))

    def _exhibit(self, tree: DraftTree) -> Exhibit:
        """What the slots hold likeliest by the pass alone."""
        probs, depths, rows = self.slots.float().softmax(-1), tree.depths, []
        entropies = torch.special.entr(probs).sum(-1).tolist()
        shares, likely = (part.tolist() for part in probs.topk(min(SHOWN, probs.shape[-1]), -1))
        for slot, (scores, tokens) in enumerate(zip(shares, likely, strict=True)):
            if self.trunk.map is not None:
                tokens = self.trunk.map.tokens[tokens].tolist()
            nodes = [node for node in range(1, len(tree)) if depths[node] == slot + 1]
            drafted = {tree.tokens[node] for node in nodes}
            marks = [index for index, token in enumerate(tokens) if token in drafted]
            nodes = [node for node in nodes if tree.tokens[node] in tokens]
            label = f"slot {slot + 1} ({entropies[slot]:.2f} nats)"
            rows.append(ExhibitRow(label, tokens, marks, nodes, scores=[round(score, 6) for score in scores]))
        return Exhibit("what the pass says of each slot", rows, marked="drafted")
