"""A real Chromium, all that is stored cleared after each test; a script error or a request outside fails a test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 30_000
"""for a busy machine; nothing waits longer than it has to"""
STORED = "local_storage,indexeddb,cache_storage,service_workers"
HAS_REAL_CLOCK = "setTimeout.toString().includes('[native code]')"
LOCAL = {"127.0.0.1", "localhost", ""}


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
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """One for all tests: Gradio's scripts are fetched and compiled once, and nothing moves."""
    visitor = _new_visitor(browser)
    yield visitor
    visitor.close()


def _new_visitor(browser: Browser) -> BrowserContext:
    visitor = browser.new_context(
        viewport={"width": 1280, "height": 800}, reduced_motion="reduce", accept_downloads=True
    )
    visitor.set_default_timeout(PATIENCE_MS)
    return visitor


@pytest.fixture
def context(visitor: BrowserContext) -> Iterator[BrowserContext]:
    """A visitor who comes for the first time: of the test before, no page, cookie or stored value is left."""
    yield visitor
    visitor.set_offline(False)
    visitor.clear_cookies()
    for page in visitor.pages:
        page.close()
    last = visitor.new_page()
    assert last.evaluate(HAS_REAL_CLOCK), "a clock was installed for the visitor of all tests; use `page_at_own_time`."
    visitor.new_cdp_session(last).send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": STORED})
    last.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """An empty page; at the end of the test it must have had no errors and asked nobody outside for anything."""
    yield from _watched(context)


@pytest.fixture
def page_at_own_time(browser: Browser) -> Iterator[Page]:
    """The same with a clock that the test turns. A clock is its visitor's, in whose later pages it would go on: there
    Gradio's messages were then taken in a wrong order, now and then. So this visitor comes for one test."""
    visitor = _new_visitor(browser)
    visitor.clock.install()
    yield from _watched(visitor)
    visitor.close()


def _watched(context: BrowserContext) -> Iterator[Page]:
    faults: list[str] = []
    opened = context.new_page()
    opened.on("pageerror", lambda error: faults.append(f"script error: {error}"))
    opened.on("console", lambda message: faults.extend(_complaint(message)))
    opened.on("request", lambda request: faults.extend(_foreign(request)))
    yield opened
    assert not faults, "\n".join(faults)


def _complaint(message: ConsoleMessage) -> list[str]:
    return [f"console error: {message.text} ({message.location.get('url')})"] if message.type == "error" else []


def _foreign(request: Request) -> list[str]:
    address = urlsplit(request.url)
    outside = address.scheme in {"http", "https", "ws", "wss"} and (address.hostname or "") not in LOCAL
    return [f"request to the outside: {request.url}"] if outside else []
