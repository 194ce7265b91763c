"""A real Chromium, all that is stored cleared after each test; a script error or a request outside fails a test."""

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

from specviz.resources import ROOT
from tests.app.doubles import ReplaySource, sample
from tests.browser.page_server import MEASURING, served

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # text as wide in a headless shell as in a browser with windows
]
PATIENCE_MS = 30_000
"""for a busy machine; nothing waits longer than it has to"""
SIZE: ViewportSize = {"width": 1280, "height": 800}
STORED = "local_storage,indexeddb,cache_storage,service_workers"
HAS_REAL_CLOCK = "setTimeout.toString().includes('[native code]')"
HOURS = count(1)
LOCAL = {"127.0.0.1", "localhost", ""}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Machines are shared: a browser that got no processor for half a minute is no fault of the page."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def chromium_path() -> str | None:
    """`$CHROMIUM`, or the first of its kind on the PATH; without windows of its own it takes half the time."""
    known = ("chromium-headless-shell", "chromium", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, known)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all tests."""
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium: install one or point CHROMIUM at it")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page's first tab, over a source that answers at once, with the golden trace as its only recording. One for
    all tests that need no other: to build and serve a page takes seconds, and what a visitor does there nobody else
    sees."""
    with served(ReplaySource(sample()), tmp_path_factory.mktemp("gallery"), tabs=["watch"]) as url:
        yield url


@pytest.fixture(scope="session")
def measuring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same with the tabs that measure and count."""
    with served(ReplaySource(sample()), tmp_path_factory.mktemp("gallery"), tabs=MEASURING) as url:
        yield url


@pytest.fixture(scope="session")
def learning() -> Iterator[str]:
    """The recordings that ship, in *Watch* and *Learn*."""
    with served(ReplaySource(sample()), ROOT / "traces", tabs=["watch", "learn"]) as url:
        yield url


@pytest.fixture(scope="session")
def shipped() -> Iterator[str]:
    """The whole page over the recordings that ship, so with lessons."""
    with served(ReplaySource(sample()), ROOT / "traces") as url:
        yield url


@pytest.fixture(scope="session")
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """One for all tests: Gradio's scripts are fetched and compiled once, and nothing moves."""
    visitor = _new_visitor(browser)
    yield visitor
    visitor.close()


def _new_visitor(browser: Browser) -> BrowserContext:
    visitor = browser.new_context(viewport=SIZE, reduced_motion="reduce", accept_downloads=True)
    visitor.set_default_timeout(PATIENCE_MS)
    return visitor


@pytest.fixture(scope="session")
def tab_of_all(visitor: BrowserContext) -> Page:
    """The visitor's page, in which one test opens after another: a page of its own costs a test a second of the
    browser's time, for the window around it and for compiling Gradio's scripts again."""
    tab = visitor.new_page()
    for lasting in ("add_init_script", "route", "expose_function", "expose_binding"):
        setattr(tab, lasting, _lasts)
    return tab


def _lasts(*_: object) -> None:
    raise AssertionError("this would last into the tests after this one; use `page_of_its_own`.")


@pytest.fixture
def context(visitor: BrowserContext, tab_of_all: Page) -> Iterator[BrowserContext]:
    """A visitor who comes for the first time: of the test before, no page, cookie or stored value is left."""
    yield visitor
    visitor.set_offline(False)
    for page in visitor.pages:
        if page != tab_of_all:
            page.close()
    forgotten(tab_of_all)
    assert tab_of_all.evaluate(HAS_REAL_CLOCK), "a clock was installed for all tests; use `page_at_own_time`."


def forgotten(tab: Page) -> None:
    """Let its visitor come for the first time: an empty page, no cookie, nothing stored. What is fetched and compiled
    stays, which a context of its own would do again for some seconds."""
    tab.context.clear_cookies()
    _emptied(tab)
    session = tab.context.new_cdp_session(tab)
    session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": STORED})
    session.detach()


def _emptied(tab: Page) -> None:
    """As a new page is: nothing in it, of the usual size, the mouse in its corner."""
    tab.goto("about:blank")
    tab.set_viewport_size(SIZE)
    tab.emulate_media(reduced_motion="reduce", color_scheme="light")
    tab.mouse.move(0, 0)


@pytest.fixture
def page(context: BrowserContext, tab_of_all: Page) -> Iterator[Page]:
    """An empty page; at the end of the test it must have had no errors and asked nobody outside for anything."""
    yield from _watched(tab_of_all)


@pytest.fixture
def page_of_its_own(context: BrowserContext) -> Iterator[Page]:
    """The same, closed after the test: for what lasts as long as a page, such as a script that runs first in each
    document, and for what a visitor's tab remembers."""
    yield from _watched(context.new_page())


@pytest.fixture(scope="module")
def tab_at_own_time(browser: Browser) -> Iterator[Page]:
    """A page with a clock that tests turn. A clock is its visitor's, in whose later pages it goes on: there Gradio's
    messages were then taken in a wrong order, now and then. So this visitor comes for the tests with a clock alone."""
    visitor = _new_visitor(browser)
    visitor.clock.install()
    yield visitor.new_page()
    visitor.close()


@pytest.fixture
def page_at_own_time(tab_at_own_time: Page) -> Iterator[Page]:
    """That page, empty. Its clock stands an hour after where the test before can have left it."""
    tab_at_own_time.clock.pause_at(datetime.now() + timedelta(hours=next(HOURS)))
    yield from _watched(tab_at_own_time)
    forgotten(tab_at_own_time)


def _watched(opened: Page) -> Iterator[Page]:
    faults: list[str] = []
    listeners: tuple[tuple[Any, Callable[[Any], None]], ...] = (
        ("pageerror", lambda error: faults.append(f"script error: {error}")),
        ("console", lambda message: faults.extend(_complaint(message))),
        ("request", lambda request: faults.extend(_foreign(request))),
    )
    for event, listener in listeners:
        opened.on(event, listener)
    yield opened
    for event, listener in listeners:
        opened.remove_listener(event, listener)
    assert not faults, "\n".join(faults)


def _complaint(message: ConsoleMessage) -> list[str]:
    return [f"console error: {message.text} ({message.location.get('url')})"] if message.type == "error" else []


def _foreign(request: Request) -> list[str]:
    address = urlsplit(request.url)
    outside = address.scheme in {"http", "https", "ws", "wss"} and (address.hostname or "") not in LOCAL
    return [f"request to the outside: {request.url}"] if outside else []
