"""Ways in which sound engines write different greedy texts: another number format, another width of pass, a batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from specviz.live.audit.checkpoints import plain_model
from specviz.live.source import LiveSource, collect
from specviz.lm.place import DTYPES
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.events import Trace
from tests.clinic.tiny_pair import prompt

LENGTH = 40
PAD, END = 1, 0
BESIDE = (3, 5, 9)
"""words of the texts beside the one that is asked for, in a batch: shorter, so that they are filled up"""


@dataclass
class Engines:
    """SpecViz's engine and transformers' `generate`, on the tiny pair in this folder."""

    folder: Path
    source: LiveSource = field(default_factory=lambda: LiveSource(measure=False))
    other: dict[str, Any] = field(default_factory=dict)

    def request(self, number: int, dtype: str, drafter: str = "none", **options: Any) -> RunRequest:
        return RunRequest(
            prompt(number),
            target=str(self.folder / "target"),
            drafter_model=str(self.folder / "drafter"),
            drafter=Choice(drafter, options),
            temperature=0.0,
            max_new_tokens=LENGTH,
            dtype=dtype,
            top=3,
        )

    def traced(self, number: int, dtype: str, drafter: str = "none", **options: Any) -> Trace:
        return collect(self.source, self.request(number, dtype, drafter, **options))

    def decoded(self, number: int, dtype: str, drafter: str = "none", **options: Any) -> list[int]:
        return list(self.traced(number, dtype, drafter, **options).finished.output_ids)

    def generated(self, number: int, dtype: str, beside: tuple[int, ...] = ()) -> list[int]:
        """transformers' greedy answer to this prompt, in one batch with others of so many words, filled up in front."""
        if dtype not in self.other:
            self.other[dtype] = plain_model(self.folder / "target", "target", DTYPES[dtype])
        prompts = [ids_of(number), *(ids_of(number + words, words) for words in beside)]
        longest = max(map(len, prompts))
        ids = torch.tensor([[*[PAD] * (longest - len(tokens)), *tokens] for tokens in prompts])
        seen = torch.tensor([[0] * (longest - len(tokens)) + [1] * len(tokens) for tokens in prompts])
        out = self.other[dtype].generate(
            ids, attention_mask=seen, do_sample=False, max_new_tokens=LENGTH, pad_token_id=PAD, eos_token_id=END
        )
        answer: list[int] = out[0, longest:].tolist()
        return answer[: answer.index(END) + 1] if END in answer else answer


def ids_of(number: int, words: int = 12) -> list[int]:
    return [int(word[1:]) for word in prompt(number, words).split()]


Texts = tuple[list[int], list[int]]
Way = tuple[str, Callable[[Engines, int], Texts]]


def from_float32(dtype: str, *drafter: str, **options: Any) -> Way:
    """Plain decoding in float32 against this format."""
    return dtype, lambda engines, number: (
        engines.decoded(number, "float32"),
        engines.decoded(number, dtype, *drafter, **options),
    )


def from_another_engine(beside: tuple[int, ...] = ()) -> Way:
    return "bfloat16", lambda engines, number: (
        engines.decoded(number, "bfloat16"),
        engines.generated(number, "bfloat16", beside),
    )


HARMLESS: Mapping[str, Way] = {
    "bfloat16 against float32": from_float32("bfloat16"),
    "float16 against float32": from_float32("float16"),
    "bfloat16, a chain verified in one pass": from_float32("bfloat16", "model", gamma=5),
    "bfloat16, a tree verified in one pass": from_float32("bfloat16", "model", branching=(3, 2, 1)),
    "bfloat16 in another engine": from_another_engine(),
    "bfloat16 in another engine's batch": from_another_engine(BESIDE),
}
"""what differs → the engine's format, and the two answers to the prompt of a number"""
