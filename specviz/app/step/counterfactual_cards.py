"""The answers of other drafters at one round, as HTML: a card each, with its draft as an indented list.

Tokens and reasons may be hostile: everything goes through `html.escape`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from specviz.protocol.counterfactual import Other, candidates, riding_along
from specviz.theory.metrics import accepted_drafts, drafts
from specviz.trace.events import Node, Round, VocabEntry
from specviz.trace.replay import display_pieces

MOST_NODES = 24
"""nodes shown per draft; the rest is counted"""
MARKS = {"accepted": "●", "rejected": "✗", "unreached": "○"}
WORDS = {"accepted": "accepted", "rejected": "rejected", "unreached": "unreached"}


def cards(index: int, answers: Sequence[Other], waiting: bool) -> str:
    """All answers so far under a heading that says what they are."""
    head = (
        f'<p class="sv-note"><strong>Counterfactual at round {index + 1}.</strong> Each drafter joins the text as it '
        "stood there, drafts once with its default options and is judged by the same target. "
        "The run is not changed, and one round is no measure of speed.</p>"
    )
    busy = '<p class="sv-note" role="status">asking the next drafter…</p>' if waiting else ""
    return f'{head}<div class="sv-others">{"".join(map(_card, answers))}</div>{busy}'


def _card(other: Other) -> str:
    name = f"<h4>{escape(other.drafter)}{' <small>this run</small>' if other.recorded else ''}</h4>"
    tone = " sv-other-own" if other.recorded else ""
    if other.round is None:
        return f'<article class="sv-other{tone}">{name}<p class="sv-note">{escape(other.reason)}</p></article>'
    drafted, accepted = len(drafts(other.round)), accepted_drafts(other.round)
    counts = f"<p>{drafted} drafted, <strong>{accepted} accepted</strong></p>"
    return f'<article class="sv-other{tone}">{name}{counts}{_draft(other)}{_committed(other)}</article>'


def _draft(other: Other) -> str:
    assert other.round is not None
    drafted = candidates(other.round)
    lines = "".join(_line(node, other) for node in drafted[:MOST_NODES])
    more = len(drafted) - MOST_NODES
    rest = f'<li class="sv-note">and {more} more</li>' if more > 0 else ""
    told = f"<ul>{lines}{rest}</ul>" if lines else '<p class="sv-note">nothing was drafted</p>'
    aside = riding_along(other.round)
    return f'{told}<p class="sv-note">{escape(aside)}</p>' if aside else told


def _line(node: Node, other: Other) -> str:
    text = escape(_shown(node.token, other))
    return (
        f'<li class="sv-fate-{node.fate}" style="--depth:{min(node.depth, 12)}" title="{WORDS[node.fate]}">'
        f'<span aria-label="{WORDS[node.fate]}">{MARKS[node.fate]}</span> <code>{text}</code></li>'
    )


def _committed(other: Other) -> str:
    this: Round | None = other.round
    assert this is not None
    entries = [other.vocab.get(str(item.token)) for item in this.committed.tokens]
    text = "".join(display_pieces([base64.b64decode(entry.bytes) for entry in entries if entry is not None]))
    return f'<p class="sv-other-text">commits <code>{escape(_marked(text))}</code></p>'


def _shown(token: int, other: Other) -> str:
    entry: VocabEntry | None = other.vocab.get(str(token))
    return _marked(entry.text) if entry is not None else f"<{token}>"


def _marked(text: str) -> str:
    return text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
