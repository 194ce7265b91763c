"""The one table of drafters: what each guesses from, what that takes, and what drafting cost here.

What they need they declare in their own files (`drafters.base.Needs`); what they cost is measured, from a sweep's runs.
`drafter_fold` is all that a tab needs. Names may come from plug-ins; all cells are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from statistics import median

import gradio as gr

from specviz.protocol.runs import Catalog, MethodDescription
from specviz.protocol.sweeps.points import SweepPoint

TITLE = "What each drafter guesses from, what it needs and what it costs"
HEAD = (
    "drafter", "guesses from", "second model", "training", "memory beside the target", "cost here, measured",
)  # fmt: skip
UNSAID = "not said"
UNMEASURED = "not measured here"


@dataclass(frozen=True, slots=True)
class DrafterRow:
    """One drafter, as text."""

    name: str
    guesses_from: str
    second_model: str
    training: str
    memory: str
    cost: str

    def cells(self) -> tuple[str, ...]:
        return self.name, self.guesses_from, self.second_model, self.training, self.memory, self.cost


def drafter_rows(catalog: Catalog, points: Iterable[SweepPoint] = ()) -> list[DrafterRow]:
    """A row per drafter in the catalog's order; `points` are the runs of a sweep on this machine, or on the one that
    the page names beside it."""
    by_drafter: dict[str, list[SweepPoint]] = {}
    for point in points:
        by_drafter.setdefault(point.drafter, []).append(point)
    return [_row(drafter, by_drafter.get(drafter.name, [])) for drafter in catalog.drafters]


def _row(method: MethodDescription, points: Sequence[SweepPoint]) -> DrafterRow:
    return DrafterRow(
        name=method.name,
        guesses_from=method.guesses_from or UNSAID,
        second_model="yes" if method.needs_model else "no",
        training=method.training or UNSAID,
        memory=method.memory or UNSAID,
        cost=_cost(points),
    )


def _cost(points: Sequence[SweepPoint]) -> str:
    """Drafting seconds per round, as a share of one target pass over one row: the median run of the cheapest and of
    the dearest setting."""
    by_setting: dict[str, list[float]] = {}
    for point in points:
        single = next((time.median_s for time in point.step_times if time.rows == 1), None)
        if single and point.rounds:
            by_setting.setdefault(point.label, []).append(point.cost.draft_s / point.rounds / single)
    shares = sorted(median(values) for values in by_setting.values())
    if not shares:
        return UNMEASURED
    low, high = f"{shares[0]:.2f}", f"{shares[-1]:.2f}"
    return f"{low if low == high else f'{low} to {high}'} target passes per draft"


def drafter_table(catalog: Catalog, points: Iterable[SweepPoint] = ()) -> str:
    """The rows as an HTML table."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in HEAD)
    body = "".join(
        f'<tr><th scope="row">{escape(row.name)}</th>'
        + "".join(
            f'<td data-column="{escape(name)}"><span>{escape(cell)}</span></td>'
            for name, cell in zip(HEAD[1:], row.cells()[1:], strict=True)
        )
        + "</tr>"
        for row in drafter_rows(catalog, points)
    )
    caption = (
        "<caption>What drafters need. Cost: measured time of one draft ÷ that of one target pass over one row, the "
        "median of the recorded sweep; a range is over the settings measured.</caption>"
    )
    rows = f"{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    table = f'<table class="sv-table sv-blocks sv-drafters">{rows}</table>'
    return f'<div class="sv-table-scroll" tabindex="0">{table}</div>'


def drafter_fold(table: str) -> None:
    """The table in the current Blocks, folded: what a fold holds is not drawn before it is opened."""
    with gr.Accordion(TITLE, open=False, elem_classes="sv-drafter-fold"):
        gr.HTML(table)
