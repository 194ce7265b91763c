"""What must not be timed: runs of methods that asked the target before the draft was judged.

Knows nothing about clocks or tables.
"""

from __future__ import annotations

from specviz.errors import BenchError
from specviz.trace.events import Started
from specviz.trace.summary import deployable


def check_deployable(started: Started) -> None:
    """Raises BenchError for a run whose times would be no speed."""
    if started.stopping is not None and not deployable(started):
        raise BenchError(
            f"the stop policy '{started.stopping.name}' asks the target beforehand, so its times are no speed; compare "
            "its target passes and wasted candidates instead, or measure another stop policy."
        )
