"""A block of masked slots behind the text, filled in all at once, and once more where the network was least sure.

    last states + root + [mask] … [mask] ─► pass 1 ─► guesses ─► [ keep the surest, mask the rest ─► pass 2 ] … ─► tree

The slots see each other and the target's last states. The lattice over them is that of `markov`.

Shapes: N blocks, W states of context, S slots, Q = 1 + S rows (the root's and the slots'), H hidden size of the target,
A attention heads of D = H / A, V vocabulary. The network is in `learned/block_network.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from specviz.core.draws import Chooser
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal, RoundOutcome, bytes_of
from specviz.drafters.learned.block_network import BlockNetwork, BlockPass, Context
from specviz.drafters.learned.head_networks import FADE, Bigram, Lattice, Places, lattice_note, shown_lattice
from specviz.drafters.learned.heads import FeatureText, HeadDrafter, HeadOptions, PlannedTree
from specviz.drafters.learned.module import MODULES, DrafterModule, FeatureBatch, TargetParts
from specviz.lm.base import Chain
from specviz.lm.chains import as_it_runs, write_chain
from specviz.lm.products import linear
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates
from specviz.trace.header import Exhibit, ExhibitRow

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
        self._fills: list[Fill] = []
        self._root_at = 0
        self._right = [0] * (1 + options.passes)
        """tokens of each pass's guesses that the target wrote, over the run"""

    def use_module(self, module: DrafterModule[Options]) -> None:
        assert isinstance(module, MaskedBlockModule), f"'{module.name}' is no masked block."
        self._module = module
        self._pass = as_it_runs(module, lambda: BlockPass(module.block, module.embedding, module.head))
        self._pairs = as_it_runs(module.bigram, module.bigram.as_table)
        self._block_text = self._pass.new_text()
        later, table = module.weights_read(), module.bigram.after if self.options.lattice else None
        self._pass_reads = later, later + bytes_of(*module.block.context_weights(), table)

    def module(self) -> MaskedBlockModule:
        return self._module

    def heads(self) -> int:
        return self._module.options.slots

    def weights_read(self, depth: int | None) -> int:
        later, first = self._pass_reads
        return later if self._fills else first

    def start(self, context: DraftContext, states: FeatureText, proposal: Proposal) -> None:
        self._fills, self._root_at = [], len(context.tokens)
        slots, used, passes = self._module.options.slots, self.options.gamma, 1 + self.options.passes
        tokens, known = [context.tokens[-1], *([0] * slots)], [True, *([False] * slots)]
        # logits of the γ slots in use [γ, V]; a shown slot keeps those of the pass that it was guessed in
        rows = self.timed(proposal, 1 + used, None, self._fill, states, tokens, known)
        for number in range(1, passes):
            self._guess(rows, tokens, known, used * number // passes)
            found = self.timed(proposal, 1 + used, None, self._fill, states, tokens, known)
            shown = torch.tensor(known[1 : 1 + used], device=self.device)
            rows = torch.where(shown[:, None], rows, found)
        self._guess(rows, tokens, known, 0)
        self._rows = rows
        self._lattice: Lattice | None = None
        if self.options.nodes and self.draft_policies.tree_policy is None:
            places, steps = rows[: max(1, min(used, context.max_depth))], self.options.lattice
            self._lattice = self._module.bigram.lattice(places, context.tokens[-1], self.options.width, steps)
            self._planned = PlannedTree(self._lattice.prefixes(self.options.nodes))

    def _fill(self, states: FeatureText, tokens: Sequence[int], known: Sequence[bool]) -> Tensor:
        """Logits [γ, V] of one pass."""
        text = self._block_text
        if text.read < states.length:
            # [n, depths, H] → [n, H], at most a window of them
            self._pass.read(states.rows(max(text.read, states.length - text.window))[:, 0], text)
            text.read = states.length
        last = states.rows(states.length - 1)[0, 0]  # [1, depths, H] → [H]
        return self._pass.fill(last, text, tokens, known, self.options.gamma)

    def _guess(self, rows: Tensor, tokens: list[int], known: list[bool], keep: int) -> None:
        """Take down what the slots hold, and show the `keep` surest to the next pass."""
        used = len(rows)
        probs, best = rows.softmax(-1).max(-1)  # [γ] each: the likeliest token's probability, and the token
        kept = [slot for slot in range(used) if known[1 + slot]]
        tokens[1 : 1 + used] = best.tolist()
        self._fills.append(Fill(tokens[1 : 1 + used], [round(prob, 6) for prob in probs.tolist()], kept))
        surest = probs.topk(keep).indices.tolist()
        known[1:] = [slot in surest for slot in range(len(known) - 1)]

    def chain(self, proposal: Proposal, chooser: Chooser) -> Chain | None:
        if not self.options.lattice:
            return write_chain(self._rows, chooser)
        if self._pairs is None:
            return None
        return write_chain(self._rows, chooser, proposal.tree.tokens[ROOT], self._pairs)

    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        depths = tree.depths
        rows = self._rows[[depths[node] for node in nodes]]  # [n, V]; below a node of depth d is slot d (from 0)
        if self.options.lattice:
            rows = rows + self._module.bigram.behind([tree.tokens[node] for node in nodes], self._pairs)
        return rows

    def done(self, proposal: Proposal) -> None:
        proposal.late_exhibits.append(partial(shown_fills, proposal.tree, self._fills))
        proposal.note["right_by_pass"] = list(self._right)
        if self._lattice is not None:
            proposal.note.update(lattice_note(self._lattice))
            proposal.late_exhibits.append(partial(shown_lattice, proposal.tree, self._lattice))

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


def shown_fills(tree: DraftTree, fills: Sequence[Fill]) -> Exhibit:
    """What the slots held after each pass, and which nodes hold the same."""
    depths, rows = tree.depths, []
    for number, fill in enumerate(fills, start=1):
        nodes = [node for node in range(1, len(tree)) if tree.tokens[node] == fill.tokens[depths[node] - 1]]
        rows.append(ExhibitRow(f"pass {number}", fill.tokens, fill.kept, nodes, scores=fill.probs))
    return Exhibit("the slots after each pass", rows, marked="kept from the pass before")
