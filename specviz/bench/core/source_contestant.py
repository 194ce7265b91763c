"""Our engine as a contestant: one request, decoded prompt by prompt through a trace source.

Place in the flow: built by `specviz bench`; times the source from outside, as any caller
would. Knows nothing about torch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from specviz.bench.core.contest import Measured
from specviz.bench.core.deployable import check_deployable
from specviz.errors import BenchError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.trace.events import Finished, Round, Started


@dataclass(frozen=True, slots=True)
class SourceContestant:
    name: str
    source: TraceSource
    request: RunRequest
    """prompt and prompt_name are filled in per prompt"""

    def decode(self, prompt: PromptCard, cancelled: Callable[[], bool]) -> Measured | None:
        request = replace(self.request, prompt=prompt.text, prompt_name=prompt.id)
        rounds: list[Round] = []
        finished: Finished | None = None
        begun = time.perf_counter()
        for step in self.source.run(request, cancelled):
            if isinstance(step.event, Started):
                check_deployable(step.event)
                continue
            if isinstance(step.event, Round):
                rounds.append(step.event)
            else:
                finished = step.event
        wall = time.perf_counter() - begun
        if finished is None or finished.reason == "cancelled":
            return None
        if finished.reason == "failed":
            raise BenchError(f"'{self.name}' failed on prompt '{prompt.id}': {finished.message}")
        return Measured(
            finished.output_ids,
            wall,
            finished.prefill_s,
            len(rounds),
            rounds=tuple(rounds),
            engine_s=finished.decode_s,
            record_s=finished.record_s,
        )
