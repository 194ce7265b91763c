"""The page, served in this process over a source that replays the golden trace; one server per set of tests."""

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
from playwright.sync_api import Page, expect

from specviz.app import tab
from specviz.app.form.request import Limits
from specviz.app.page.build import build
from specviz.app.page.document import opening
from specviz.app.page.sessions import UPLOADED, Sessions, UploadedFiles, keep_little
from specviz.app.page.settings import launch_settings
from specviz.app.runs.gallery import gallery
from specviz.protocol.runs import TraceSource
from specviz.trace import codec
from tests.app.doubles import sample

MOUNTED = "() => !SpecViz.AWAITS_NAMES && (SpecViz.lesson || !document.querySelector('.sv-learn-box'))"
"""whether the parts of the page that nobody sees have begun: links and lessons"""
MEASURING = ("watch", "when-it-pays", "analysis", "machine")
"""the tabs around the sweep, which lead to each other"""
SERVED: list[Sessions] = []
"""what each server of this process keeps of its visitors"""


def _sweep(sessions: Collection[str]) -> None:
    """Files that were handed in are of a process, which has one server elsewhere: here none may remove another's."""
    others = (name for server in SERVED for name in list(server.session_data))
    UploadedFiles.sweep(UPLOADED, {*sessions, *others})


UPLOADED.sweep = _sweep


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def opened(page: Page, url: str, *shown: str) -> Page:
    """The page at this address once it can be used: its player, its drawer and `shown` are there, Run can be pressed,
    and its scripts know the recorded runs, so that links open, and the lessons where it has some. Gradio mounts one
    part after the other; what a test asks of a part by `evaluate` waits for nothing."""
    page.goto(url)
    for part in ("#sv-player [data-ready]", "#sv-drawer", *shown):
        expect(page.locator(part).first).to_be_attached()
    expect(page.locator("#sv-run")).to_be_enabled()
    page.wait_for_function(MOUNTED)
    page.wait_for_function("() => document.fonts.status === 'loaded'")  # until then words are of another width
    return page


@contextmanager
def served(
    source: TraceSource, recorded: Path, limits: Limits | None = None, tabs: Collection[str] = ()
) -> Iterator[str]:
    """The page's address while the block runs; `recorded` gets the golden trace if it is empty. With `tabs`, the page
    has these alone, and *Lab*, which opens only with a tab of its own: a whole page takes the browser twice as long to
    open as one with *Watch* alone."""
    with serving(source, recorded, limits, tabs) as demo:
        yield demo.local_url


@contextmanager
def serving(
    source: TraceSource, recorded: Path, limits: Limits | None = None, tabs: Collection[str] = ()
) -> Iterator[gr.Blocks]:
    """The same, with the page itself."""
    limits = limits or Limits()
    if not list(recorded.glob("*.json.gz")):
        codec.write(sample(), recorded / "sample.json.gz")
    built = tuple(each for each in tab.found() if not tabs or each.name in tabs)
    assert {*tabs} <= {each.name for each in built}, "a tab of this name there is not"
    with patch.object(tab, "found", lambda: built):
        demo = build(source, gallery(recorded), limits, sweeps=recorded)
    settings = {**launch_settings(limits, first=opening(gallery(recorded))), "server_port": free_port(), "quiet": True}
    demo.launch(prevent_thread_lock=True, **settings)
    keep_little(demo)
    SERVED.append(demo.app.state_holder)
    try:
        yield demo
    finally:
        SERVED.remove(demo.app.state_holder)
        try:
            demo.close()
        except RuntimeError:  # Gradio wakes its streams from this thread, and one had just left; its mark stays set
            demo.close()
