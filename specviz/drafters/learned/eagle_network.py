"""The network of the EAGLE family: one block over the last token's embedding and the target's state before it.

    target's states ─ fuse ─► state ┐
    embedding of the next token ────┴ join ─► block ─► state of the next token ─ head ─► logits
                                                └─► and so on, from its own state

One architecture with options: EAGLE-1 (2401.15077) joins embedding and state by one matrix; EAGLE-3 (2503.01840) fuses
several depths, lets attention read both side by side, unrolls drafts in training and has a head of its own; P-EAGLE
(2602.01469) puts a learnt word and state where they are not known yet, so that one pass drafts several tokens.

Shapes: B texts, T tokens, K depths, H hidden size, V vocabulary, V' tokens that it can draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.base import bytes_of
from specviz.drafters.learned.eagle_layers import BlockShape, DraftBlock, LeanBlock, Memory, Wiring, log_normaliser
from specviz.drafters.learned.module import (
    QUIET,
    Distance,
    DrafterModule,
    FeatureBatch,
    TargetParts,
    divergence,
    least_squares,
)
from specviz.errors import OptionError
from specviz.lm.kernels import Projection, settle
from specviz.lm.llama.replay import Replays
from specviz.lm.llama.rows import Attends, LlamaCache, LlamaRows
from specviz.lm.products import Linear, shortened
from specviz.options import Options, option

EAGLE1, EAGLE3 = "eagle1", "eagle3"
STEP_WEIGHT = 0.8
"""of an unrolled step's loss against the step before (EAGLE-3, traineagle3)"""


