"""Proofs drawn as HTML: pairs of bars with the bias marked, the table of lines, the equality badge.

Small enough to be redrawn at every touch of a control, and readable in light and dark: colours come from CSS classes.
Texts of models are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.app.proof.view import ExactView, Pair, Row, SampledView, Total

HEAD = (
    ("", "number of the line"),
    ("drafted", "candidates in the order they were drawn, with the probability of each given those before it"),
    ("trials", "accepted where u falls below the threshold; in brackets the probability of the outcome"),
    ("token", "what is committed and where it comes from, with the probability of that draw"),
    ("product", "the factors that are not 1"),
    ("probability", "of the whole line"),
)


def part_heading(title: str, kind: str, meaning: str) -> str:
    """The head of one part with the label of its evidence: exact, sampled or measured."""
    badge = f'<span class="sv-badge sv-badge-live" title="{escape(meaning, quote=True)}">{escape(kind)}</span>'
    return f'<h3 class="sv-part">{escape(title)} {badge}</h3>'


def exact_summary(view: ExactView) -> str:
    """Verdict, reason and bars."""
    why = f'<p class="sv-proof-why">{escape(view.why)}</p>' if view.why else ""
    return _verdict(view.verdict, view.tone) + why + bars(view.bars, "p", "output", view.tone == "bad")


def exact_table(view: ExactView) -> str:
    """The lines, and below them what they add up to; scrolls inside its own box."""
    head = "".join(f'<th scope="col" title="{escape(why, quote=True)}">{escape(name)}</th>' for name, why in HEAD)
    body = "".join(_row(number, row) for number, row in enumerate(view.rows, 1))
    foot = "".join(map(_total, view.totals))
    caption = "<caption>Exact: every way the decision can go, and per token the sum of its lines against p.</caption>"
    table = f'<table class="sv-table">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    sums = f'<table class="sv-table sv-proof-sums"><tbody>{foot}</tbody></table>'
    box = '<div class="sv-table-scroll sv-proof-lines" tabindex="0" role="region" aria-label="lines of the proof">'
    return f"{box}{table}</div>{sums}"


def sampled_summary(view: SampledView) -> str:
    """Verdict, distance and bars."""
    distance = f'<p class="sv-proof-why">{escape(view.distance)}</p>'
    return _verdict(view.verdict, view.tone) + distance + bars(view.bars, "expected", "counted", view.tone == "bad")


def equality_badge(text: str, tone: str, note: str) -> str:
    """How many greedy tokens are equal. Tones: good, bad, plain."""
    return (
        f'<p class="sv-equality sv-proof-{tone}" role="status" aria-live="polite">{escape(text)}</p>'
        f'<p class="sv-proof-why">{escape(note)}</p>'
    )


def bars(pairs: Sequence[Pair], law: str, found: str, marked: bool) -> str:
    """Two bars per token; where `marked`, what the lower one has too much or too little is drawn in alarm colour."""
    most = max([0.01, *(max(pair.law, pair.found) for pair in pairs)])
    body = "".join(_pair(pair, (law, found), most, marked) for pair in pairs)
    return f'<div class="sv-pairs">{body}</div>'


def _pair(pair: Pair, names: tuple[str, str], most: float, marked: bool) -> str:
    title = escape(pair.explanation, quote=True)
    bias = ""
    if marked and abs(pair.biased) > 1e-9:
        sign = "more" if pair.biased > 0 else "less"
        left, width = 100 * min(pair.law, pair.found) / most, 100 * abs(pair.biased) / most
        bias = f'<i class="sv-bias sv-bias-{sign}" style="left:{left:.2f}%;width:{width:.2f}%"></i>'
    difference = f' <b class="sv-bias-text">{pair.biased:+.3f}</b>' if bias else ""
    return (
        f'<div class="sv-pair" title="{title}"><code>{escape(pair.label)}</code>'
        f"{_bar('law', names[0], pair.law / most, pair.law_text, '')}"
        f"{_bar('found', names[1], pair.found / most, pair.found_text, bias, difference)}</div>"
    )


def _bar(kind: str, name: str, share: float, text: str, extra: str, after: str = "") -> str:
    fill = f'<i class="sv-pair-{kind}" style="width:{100 * share:.2f}%"></i>'
    return (
        f'<span class="sv-pair-name">{escape(name)}</span><span class="sv-pair-track">{fill}{extra}</span>'
        f'<span class="sv-pair-value">{escape(text)}{after}</span>'
    )


def _verdict(text: str, tone: str) -> str:
    return f'<p class="sv-proof-verdict sv-proof-{tone}" role="status" aria-live="polite">{escape(text)}</p>'


def _row(number: int, row: Row) -> str:
    cells = (str(number), row.drafted, row.trials, row.token, row.product, row.prob)
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _total(total: Total) -> str:
    mark = ' class="sv-biased"' if total.biased else ""
    cells = (f"sum of {total.token}", total.output, f"p = {total.target}", f"difference {total.difference}")
    return f"<tr{mark}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
