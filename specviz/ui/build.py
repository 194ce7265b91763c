"""The page: a header, its tabs, and the line that says how far the models are.

`build` is handed everything it shows; it imports no engine. Whether the source is live, recorded or a test's double
makes no difference here.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from specviz.assets import ROOT
from specviz.figures import notices
from specviz.trace.source import TraceSource
from specviz.ui.deferred import DeferredSource
from specviz.ui.events import QUIET
from specviz.ui.request import Limits
from specviz.ui.tabs.about import about_tab
from specviz.ui.tabs.lab import restore
from specviz.ui.tabs.machine import machine_tab
from specviz.ui.tabs.machine_actions import MachineActions
from specviz.ui.tabs.proof import proof_tab
from specviz.ui.tabs.proof_actions import ProofActions
from specviz.ui.tabs.race import race_tab
from specviz.ui.tabs.race_actions import RaceActions
from specviz.ui.tabs.speedup import speedup_tab
from specviz.ui.tabs.speedup_actions import SpeedupActions
from specviz.ui.tabs.step import step_tab
from specviz.ui.tabs.step_actions import StepActions
from specviz.ui.tabs.sweep_shown import recorded
from specviz.ui.tabs.what_if import what_if_tab
from specviz.ui.tabs.what_if_actions import WhatIfActions
from specviz.views.gallery import Gallery

TITLE = "SpecViz"
SENTENCE = "Watch one model guess ahead and another check the guesses, token by token."
LIGHT = '<button type="button" class="sv-light" aria-label="switch between light and dark"></button>'
"""what a press does is in `assets/js/light.js`"""
HEADER = f'<div class="sv-header"><h1>{TITLE}</h1><p>{SENTENCE}</p></div>'
POLL_S = 0.7
"""how often the status line asks while the models load; it stops asking when they are there"""
CACHE_S = (3600, 24 * 3600)
"""uploaded and offered files are swept hourly and live a day at most"""


def build(source: TraceSource, gallery: Gallery, limits: Limits, sweeps: Path = ROOT / "sweeps") -> gr.Blocks:
    """The whole page over one source; the recorded sweep is looked for in the folder `sweeps`. Launch it with
    `settings.launch_settings()`."""
    step, speedup = StepActions(source, gallery, limits), SpeedupActions(source, limits, recorded(sweeps))
    race = RaceActions(source, limits)
    machine, proof = MachineActions(source), ProofActions(source, limits)
    demo: gr.Blocks = gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True, delete_cache=CACHE_S)
    with demo:
        with gr.Row(elem_classes="sv-top"):
            gr.HTML(HEADER, scale=4, min_width=280)
            status = gr.HTML(_status(source), scale=1, min_width=200, elem_id="sv-status")
            gr.HTML(LIGHT, scale=0, min_width=84, elem_classes="sv-light-box")
        with gr.Tabs() as tabs:
            with gr.Tab("Step", id="step"):
                parts = step_tab(step)
            with gr.Tab("Race", id="race"):
                race_tab(race)
            with gr.Tab("Speedup", id="speedup") as speedup_page:
                chart = speedup_tab(speedup, speedup_page)
            with gr.Tab("Machine", id="machine") as machine_page:
                machine_tab(machine, machine_page)
            with gr.Tab("What if", id="what-if"):
                what_if_tab(WhatIfActions(gallery), tabs, parts.stage())
            with gr.Tab("Proof", id="proof") as proof_page:
                proof_tab(proof, proof_page)
            with gr.Tab("About", id="about"):
                about_tab()
        _status_events(demo, source, status)
        demo.load(restore, None, [tabs, chart], **QUIET)
        demo.unload(step.leave)
        demo.unload(race.leave)
        demo.unload(speedup.leave)
        demo.unload(machine.leave)
        demo.unload(proof.leave)
    demo.queue(max_size=limits.waiting)
    return demo


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
