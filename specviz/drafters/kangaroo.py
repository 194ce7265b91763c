"""Kangaroo: the target's first layers and a small trained adapter draft, until the adapter is unsure.

    token ─► first layers of the target ─► state ─► adapter ─► target's head ─► next token …  (unsure: stop)
                                           └─► the target's pass goes on from here

Beside `early_exit`, whose first layers are read out as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import gcd
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.core.tree import ROOT
from specviz.drafters.base import DRAFTERS, DraftPolicies, Needs, Proposal, RoundOutcome, by_blocks, bytes_of
from specviz.drafters.capabilities import Observes, ReadsFeatures, reading
from specviz.drafters.drafting.growing import ShapeOptions
from specviz.drafters.drafting.target_layers import BorrowedRows, OwnLayersDrafter, Reader
from specviz.drafters.learned.head_networks import Places
from specviz.drafters.learned.heads import FeatureText, likely_row
from specviz.drafters.learned.module import MODULES, DrafterModule, FeatureBatch, TargetParts
from specviz.drafters.learned.weights import WEIGHTS_HELP, module_for, shown_weights
from specviz.errors import OptionError
from specviz.lm.base import Blocks, Cache, LanguageModel, SplitModel
from specviz.lm.products import Linear, linear
from specviz.lm.rotary import turned
from specviz.options import Options, option
from specviz.protocol.trainings import SHIPPED, UNTRAINED
from specviz.stop_policies.confidence import ConfidenceOptions, ConfidenceStopPolicy
from specviz.trace.declared_method import Candidates
from specviz.trace.header import Exhibit

ATTENTION_HEADS = 6
EXIT_LAYER = 2
UNSURE = 0.6
"""the authors' threshold"""


@dataclass(frozen=True)
class KangarooShape(Options):
    """Where the adapter stands."""

    exit_layer: int = option(EXIT_LAYER, help="after how many of the target's layers it reads", minimum=1, maximum=512)


