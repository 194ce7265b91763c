"""All measurements of a sweep as a table: a row per setting, with what each column is in its heading.

Names may come from strangers; every cell is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.app.speedup.view import is_slower
from specviz.protocol.sweeps.points import BASELINE, SweepRow

TABLE_HEAD = (
    ("drafter", "the method that proposes"),
    ("tree and stop policy", "how the draft grows and what may end it early, where that was chosen apart from γ"),
    ("γ", "speculation length: how deep each draft goes"),
    ("drafted", "candidates per target pass, measured"),
    ("temperature", "of sampling; 0 is greedy"),
    (
        "speedup",
        "median over the prompts of tokens per second ÷ plain decoding's, with the central 95 % of 2000 resamples of "
        "the prompts; one prompt gives no interval",
    ),
    ("acceptance rate", "accepted / drafted, bonus and correction not counted"),
    ("mean acceptance length", "1 + accepted per round that drafted"),
    (
        "MBSU",
        "speedup if reading weights were all that costs: tokens per target pass × c ÷ (drafter passes per round + c), "
        "c = target bytes ÷ drafter bytes: the weights that one pass reads, a drafter's own, those of the target that "
        "it runs, and its head's; no c: its drafts read none",
    ),
    ("tokens/s", "median, engine time only"),
    ("same text", "runs whose output equals plain decoding token for token"),
)
SPEEDUP_COLUMN = [name for name, _ in TABLE_HEAD].index("speedup")


def sweep_table(rows: Sequence[SweepRow]) -> str:
    """The measured rows; every number is measured, none is theory."""
    if not rows:
        return ""
    head = "".join(
        f'<th scope="col" title="{escape(title, quote=True)}">{escape(name)}</th>' for name, title in TABLE_HEAD
    )
    body = "".join(_table_row(row) for row in rows)
    caption = (
        "<caption>Measured. Ratios are taken against plain decoding of the same prompt in the same sweep; in brackets "
        "the central 95 % of 2000 resamples of the prompts.</caption>"
    )
    table = f'<table class="sv-table sv-blocks">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="sv-table-scroll">{table}</div>'


def _table_row(row: SweepRow) -> str:
    plain = row.drafter == BASELINE
    cells = (
        "plain decoding" if plain else row.label,
        str(row.policies) or "–",
        "–" if row.gamma is None else str(row.gamma),
        "–" if plain else f"{row.drafted_per_round:.1f}",
        f"{row.temperature:g}",
        "1 (baseline)" if plain else _speedup(row),
        _number(row.acceptance_rate),
        _number(row.mean_acceptance_length),
        _mbsu(row),
        f"{row.tokens_per_s_median:.0f}",
        f"{row.same_output} of {row.runs}",
    )
    slow = "" if plain or not is_slower(row) else ' class="sv-slower"'
    marks = [' class="sv-speedup"' if index == SPEEDUP_COLUMN else "" for index in range(len(cells))]
    columns = [escape(name, quote=True) for name, _ in TABLE_HEAD]  # shown beside the number where rows become blocks
    body = "".join(
        f'<td data-column="{column}"{mark}>{escape(cell)}</td>'
        for column, mark, cell in zip(columns, marks, cells, strict=True)
    )
    return f"<tr{slow}>{body}</tr>"


def _mbsu(row: SweepRow) -> str:
    """With its cost ratio, where the drafter has a model."""
    ratio = "" if row.memory_ratio is None else f" (c {row.memory_ratio:.2f})"
    return f"{_number(row.mbsu)}{ratio if row.mbsu is not None else ''}"


def _speedup(row: SweepRow) -> str:
    interval = "" if row.prompts == 1 else f" ({row.ratio_low:.2f} to {row.ratio_high:.2f})"
    return f"{row.ratio_median:.2f}×{interval}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
