"""What a visitor's page has run and what stop policies have learnt from it, by visitor; forgotten when they leave."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from specviz.app.runs.packed import pack, unpack
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
