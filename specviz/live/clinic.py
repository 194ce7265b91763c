"""What a target says of two greedy answers: one whole forward over each, in float32 and in the engine's number format.

    Question ─► token ids ─► Answer (what each token costs) ─► doctor.clinic.judge ─► Diagnosis

Nothing of the engine takes part: the forwards are those of plain `transformers`, as in the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from specviz.allocator import give_back
from specviz.doctor import broken_rules
from specviz.doctor.answers import Written
from specviz.doctor.broken_rules import Broken
from specviz.doctor.clinic import Answer, Step, judge, parting
from specviz.doctor.consultation import Cost, Diagnosis, Place, Question, check_answers
from specviz.errors import OptionError, PromptError
from specviz.live.audit.audit import audit
from specviz.live.audit.checkpoints import plain_model
from specviz.lm.place import DTYPES, fetch_weights, locate, shown_name
from specviz.lm.text import TextCodec
from specviz.trace.check import check, errors
from specviz.trace.events import Trace

MOST_TOKENS = 2048
"""of an answer that are looked at"""
AROUND = 24
"""tokens before another that are shown"""


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
        return self._diagnosis(len(prompt_ids), first, second)

    def ids(self, written: Written) -> list[int]:
        """The tokens of an answer: its own where it names them, else its text split anew."""
        return list(written.tokens) if written.tokens is not None else self.codec.encode_rendered(written.text)

    def prompt(self, question: Question) -> list[int]:
        """The prompt's ids: as given, else as an answer tells them. Raises PromptError where nobody tells."""
        if question.prompt_ids is not None:
            return list(question.prompt_ids)
        if question.prompt is not None:
            codec, text = self.codec, question.prompt
            return codec.encode_rendered(codec.rendered(text)) if question.chat else codec.encode(text)
        ids = next((answer.prompt_ids for answer in question.answers if answer.prompt_ids), None)
        if ids is None:
            raise PromptError("neither answer names its prompt; give it with --prompt, --prompt-file or --prompt-ids.")
        return list(ids)

    def _diagnosis(self, prompt_tokens: int, first: Answer, second: Answer) -> Diagnosis:
        verdict = judge(first, second)
        parts_at, worst_at = verdict.parts_at, verdict.worst_at
        guilty = next((answer for answer in (first, second) if answer.name == verdict.guilty), None)
        return Diagnosis(
            self.name,
            self.format,
            prompt_tokens,
            (first, second),
            verdict,
            None if parts_at is None else self._place(parts_at, first, second),
            None if guilty is None or worst_at in (None, parts_at) else self._place(worst_at, guilty),
        )

    def _place(self, index: int | None, *answers: Answer) -> Place:
        assert index is not None, "a place has an index."
        before = self.codec.decode(answers[0].tokens[max(0, index - AROUND) : index])
        return Place(index, before[-60:], tuple(self._cost(answer, answer.steps[index]) for answer in answers))

    def _cost(self, answer: Answer, step: Step) -> Cost:
        written, best = self.codec.token_text(step.token), self.codec.token_text(step.best)
        return Cost(answer.name, written, best, step.loss, step.loss_there)

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


def consult(
    question: Question,
    cancelled: Callable[[], bool] = lambda: False,
    lane: AbstractContextManager[object] | None = None,
) -> Iterator[Diagnosis]:
    """See `Consults.consult`. `lane`: held while models compute."""
    check_answers(question)
    with lane or nullcontext():
        target = Target.load(question.target, question.format)
        ids = [target.ids(answer) for answer in question.answers]
        diagnosis = target.examine(target.prompt(question), list(zip(question.names, ids, strict=True)))
        give_back()
    anew = tuple(name for name, answer in zip(question.names, question.answers, strict=True) if answer.tokens is None)
    if cancelled():
        return
    if question.trace is None:
        yield replace(diagnosis, anew=anew)
        return
    output = tuple(question.trace.finished.output_ids)
    handed_out = max(diagnosis.answers, key=lambda answer: _alike(answer.tokens, output))
    broken = broken_rule(question.trace, handed_out.tokens, question.places, lane)
    yield replace(diagnosis, anew=anew, traced=True, broken=broken)


def _alike(left: Sequence[int], right: Sequence[int]) -> tuple[bool, int]:
    """How much an answer begins like a run's output."""
    parts_at = parting(left, right)
    return left == right, min(len(left), len(right)) if parts_at is None else parts_at


def broken_rule(
    trace: Trace,
    answer: Sequence[int] | None,
    places: Mapping[str, str] | None = None,
    lane: AbstractContextManager[object] | None = None,
) -> Broken | None:
    """The first rule that a recorded run broke; None: none that a trace can show. `answer`: what the engine handed out;
    `places`: as in `Audits.audit`. Raises SpecVizError where nothing can be recomputed."""
    handed_out = None if answer is None else broken_rules.from_output(trace.finished.output_ids, answer)
    contradiction = broken_rules.from_problems(errors(check(trace)))
    if contradiction is not None or handed_out is not None:
        return contradiction or handed_out
    for so_far in audit(trace, places=places, lane=lane):
        if so_far.wrong:
            return broken_rules.from_audit(so_far)
    return None