@dataclass(frozen=True)
class EagleShape(Options):
    """What the network is, and how it was trained."""

    wiring: str = option(
        EAGLE1,
        help="eagle1: embedding and state joined by one matrix; eagle3: both normed, side by side before attention",
        choices=(EAGLE1, EAGLE3),
    )
    depths: tuple[int, ...] = option(
        (), help="after how many layers the target is read, fused by one matrix; nothing: its last state", minimum=0
    )
    unroll: int = option(
        3, help="steps that a draft is unrolled in training (training-time test); 1: none", minimum=1, maximum=8
    )
    draft_tokens: int = option(
        0, help="tokens that it can draft; 0: all of them, read out by the target's head", minimum=0
    )
    own_head: bool = option(
        True, help="whether a smaller head has weights of its own; otherwise it has the target's rows"
    )
    heads: int = option(0, help="attention heads; 0: one for every 64 of the hidden size", minimum=0)
    kv_heads: int = option(0, help="key and value heads; 0: as many", minimum=0)
    head_size: int = option(0, help="size of a head; 0: the hidden size shared out", minimum=0)
    ffn: int = option(0, help="inner size of the MLP; 0: eight thirds of the hidden size", minimum=0)
    bias: bool = option(False, help="whether the joining matrix has a bias")
    head_norms: bool = option(False, help="whether queries and keys are normed head by head, as in Qwen3")
    scale_embedding: bool = option(True, help="whether embeddings are brought to the states' scale before joining")
    theta: float = option(10000.0, help="base of the rotary positions", minimum=1.0)
    eps: float = option(1e-6, help="of the norms", minimum=0.0)
    least_squares: bool = option(
        True, help="whether the joining matrix starts as the best linear guess of the next state, not at random"
    )
    feature_weight: float = option(0.2, help="weight of SmoothL1 to the target's state in the loss", minimum=0.0)
    token_weight: float = option(1.0, help="weight of the cross entropy to the target's distribution", minimum=0.0)
    noise: float = option(0.2, help="width of the uniform noise on states in training", minimum=0.0)
    parallel: int = option(
        0,
        help="tokens that one pass drafts, by a learnt word and state in place of those not known; 0: a pass for each",
        minimum=0,
        maximum=16,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads and self.kv_heads and self.heads % self.kv_heads:
            raise OptionError(f"{self.heads} heads cannot share {self.kv_heads} key and value heads evenly.")
        if self.head_size % 2:
            raise OptionError(f"head_size is {self.head_size}, but positions turn pairs; choose an even one.")

    def block(self, hidden: int, extra: int = 0) -> BlockShape:
        """Sizes of the block for a target of this hidden size."""
        heads = self.heads or max(1, hidden // 64)
        head_size = self.head_size or 2 * ((hidden // heads + 1) // 2)
        inputs = hidden if self.wiring == EAGLE1 else 2 * hidden
        ffn = self.ffn or max(1, hidden * 8 // 3)
        kv_heads = self.kv_heads or heads
        return BlockShape(hidden, inputs, heads, kv_heads, head_size, ffn, extra, self.theta, self.eps, self.head_norms)


ShapeT_co = TypeVar("ShapeT_co", bound=EagleShape, covariant=True)


class EagleTrunk(DrafterModule[ShapeT_co]):
    """A subclass is registered, and may change how token and state are joined and what the head reads."""

    def __init__(self, target: TargetParts, options: ShapeT_co) -> None:
        super().__init__(target, options)
        hidden = self.hidden_size
        wrong = [depth for depth in options.depths if depth > self.target.layers]
        if wrong:
            raise OptionError(
                f"depths name {wrong[0]}, but {self.target.name} has {self.target.layers} layers; choose fewer."
            )
        self.fuse = Linear(len(options.depths) * hidden, hidden, bias=False) if options.depths else None
        self._add_join(hidden)
        self.block = DraftBlock(options.block(hidden, self.extra))
        self.keep_tokens(options.draft_tokens)
        has_own = options.own_head and options.draft_tokens
        self.own_head = nn.Linear(hidden, options.draft_tokens, bias=False) if has_own else None
        spread = float(target.embedding.float().std())
        self.scale = 1.0 / spread if options.scale_embedding and spread > 0 else 1.0
        self.placeholder: nn.Parameter | None = None
        """[2, H]: word and state of a token that is not known, where one pass drafts several"""
        if options.parallel:
            self.placeholder = nn.Parameter(torch.randn(2, hidden) * torch.tensor([[spread], [1.0]]))
        self._lean: LeanTrunk | None = None

    @property
    def extra(self) -> int:
        """Outputs of the block beside the state."""
        return 0

    def _add_join(self, hidden: int) -> None:
        if self.options.wiring == EAGLE1:
            self.fc = nn.Linear(2 * hidden, hidden, bias=self.options.bias)
        else:
            self.embed_norm, self.hidden_norm, self.norm = (nn.RMSNorm(hidden, self.options.eps) for _ in range(3))

    def depths(self) -> Sequence[int]:
        return self.options.depths or (self.target.layers,)

    def state_of(self, features: Tensor) -> Tensor:
        """What the target's states [..., K, H] are to the block [..., H]."""
        if self.fuse is None:
            return features[..., 0, :]
        fused: Tensor = self.fuse(features.flatten(-2))
        return fused

    def join(self, embedded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Of embedding and state [..., H]: what attention reads [..., H or 2·H], and the residual [..., H]."""
        if self.options.wiring == EAGLE1:
            x = self.fc(torch.cat([embedded * self.scale, state.to(embedded.dtype)], -1))
            return x, x
        return torch.cat([self.embed_norm(embedded), self.hidden_norm(state.to(embedded.dtype))], -1), state

    @property
    def joins_by_one_matrix(self) -> bool:
        """Whether `join` is `fc` alone."""
        return self.options.wiring == EAGLE1

    def read(self, out: Tensor) -> Tensor:
        """What the head reads of the block's outputs [..., H + extra]."""
        if self.options.wiring == EAGLE1:
            return out
        normed: Tensor = self.norm(out)
        return normed

    def wiring(self) -> Wiring:
        """`join` and `read` for one call, but for what EAGLE-1's matrix makes of the state."""
        return Wiring() if self.joins_by_one_matrix else Wiring(norms=(self.embed_norm, self.hidden_norm, self.norm))

    def weights_read(self) -> int:
        """Less what fuses states, which is done once a round, and the half of the joining matrix that tokens go
        through, whose products are looked up."""
        looked_up = bytes_of(self.fc.weight) // 2 if self.joins_by_one_matrix else 0
        own_head = self.own_head is not None
        return bytes_of(self) - bytes_of(self.fuse) - looked_up + (0 if own_head else self.head_bytes())

    def head_weight(self) -> Tensor:
        return self.read_head() if self.own_head is None else self.own_head.weight

    def unroll(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """The block's outputs [B, T - 1 - k, H + extra] of the steps k = 0, 1, … of a draft from every place.

        Where one pass drafts several, step k ≥ 1 is the row of the k-th placeholder, which sees the rows before it."""
        hidden, length = self.hidden_size, batch.tokens.shape[1]
        most = min(most, self.options.parallel or most)
        state, memory, outs = self.state_of(self._noisy(batch.features)), Memory(), list[Tensor]()
        embedded = functional.embedding(batch.tokens, self.embedding)  # [B, T, H]; `state` [B, T, H]
        for step in range(min(most, length - 1)):
            rows = length - 1 - step
            # row t joins token t + 1 + step with the state before it: [B, T - 1 - step, H] both
            word, before = embedded[:, 1 + step :], state[:, :rows]
            if step and self.placeholder is not None:
                word, before = (one.to(word.dtype).expand_as(word) for one in self.placeholder)
            inputs, x = self.join(word, before)
            out = self.block(inputs, x, memory)  # [B, T - 1 - step, H + extra]
            state = out[..., :hidden]  # the next step reads the block's own state in place of the target's
            outs.append(out)
        return outs

    def _noisy(self, features: Tensor) -> Tensor:
        if not self.training or self.options.noise == 0.0:
            return features
        return features + (torch.rand_like(features) - 0.5) * self.options.noise

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        return [self.answer(self.read(out)) for out in self.unroll(batch, most)]

    def answer(self, read: Tensor) -> Tensor:
        """Logits [..., V]; minus infinity for tokens that its head does not know."""
        return self.whole(functional.linear(read, self.head_weight()))

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        known = batch.target_logits(self.head)  # [B, T, V]
        expected, counts = self._expected_rows(known)  # [B, T, H], [B, T]
        token, feature = [], []
        outs = self.unroll(batch, self.options.parallel or self.options.unroll)
        fade = 1.0 if self.options.parallel else STEP_WEIGHT  # P-EAGLE (2602.01469) holds all rows alike
        for step, out in enumerate(outs):
            weight = fade**step
            counted = None if counts is None else counts[:, 1 + step :]
            read = self.read(self.aligned(out))  # [B, T - 1 - step, H], held to what stands 1 + step further on
            if batch.distance is divergence:
                token.append(weight * self._token_loss(read, expected[:, 1 + step :], counted))
            else:
                token.append(weight * self._distance(batch.distance, read, known[:, 1 + step :], counted))
            if self.feature_share:
                wanted = batch.final[:, 1 + step :]
                feature.append(weight * functional.smooth_l1_loss(out[..., : self.hidden_size].float(), wanted))
        total = sum(fade**step for step in range(len(outs)))
        terms = {"token": self.options.token_weight * torch.stack(token).sum() / total}
        if feature:
            terms["feature"] = self.feature_share * torch.stack(feature).sum() / total
        return terms

    def aligned(self, out: Tensor) -> Tensor:
        """The block's outputs as the token loss sees them."""
        return out

    @property
    def feature_share(self) -> float:
        """Weight of the regression: only where its state stands for the target's last one."""
        return self.options.feature_weight if self.fuse is None and self.options.wiring == EAGLE1 else 0.0

    def _expected_rows(self, known: Tensor) -> tuple[Tensor, Tensor | None]:
        """Of the target's logits [B, T, V]: the mean head row [B, T, H] under its distribution, on the tokens of its
        own head where that is smaller, and then where the target's first choice is one of them [B, T]."""
        counts = None
        if self.map is not None:
            counts = self.map.t2d[known.argmax(-1)].float()
            known = self.known(known)
        return known.softmax(-1).to(known.dtype) @ self.head_weight(), counts

    def _token_loss(self, read: Tensor, expected: Tensor, counts: Tensor | None) -> Tensor:
        """Cross entropy to the target's distribution p, mean over the rows that count.

        -Σ p log q = logsumexp(W x) - x · (pᵀ W): what stands behind the dot is the same for every unrolled step."""
        if self.own_head is None:
            normaliser = log_normaliser(read, self.read_head())  # [B, rows], without keeping logits [B, rows, V']
        else:
            normaliser = self.own_head(read).float().logsumexp(-1)
        each = normaliser - (read.float() * expected.float()).sum(-1)
        return each.mean() if counts is None else (each * counts).sum() / counts.sum().clamp(min=1.0)

    def _distance(self, distance: Distance, read: Tensor, known: Tensor, counts: Tensor | None) -> Tensor:
        """Any other distance to p, on the rows that count; it needs every token's logit, which the one above avoids."""
        known = self.known(known)  # [B, T, V] → [B, T, V']
        logits = functional.linear(read, self.head_weight()).float()  # as wide as `known`
        if counts is not None:
            logits, known = logits[counts.bool()], known[counts.bool()]  # [rows that count, draft_tokens]
        return distance(logits, known.float().log_softmax(-1))

    def calibrate(self, tokens: Tensor) -> None:
        super().calibrate(tokens)
        if self.own_head is not None:
            with torch.no_grad():
                self.own_head.weight.copy_(self.read_head())

    @torch.no_grad()
    def begin(self, batch: FeatureBatch) -> None:
        """Join as the least squares of the next state on embedding and state; the block adds little to it at first. A
        placeholder is what words and states are on average."""
        if self.placeholder is not None:
            self.placeholder[0] = functional.embedding(batch.tokens, self.embedding).mean((0, 1))
            self.placeholder[1] = self.state_of(batch.features).mean((0, 1))
        if not self.options.least_squares or not self.joins_by_one_matrix or self.fuse is not None:
            return
        embedded = functional.embedding(batch.tokens[:, 1:], self.embedding) * self.scale
        given = torch.cat([embedded, self.state_of(batch.features)[:, :-1]], -1).flatten(0, 1)  # [B · (T - 1), 2·H]
        self.fc.weight.copy_(least_squares(given, batch.final[:, 1:].flatten(0, 1)))
        if self.fc.bias is not None:
            self.fc.bias.zero_()
        for back in (self.block.self_attn.o_proj, self.block.mlp.down_proj):
            back.weight.mul_(QUIET)

    def lean(self) -> LeanTrunk:
        """As it runs, with the weights it has now; made once."""
        if self._lean is None:
            self._lean = LeanTrunk(self)
        return self._lean


class LeanTrunk:
    """The network as it runs: rows of a tree cache, fused products, the embedding's share of the joining matrix looked
    up."""

    def __init__(self, trunk: EagleTrunk[Any]) -> None:
        self.trunk = trunk
        self.block = LeanBlock(trunk.block, trunk.target.context_length)
        self._head = Projection(trunk.head_weight().detach().contiguous())
        self._state: Projection | None = None
        self._tokens = trunk.embedding
        if trunk.placeholder is not None:
            self._tokens = torch.cat([trunk.embedding, trunk.placeholder[:1].detach().to(trunk.embedding.dtype)])
        beside = [self._head]
        if trunk.joins_by_one_matrix:
            of_token, of_state = trunk.fc.weight.detach().chunk(2, -1)  # [H, 2·H] → two of [H, H]
            # [V, H]: what each token adds, worked out once
            self._tokens = functional.linear(self._tokens * trunk.scale, of_token, trunk.fc.bias).detach()
            whole = shortened(trunk.fc.weight.detach())
            short = None if whole is None else whole.columns(of_token.shape[1], 2 * of_token.shape[1])
            self._state = Projection(of_state.contiguous(), short=short)
            beside.append(self._state)
        settle(beside)
        wiring, known = trunk.wiring(), None if trunk.map is None else trunk.map.tokens
        if self._state is not None:
            wiring.state = self._state.few
        self.block.join(self._tokens, self._head, known, len(trunk.head), wiring)

    def new_cache(self) -> LlamaCache:
        return self.block.new_cache()

    @torch.inference_mode()
    def state_of(self, features: Tensor) -> Tensor:
        """States [n, H] of the target's [n, K, H]; a copy."""
        return self.trunk.state_of(features).clone()

    def with_unknown(self, tokens: Sequence[int], states: Tensor, count: int) -> tuple[Sequence[int], Tensor]:
        """The rows' tokens and states [n, H] before them, and behind them so many placeholders'."""
        if not count:
            return tokens, states
        assert self.trunk.placeholder is not None, f"'{self.trunk.name}' has no placeholder."
        unknown = self.trunk.placeholder[1].detach().to(states.dtype)
        return [*tokens, *[len(self.trunk.embedding)] * count], torch.cat([states, unknown.expand(count, -1)])

    @torch.inference_mode()
    def run(
        self, tokens: Sequence[int], states: Tensor, cache: LlamaCache, parents: Sequence[int] | None = None
    ) -> Tensor:
        """Append rows to `cache`: each reads a token and the state [H] before it; outputs [n, H + extra]."""
        placement = cache.place(tokens, parents, self.trunk.target.context_length)
        replays = self.block.replays
        if replays is not None and replays.takes(len(tokens), cache):
            out = replays.run(id(self), self._outputs, placement, cache, states)[0].clone()
        elif self.block.joins(len(tokens)):
            out = self.block.run_states(states, cache, placement)
        else:
            ids = torch.tensor(placement.tokens, device=self.block.device)
            out = self.block.run(*self._joined(ids, states), self.block.step(placement, cache))
        cache.add(placement)
        return out

    def _outputs(self, ids: Tensor, step: Attends, states: Tensor | None) -> tuple[Tensor]:
        """Of ids [n] and the states [n, H] before them: [n, H + extra]."""
        assert states is not None, "a row reads the state before its token."
        return (self.block.run(*self._joined(ids, states), step),)

    def _joined(self, ids: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        """What attention reads [n, H or 2·H], and the residual [n, H]."""
        # [n, H]: the token's share of the joining matrix's product, or its embedding
        looked_up = functional.embedding(ids, self._tokens)
        states = states.to(looked_up.dtype)
        if self._state is None:
            return self.trunk.join(looked_up, states)
        x = self._state(states, looked_up)
        return x, x

    def replay_as(self, target: object) -> None:
        """Replay passes of few rows where this target does."""
        replays = target.replays if isinstance(target, LlamaRows) else None
        if replays is None:
            self.block.replays = None
        elif self.block.replays is None:
            self.block.replays = Replays(self.block, replays.record)

    @torch.inference_mode()
    def logits(self, out: Tensor) -> Tensor:
        """What follows rows with the outputs [n, H + extra]; [n, V]."""
        if self.block.joins(len(out)):
            return self.block.read_states(out)
        return self.trunk.whole(self._head(self.trunk.read(out)))
