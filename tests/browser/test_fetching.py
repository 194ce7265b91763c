"""A real model is got by one press on a local page: how far it is, stopped, gone on with, chosen when it is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.app.doubles import MB, FetchingSource
from tests.browser.page_server import opened, served

pytestmark = pytest.mark.browser


def test_one_press_gets_a_model_which_is_then_the_target(page: Page, tmp_path: Path) -> None:
    source = FetchingSource()
    get, stop, line = (page.locator(f"#sv-get{part}-smollm2") for part in ("", "-stop", "-line"))
    with served(source, tmp_path, tabs=["watch"]) as address:
        opened(page, address)
        page.locator("#sv-settings").click()
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
        expect(page.locator("#sv-target input")).to_have_value("smollm2 (135.0 M)")
        expect(page.locator("#sv-chat input")).to_be_checked()
        expect(page.locator("#sv-drafter input")).to_have_value("ngram")
        expect(get).to_be_hidden()
        assert source.began == [0, MB]
        opened(page, address)
        page.locator("#sv-settings").click()
        expect(page.locator("#sv-target input")).to_be_visible()
        expect(get).to_be_hidden()
