"""How a trace shows itself in a notebook: whoever can draw it says so here, since the format knows no screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specviz.trace.events import Trace

_drawn_by: list[Callable[[Trace], str | None]] = []


def draw_with(drawer: Callable[[Trace], str | None]) -> None:
    """From now on traces show themselves by `drawer`, which gives HTML or None where it cannot."""
    _drawn_by[:] = [drawer]


def html_of(trace: Trace) -> str | None:
    """The trace as HTML; None where nobody can draw it, and a notebook then prints its one line."""
    return _drawn_by[0](trace) if _drawn_by else None


def line_of(trace: Trace) -> str:
    """One line: what ran on what, and what came of it."""
    started, summary = trace.started, trace.summary
    methods = [
        card.name for card in (started.drafter, started.tree_policy, started.stop_policy, started.verifier) if card
    ]
    prompt = started.prompt_text if len(started.prompt_text) <= 40 else f"{started.prompt_text[:39]}…"
    return (
        f"<Trace {started.run_id} ({started.source}): {prompt!r}, {' + '.join(methods)}, "
        f"temperature {started.sampling.temperature:g}; {summary.num_output_tokens} tokens in "
        f"{summary.num_target_passes} target passes>"
    )
