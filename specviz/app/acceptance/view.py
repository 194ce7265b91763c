"""What the fold shows of acceptance records: a row and a line per file; what an engine does not tell is left open."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.app.look.tables import blocks_table
from specviz.protocol.acceptance.counts import AcceptanceRun

COLUMNS = ("run", "engine", "what is there", "requests", "steps", "drafted", "accepted", "rate", "mean length")
TRACED, SUMMARY = "a whole trace", "summary only: no tree"


def label(run: AcceptanceRun) -> str:
    return run.name if run.traced else f"{run.name} (summary only)"


def acceptance_table(runs: Sequence[AcceptanceRun]) -> str:
    """One row per file; names come from strangers and are escaped."""
    return blocks_table(COLUMNS, [list(map(escape, _cells(run))) for run in runs])


def _cells(run: AcceptanceRun) -> tuple[str, ...]:
    total = run.total
    without = f" (+{run.silent} without)" if run.silent else ""
    return (
        run.name, run.engine, TRACED if run.traced else SUMMARY, f"{len(run.requests)}{without}",
        str(total.spec_steps), str(total.draft_tokens), str(total.accepted_tokens),
        _number(total.rate, ".3f"), _number(total.mean_length, ".2f"),
    )  # fmt: skip


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def sentence(runs: Sequence[AcceptanceRun]) -> str:
    """What of the comparison has a tree to step through."""
    counted = [run.name for run in runs if not run.traced]
    if not counted:
        return "All of these are whole traces: open them in Watch to see their trees."
    return (
        f"Summary only: {', '.join(counted)}. The engine tells how many drafts were accepted, not which, so there is "
        "no tree, no p, q or verdict to step through."
    )
