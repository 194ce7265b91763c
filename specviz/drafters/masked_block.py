"""A block of masked slots behind the text, filled in all at once, and once more where the network was least sure.

    last states + root + [mask] … [mask] ─► pass 1 ─► guesses ─► [ keep the surest, mask the rest ─► pass 2 ] … ─► tree

The slots see each other and the target's last states. The lattice over them is that of `markov`.

Shapes: N blocks, W states of context, S slots, Q = 1 + S rows (the root's and the slots'), H hidden size of the target,
A attention heads of D = H / A, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal, RoundOutcome, bytes_of
from specviz.drafters.learned.head_networks import FADE, Bigram, Lattice, Places, shown_lattice
from specviz.drafters.learned.heads import FeatureText, HeadDrafter, HeadOptions, PlannedTree
from specviz.drafters.learned.module import MODULES, DrafterModule, FeatureBatch, TargetParts
from specviz.lm.products import Linear, linear
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates
from specviz.trace.header import Exhibit, ExhibitRow

ATTENTION_HEADS = 6
WIDER = 2
"""of the feed-forward's inner size"""
Context = list[tuple[Tensor, Tensor]]
"""per layer keys and values [..., W, A, D] of the target's states"""


class BlockLayer(nn.Module):
    """Attention over the context and the block itself, both ways, then a gated feed-forward; before each a norm."""

    def __init__(self, size: int, rows: int, window: int) -> None:
        super().__init__()
        self.attention_heads = gcd(size, ATTENTION_HEADS)
        self.attention_norm, self.ffn_norm = nn.RMSNorm(size), nn.RMSNorm(size)
        self.qkv = Linear(size, 3 * size, bias=False)
        self.states = Linear(size, 2 * size, bias=False)
        self.output = Linear(size, size, bias=False)
        self.gate_up = Linear(size, 2 * WIDER * size, bias=False)
        self.down = Linear(WIDER * size, size, bias=False)
        self.places = nn.Parameter(torch.zeros(self.attention_heads, rows, window + rows))
        """added to scores: how far a row is from what it looks at"""

    def context(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values [..., A, D] of states [..., H]."""
        keys, values = self.states(states).unflatten(-1, (2 * self.attention_heads, -1)).chunk(2, -2)
        return keys, values

    def forward(self, rows: Tensor, keys: Tensor, values: Tensor, absent: Tensor) -> Tensor:
        """rows [N, Q, H] → the same; keys and values [N, W, A, D]; absent [N, W] where the text has not begun yet."""
        heads = self.attention_heads
        # each [N, Q, A, D]
        query, key, value = self.qkv(self.attention_norm(rows)).unflatten(-1, (3 * heads, -1)).chunk(3, -2)
        # context and block side by side: [N, A, W + Q, D]
        key, value = (torch.cat(pair, 1).transpose(1, 2) for pair in ((keys, key), (values, value)))
        unseen = functional.pad(absent, (0, rows.shape[1]))[:, None, None]  # [N, 1, 1, W + Q]: the block sees itself
        scores = self.places.masked_fill(unseen, float("-inf"))  # [A, Q, W + Q] → [N, A, Q, W + Q]
        found = functional.scaled_dot_product_attention(query.transpose(1, 2), key, value, scores)  # [N, A, Q, D]
        rows = rows + self.output(found.transpose(1, 2).flatten(-2))
        gate, up = self.gate_up(self.ffn_norm(rows)).chunk(2, -1)
        down: Tensor = self.down(functional.silu(gate) * up)
        return rows + down


class BlockNetwork(nn.Module):
    """From the target's last states, the root's token and what is known of the slots to a state for every slot, which
    the target's head reads out. Untrained it gives the last state, as untrained Medusa heads do."""

    def __init__(self, size: int, slots: int, window: int, layers: int) -> None:
        super().__init__()
        self.window = window
        self.word = Linear(size, size, bias=False)
        self.masked = nn.Parameter(torch.zeros(size))
        self.position = nn.Parameter(torch.randn(1 + slots, size) * 0.02)
        self.states_norm, self.norm = nn.RMSNorm(size), nn.RMSNorm(size)
        self.layers = nn.ModuleList(BlockLayer(size, 1 + slots, window) for _ in range(layers))
        self.output, self.skip = Linear(size, size, bias=False), Linear(size, size, bias=False)
        nn.init.zeros_(self.output.weight)
        nn.init.eye_(self.skip.weight)

    def context_weights(self) -> list[nn.Module]:
        """Which weights `context` goes through."""
        return [self.states_norm, *(layer.get_submodule("states") for layer in self.layers)]

    def context(self, states: Tensor) -> Context:
        """What the layers look at of the target's states [..., T, H]: worked out once per token of a text."""
        states = self.states_norm(states)
        return [layer.context(states) for layer in self.layers]  # type: ignore[operator]  # a ModuleList knows no more

    def forward(self, context: Context, last: Tensor, absent: Tensor, words: Tensor, known: Tensor) -> Tensor:
        """States [N, S, H] of the slots. last [N, H]: the target's last state; words [N, Q, H]: embeddings of the root
        and of the slots; known [N, Q]: which of them count, the others are masked."""
        words = self.word(functional.rms_norm(words, words.shape[-1:]))
        rows = torch.where(known[..., None], words, self.masked) + self.position
        for layer, (keys, values) in zip(self.layers, context, strict=True):
            rows = layer(rows, keys, values, absent)
        found: Tensor = self.skip(last)[:, None] + self.output(self.norm(rows[:, 1:]))
        return found


BLANK = 0.5
"""share of the blocks in training whose slots are all masked; of the others a random part is shown"""


@dataclass(frozen=True)
class MaskedBlockShape(Options):
    """Size of the network."""

    slots: int = option(4, help="masked places that it fills", minimum=1, maximum=16)
    window: int = option(16, help="of how many of the target's last states it sees", minimum=1, maximum=128)
    layers: int = option(2, help="layers of the block", minimum=1, maximum=8)
    rank: int = option(32, help="rank of the table of which token follows which", minimum=1, maximum=512)


@MODULES.register("masked_block")
class MaskedBlockModule(DrafterModule[MaskedBlockShape]):
    """A bidirectional block over masked slots, conditioned on the target's last states."""

    explanation: ClassVar[str] = "A small two-way network that fills several masked places at once."

    def __init__(self, target: TargetParts, options: MaskedBlockShape) -> None:
        super().__init__(target, options)
        vocabulary, size = target.head.shape
        self.block = BlockNetwork(size, options.slots, options.window, options.layers)
        self.bigram = Bigram(vocabulary, options.rank)

    def depths(self) -> Sequence[int]:
        return (self.target.layers,)

    def fill(self, context: Context, last: Tensor, absent: Tensor, tokens: Tensor, known: Tensor) -> Tensor:
        """Logits [N, S, V] of the slots. tokens [N, 1 + S]: the root's, then the slots' where known [N, 1 + S]; the
        rest as in `BlockNetwork`."""
        states = self.block(context, last, absent, functional.embedding(tokens, self.embedding), known)
        return linear(states, self.head)

    def weights_read(self) -> int:
        """Less what reads the target's states, which is done once a round, and the table of what follows what."""
        return bytes_of(self.block, self.head) - bytes_of(*self.block.context_weights())

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """Σ 0.8^k times the distance of the target to slot k over masked slots, and the same with the bigram,
        which learns on the slots as they are."""
        slots = self.options.slots
        found = Places.of(batch, 1 + slots, self.training)  # N places; one token more, for the last slot may be shown
        if found.heads <= slots:
            return {}
        places = replace(found, heads=slots)
        tokens = places.tokens(batch, 1, 1 + slots)  # [N, 1 + S]: the root and what the slots should hold
        known, wanted = self._shown(tokens), places.wanted(batch, self.head)  # [N, 1 + S], [N, S, V]
        logits = self._at(batch, places.text, places.token, tokens, known)  # [N, S, V]
        told = logits.detach() + self.bigram(tokens[:, :-1])  # each slot told the token before it: [N, S, V]
        terms = {}
        for k in range(slots):
            masked = ~known[:, k + 1]  # [N]: only what was hidden is learnt
            if masked.any():
                terms[f"slot_{k + 1}"] = FADE**k * batch.distance(logits[masked, k], wanted[masked, k])
                terms[f"bigram_{k + 1}"] = FADE**k * batch.distance(told[masked, k], wanted[masked, k])
        return terms

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """Of its first pass, told the token before."""
        (texts, length), slots = batch.tokens.shape, self.options.slots
        # windows of 1 + S tokens that begin at every token but the first: [B, T + S] → [B, T, 1 + S] → [N, 1 + S]
        tokens = functional.pad(batch.tokens, (0, slots)).unfold(1, 1 + slots, 1)[:, 1:length].flatten(0, 1)
        place = torch.arange(texts * (length - 1), device=tokens.device)  # N = B · (T - 1) blocks
        text, token = place // (length - 1), place % (length - 1)  # [N]: which text, and the last token that was read
        logits = self._at(batch, text, token, tokens, self._root_alone(tokens)) + self.bigram(tokens[:, :-1])
        logits = logits.unflatten(0, (texts, length - 1))  # [N, S, V] → [B, T - 1, S, V]
        return [logits[:, : length - 1 - k, k] for k in range(min(most, slots, length - 1))]

    def _at(self, batch: FeatureBatch, text: Tensor, token: Tensor, tokens: Tensor, known: Tensor) -> Tensor:
        """Logits [N, S, V] of blocks behind these tokens [N] of these texts [N]."""
        window, states = self.options.window, batch.features[:, :, 0]  # [B, T, H]

        def before(rows: Tensor) -> Tensor:
            """[B, T, A, D] → [N, W, A, D], zeros before the text."""
            padded = functional.pad(rows, (0, 0, 0, 0, window - 1, 0))  # [B, W - 1 + T, A, D]
            # a window ends at each token: [B, T, A, D, W], of which N: [N, A, D, W]
            return padded.unfold(1, window, 1)[text, token].permute(0, 3, 1, 2)

        context = [(before(keys), before(values)) for keys, values in self.block.context(states)]
        # [N, W]: the window's place i lies W - 1 - i tokens back, for the first tokens before the text
        absent = token[:, None] < torch.arange(window - 1, -1, -1, device=token.device)
        return self.fill(context, states[text, token], absent, tokens, known)

    def _root_alone(self, tokens: Tensor) -> Tensor:
        known = torch.zeros_like(tokens, dtype=torch.bool)
        known[:, 0] = True
        return known

    def _shown(self, tokens: Tensor) -> Tensor:
        """Which of tokens [N, 1 + S] a block is shown in training: the root, and of some blocks a random part, never
        all."""
        known = self._root_alone(tokens)
        if self.training:
            count, slots = len(tokens), tokens.shape[1] - 1
            chance = torch.rand(count, slots, device=tokens.device)
            few = torch.randint(0, slots, (count, 1), device=tokens.device)
            few[torch.rand(count, 1, device=tokens.device) < BLANK] = 0  # [N, 1]: how many slots are shown
            # argsort of argsort is each slot's rank in a random order [N, S]: below `few`, so many are chosen
            known[:, 1:] = chance.argsort(1).argsort(1) < few
        return known


@dataclass(frozen=True)
class MaskedBlockOptions(HeadOptions):
    """Weights, shape of the draft, and how often it is refined."""

    passes: int = option(
        0, help="refinement passes: the surest slots stay, the others are masked again", minimum=0, maximum=3
    )
    lattice: bool = option(True, help="rescore the slots by which token follows which")
    width: int = option(
        8, help="tokens that each slot hands to the lattice", minimum=1, maximum=32, needs="nodes", shape=True
    )


@dataclass(frozen=True, slots=True)
class Fill:
    """What one pass made of the slots, first to last."""

    tokens: list[int]
    probs: list[float]
    kept: list[int]
    """slots that it was shown, from the pass before"""


@DRAFTERS.register("masked_block")
class MaskedBlockDrafter(HeadDrafter[MaskedBlockOptions]):
    """A small two-way network fills several masked places behind the text in a single pass.

    It sees the target's last states, the root's token and the other slots, but not what they will hold. A refinement
    pass keeps the surest guesses and asks again about the rest. What such a generator alone would get wrong, the target
    rejects, so nothing is lost. A low-rank bigram makes neighbours fit, as in `markov`. After generative masked
    language models (Li et al., 2407.21046) and their mask-predict decoding (Ghazvininejad et al., 1904.09324).
    """

    candidates: ClassVar[Candidates] = Candidates(planned="nodes", deepest="gamma", from_states=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's last states, several masked places at once",
        training="the block network, on the target's states",
        memory="the network's weights",
    )
    pass_reads: ClassVar[str] = (
        "the block and the target's head, the first pass of a round also what reads the target's states, and the table"
    )
    module_type = MaskedBlockModule

    def __init__(self, options: MaskedBlockOptions) -> None:
        super().__init__(options)
        self._context: Context = []
        self._read = 0
        """tokens of the text that the context has seen"""
        self._fills: list[Fill] = []
        self._root_at = 0
        self._right = [0] * (1 + options.passes)
        """tokens of each pass's guesses that the target wrote, over the run"""

    def use_module(self, module: DrafterModule[Options]) -> None:
        assert isinstance(module, MaskedBlockModule), f"'{module.name}' is no masked block."
        self._module = module

    def module(self) -> MaskedBlockModule:
        return self._module

    def heads(self) -> int:
        return self._module.options.slots

    def weights_read(self, depth: int | None) -> int:
        read = self._module.weights_read()
        if self._fills:
            return read
        table = self._module.bigram.after if self.options.lattice else None
        return read + bytes_of(*self._module.block.context_weights(), table)

    def start(self, context: DraftContext, states: FeatureText, proposal: Proposal) -> None:
        self._fills, self._root_at = [], len(context.tokens)
        known = torch.zeros(1, 1 + self._module.options.slots, dtype=torch.bool, device=self.device)
        known[:, 0] = True
        tokens = torch.zeros(known.shape, dtype=torch.int64, device=self.device)
        tokens[0, 0] = context.tokens[-1]
        used, passes = self.options.gamma, 1 + self.options.passes
        # logits of the γ slots in use [γ, V]; a shown slot keeps those of the pass that it was guessed in
        rows = self.timed(proposal, 1 + used, None, self._fill, states, tokens, known)[:used]
        for number in range(1, passes):
            self._guess(rows, tokens, known, used * number // passes)
            found = self.timed(proposal, 1 + used, None, self._fill, states, tokens, known)[:used]
            rows = torch.where(known[0, 1 : 1 + used, None], rows, found)
        self._guess(rows, tokens, known, 0)
        self._rows = rows
        self._lattice: Lattice | None = None
        if self.options.nodes and self.draft_policies.tree_policy is None:
            places, steps = rows[: max(1, min(used, context.max_depth))], self.options.lattice
            self._lattice = self._module.bigram.lattice(places, context.tokens[-1], self.options.width, steps)
            self._planned = PlannedTree(self._lattice.prefixes(self.options.nodes))

    def _fill(self, states: FeatureText, tokens: Tensor, known: Tensor) -> Tensor:
        """Logits [S, V] of one pass."""
        block = self._module.block
        if self._read < states.length:
            fresh = block.context(states.rows(max(self._read, states.length - block.window))[None, :, 0])
            before = self._context or [(keys[:, :0], values[:, :0]) for keys, values in fresh]
            # per layer keys and values [1, at most W, A, D] of the text's last tokens
            self._context = [
                (torch.cat([old[0], new[0]], 1)[:, -block.window :], torch.cat([old[1], new[1]], 1)[:, -block.window :])
                for old, new in zip(before, fresh, strict=True)
            ]
            self._read = states.length
        missing = block.window - self._context[0][0].shape[1]  # places of the window before the text begins
        padded = [
            (functional.pad(keys, (0, 0, 0, 0, missing, 0)), functional.pad(values, (0, 0, 0, 0, missing, 0)))
            for keys, values in self._context
        ]
        absent = torch.arange(block.window, device=self.device)[None] < missing  # [1, W]
        last = states.rows(states.length - 1)[:, 0]  # [1, depths, H] → [1, H]
        return self._module.fill(padded, last, absent, tokens, known)[0]

    def _guess(self, rows: Tensor, tokens: Tensor, known: Tensor, keep: int) -> None:
        """Take down what the slots hold, and show the `keep` surest to the next pass."""
        used = len(rows)
        probs, best = rows.softmax(-1).max(-1)  # [γ] each: the likeliest token's probability, and the token
        kept = known[0, 1 : 1 + used].nonzero()[:, 0].tolist()
        self._fills.append(Fill(best.tolist(), [round(prob, 6) for prob in probs.tolist()], kept))
        surest = probs.topk(keep).indices
        known[0, 1:] = False
        known[0, 1 + surest] = True
        tokens[0, 1 : 1 + used] = best

    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        depths = tree.depths
        rows = self._rows[[depths[node] for node in nodes]]  # [n, V]; below a node of depth d is slot d (from 0)
        if self.options.lattice:
            rows = rows + self._module.bigram(torch.tensor([tree.tokens[node] for node in nodes], device=self.device))
        return rows

    def done(self, proposal: Proposal) -> None:
        tree, rows = proposal.tree, []
        depths = tree.depths
        for number, fill in enumerate(self._fills, start=1):
            nodes = [node for node in range(1, len(tree)) if tree.tokens[node] == fill.tokens[depths[node] - 1]]
            rows.append(ExhibitRow(f"pass {number}", fill.tokens, fill.kept, nodes, scores=fill.probs))
        proposal.exhibits.append(Exhibit("the slots after each pass", rows, marked="kept from the pass before"))
        proposal.note["right_by_pass"] = list(self._right)
        if self._lattice is not None:
            exhibit, note = shown_lattice(tree, self._lattice)
            proposal.exhibits.append(exhibit)
            proposal.note.update(note)

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        """How far each pass's guesses agree with what the target wrote there."""
        super().observe(outcome)
        rows = []
        for number, fill in enumerate(self._fills):
            written = outcome.tokens[self._root_at :]
            right = 0
            while right < min(len(written), len(fill.tokens)) and written[right] == fill.tokens[right]:
                right += 1
            self._right[number] += right
            rows.append(ExhibitRow(f"pass {1 + number}: {right} right", fill.tokens, list(range(right))))
        self._fills = []
        return [Exhibit("how far each pass agrees with the text", rows, marked="right")] if rows else []
