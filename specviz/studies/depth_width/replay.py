"""Replay: a text that the target wrote once makes the target free, so that any drafter can be looked at without it.

At temperature 0 the text is the target's own whatever is drafted (Leviathan et al., 2211.17192, algorithm 1). As long
as a draft is right it stands on the text itself, so one pass of the drafter over the text says of every place whether
its first choice there is the text's next token; the rounds of every γ follow by counting.
The texts are written now, or taken from recorded traces.
Place in the flow: half of what `specviz study depth-width` says of a network; its times are the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from specviz.bench.core.run import collect, on
from specviz.errors import BenchError
from specviz.lm.base import LanguageModel
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.trace.events import Trace


@dataclass(frozen=True, slots=True)
class RecordedText:
    """What the target wrote after a prompt."""

    prompt: str
    """id"""
    tokens: tuple[int, ...]
    """prompt and output"""
    start: int
    """tokens of the prompt"""


@torch.inference_mode()
def hits(drafter: LanguageModel, text: RecordedText) -> list[bool]:
    """For every token of the output: whether the drafter, given what stands before it, would draft just that."""
    logits = drafter.forward(list(text.tokens[:-1]), drafter.new_cache())
    choices: list[int] = logits.argmax(-1).tolist()
    return [choices[index - 1] == text.tokens[index] for index in range(text.start, len(text.tokens))]


def kept_by_round(found: Sequence[bool], gamma: int, most: int) -> list[int]:
    """Drafted tokens that each round keeps. `found`: of `hits`; γ are drafted, but never more than may still be written
    beside the target's own token, of `most` in all. A round with no room for a draft is none."""
    kept, place = list[int](), 0
    while place < len(found):
        room = min(gamma, most - place - 1)
        drafted = found[place : place + room]
        right = drafted.index(False) if False in drafted else len(drafted)
        if room > 0:
            kept.append(right)
        place += right + 1
    return kept


def counted(found: Sequence[bool], gamma: int, most: int) -> tuple[float, float]:
    """(drafted tokens kept, rounds) of one text: a pair for `ratio_of_sums`."""
    kept = kept_by_round(found, gamma, most)
    return float(sum(kept)), float(len(kept))


def written(
    source: TraceSource,
    prompts: Sequence[PromptCard],
    request: RunRequest,
    report: Callable[[str], None] = lambda line: None,
) -> list[RecordedText]:
    """What the target of `request` writes after each prompt by plain decoding at temperature 0."""
    found = []
    for prompt in prompts:
        ran = collect(source, on(prompt, replace(request, drafter="none", drafter_options={}, temperature=0.0)))
        assert ran is not None, "nobody cancels."
        given, output = ran.started.prompt_ids, ran.finished.output_ids
        found.append(RecordedText(prompt.id, (*given, *output), len(given)))
        report(f"recorded {prompt.id}: {len(output)} tokens")
    return found


def of_traces(traces: Iterable[Trace], target_sha256: str) -> list[RecordedText]:
    """Of those that the target of these weights wrote at temperature 0, a text each, every text once. Raises BenchError
    where there is none."""
    found: dict[tuple[int, ...], RecordedText] = {}
    for trace in traces:
        started = trace.started
        own = started.target.weights_sha256 == target_sha256 and started.sampling.temperature == 0.0
        if own and trace.finished is not None and trace.finished.output_ids and started.scene is None:
            tokens = (*started.prompt_ids, *trace.finished.output_ids)
            found[tokens] = RecordedText(started.prompt_name or "a prompt", tokens, len(started.prompt_ids))
    if not found:
        raise BenchError(
            "none of these traces is a text that this target wrote at temperature 0, so there is nothing to replay; "
            "give traces of `specviz run --temperature 0`."
        )
    return list(found.values())
