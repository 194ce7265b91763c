"""Batched text of the target: what the drafter will be asked to predict.

Place in the flow: between target and drafter. It keeps the target's last hidden state beside each token, because logits
follow from it by one product with the head, at a tenth of the disk space.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional
from transformers import AttentionInterface, LlamaForCausalLM
from transformers.cache_utils import Cache, DynamicLayer

from specviz.lm.hub.model import cache_argument
from specviz.training.mixture import Starts
from specviz.training.target import layer_outputs
from specviz.training.windows import Batches, TokenStream, twice

TEMPERATURES = (0.0, 0.7, 0.0, 1.0)  # greedy text twice: it is what the acceptance rate is measured on
PREFIX_LENGTHS = (16, 32, 64, 96, 128)
LARGEST_SHARE = 0.8
"""of a short document that is given; the target writes at least the rest"""


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
    """Attention [rows, heads, queries, size] -> [rows, queries, heads, size] without padding: of one query per row on
    all keys, or of a whole text from its beginning. The stock routine would build a mask at every step."""
    rows, heads, queries, size = query.shape
    if queries > 1:
        found = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, scale=scaling, enable_gqa=key.shape[1] < heads
        )
    else:  # heads that share a key head become its queries, so that no key is copied
        shared = query.reshape(rows, key.shape[1], -1, size)
        found = functional.scaled_dot_product_attention(shared, key, value, scale=scaling)
    return found.reshape(rows, heads, queries, size).transpose(1, 2), None


ROW_ATTENTION = "specviz_rows"
AttentionInterface.register(ROW_ATTENTION, row_attention)


class Beginnings:
    """Endless beginnings of a stream's documents, chosen by a seed."""

    def __init__(self, packed: tuple[TokenStream, Starts], seed: int, end: int, copies: float = 0.0) -> None:
        """`end` is the token behind each document; a share `copies` of the beginnings holds a passage twice."""
        self.stream, self.starts = packed
        self.draw, self.end, self.copies = np.random.default_rng(seed), end, copies

    def __next__(self) -> list[int]:
        """Up to `LARGEST_SHARE` of a document that is shorter than a beginning, else a few tokens of it."""
        start = int(self.starts[self.draw.integers(len(self.starts) - 1)])
        ids = self.stream[start : start + int(self.draw.choice(PREFIX_LENGTHS))]
        (ends,) = np.nonzero(ids == self.end)
        if len(ends):
            ids = ids[: 1 + int(self.draw.random() * LARGEST_SHARE * max(1, ends[0]))]
        return [int(one) for one in twice(ids, self.draw, self.copies)]


@torch.inference_mode()
def continue_batch(
    target: LlamaForCausalLM,
    beginnings: Sequence[Iterator[list[int]] | Beginnings],
    length: int,
    temperature: float,
    generator: torch.Generator,
) -> TaughtRows:
    """One row of length + 1 tokens for each of `beginnings`: it is given the end-of-text token, as a prompt is, and a
    beginning (which may hold that token itself), and goes on, greedily at temperature 0, else by sampling; after each
    end-of-text it is given the next."""
    end = target.config.eos_token_id
    target.set_attn_implementation(ROW_ATTENTION)
    takes_cache = cache_argument(target.model)
    cache = Cache(layers=[ReservedLayer(length) for _ in target.model.layers])
    given = [ids if ids[0] == end else [end, *ids] for ids in (list(next(beginning)) for beginning in beginnings)]
    fresh = [row.pop(0) for row in given]
    columns, states = [fresh], []
    while len(columns) <= length:
        inputs = torch.tensor(fresh, device=target.device)[:, None]
        last = target.model(input_ids=inputs, use_cache=True, **{takes_cache: cache}).last_hidden_state
        states.append(last.half().cpu().numpy())
        logits = target.lm_head(last[:, -1]).float()
        if temperature == 0:
            chosen = logits.argmax(-1)
        else:
            chosen = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)[:, 0]
        fresh = [row.pop(0) if row else token for row, token in zip(given, chosen.tolist(), strict=True)]
        for row, token in enumerate(fresh):
            if token == end and not given[row]:
                given[row] = list(next(beginnings[row]))
        columns.append(fresh)
    return TaughtRows(np.array(columns, dtype=np.uint16).T, np.concatenate(states, axis=1))


def generated_rows(
    target: LlamaForCausalLM, beginnings: Sequence[Beginnings], length: int, seed: int, most_s: float
) -> Iterator[TaughtRows]:
    """Batches of target text, a row for each of `beginnings`, until `most_s` seconds are used."""
    generator = torch.Generator(device=target.device).manual_seed(seed)
    started, index = time.monotonic(), 0
    while time.monotonic() - started < most_s:
        yield continue_batch(target, beginnings, length, TEMPERATURES[index % len(TEMPERATURES)], generator)
        index += 1


@torch.inference_mode()
def corpus_rows(target: LlamaForCausalLM, windows: Batches, most_s: float) -> Iterator[TaughtRows]:
    """Batches of training windows with the target's states, until `most_s` seconds are used."""
    started, step = time.monotonic(), 0
    while time.monotonic() - started < most_s:
        ids = windows.batch(step).ids
        last = target.model.norm(layer_outputs(target, ids[:, :-1].to(target.device))[-1])
        yield TaughtRows(ids.numpy().astype(np.uint16), last.half().cpu().numpy())
        step += 1
