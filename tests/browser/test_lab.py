"""The lab below the sweep in a real browser: another chart, a hover, files, and a link that brings both back."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from specviz.app.lab.times import STEPS
from tests.browser.page_server import opened
from tests.browser.tabs import is_open
from tests.browser.test_page import message, open_form, speedup

pytestmark = pytest.mark.browser


def test_a_chart_is_chosen_read_saved_and_found_again_by_its_link(page: Page, measuring: str, tmp_path: Path) -> None:
    speedup(opened(page, measuring))
    plot = page.locator("#sv-lab-plot")
    expect(plot).to_contain_text("Nothing is measured yet")
    open_form(page)
    page.get_by_label("speculation lengths γ").fill("2")
    page.locator("#sv-sweep-run").click()
    message(page, "sweep-").to_contain_text("2.00× plain decoding")
    expect(plot.locator(".ytick")).to_have_text(["ngram γ=2", "model γ=2"])
    page.get_by_label("Speedup waterfall").check()
    expect(plot.locator(".legendtext")).to_have_text(list(STEPS))
    page.get_by_label("Acceptance by position").check()
    expect(page.locator("#sv-lab-text")).to_contain_text("How deep do the guesses hold?")
    expect(plot.locator(".legendtext")).to_have_text(["model", "ngram"])
    plot.locator(".scatterlayer .point").first.scroll_into_view_if_needed()
    plot.locator(".scatterlayer .point").first.hover(force=True)
    expect(plot.locator(".hovertext").first).to_contain_text(re.compile(r"acceptance at depth 1 = .* ÷ \d+ = "))

    rows = list(csv.DictReader(saved(page, "#sv-lab-csv", tmp_path).open(encoding="utf-8")))
    assert {row["drafter"] for row in rows} == {"model", "ngram"}
    picture = saved(page, "#sv-lab-plot-svg", tmp_path).read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert "depth in the draft" in picture
    assert saved(page, "#sv-lab-plot-png", tmp_path).read_bytes()[:4] == b"\x89PNG"

    page.locator("#sv-lab-link").click()
    expect(page.locator("#sv-lab-note")).to_contain_text("address bar")
    expect(page).to_have_url(re.compile(r"\?tab=when-it-pays&chart=position"))
    link = page.url
    page.goto("about:blank")
    opened(page, link)
    is_open(page, "When it pays")
    expect(page.get_by_label("Acceptance by position")).to_be_checked()


def saved(page: Page, button: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.locator(button).click()
    path = folder / download.value.suggested_filename
    assert path.name.startswith("specviz-position.")
    download.value.save_as(path)
    return path
