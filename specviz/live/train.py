"""Stop policies trained from recorded rounds; models are asked only by a policy that looks at hidden states."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.live.models import Models
from specviz.lm.base import LanguageModel
from specviz.protocol.runs import Learned, RunRequest
from specviz.trace.events import Trace
from specviz.training.stop_classifiers.learn import learn


def learned(models: Models, traces: Sequence[Trace], policy: str) -> Learned:
    """See `TraceSource.learn`."""

    def drafter_of(trace: Trace) -> LanguageModel:
        drafter, usual = trace.started.drafter.model, RunRequest(prompt="")
        return models.get(drafter.name if drafter else usual.drafter_model, usual).model

    return learn(traces, policy, drafter_of)
