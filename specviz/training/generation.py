"""Batched sampling from the target: the text that the drafter will be asked to predict.

Place in the flow: between target and drafter. It keeps the target's last hidden state beside each token,
because logits follow from it by one product with the head, at a tenth of the disk space.
It knows nothing about the drafter or its losses.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from transformers import DynamicCache, LlamaForCausalLM

from specviz.training.target import layer_outputs
from specviz.training.windows import TokenStream

TEMPERATURES = (0.0, 0.7, 1.0)
PREFIX_LENGTHS = (16, 32, 64, 96, 128)


@dataclass(frozen=True)
class TaughtRows:
    """Windows with the teacher's state: ids uint16 [rows, length + 1], states float16 [rows, length, D]."""

    ids: TokenStream
    states: np.ndarray


@torch.inference_mode()
def continue_batch(
    target: LlamaForCausalLM, prefixes: torch.Tensor, length: int, temperature: float, generator: torch.Generator
) -> TaughtRows:
    """Extends prefixes [rows, p] to length + 1 tokens, greedily at temperature 0, else by sampling."""
    cache = DynamicCache(config=target.config)
    ids, states, fresh = prefixes, [], prefixes
    while ids.shape[1] <= length:
        last = target.model(input_ids=fresh, past_key_values=cache, use_cache=True).last_hidden_state
        states.append(last.half().cpu())
        logits = target.lm_head(last[:, -1]).float()
        if temperature == 0:
            fresh = logits.argmax(-1, keepdim=True)
        else:
            fresh = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)
        ids = torch.cat([ids, fresh], dim=1)
    return TaughtRows(ids.cpu().numpy().astype(np.uint16), torch.cat(states, dim=1).numpy())


def generated_rows(
    target: LlamaForCausalLM, stream: TokenStream, length: int, rows: int, seed: int, most_s: float
) -> Iterator[TaughtRows]:
    """Batches of target text until `most_s` seconds are used; prefixes are random cuts of the training stream."""
    draw = np.random.default_rng(seed)
    generator = torch.Generator(device=target.device).manual_seed(seed)
    started, index = time.monotonic(), 0
    while time.monotonic() - started < most_s:
        size = int(draw.choice(PREFIX_LENGTHS))
        starts = draw.integers(0, len(stream) - size, rows)
        prefixes = np.stack([stream[s : s + size] for s in starts]).astype(np.int64)
        temperature = TEMPERATURES[index % len(TEMPERATURES)]
        yield continue_batch(target, torch.from_numpy(prefixes).to(target.device), length, temperature, generator)
        index += 1


@torch.inference_mode()
def corpus_rows(
    target: LlamaForCausalLM, stream: TokenStream, length: int, rows: int, seed: int, most_s: float
) -> Iterator[TaughtRows]:
    """Batches of random training windows with the target's states, until `most_s` seconds are used."""
    draw = np.random.default_rng(seed + 1)
    started = time.monotonic()
    while time.monotonic() - started < most_s:
        starts = draw.integers(0, len(stream) - length - 1, rows)
        ids = np.stack([stream[s : s + length + 1] for s in starts])
        inputs = torch.from_numpy(ids[:, :-1].astype(np.int64)).to(target.device)
        last = target.model.norm(layer_outputs(target, inputs)[-1])
        yield TaughtRows(ids, last.half().cpu().numpy())
