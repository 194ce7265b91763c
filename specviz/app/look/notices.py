"""Small pieces of page text as HTML: badges, status, messages, progress, a table of measurements.

Everything that reaches these functions may be hostile (model names, error texts): all of it goes through
`html.escape`. Colours come from CSS classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.app.look.badges import Badge
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
NO_CHOICE = ""
"""value of the first choice of a list that is for choosing from, not for standing in: the choice says so"""
SPEEDUP_COLUMN = [name for name, _ in TABLE_HEAD].index("speedup")


def badge_row(badges: Sequence[Badge]) -> str:
    return f'<div class="sv-badges">{"".join(map(_badge, badges))}</div>'


def _badge(badge: Badge) -> str:
    title = escape(badge.explanation, quote=True)
    return f'<span class="sv-badge sv-badge-{badge.tone}" title="{title}">{escape(badge.text)}</span>'


def message(text: str, tone: str = "plain") -> str:
    """One sentence beside a button, with a capital unless it begins with a name. Tones: plain, busy, good, error."""
    if text.split(" ", 1)[0].isalpha():
        text = text[:1].upper() + text[1:]
    return f'<p class="sv-message sv-message-{tone}" role="status" aria-live="polite">{escape(text)}</p>'


def status(text: str, tone: str) -> str:
    """The line about the models in the header. Tones: busy, ready, failed."""
    return f'<p class="sv-status sv-status-{tone}" role="status" aria-live="polite">{escape(text)}</p>'


def note(text: str, lossless: bool | None = None) -> str:
    """A quiet line under a control, led by the mark of the method it is about; None: no mark."""
    mark = {None: "", True: _mark(True, "lossless"), False: _mark(False, "lossy")}[lossless]
    return f'<p class="sv-note">{mark}{escape(text)}</p>'


def _mark(lossless: bool, text: str) -> str:
    sign, tone = ("✓", "lossless") if lossless else ("✕", "lossy")
    return f'<span class="sv-mark-{tone}"><span aria-hidden="true">{sign}</span> {escape(text)}</span> '


def lossless_mark(lossless: bool, text: str) -> str:
    return f'<p class="sv-mark">{_mark(lossless, text)}</p>'


def progress(done: int, total: int, left_s: float | None, what: str = "runs") -> str:
    """A bar with a sentence: what is done, how long the rest will take."""
    left = "" if left_s is None or done >= total else f", about {_duration(left_s)} left"
    text = escape(f"{done} of {total} {what}{left}")
    bar = f'<progress max="{total}" value="{done}" aria-label="progress"></progress>'
    return f'<div class="sv-progress">{bar}<span>{text}</span></div>'


def _duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 90 else f"{whole / 60:.0f} min"


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
    marks = [' class="sv-speedup"' if place == SPEEDUP_COLUMN else "" for place in range(len(cells))]
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
