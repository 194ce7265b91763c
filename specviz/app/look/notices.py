"""Small pieces of page text as HTML: badges, status, messages, progress.

Everything that reaches these functions may be hostile (model names, error texts): all of it goes through
`html.escape`. Colours come from CSS classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.app.look.badges import Badge

NO_CHOICE = ""
"""value of the first choice of a list that is for choosing from, not for standing in: the choice says so"""


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
