"""The page: a header, its tabs as they declare themselves, and the line that says how far the models are.

`build` is handed everything it shows; it imports no engine. Whether the source is live, recorded or a test's double
makes no difference here.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import gradio as gr

from specviz.app.endpoints import Answers, named_endpoints
from specviz.app.form.methods import drafter_table
from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.look.events import QUIET
from specviz.app.page.document import SENTENCES, TITLE
from specviz.app.page.door import Guarded
from specviz.app.page.queue import fair_queue
from specviz.app.page.settings import on_a_space
from specviz.app.runs.deferred import DeferredSource
from specviz.app.runs.gallery import Gallery, recorded
from specviz.app.tab import Page
from specviz.protocol.runs import TraceSource
from specviz.protocol.sweeps.result import points_of
from specviz.resources import LEFT_OUT, ROOT

LIGHT = '<button type="button" class="sv-light" aria-label="switch between light and dark"></button>'
"""what a press does is in `assets/js/player/light.js`"""
HEADER = f'<div class="sv-header"><h1>{TITLE}</h1><p>{SENTENCES}</p></div>'
POLL_S = 0.7
"""how often the status line asks while the models load; it stops asking when they are there"""
MOST_NAMED = 8
"""damaged files that are named on the page; the log names all"""
CACHE_S = (3600, 24 * 3600)
"""uploaded and offered files are swept hourly and live a day at most"""


def build(source: TraceSource, gallery: Gallery, limits: Limits, sweeps: Path = ROOT / "sweeps") -> gr.Blocks:
    """The whole page over one source; the recorded sweep is looked for in the folder `sweeps`. Launch it with
    `settings.launch_settings()`."""
    measured = recorded(sweeps)
    table = drafter_table(source.catalog(), points_of(measured.result) if measured else ())
    answers = Answers(source, limits)
    demo: gr.Blocks = Guarded(title=TITLE, analytics_enabled=False, fill_width=True, delete_cache=CACHE_S)
    page = Page(source, gallery, limits, sweeps, measured, table, demo)
    with demo:
        named_endpoints(answers)  # first: gradio gives a taken name a number, and private events take theirs too
        status = _header(source)
        damage = gr.HTML(visible=False, elem_id="sv-damage")
        page.draw()
        _status_events(demo, source, status)
        for actions in (answers, *page.all_actions()):
            if hasattr(actions, "leave"):
                demo.unload(actions.leave)
    _finish(demo, limits, damage)
    return demo


def _finish(demo: gr.Blocks, limits: Limits, damage: gr.HTML) -> None:
    """The queue, and what was found damaged as the page was built."""
    damage.value, damage.visible = damaged(LEFT_OUT), bool(LEFT_OUT)
    demo.api_open = False  # whoever posts to an event past the queue is not counted there
    fair_queue(demo, limits, behind_proxy=on_a_space())


def damaged(names: Collection[str]) -> str:
    """One sentence about shipped files that could not be used; empty where all could."""
    if not names:
        return ""
    listed = ", ".join(sorted(names)[:MOST_NAMED]) + (
        f" and {len(names) - MOST_NAMED} more" * (len(names) > MOST_NAMED)
    )
    return notices.message(
        f"Left out, because it is missing or damaged: {listed}; `git checkout assets` restores it, or install SpecViz "
        "again.",
        "error",
    )


def _header(source: TraceSource) -> gr.HTML:
    """What stands above the tabs; returns the line that says how far the models are."""
    with gr.Row(elem_classes="sv-top"):
        gr.HTML(HEADER, scale=4, min_width=280)
        status = gr.HTML(_status(source), scale=1, min_width=200, elem_id="sv-status")
        gr.HTML(LIGHT, scale=0, min_width=84, elem_classes="sv-light-box")
    return status


def _status_events(demo: gr.Blocks, source: TraceSource, status: gr.HTML) -> None:
    """The status line on opening, and then until the models are there or have failed."""
    timer = gr.Timer(POLL_S, active=False)

    def look() -> tuple[str, gr.Timer]:
        return _status(source), gr.Timer(active=not settled(source))

    def open_page() -> tuple[str, gr.Timer]:
        if isinstance(source, DeferredSource):
            source.opened()
        return look()

    demo.load(open_page, None, [status, timer], **QUIET)
    timer.tick(look, None, [status, timer], **QUIET)


def settled(source: TraceSource) -> bool:
    """Whether the status line can still change by itself."""
    return source.settled if isinstance(source, DeferredSource) else True


def _status(source: TraceSource) -> str:
    failed = isinstance(source, DeferredSource) and source.failed
    return notices.status(source.status(), "failed" if failed else "ready" if settled(source) else "busy")
