"""How a block is drafted: the rows of the text that it looks at, its one pass, and the draft that grows from it.

    prompt ─ read_features ─► context rows ─► round: block pass ─► a row for each slot ─ answer(nodes) ─► tree policy
    verdict ─ observe ─► rows of the root and of what was accepted

A row of the text is worked out once, from the target's states, and kept; rows of a block are keys of masks, never of
text, so the next round writes over them. Reading and filling are one call each where compiled code takes the rows
(`lm/llama/few_rows`); rows that are mixed with the ones before them, many rows, and machines without a compiler take
torch's operations, on the same rows.

Shapes: L tokens before the root, n new ones, R rows of a block, S slots, N layers, K depths, H hidden size, h heads, G
heads of keys, D head size, V vocabulary, V' tokens that are read out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from specviz.core.clock import now
from specviz.core.draws import Chooser
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, Proposal, RoundOutcome
from specviz.drafters.capabilities import Observes, ReadsBranches, ReadsFeatures, reading
from specviz.drafters.drafting.growing import GrowingDraft, GrowingDrafter, LastDraft, PlainChains, ShapeOptions
from specviz.drafters.learned.flash_network import FlashLayer, FlashTrunk, mixed
from specviz.drafters.learned.flash_published import read_published_block
from specviz.drafters.learned.module import DrafterModule
from specviz.drafters.learned.published import is_published
from specviz.drafters.learned.weights import WEIGHTS_HELP, module_for, shown_weights
from specviz.errors import ModelError
from specviz.lm.base import Cache, Chain, GivesFeatures, LanguageModel
from specviz.lm.chains import write_chain
from specviz.lm.kernels import Projection, calibrate
from specviz.lm.llama.few_rows import FewRows, Seat
from specviz.lm.llama.rows import Layer, Norm, head_factors, normed_heads, projected, with_room
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.rotary import Turns, paired
from specviz.lm.rows import Mask, build
from specviz.options import Options, option
from specviz.protocol.trainings import SHIPPED
from specviz.trace.events import Pass
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
        size, pair = sizes.head_size, (layer.input_layernorm, layer.post_attention_layernorm)
        norms = [Norm(norm.weight.detach(), sizes.eps) for norm in pair]
        turning = [paired(weight.detach(), size) for weight in (attention.q_proj.weight, attention.k_proj.weight)]
        self.weights = Layer(
            attention_norm=norms[0],
            qkv=projected(torch.cat([*turning, attention.v_proj.weight.detach()]), norms[0]),
            output=projected(attention.o_proj.weight.detach()),
            ffn_norm=norms[1],
            gate_up=projected(torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]).detach(), norms[1]),
            down=projected(mlp.down_proj.weight.detach()),
            head_norms=head_factors(attention.q_norm.weight, attention.k_norm.weight, sizes),
        )
        self.convolutions = [
            (each, Projection(norm.absorbed_by(each.changes.weight.detach())))
            for each, norm in zip(layer.mixing(), norms, strict=False)
        ]

    def going_in(self, sublayer: int, rows: Tensor, above: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Rows [R, H] as attention (0) or MLP (1) reads them, and the taps [R, 2, H] for what comes out of it."""
        if not self.convolutions:
            return rows, None
        convolution, changes = self.convolutions[sublayer]
        taps = convolution.taps(changes(rows))  # [R, 2, 2, H]
        return mixed(rows, taps[:, 0], above), taps[:, 1]


