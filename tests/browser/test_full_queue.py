"""A visitor whom the full queue turns away is told so, and can press again."""

import json

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from specviz.app.job import TURNED_AWAY
from tests.browser.page_server import opened
from tests.browser.tabs import open_tab

pytestmark = pytest.mark.browser


def full(route: Route) -> None:
    """What Gradio answers when the queue takes no more."""
    route.fulfill(status=503, content_type="application/json", body=json.dumps({"detail": "Queue is full."}))


@pytest.fixture
def page(context: BrowserContext, measuring: str) -> Page:
    """Without the watch for complaints in the console: a refusal is one."""
    return opened(context.new_page(), measuring)


LONG = {
    "Watch": ("#sv-run", "#sv-stop", "#sv-message"),
    "When it pays": ("#sv-sweep-run", "#sv-sweep-cancel", "#sv-sweep-message"),
}
"""tab → the button that runs, the one that stops, and where it is said how that goes. All that runs long begins by
`job.starts`, so two of them stand for the others."""


def test_the_buttons_come_back_with_a_sentence_and_the_next_press_runs(page: Page) -> None:
    for tab, (run, stop, message) in LONG.items():
        open_tab(page, tab)
        expect(page.locator(run)).to_be_enabled()
        page.route("**/queue/join*", full)
        page.locator(run).click()
        expect(page.locator(message)).to_contain_text(TURNED_AWAY)
        expect(page.locator(run)).to_be_enabled()
        expect(page.locator(stop)).to_be_disabled()
        page.unroute("**/queue/join*")
    open_tab(page, "Watch")
    page.locator("#sv-run").click()
    expect(page.locator("#sv-message")).to_contain_text("20 tokens")
