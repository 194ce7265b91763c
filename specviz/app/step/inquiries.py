"""What is asked of the run that is shown: what other drafters would have drafted at a round, a card each with its draft
as an indented list; and an audit, which recomputes the run from the checkpoints: its buttons, how far it is, a table of
counts, the differences, what was not recomputed.

Tokens, reasons, places and values come from traces that may be hostile: everything goes through `html.escape`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import gradio as gr
from gradio.components import Component

from specviz.app.form.request import Limits, check_models, models_of_run
from specviz.app.job import Cancellable, Faults, idle, starts
from specviz.app.look import notices
from specviz.app.look.events import QUIET
from specviz.errors import ModelError
from specviz.protocol.audits import Audit, Audits
from specviz.protocol.counterfactual import Other, candidates, riding_along
from specviz.protocol.runs import TraceSource
from specviz.theory.metrics import accepted_drafts, drafts
from specviz.trace import codec
from specviz.trace.characters import display_pieces
from specviz.trace.events import Node, Round, Trace, VocabEntry
from specviz.trace.files import UPLOAD

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
    name = f"<h3>{escape(other.drafter)}{' <small>this run</small>' if other.recorded else ''}</h3>"
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
    text = escape(_written(node.token, other))
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


def _written(token: int, other: Other) -> str:
    entry: VocabEntry | None = other.vocab.get(str(token))
    return _marked(entry.text) if entry is not None else f"<{token}>"


def _marked(text: str) -> str:
    return text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")


# --- an audit --------------------------------------------------------------------------------------------------------


Updates = tuple[object, ...]
EXPLAINED = (
    "Recomputes p, q, verdicts, residuals and text of the run above from its checkpoints, through plain transformers "
    "forwards: nothing of the engine takes part."
)


@dataclass(slots=True)
class AuditParts:
    run: gr.Button
    stop: gr.Button
    shown: gr.HTML


def audit_controls() -> AuditParts:
    """Lay out the buttons and the place of the answer."""
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button("Audit this run: recompute from the checkpoints", size="sm", min_width=260, elem_id="sv-audit")
        stop = gr.Button("Stop the audit", size="sm", min_width=120, interactive=False, elem_id="sv-audit-stop")
    return AuditParts(run, stop, gr.HTML(notices.note(EXPLAINED), elem_id="sv-audit-shown"))


class AuditActions(Cancellable):
    """Over one source; of a visitor their cancellation switch is kept."""

    def __init__(self, source: TraceSource, limits: Limits) -> None:
        super().__init__()
        self._source = source
        self._limits = limits

    def audit(self, player: str, visitor: gr.Request) -> Iterator[Updates]:
        """The answer as it grows, for (answer, Audit, Stop); an error becomes its sentence."""
        found: Audit | None = None
        with Faults("audit") as faults:
            trace = codec.loads(player or "", UPLOAD)
            stop = self.armed(visitor)
            for found in self._offered(trace).audit(trace, stop.is_set):
                yield audit_card(found), gr.skip(), gr.skip()
            stop.check()
        done = "" if found is None else audit_card(found, True)
        if faults.own:
            said = notices.message(faults.sentence or "", "error")
        elif faults.sentence:
            said = done + notices.message(f"not audited{' further' if done else ''}: {faults.sentence}", "error")
        else:
            said = done or notices.message("Stopped before anything was recomputed.")
        yield said, *idle()

    def _offered(self, trace: Trace) -> Audits:
        """Who recomputes. Raises ModelError where nobody can, or where a stranger's file names other models."""
        if not isinstance(self._source, Audits):
            raise ModelError("there are no checkpoints behind this page; run `specviz audit` where there are.")
        check_models(models_of_run(trace.started), self._source.catalog(), self._limits)
        return self._source


def wire_audit(actions: AuditActions, parts: AuditParts, player: Component) -> None:
    answered = [parts.shown, parts.run, parts.stop]
    starts(parts.run.click, actions, answered, actions.audit, player, answered)
    parts.stop.click(actions.stop, None, None, **QUIET)


SHOWN = 12
"""differences in sight; the rest is counted"""
MOST_CHARS = 300
"""of one difference"""


def audit_card(audit: Audit, stopped: bool = False) -> str:
    """An audit on its way, stopped, or done."""
    rows = "".join(
        f'<tr><th scope="row">{escape(kind)}</th><td>{count.compared:,}</td><td>{count.wrong:,}</td></tr>'
        for kind, count in audit.counts.items()
    )
    table = (
        '<table class="sv-table"><thead><tr><th scope="col">recorded values</th><th scope="col">compared</th>'
        f'<th scope="col">wrong</th></tr></thead><tbody>{rows}</tbody></table>'
    )
    return (
        f'{_verdict(audit, stopped)}<div class="sv-table-scroll">{table}</div>{_differences(audit)}'
        f"{_list('not recomputed', audit.not_recomputed)}{_list('how', audit.how)}"
    )


def _verdict(audit: Audit, stopped: bool) -> str:
    counts = f"{audit.compared:,} recorded values compared with the checkpoints, {audit.wrong:,} wrong"
    if not audit.complete and not stopped:
        return notices.progress(audit.done, audit.rounds, None, "rounds recomputed") + notices.note(counts + " so far.")
    if not audit.complete:
        said = f"Stopped after {audit.done} of {audit.rounds} rounds: {counts}."
        return notices.message(said, "error" if audit.wrong else "plain")
    return notices.message(f"Audited: {counts}.", "error" if audit.wrong else "good")


def _differences(audit: Audit) -> str:
    shown = [escape(str(difference)[:MOST_CHARS]) for difference in audit.differences[:SHOWN]]
    items = "".join(f"<li>{one}</li>" for one in shown)
    more = audit.wrong - len(shown)
    rest = f"<li>and {more:,} more</li>" if more > 0 else ""
    return f'<ul class="sv-note">{items}{rest}</ul>' if items else ""


def _list(label: str, sentences: Sequence[str]) -> str:
    return "".join(notices.note(f"{label}: {sentence}") for sentence in sentences)
