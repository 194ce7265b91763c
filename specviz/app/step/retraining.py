"""Stop policies that learn: what a visitor's page has run and what was learnt from it, forgotten when they leave; and
the buttons that retrain on this page's runs and go back to the shipped weights.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import gradio as gr

from specviz.app.job import Faults
from specviz.app.look import notices
from specviz.app.look.events import ENGINE, LATEST, QUIET
from specviz.app.runs.stage import pack, unpack
from specviz.app.step.controls import SHIPPED, RetrainingControls
from specviz.errors import TrainingError
from specviz.protocol.runs import TraceSource
from specviz.trace import codec
from specviz.trace.events import Trace

MOST_RUNS = 24
"""so many of a page's last runs are kept"""


@dataclass(slots=True)
class _Visit:
    runs: deque[bytes] = field(default_factory=lambda: deque(maxlen=MOST_RUNS))
    weights: dict[str, Mapping[str, Any]] = field(default_factory=dict)


class Retraining:
    """Runs and learnt weights."""

    def __init__(self) -> None:
        self._visits: dict[str, _Visit] = {}
        self._lock = Lock()

    def keep(self, visitor: str, trace: Trace) -> None:
        """A run of this page, for later training."""
        self._visit(visitor).runs.append(pack(codec.dumps(trace)))

    def learn(self, visitor: str, policy: str, source: TraceSource) -> str:
        """Train the policy on this page's runs and use what it learnt from now on; what came out, in a sentence.

        Raises SpecVizError where there is too little to learn from.
        """
        visit = self._visit(visitor)
        if not visit.runs:
            raise TrainingError("nothing was run on this page yet; press Run live a few times, then retrain.")
        learned = source.learn([codec.loads(unpack(run)) for run in visit.runs], policy)
        visit.weights[policy] = learned.weights
        return learned.sentence

    def forget(self, visitor: str, policy: str) -> None:
        """Back to the shipped weights."""
        self._visit(visitor).weights.pop(policy, None)

    def weights(self, visitor: str, policy: str) -> Mapping[str, Any] | None:
        """What the policy learnt on this page; None: nothing, the shipped weights hold."""
        with self._lock:
            visit = self._visits.get(visitor)
        return None if visit is None else visit.weights.get(policy)

    def leave(self, visitor: str) -> None:
        with self._lock:
            self._visits.pop(visitor, None)

    def _visit(self, visitor: str) -> _Visit:
        with self._lock:
            return self._visits.setdefault(visitor, _Visit())


class RetrainingActions:
    """Each answers with the line beside the buttons."""

    def __init__(self, source: TraceSource, retraining: Retraining) -> None:
        self._source = source
        self._retraining = retraining

    def retrain(self, policy: str, visitor: gr.Request) -> str:
        with Faults("training") as faults:
            said = self._retraining.learn(visitor.session_hash or "", policy, self._source)
        if faults.sentence:
            return notices.message(faults.sentence, "error")
        return notices.message(f"{said} Runs of this page use it from now on.", "good")

    def reset(self, policy: str, visitor: gr.Request) -> str:
        self._retraining.forget(visitor.session_hash or "", policy)
        return notices.note(SHIPPED)

    def choose(self, policy: str, visitor: gr.Request) -> str:
        """Which weights the policy goes by, when it is chosen."""
        own = self._retraining.weights(visitor.session_hash or "", policy) is not None
        return notices.note("It goes by what it learnt from this page's runs." if own else SHIPPED)


def wire_retraining(
    actions: RetrainingActions, controls: RetrainingControls, stop_policy: Any, learners: Sequence[str]
) -> None:
    """The buttons appear with a stop policy that learns."""

    def offer(policy: str, visitor: gr.Request) -> tuple[object, str]:
        return gr.Group(visible=policy in learners), actions.choose(policy, visitor)

    stop_policy.change(offer, stop_policy, [controls.box, controls.line], **LATEST)
    controls.retrain.click(actions.retrain, stop_policy, controls.line, **ENGINE)
    controls.reset.click(actions.reset, stop_policy, controls.line, **QUIET)
