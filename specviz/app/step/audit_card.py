"""What an audit found, as HTML: how far it is, a table of counts, the differences, what was not recomputed.

Places and values come from traces that may be hostile: everything goes through `html.escape`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.app.look import notices
from specviz.protocol.audits import Audit

SHOWN = 12
"""differences in sight; the rest is counted"""
MOST_CHARS = 300
"""of one difference"""


def card(found: Audit, stopped: bool = False) -> str:
    """An audit on its way, stopped, or done."""
    rows = "".join(
        f'<tr><th scope="row">{escape(kind)}</th><td>{count.compared:,}</td><td>{count.wrong:,}</td></tr>'
        for kind, count in found.counts.items()
    )
    table = (
        '<table class="sv-table"><thead><tr><th scope="col">recorded values</th><th scope="col">compared</th>'
        f'<th scope="col">wrong</th></tr></thead><tbody>{rows}</tbody></table>'
    )
    return (
        f'{_verdict(found, stopped)}<div class="sv-table-scroll">{table}</div>{_differences(found)}'
        f"{_list('not recomputed', found.not_recomputed)}{_list('how', found.how)}"
    )


def _verdict(found: Audit, stopped: bool) -> str:
    counts = f"{found.compared:,} recorded values compared with the checkpoints, {found.wrong:,} wrong"
    if not found.complete and not stopped:
        return notices.progress(found.done, found.rounds, None, "rounds recomputed") + notices.note(counts + " so far.")
    if not found.complete:
        said = f"Stopped after {found.done} of {found.rounds} rounds: {counts}."
        return notices.message(said, "error" if found.wrong else "plain")
    return notices.message(f"Audited: {counts}.", "error" if found.wrong else "good")


def _differences(found: Audit) -> str:
    shown = [escape(str(one)[:MOST_CHARS]) for one in found.differences[:SHOWN]]
    items = "".join(f"<li>{one}</li>" for one in shown)
    more = found.wrong - len(shown)
    rest = f"<li>and {more:,} more</li>" if more > 0 else ""
    return f'<ul class="sv-note">{items}{rest}</ul>' if items else ""


def _list(label: str, sentences: Sequence[str]) -> str:
    return "".join(notices.note(f"{label}: {one}") for one in sentences)
