"""transformers' own generation as contestants: plain, with the same assistant model, with prompt lookup.

Place in the flow: built by `specviz bench` beside our own contestants, from the same weight folders, number format and
thread count.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.generation.streamers import BaseStreamer
from transformers.utils import logging as hub_logging

from specviz.bench.core.contest import Measured
from specviz.protocol.runs import PromptCard
from specviz.theory.rows import RunCounts


@dataclass(frozen=True, slots=True)
class Reference:
    """The models as transformers loads them."""

    target: Any
    assistant: Any
    """None where there is no drafter model"""
    tokenizer: Any
    max_new_tokens: int
    sampling: Mapping[str, Any] = field(default_factory=lambda: {"do_sample": False})
    """the keyword arguments of `generate` that choose tokens"""
    seed: int = 0
    """of what it draws, one more in each repeat"""
    sync: Callable[[], None] = lambda: None
    """waits for the device, so that the clock sees finished work"""


def load_reference(target: Path, drafter: Path | None, dtype: str, device: str) -> tuple[Any, Any, Any]:
    """(target, assistant or None, tokenizer) from local folders, offline. `dtype` is a torch name, e.g. `float32`."""

    logging: Any = hub_logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()

    def load(folder: Path) -> Any:
        loaded: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype), local_files_only=True)
        return loaded.to(device).eval()

    tokenizer = AutoTokenizer.from_pretrained(target, local_files_only=True)
    return load(target), None if drafter is None else load(drafter), tokenizer


class _FirstToken(BaseStreamer):
    """Notes when the first tokens came: `generate` hands over the prompt first, then tokens as they are final."""

    def __init__(self) -> None:
        self.calls = 0
        self.first_at: float | None = None
        self.first_tokens = 0

    def put(self, value: Any) -> None:
        self.calls += 1
        if self.calls == 2:
            self.first_at = time.perf_counter()
            self.first_tokens = value.numel()

    def end(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class Generate:
    """`model.generate` with some keyword arguments.

    `assistant_settings` are written to a fresh copy of the assistant's generation config before each call, because
    the library reads them there, and its heuristic schedule changes them.
    """

    name: str
    reference: Reference
    arguments: Mapping[str, Any] = field(default_factory=dict)
    with_assistant: bool = False
    assistant_settings: Mapping[str, Any] = field(default_factory=dict)

    def decode(self, prompt: PromptCard, cancelled: Callable[[], bool], repeat: int = 0) -> Measured | None:
        """One call, timed from token ids to token ids, text conversion left out. It cannot be stopped half-way."""
        torch.manual_seed(self.reference.seed + repeat)  # the library draws from torch's own generator
        reference = self.reference
        ids = torch.tensor([reference.tokenizer(prompt.text)["input_ids"]], device=reference.target.device)
        arguments = {**reference.sampling, **self.arguments}
        with self._assistant() as assistant, _counted(reference.target) as passes, torch.inference_mode():
            if assistant is not None:
                arguments["assistant_model"] = assistant
            first = _FirstToken()
            reference.sync()
            begun = time.perf_counter()
            output = reference.target.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=reference.max_new_tokens,
                streamer=first,
                **arguments,
            )
            reference.sync()
            ended = time.perf_counter()
        prefill = (first.first_at or ended) - begun
        output_ids = output[0, ids.shape[1] :].tolist()
        counts = RunCounts(len(output_ids), passes[0])
        return Measured(output_ids, ended - begun, prefill, counts, prefill_tokens=first.first_tokens)

    @contextmanager
    def _assistant(self) -> Iterator[Any]:
        assistant = self.reference.assistant if self.with_assistant else None
        if assistant is None:
            yield None
            return
        before = assistant.generation_config
        assistant.generation_config = copy.deepcopy(before)
        for name, value in self.assistant_settings.items():
            setattr(assistant.generation_config, name, value)
        try:
            yield assistant
        finally:
            assistant.generation_config = before


@contextmanager
def _counted(model: Any) -> Iterator[list[int]]:
    """[number of forward passes] while inside."""
    count = [0]

    def add(*_: object) -> None:
        count[0] += 1

    handle = model.register_forward_pre_hook(add)
    try:
        yield count
    finally:
        handle.remove()


def sampling_arguments(temperature: float) -> dict[str, Any]:
    """Greedy at temperature 0; otherwise full-vocabulary sampling, with the library's top-k and top-p off."""
    if temperature == 0:
        return {"do_sample": False}
    return {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}


def plain(reference: Reference) -> Generate:
    return Generate("transformers: generate", reference)


def assisted(reference: Reference, gamma: int) -> Generate:
    """Constant speculation length and no confidence threshold: the same plan as our chain."""
    settings = {
        "num_assistant_tokens": gamma,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    }
    return Generate(f"transformers: assistant γ={gamma}", reference, {}, True, settings)


def assisted_by_default(reference: Reference) -> Generate:
    """The library's own choice of length and threshold."""
    return Generate("transformers: assistant, defaults", reference, {}, True)


def prompt_lookup(reference: Reference, gamma: int) -> Generate:
    arguments = {"prompt_lookup_num_tokens": gamma}
    return Generate(f"transformers: prompt lookup γ={gamma}", reference, arguments)
