"""Findings as HTML. Names and texts of records come from strangers: everything is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.app.look.notices import message
from specviz.doctor.findings import LESSONS, Finding
from specviz.doctor.record import Record

SIGNS = {"alarm": ("!", "look at this"), "advice": ("→", "advice"), "fact": ("·", "fact"), "untold": ("?", "not told")}


def findings_view(name: str, record: Record, findings: Sequence[Finding]) -> str:
    """One record: what it is, then its findings, most important first."""
    requests = f", {record.requests} request{'s' * (record.requests != 1)}" if record.requests else ""
    head = escape(f"{name}: {record.form} of {record.engine}{requests}")
    items = "".join(map(_item, findings)) or "<li>Nothing follows from it.</li>"
    return f'<section class="sv-doctor"><h4>{head}</h4><ul class="sv-findings">{items}</ul></section>'


def _item(finding: Finding) -> str:
    sign, word = SIGNS[finding.level]
    formula = f' <code class="sv-formula">{escape(finding.formula)}</code>' if finding.formula else ""
    return (
        f'<li class="sv-finding sv-finding-{finding.level}"><span class="sv-finding-sign" title="{escape(word)}" '
        f'aria-hidden="true">{sign}</span><p><strong>{escape(finding.title)}.</strong> {escape(finding.sentence)}'
        f"{formula}{_lesson(finding)}</p></li>"
    )


def _lesson(finding: Finding) -> str:
    if finding.lesson not in LESSONS:
        return ""
    number, title = LESSONS[finding.lesson]
    return (
        f' <a href="#tab=learn&amp;lesson={number}" target="_blank" rel="noopener">Lesson {number}: {escape(title)}</a>'
    )


def refused_view(sentences: Sequence[str]) -> str:
    return "".join(message(sentence, "error") for sentence in sentences)
