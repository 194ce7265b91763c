"""What a target says of two greedy answers: one whole forward over each, in float32 and in the engine's number format.

    two answers ─► token ids ─► Answer (what each token costs) ─► doctor.clinic.judge

Nothing of the engine takes part: the forwards are those of plain `transformers`, as in the audit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specviz.allocator import give_back
from specviz.doctor import broken_rules
from specviz.doctor.answers import Written
from specviz.doctor.broken_rules import Broken
from specviz.doctor.clinic import Answer, Step, Verdict, judge
from specviz.errors import OptionError, PromptError
from specviz.live.audit.audit import audit
from specviz.live.audit.checkpoints import plain_model
from specviz.lm.place import DTYPES, fetch_weights, locate, shown_name
from specviz.lm.text import TextCodec
from specviz.trace.check import check, errors
from specviz.trace.events import Trace

MOST_TOKENS = 2048
"""of an answer that are looked at"""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Two answers, what the target says of them, and what it comes to."""

    target: str
    format: str
    prompt_ids: tuple[int, ...]
    answers: tuple[Answer, Answer]
    verdict: Verdict
    codec: TextCodec


@dataclass(frozen=True, slots=True)
class Target:
    """A checkpoint in float32 and in the engine's format, its tokenizer and its name."""

    name: str
    format: str
    whole: Any
    there: Any
    codec: TextCodec

    @classmethod
    def load(cls, checkpoint: str, dtype: str) -> Target:
        """Raises ModelError where there is no such checkpoint, OptionError for a format that is none."""
        if dtype not in DTYPES:
            raise OptionError(f"the format is '{dtype[:40]}', but must be one of {', '.join(DTYPES)}.")
        folder, name = locate(checkpoint), shown_name(checkpoint)
        fetch_weights(checkpoint, folder)
        codec = TextCodec.from_folder(folder, name)
        whole = plain_model(folder, name)
        there = whole if dtype == "float32" else plain_model(folder, name, DTYPES[dtype])
        give_back()
        return cls(name, dtype, whole, there, codec)

    def examine(self, prompt_ids: Sequence[int], answers: Sequence[tuple[str, Sequence[int]]]) -> Diagnosis:
        """Both answers, by name. Raises PromptError for ids that the target does not have, or an empty prompt."""
        size = int(self.whole.config.get_text_config().vocab_size)
        if not prompt_ids:
            raise PromptError("the prompt is empty; give it with --prompt, --prompt-file or --prompt-ids.")
        for name, tokens in (("the prompt", prompt_ids), *answers):
            strange = next((token for token in tokens if not 0 <= token < size), None)
            if strange is not None:
                raise PromptError(
                    f"token {strange} of {name} is outside the vocabulary of {self.name} (0 to {size - 1})."
                )
        first, second = (self._answer(name, prompt_ids, tokens[:MOST_TOKENS]) for name, tokens in answers)
        return Diagnosis(self.name, self.format, tuple(prompt_ids), (first, second), judge(first, second), self.codec)

    def ids(self, written: Written) -> list[int]:
        """The tokens of an answer: its own where it names them, else its text split anew."""
        return list(written.tokens) if written.tokens is not None else self.codec.encode_rendered(written.text)

    def _answer(self, name: str, prompt_ids: Sequence[int], tokens: Sequence[int]) -> Answer:
        ends = set(self.codec.eos_ids)
        early = next((index for index, token in enumerate(tokens[:-1]) if token in ends), None)
        if not tokens:
            return Answer(name, ())
        chosen = torch.tensor(tokens).unsqueeze(1)  # [n, 1]
        rows = _log_probs(self.whole, prompt_ids, tokens)  # [n, V]
        best = rows.topk(2).indices  # [n, 2]: the best and the second, in float32
        columns = torch.cat([best, chosen], 1)  # [n, 3]
        said = rows.gather(1, columns)
        there = said if self.there is self.whole else _log_probs(self.there, prompt_ids, tokens).gather(1, columns)
        steps = zip(tokens, best[:, 0].tolist(), _differences(said), _differences(there), strict=True)
        return Answer(
            name,
            tuple(
                Step(token, top, loss, loss_there, lead, lead_there)
                for token, top, (lead, loss), (lead_there, loss_there) in steps
            ),
            early,
        )


def _log_probs(model: Any, prompt_ids: Sequence[int], tokens: Sequence[int]) -> Tensor:
    """log p [n, V] of each of n tokens' places, in float64: one whole forward, without a cache."""
    ids = torch.tensor([[*prompt_ids, *tokens[:-1]]], device=model.device)
    with torch.inference_mode():
        logits: Tensor = model(input_ids=ids, use_cache=False, logits_to_keep=len(tokens)).logits[0]
    return logits.double().log_softmax(-1).cpu()


def _differences(said: Tensor) -> list[list[float]]:
    """[n, 3] of best, second and chosen → per row [best - second, best - chosen]."""
    differences: list[list[float]] = (said[:, :1] - said[:, 1:]).tolist()
    return differences


def broken_rule(trace: Trace, answer: Sequence[int] | None, places: Mapping[str, str] | None = None) -> Broken | None:
    """The first rule that a recorded run broke; None: none that a trace can show. `answer`: what the engine handed out;
    `places`: as in `Audits.audit`. Raises SpecVizError where nothing can be recomputed."""
    handed_out = None if answer is None else broken_rules.from_output(trace.finished.output_ids, answer)
    contradiction = broken_rules.from_problems(errors(check(trace)))
    if contradiction is not None or handed_out is not None:
        return contradiction or handed_out
    for so_far in audit(trace, places=places):
        if so_far.wrong:
            return broken_rules.from_audit(so_far)
    return None
