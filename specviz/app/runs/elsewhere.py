"""Runs that a visitor's own browser makes, one or those of a race or a sweep: which are asked for, and what comes back.

    controls ─► asked ─► the browser's engine ─► runs as text ─► read_runs ─► what the server would have measured

A visitor's file as any other: read with the limits for strangers, checked, and held against what was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from gradio.components import Component

from specviz.app.components.framed import SeriesHere
from specviz.app.look.events import QUIET
from specviz.errors import TraceError
from specviz.protocol.choice import STANDARD
from specviz.protocol.runs import RunRequest
from specviz.trace import codec
from specviz.trace.check import checked
from specviz.trace.events import Trace
from specviz.trace.files import UPLOAD
from specviz.trace.guard import json_of

MOST_BYTES = 20_000_000
"""of that message"""
OTHERS = "the browser's runs are not those that were asked for; press Run here again."
SETTINGS = (
    "prompt", "prompt_name", "target", "drafter_model", "memory", "temperature", "top_k", "top_p", "seed",
    "max_new_tokens", "stop", "chat", "scene",
)  # fmt: skip
"""what the browser's engine is told beside the four choices, by the names of `RunRequest`"""
START = "(answer) => SpecViz.startSeries(answer)"


@dataclass(frozen=True, slots=True)
class BrowsersRun:
    """What became of one request."""

    trace: Trace | None
    """None: it was not run, or not to its end"""
    refusal: str
    """why the browser's engine cannot run it; empty where it can"""


def browsers_request(request: RunRequest) -> dict[str, Any]:
    """The request as the browser's engine takes it: of each choice the name, and its options apart."""
    asked = {name: getattr(request, name) for name in SETTINGS}
    for role in STANDARD:
        choice = getattr(request, role)
        asked |= {role: choice.name, f"{role}_options": dict(choice.options)}
    return asked


def asked(tab: str, requests: Sequence[RunRequest]) -> str:
    """What a press is answered: the runs, in the order in which they are to be made."""
    return json.dumps({"tab": tab, "requests": [browsers_request(request) for request in requests]})


def refused(tab: str, sentence: str) -> str:
    """What a press is answered where the controls ask for no runs."""
    return json.dumps({"tab": tab, "refusal": sentence})


def read_runs(text: str, requests: Sequence[RunRequest]) -> list[BrowsersRun]:
    """What came back, one for each request. Raises TraceError where it is not what was asked for, or unsound."""
    if len(text) > MOST_BYTES:
        raise TraceError(f"the browser's runs are larger than the {MOST_BYTES / 1e6:g} MB taken here; ask for fewer.")
    sent = json_of(f'{{"runs": {text}}}', UPLOAD)["runs"]
    if not isinstance(sent, list) or len(sent) != len(requests) or not all(isinstance(each, dict) for each in sent):
        raise TraceError(OTHERS)
    return [_run(each, request) for each, request in zip(sent, requests, strict=True)]


def _run(sent: dict[str, Any], request: RunRequest) -> BrowsersRun:
    refusal = sent.get("refusal")
    if not isinstance(refusal, str):
        raise TraceError(OTHERS)
    if sent.get("trace") is None:
        return BrowsersRun(None, refusal[:400])
    trace = checked(codec.loads(json.dumps(sent["trace"]), UPLOAD), "the browser's run")
    started = trace.started
    made = (started.drafter.name, started.prompt_text, started.seed)
    wanted = (request.drafter.name, request.prompt, request.seed)
    if made != wanted:
        raise TraceError(OTHERS)
    return BrowsersRun(trace, "")


def left_out(runs: Sequence[BrowsersRun]) -> str:
    """A sentence for each reason why something was not run, with a blank before it; empty where all was."""
    reasons = dict.fromkeys(run.refusal for run in runs if run.refusal)
    return "".join(f" Left out: {reason}" for reason in reasons)


def wire_series(
    here: SeriesHere,
    tab: str,
    message: Component,
    ask: Callable[..., str],
    inputs: Collection[Component],
    show: Callable[..., tuple[object, ...]],
    outputs: Sequence[Component],
) -> None:
    """A press asks for the runs and has the browser make them; `show` is given the event that carries them."""
    here.asked(ask, set(inputs), here, **QUIET).then(None, here, None, js=START, **QUIET)
    here.said(None, None, message, js=f"() => SpecViz.seriesSays({json.dumps(tab)})", **QUIET)
    here.ran(show, None, list(outputs), **QUIET)
