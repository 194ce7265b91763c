"""Batched sampling from the target: the text that the drafter will be asked to predict.

Place in the flow: between target and drafter. It keeps the target's last hidden state beside each token, because logits
follow from it by one product with the head, at a tenth of the disk space.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional
from transformers import AttentionInterface, LlamaForCausalLM
from transformers.cache_utils import Cache, DynamicLayer

from specviz.training.target import layer_outputs
from specviz.training.windows import TokenStream, twice

TEMPERATURES = (0.0, 0.7, 0.0, 1.0)  # greedy text twice: it is what the acceptance rate is measured on
PREFIX_LENGTHS = (16, 32, 64, 96, 128)


@dataclass(frozen=True)
class TaughtRows:
    """Windows with the teacher's state: ids uint16 [rows, length + 1], states float16 [rows, length, D]."""

    ids: TokenStream
    states: np.ndarray


class ReservedLayer(DynamicLayer):
    """A cache layer with room for `length` tokens: it writes in place, where the stock one copies itself each step."""

    def __init__(self, length: int) -> None:
        """Room is taken at the first update, when the other sizes are known."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.length = length
        self.rooms: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Appends states [rows, heads, new, head size]; returns all so far as views."""
        if self.rooms is None:
            rows, heads, _, size = key_states.shape
            shape = (rows, heads, self.length, size)
            self.rooms = (key_states.new_empty(shape), value_states.new_empty(shape))
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        self.rooms[0][:, :, start:end] = key_states
        self.rooms[1][:, :, start:end] = value_states
        self.keys, self.values = self.rooms[0][:, :, :end], self.rooms[1][:, :, :end]
        return self.keys, self.values


def row_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **kwargs: object,
) -> tuple[torch.Tensor, None]:
    """Attention [rows, heads, queries, size] -> [rows, queries, heads, size] without padding.

    One query per row is a product and a sum: for many rows the CPU's fused kernel takes three times as long, because
    it handles one (row, head) after the other.
    """
    if query.shape[2] == 1:
        scores = (query * key).sum(-1).float() * (scaling or query.shape[-1] ** -0.5)
        found = (scores.softmax(-1).to(value.dtype).unsqueeze(-1) * value).sum(-2, keepdim=True)
    else:
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
    return found.transpose(1, 2), None


ROW_ATTENTION = "specviz_rows"
AttentionInterface.register(ROW_ATTENTION, row_attention)


@torch.inference_mode()
def continue_batch(
    target: LlamaForCausalLM, prefixes: torch.Tensor, length: int, temperature: float, generator: torch.Generator
) -> TaughtRows:
    """Extends prefixes [rows, p] to length + 1 tokens, greedily at temperature 0, else by sampling."""
    target.set_attn_implementation(ROW_ATTENTION)
    cache = Cache(layers=[ReservedLayer(length) for _ in target.model.layers])
    ids, states, fresh = prefixes, [], prefixes
    while ids.shape[1] <= length:
        last = target.model(input_ids=fresh, past_key_values=cache, use_cache=True).last_hidden_state
        states.append(last.half().cpu().numpy())
        logits = target.lm_head(last[:, -1]).float()
        if temperature == 0:
            fresh = logits.argmax(-1, keepdim=True)
        else:
            fresh = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)
        ids = torch.cat([ids, fresh], dim=1)
    return TaughtRows(ids.cpu().numpy().astype(np.uint16), np.concatenate(states, axis=1))


def generated_rows(
    target: LlamaForCausalLM, stream: TokenStream, length: int, rows: int, seed: int, most_s: float, copies: float = 0.0
) -> Iterator[TaughtRows]:
    """Batches of target text until `most_s` seconds are used; prefixes are random cuts of the training stream, a share
    `copies` of them with a passage that begins anew."""
    draw = np.random.default_rng(seed)
    generator = torch.Generator(device=target.device).manual_seed(seed)
    started, index = time.monotonic(), 0
    while time.monotonic() - started < most_s:
        size = int(draw.choice(PREFIX_LENGTHS))
        starts = draw.integers(0, len(stream) - size, rows)
        prefixes = np.stack([twice(stream[s : s + size], draw, copies) for s in starts]).astype(np.int64)
        temperature = TEMPERATURES[index % len(TEMPERATURES)]
        yield continue_batch(target, torch.from_numpy(prefixes).to(target.device), length, temperature, generator)
        index += 1


@torch.inference_mode()
def corpus_rows(
    target: LlamaForCausalLM, stream: TokenStream, length: int, rows: int, seed: int, most_s: float, copies: float = 0.0
) -> Iterator[TaughtRows]:
    """Batches of random training windows with the target's states, until `most_s` seconds are used; a share `copies`
    of them holds its passage twice."""
    draw = np.random.default_rng(seed + 1)
    started = time.monotonic()
    while time.monotonic() - started < most_s:
        starts = draw.integers(0, len(stream) - length - 1, rows)
        ids = np.stack([twice(stream[s : s + length + 1], draw, copies) for s in starts])
        inputs = torch.from_numpy(ids[:, :-1].astype(np.int64)).to(target.device)
        last = target.model.norm(layer_outputs(target, inputs)[-1])
        yield TaughtRows(ids, last.half().cpu().numpy())