class LeanFlash:
    """The network as it runs."""

    @torch.inference_mode()
    def __init__(self, trunk: FlashTrunk[Any]) -> None:
        network = trunk.network
        self.trunk, self.sizes = trunk, trunk.options.sizes(trunk.hidden_size)
        self.layers = [LeanLayer(layer) for layer in network.stack()]
        attentions = [layer.self_attn for layer in network.stack()]
        halves = [
            half
            for each in attentions
            for half in (paired(each.k_proj.weight.detach(), self.sizes.head_size), each.v_proj.weight.detach())
        ]
        self._fuse = projected(network.fc.weight.detach())
        self._fused_norm = Norm(network.hidden_norm.weight.detach(), self.sizes.eps)
        self._keys_values = projected(torch.cat(halves), self._fused_norm)
        self._words = network.mask.detach().expand(trunk.options.rows, -1).contiguous()
        self._last_norm = Norm(network.norm.weight.detach(), self.sizes.eps, alone=True)
        self._head = projected(trunk.read_head().detach().contiguous())
        positions = trunk.target.context_length + trunk.options.rows
        shape = LlamaShape.of_blocks(self.sizes, len(self.layers), positions)
        self._turns = Turns.of(shape, trunk.head.device)
        weights = [layer.weights for layer in self.layers]
        self._few_rows = FewRows.of(shape, weights, self._turns.cos, (self._last_norm, self._head))
        if self._few_rows is None:
            products = [self._fuse, self._keys_values, self._head]
            for of in weights:
                products += [of.qkv, of.output, of.gate_up, of.down]
            products += [changes for layer in self.layers for _, changes in layer.convolutions]
            calibrate([[product] for product in products])
        else:
            self._context = self._few_rows.context_of(self._fuse, self._fused_norm, self._keys_values)

    def new_text(self) -> FlashText:
        """That nothing was read of yet."""
        size = (len(self.layers), 2 * self.sizes.kv_heads, FIRST_ROWS, self.sizes.head_size)
        return FlashText(self.trunk.head.new_empty(size))

    @torch.inference_mode()
    def read(self, features: Tensor, text: FlashText) -> None:
        """Lengthen the text by the target's states [n, K, H] of its next tokens."""
        count, start, cached = len(features), text.length, text.room(len(features))
        if self._few_rows is not None and self._few_rows.takes(count):
            self._few_rows.read_context(self._context, features.flatten(1), text.seat(count), start)
        else:
            sizes, groups = self.sizes, self.sizes.kv_heads
            rows = self._keys_values(self._fused_norm(self._fuse(features.flatten(1))))  # [n, N · 2 · G · D]
            for i, (layer, part) in enumerate(zip(self.layers, rows.chunk(len(self.layers), -1), strict=True)):
                heads = part.reshape(count, 2 * groups, sizes.head_size)  # [n, 2 · G, D]
                assert layer.weights.head_norms is not None, "every head of this network is normed."
                heads = self._turned(
                    heads, layer.weights.head_norms[sizes.heads :], self._turns.between(start, start + count)
                )
                cached[i, :, start : start + count] = heads.transpose(0, 1)
        text.length += count

    def _turned(self, heads: Tensor, factors: Tensor, turns: Turns) -> Tensor:
        """Heads [n, A, D], of which as many as there are factors [B, D], the first, are normed and turn."""
        heads = normed_heads(heads, factors, self.sizes.eps)
        turns.rotate(heads.view(len(heads), -1, self.sizes.head_size // 2, 2), len(factors))
        return heads

    @torch.inference_mode()
    def fill(self, root: int, text: FlashText, depth: int) -> tuple[Tensor, Tensor]:
        """States [S, H] of the slots behind this token, and what the first `depth` of them say [depth, V']."""
        options = self.trunk.options
        words = self._words.clone()  # [R, H]
        words[0] = self.trunk.embedding[root]
        visible = np.ones((options.rows, text.length + options.rows), np.bool_)
        if options.causal:
            visible[:, text.length :] = np.tri(options.rows, dtype=np.bool_)
        steps = range(options.rows)
        return self._block(words, steps, visible, None, text, (options.rows - options.slots, depth))

    @torch.inference_mode()
    def branches(self, tree: DraftTree, nodes: Sequence[int], text: FlashText) -> tuple[Tensor, Tensor]:
        """Of what follows each node, told the tokens of its own branch: states [n, H], logits [n, V']; see
        `ReadsBranches`. A row stands where its token will, and sees the text, itself and the nodes above it."""
        row_of = {node: row for row, node in enumerate(nodes)}
        above = [row_of[tree.parents[node]] for node in nodes[1:]]
        visible = np.ones((len(nodes), text.length + len(nodes)), np.bool_)
        visible[:, text.length :] = build([-1, *above])
        words, device = self.trunk.embedding[[tree.tokens[node] for node in nodes]], self.trunk.embedding.device
        rows_above = torch.tensor(above, dtype=torch.int64, device=device)
        steps = [tree.depths[node] for node in nodes]
        return self._block(words, steps, visible, rows_above, text, (0, len(nodes)))

    def _block(
        self,
        x: Tensor,
        steps: Sequence[int],
        visible: Mask,
        above: Tensor | None,
        text: FlashText,
        wanted: tuple[int, int],
    ) -> tuple[Tensor, Tensor]:
        """Rows with the words x [R, H], `steps` [R] behind the text, of which each sees `visible` [R, L + R]. above
        [R - 1]: which row each but the first is mixed with; None: the one before it. States of the rows from the first
        wanted on [R - first, H], and what the first `count` of those say [count, V']."""
        (first, count), rows, positions = wanted, len(x), [text.length + step for step in steps]
        cached, few_rows = text.room(rows), self._few_rows
        if few_rows is not None and few_rows.takes(rows) and not self.layers[0].convolutions:
            states, logits = few_rows.fill(x, text.seat(rows), text.length, positions, visible, wanted)
            return states.to(x.dtype), logits
        turns = self._turns.at(torch.tensor(positions, device=x.device))
        seen = None
        if not visible.all():
            seen = torch.from_numpy(visible).to(x.device).repeat(self.sizes.heads // self.sizes.kv_heads, 1)
        for i, layer in enumerate(self.layers):
            x = self._attended(x, layer, cached[i, :, : text.length + rows], turns, seen, above)
            normed, taps = layer.going_in(1, layer.weights.ffn_norm(x), above)
            gate, up = layer.weights.gate_up(normed).chunk(2, -1)
            x = _added(x, layer.weights.down, functional.silu(gate).mul_(up), taps, above)
        states = self._last_norm(x[first:])
        return states, self._head(states[:count])

    def _attended(
        self, x: Tensor, layer: LeanLayer, cached: Tensor, turns: Turns, seen: Tensor | None, above: Tensor | None
    ) -> Tensor:
        """x [R, H] plus what attention of a layer makes of it, whose keys and values [2 · G, L + R, D] are then in the
        cache; seen [h / G · R, L + R], None: all."""
        rows, sizes = len(x), self.sizes
        normed, taps = layer.going_in(0, layer.weights.attention_norm(x), above)
        heads = layer.weights.qkv(normed).view(rows, -1, sizes.head_size)  # [R, h + 2 · G, D]
        assert layer.weights.head_norms is not None, "every head of this network is normed."
        heads = self._turned(heads, layer.weights.head_norms, turns).transpose(0, 1)  # [h + 2 · G, R, D]
        cached[:, -rows:] = heads[sizes.heads :]
        keys, values = cached.chunk(2)  # [G, L + R, D] each
        queries = heads[: sizes.heads].reshape(sizes.kv_heads, -1, sizes.head_size)  # [G, h / G · R, D]
        read = functional.scaled_dot_product_attention(queries[None], keys[None], values[None], seen)[0]
        read = read.reshape(sizes.heads, rows, -1).transpose(0, 1).reshape(rows, -1)  # [R, h · D]
        return _added(x, layer.weights.output, read, taps, above)


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

    def __init__(self, rows: Tensor) -> None:
        """`rows` [N, 2 · G, room, D], keys before values."""
        self.length = 0
        self._seat = Seat(rows)

    def seat(self, count: int) -> Seat:
        """Of compiled passes: the storage, grown where it would not hold `count` rows more."""
        rows = with_room(self._seat.cached, self.length + count, self.length)
        if rows is not self._seat.cached:
            self._seat = Seat(rows)
        return self._seat

    def room(self, count: int) -> Tensor:
        """The same storage; the rows behind the text may be written to."""
        return self.seat(count).cached


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
        self._last, self._chains = LastDraft(), PlainChains(self.name)

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
        self.lean, self._reads = lean_of(module), module.weights_read()
        self._text = self.lean.new_text()
        shown = replace(self.options, weights=shown_weights(self.options.weights))
        self.options = shown.no_deeper(module.options.slots)

    def load(self, target: GivesFeatures) -> DrafterModule[Options]:
        """The module that the options name, also in the layouts that others publish. Raises ModelError where there is
        none for this target."""
        if is_published(folder := Path(self.options.weights)):
            return read_published_block(self.module_type, folder, target)
        return module_for(self.module_type, self.options.weights, target)

    @abstractmethod
    def behind(self, blind: Tensor, states: Tensor, tokens: Sequence[int]) -> Tensor:
        """Logits [n, V'] of what follows tokens [n] at slots with the states [n, H], of which the pass alone says
        `blind` [n, V']: with whatever else the network knows."""

    def by_depth(self) -> bool:
        """Whether `behind` says what the pass says."""
        return False

    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        """Logits [len(nodes), V'] of what follows the nodes."""
        depths = tree.depths
        slots = [depths[node] for node in nodes]  # below a node of depth d is slot d (from 0)
        tokens = [tree.tokens[node] for node in nodes]
        rows = slots if len(slots) > 1 else slice(slots[0], slots[0] + 1)  # of one row a view is enough
        return self.behind(self.slots[rows], self.states[rows], tokens)

    def read_branches(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        states, blind = self.lean.branches(tree, nodes, self._text)
        return self.trunk.whole(self.behind(blind, states, [tree.tokens[node] for node in nodes]))

    def _reread(self, proposal: Proposal, nodes: Sequence[int]) -> Tensor:
        """The second pass, beside the first."""
        began = now(self.device)
        logits = self.read_branches(proposal.tree, nodes)
        seconds = now(self.device) - began
        proposal.passes.append(Pass(len(nodes), 0, seconds, None, self._reads))
        return logits

    def chain(self, root: int, chooser: Chooser) -> Chain | None:
        """A chain below the root by one call; None where it takes several."""
        return write_chain(self.trunk.whole(self.slots[: chooser.steps]), chooser) if self.by_depth() else None

    def confidence(self, tree: DraftTree, node: int) -> float | None:
        """How likely the network expects the target to take what follows the node; None: it has no head for that."""
        return None

    def depths(self) -> Sequence[int]:
        return self.trunk.depths()

    def read_features(self, tokens: Sequence[int], features: Tensor) -> None:
        self.lean.read(features, self._text)

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        """The states of the root and of what was accepted behind it; the last token has none yet."""
        path = [ROOT, *outcome.path][: len(outcome.tokens) - 1 - self._text.length]
        if path:
            self.read_features([], outcome.features_at(path))
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
            chain = partial(self.chain, context.tokens[-1])
            if not self._chains.drawn((self.tree_policy, stop_policy), context, proposal, depth, chain):
                draft = GrowingDraft(
                    context,
                    proposal,
                    stop_policy,
                    depth,
                    lambda nodes, at: self.trunk.whole(self.answer(proposal.tree, nodes)),
                    self.name,
                    confidence_of=lambda node: self.confidence(proposal.tree, node),
                    branches_of=lambda nodes: self._reread(proposal, nodes),
                    by_depth=self.by_depth(),
                )
                self.tree_policy.grow(draft)
            proposal.note.update(stop_policy.state() | {"context_rows": self._text.length, "slots": slots})
            proposal.late_exhibits.append(partial(self._exhibit, proposal.tree, self.slots))
        self._last.remember(proposal.tree, context.tokens)
        return proposal

    def _fill(self, root: int, depth: int, proposal: Proposal) -> None:
        """The pass: states [S, H] of the slots, and what those in use say [depth, V']."""
        began = now(self.device)
        self.states, self.slots = self.lean.fill(root, self._text, depth)
        seconds = now(self.device) - began
        proposal.passes.append(Pass(self.trunk.options.rows, 0, seconds, None, self._reads))

    def _exhibit(self, tree: DraftTree, slots: Tensor) -> Exhibit:
        """What slots [depth, V'] hold likeliest by the pass alone."""
        probs, depths, rows = slots.float().softmax(-1), tree.depths, []
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
