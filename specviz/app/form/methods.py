"""The kinds of method a run is put together from, what must be said about a choice of them, and the one table of
drafters: what each guesses from, what that takes, and what drafting cost here.

A drafter and a verifier always; a tree and a stop policy where the drafter grows its drafts by one. What drafters need
they declare in their own files (`drafters.base.Needs`); what they cost is measured, from a sweep's runs. Names may come
from plug-ins; all cells are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import median

import gradio as gr

from specviz.protocol.runs import Catalog, MethodDescription, RunRequest
from specviz.protocol.sweeps.points import SweepPoint

AUTO = "auto"
"""the choice that the source makes itself"""


@dataclass(frozen=True, slots=True)
class Kind:
    """One choice of the form."""

    group: str
    """its name among the form's values and in `RunRequest`"""
    label: str
    methods: tuple[MethodDescription, ...]
    default: str
    auto: str
    """what `auto` means, where it may be chosen; empty: it may not"""
    for_growing: bool = False
    """only for drafters that grow their drafts"""
    instead: str = ""
    """what any choice but `auto` sets aside, as a sentence"""


def kinds(catalog: Catalog) -> tuple[Kind, ...]:
    """The kinds this catalog has methods of, in the order of the form."""
    standard = RunRequest(prompt="")
    found = (
        Kind("drafter", "drafter", catalog.drafters, standard.drafter.name, ""),
        Kind(
            "tree_policy",
            "tree policy",
            catalog.tree_policies,
            standard.tree_policy.name,
            "as the drafter's options say",
            True,
            "The drafter's own options of shape are set aside.",
        ),
        Kind("stop_policy", "stop policy", catalog.stop_policies, standard.stop_policy.name, "", True),
        Kind(
            "verifier",
            "verifier",
            catalog.verifiers,
            standard.verifier.name,
            "greedy at temperature 0, sequential above",
        ),
    )
    return tuple(kind for kind in found if kind.methods)


def grows(catalog: Catalog, drafter: str) -> bool:
    """Whether this drafter has a tree and a stop policy."""
    return any(method.grows for method in catalog.drafters if method.name == drafter)


def remembers(catalog: Catalog, drafter: str) -> bool:
    """Whether this drafter can go on with what earlier runs taught it."""
    return any(method.remembers for method in catalog.drafters if method.name == drafter)


def retrieves(catalog: Catalog, drafter: str) -> bool:
    """Whether this drafter looks continuations up in a datastore."""
    return any(method.retrieves for method in catalog.drafters if method.name == drafter)


def choices(kind: Kind) -> list[tuple[str, str]]:
    """(label, name) pairs; a lossy method, one for temperature 0 alone and a mere bound say so in their label."""
    standard_first = sorted(kind.methods, key=lambda method: method.name != kind.default)
    listed = labelled(standard_first)
    return [(AUTO, AUTO), *listed] if kind.auto else listed


def labelled(methods: Sequence[MethodDescription]) -> list[tuple[str, str]]:
    """(label, name) pairs of any methods."""
    return [(_label(method), method.name) for method in methods]


IN_WORDS = {
    "amusd": "drafting while verifying",
    "fspad": "EAGLE on sampled features",
    "pearl": "the next draft during the pass",
    "rasd": "a model's tree and what is looked up",
    "rest": "looked up in a datastore",
    "ssd": "drafting for likely verdicts",
}
"""methods whose names are letters to who meets them first"""


def _label(method: MethodDescription) -> str:
    words = f" ({IN_WORDS[method.name]})" if method.name in IN_WORDS else ""
    lossy = "" if method.lossless else " · lossy"
    bound = "" if method.deployable else " · upper bound, not deployable"
    return f"{method.name}{words}{lossy}{' · temperature 0' if method.temperatures == 'zero' else ''}{bound}"


def note(kind: Kind, name: str) -> str:
    """The one-line summary of the chosen method, and what measurements say of it."""
    if name == AUTO and kind.auto:
        return f"Auto: {kind.auto}."
    said = [part for method in kind.methods if method.name == name for part in (method.summary, method.standing)]
    return " ".join(filter(None, [*said, kind.instead]))


def is_lossless(kind: Kind, name: str) -> bool | None:
    """Whether the chosen method keeps the target's distribution; None where the source chooses."""
    return next((method.lossless for method in kind.methods if method.name == name), None)


def growing_title(names: Sequence[str]) -> str:
    """What stands on the folded choices of tree and stop policy: the choices themselves."""
    return f"How the draft grows and ends: {', '.join(names)}"


def lossless_note(catalog: Catalog, names: Mapping[str, str]) -> tuple[bool, str]:
    """Whether the chosen methods together keep the target's distribution, and the sentence that says so."""
    growing = grows(catalog, names.get("drafter", ""))
    chosen = [
        method
        for kind in kinds(catalog)
        if growing or not kind.for_growing
        for method in kind.methods
        if method.name == names.get(kind.group)
    ]
    lossy = [method.name for method in chosen if not method.lossless]
    if lossy:
        return False, f"lossy: {' and '.join(lossy)} may change the target's distribution"
    return True, "lossless: the text follows the target's distribution exactly"


# --- the table of drafters -------------------------------------------------------------------------------------------


TITLE = "What each drafter guesses from, what it needs and what it costs"
HEAD = (
    "drafter",
    "guesses from",
    "second model",
    "training",
    "memory beside the target",
    "cost here, measured",
)
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