@MODULES.register("kangaroo")
class KangarooModule(DrafterModule[KangarooShape]):
    """Norm, causal attention with residual, norm; no feed-forward (2404.18911, §3.2).

    Shapes: A heads of D, n new rows, m rows seen."""

    explanation: ClassVar[str] = "A small adapter that lets the target's first layers speak for the whole target."

    def __init__(self, target: TargetParts, options: KangarooShape) -> None:
        super().__init__(target, options)
        if options.exit_layer >= target.info.layers:
            raise OptionError(
                f"exit_layer is {options.exit_layer}, but {target.info.name} has {target.info.layers} layers, and "
                "drafting with all of them saves nothing; choose fewer."
            )
        size = target.head.shape[1]
        self.attention_heads = gcd(size, ATTENTION_HEADS)
        self.attention_norm, self.norm = nn.RMSNorm(size), nn.RMSNorm(size)
        self.qkv = Linear(size, 3 * size, bias=False)
        self.output = Linear(size, size, bias=False)
        nn.init.zeros_(self.output.weight)
        self.register_buffer("begun", torch.zeros((), dtype=torch.bool))

    begun: Tensor
    """whether it has seen a batch to learn from"""

    def depths(self) -> Sequence[int]:
        return (self.options.exit_layer,)

    def rows(self, states: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [..., n, A, D] of exit states [..., n, H] at these positions [n] of the text."""
        parts = self.qkv(self.attention_norm(states)).unflatten(-1, (3 * self.attention_heads, -1))
        queries, keys, values = parts.chunk(3, -2)
        places = positions[:, None]
        return turned(queries, places), turned(keys, places), values

    def attend(self, states: Tensor, queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
        """States [..., n, H] as the head reads them; keys and values [..., m, A, D], seen [n, m]."""
        query, key, value = (one.transpose(-3, -2) for one in (queries, keys, values))
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
        adapted: Tensor = self.norm(states + self.output(found.transpose(-3, -2).flatten(-2)))
        return adapted

    def adapted(self, states: Tensor) -> Tensor:
        """From the exit states [..., T, H] of a text, as the head reads them: each speaks of the token after it."""
        length = states.shape[-2]
        seen = torch.ones(length, length, dtype=torch.bool, device=states.device).tril()
        return self.attend(states, *self.rows(states, torch.arange(length, device=states.device)), seen)

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """The distance of the target to the adapter at every token."""
        if self.training and not self.begun:
            with torch.no_grad():  # at first its states are as large as those that the head is used to
                self.norm.weight.copy_(batch.final.square().mean((0, 1)).sqrt())
                self.begun.fill_(True)
        places = Places.of(batch, 1, self.training)
        states = self.adapted(batch.features[:, :, 0])[places.text, places.token + 1]
        said = linear(states, self.head)
        return {"adapter": batch.distance(said, places.wanted(batch, self.head)[:, 0])}

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """It has read the exit state of every token before the one it guesses."""
        logits = linear(self.adapted(batch.features[:, :, 0]), self.head)
        return [logits[:, 1 + k :] for k in range(min(most, batch.tokens.shape[1] - 1))]


class AdapterRows:
    """The adapter's keys and values: of the text, from its true exit states, and of the draft under way."""

    def __init__(self, module: KangarooModule, device: torch.device) -> None:
        self._module = module
        self._device = device
        heads = module.attention_heads
        empty = torch.empty(0, heads, module.hidden_size // heads, device=device, dtype=module.head.dtype)
        self._text = (empty, empty)
        self._draft = (empty, empty)
        self._lines: list[list[int]] = []
        """per row of the draft: its ancestors and itself"""

    def begin(self, states: FeatureText) -> None:
        """Catch up with the text, which drops the last draft: also the rows of what was accepted of it come from the
        text, and that of the last one, which was never asked about, is among them."""
        start = len(self._text[0])
        if states.length > start:
            fresh = states.rows(start)[:, 0]
            _, *pair = self._module.rows(fresh, torch.arange(start, states.length, device=self._device))
            self._text = (torch.cat([self._text[0], pair[0]]), torch.cat([self._text[1], pair[1]]))
        self._draft, self._lines = (self._text[0][:0], self._text[1][:0]), []

    def read(self, states: Tensor, parents: Sequence[int]) -> Tensor:
        """See `target_layers.Reader`."""
        length, before = len(self._text[0]), len(self._lines)
        for parent in parents:
            line = self._lines[parent] if parent >= 0 else []
            self._lines.append([*line, len(self._lines)])
        new = self._lines[before:]
        positions = torch.tensor([length + len(line) - 1 for line in new], device=self._device)
        queries, *pair = self._module.rows(states, positions)
        self._draft = (torch.cat([self._draft[0], pair[0]]), torch.cat([self._draft[1], pair[1]]))
        seen = torch.zeros(len(new), length + len(self._lines), dtype=torch.bool)
        seen[:, :length] = True
        for row, line in enumerate(new):
            seen[row, [length + one for one in line]] = True
        keys, values = (torch.cat([text, draft]) for text, draft in zip(self._text, self._draft, strict=True))
        adapted = self._module.attend(states, queries, keys, values, seen.to(self._device))
        return linear(adapted, self._module.head)


@dataclass(frozen=True)
class KangarooOptions(ShapeOptions):
    """Weights, shape of the draft, where it exits and when it stops."""

    weights: str = option(SHIPPED, help=WEIGHTS_HELP)
    exit_layer: int = option(
        0,
        help=f"how many of the target's first layers draft; 0: as the adapter was trained, {EXIT_LAYER} untrained",
        minimum=0,
        maximum=512,
    )
    threshold: float = option(
        UNSURE,
        help="draft nothing below a candidate that the adapter holds less probable; 0: never stop early. A stop policy "
        "replaces it",
        minimum=0.0,
        maximum=1.0,
    )


@DRAFTERS.register("kangaroo")
class KangarooDrafter(OwnLayersDrafter[KangarooOptions], ReadsFeatures, Observes):
    """The target's first layers draft, a small trained adapter reads them out, and the target goes on from there.

    The adapter is one attention layer between two norms, without a feed-forward part, and the head is the target's. It
    stops below a candidate it was unsure of: the unlikely one is submitted, as leaving it out would bias the text. No
    layer of the target runs twice. After each round the adapter's rows are made again from the true states.
    Kangaroo (Liu et al., 2404.18911).
    """

    candidates: ClassVar[Candidates] = Candidates(shows=True, hands_over=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's own first layers, through a trained adapter",
        training="the adapter, on the target's states",
        memory="the adapter's weights and its keys and values",
    )
    pass_reads: ClassVar[str] = "the target's first layers, the adapter and the target's head"

    def __init__(self, options: KangarooOptions) -> None:
        super().__init__(options)
        self._text = FeatureText()
        self._threshold = options.threshold
        self.follow(self.draft_policies)

    def follow(self, draft_policies: DraftPolicies) -> None:
        """Its own confidence stop, unless the run has a stop policy: what stops is then that policy in either case, and
        the options say no more of it. Raises OptionError for a threshold beside another policy."""
        if draft_policies.stop_policy.does_nothing():
            if self._threshold:
                own = ConfidenceStopPolicy(ConfidenceOptions(threshold=self._threshold))
                draft_policies = replace(draft_policies, stop_policy=own)
        elif self._threshold not in (0.0, UNSURE):
            raise OptionError(
                f"threshold is {self._threshold}, but the stop policy '{draft_policies.stop_policy.name}' replaces it; "
                f"leave it at {UNSURE}."
            )
        self.options = replace(self.options, threshold=0.0)
        super().follow(draft_policies)

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Raises ModelError or OptionError where the target cannot be split or read, or the weights are not for it."""
        chosen, weights = self.options.exit_layer, self.options.weights
        shape = {"exit_layer": chosen or EXIT_LAYER}
        module = module_for(KangarooModule, weights, reading(target, self.name), shape)
        assert isinstance(module, KangarooModule), f"'{module.name}' is no Kangaroo adapter."
        if chosen not in (0, module.options.exit_layer):
            raise OptionError(
                f"exit_layer is {chosen}, but the adapter was trained after layer {module.options.exit_layer}; leave "
                f"it at 0, or set weights to '{UNTRAINED}'."
            )
        self._module, self.learnt_from = module, module.learnt_from
        self._adapter = AdapterRows(module, target.device)
        self.options = replace(self.options, exit_layer=module.options.exit_layer, weights=shown_weights(weights))
        super().attach(target, cache)

    def blocks(self, target: SplitModel) -> Blocks:
        return Blocks.first(self.options.exit_layer)

    def weights_read(self, target: SplitModel, blocks: Blocks) -> int | None:
        """The adapter stands before the head, where the target has a norm of next to no size."""
        own = by_blocks(target, blocks)
        return None if own is None else own + bytes_of(self._module)

    def depths(self) -> Sequence[int]:
        return self._module.depths()

    def read_features(self, tokens: Sequence[int], features: Tensor) -> None:
        self._text.read(features)

    def reader(self) -> Reader:
        self._adapter.begin(self._text)
        return self._adapter.read

    def close(self, rows: BorrowedRows, proposal: Proposal) -> Proposal:
        proposal.late_exhibits.append(partial(_sureness, proposal))
        return self.hand_over(rows, proposal, self.options.exit_layer)

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        self._text.extend(outcome)
        return []


def _sureness(proposal: Proposal) -> Exhibit:
    """What the adapter held probable at each place that it was asked about."""
    tree, rows = proposal.tree, []
    for nodes, logits in proposal.draft_logits:
        for node, probs in zip(nodes, logits.softmax(-1), strict=True):
            where = "the root" if node == ROOT else f"node {node}"
            rows.append(likely_row(f"after {where}", tree, [node], probs))
    return Exhibit("what the adapter holds probable", rows, marked="drafted")
