"""Texts of the target to replay on: written now, or taken from recorded traces of it.

Place in the flow: handed to `replay`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from specviz.bench.core.run import collect, on
from specviz.bench.depth_width.replay import RecordedText
from specviz.errors import BenchError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.trace.events import Trace


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
