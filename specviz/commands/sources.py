"""Where commands get their live runs from: the one place that names the engine.

Place in the flow: called by `list`, `run`, `bench` and `record`; imports the engine (and torch) only when called.
"""

from __future__ import annotations

from specviz.trace.source import TraceSource


def live_source() -> TraceSource:
    """The engine behind the protocol the page uses too."""
    from specviz.live import LiveSource

    return LiveSource()
