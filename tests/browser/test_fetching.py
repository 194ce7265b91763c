"""A real model is got by one press on a local page: how far it is, stopped, gone on with, chosen when it is there."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.app.doubles import MB, FetchingSource
from tests.browser.page_server import opened, served

pytestmark = pytest.mark.browser


def choose(page: Page, title: str) -> None:
    """A pair, in the bar."""
    page.locator("#sv-models input").click()
    page.get_by_role("option", name=title).click()


def test_one_press_gets_a_model_which_is_then_the_target(page: Page, tmp_path: Path) -> None:
    source = FetchingSource()
    get, stop, line = (page.locator(f"#sv-get{part}-smollm2") for part in ("", "-stop", "-line"))
    with served(source, tmp_path, tabs=["watch"]) as address:
        opened(page, address)
        expect(get).to_be_hidden()
        choose(page, "Smol (real)")
        expect(page.locator("#sv-drafter input")).to_have_value("ngram")
        expect(page.locator("#sv-prompt textarea")).to_have_value("Why is the sky blue?")
        expect(get).to_have_text("Get SmolLM2-135M-Instruct, 3 MB")
        expect(line).to_contain_text("Licence: Apache-2.0. Source: a test's own hands.")
        get.focus()
        page.keyboard.press("Enter")
        expect(line).to_contain_text("1 of 3 MB")
        expect(get).to_be_disabled()
        stop.click()
        expect(line).to_contain_text("Stopped. 1 of 3 MB are kept; the next press goes on from there.")
        source.go.set()
        get.click()
        expect(line).to_contain_text("SmolLM2-135M-Instruct came from a test's own hands (Apache-2.0).")
        expect(get).to_be_hidden()
        assert source.began == [0, MB]
        opened(page, address)
        choose(page, "Smol (real)")
        expect(get).to_be_hidden()
