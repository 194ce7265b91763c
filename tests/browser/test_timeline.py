"""The run's timeline in the player: two lanes on one clock, overlapping where the drafter works beside the target."""

import gzip
import json
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_player import opened
from tests.js.node import ROOT

pytestmark = pytest.mark.browser

BESIDE = (ROOT / "tests" / "golden" / "trace-1.3-beside.json").read_text(encoding="utf-8")
"""three rounds; the drafter drafts six tokens during the first pass, and throws them away"""
IN_TURN = (ROOT / "tests" / "golden" / "trace-1.3-sample.json").read_text(encoding="utf-8")
LONG = gzip.decompress((ROOT / "assets" / "traces" / "model-chain-prose-context.json.gz").read_bytes()).decode()


def bars(page: Page, what: str) -> Locator:
    return page.locator(f".svp-timeline .svp-spans [data-what='{what}']")


def overlapping(page: Page) -> int:
    """Pairs of a draft and a target pass that share more than two pixels of the picture from left to right."""
    drafts, passes = (
        bars(page, what).evaluate_all("all => all.map(one => one.getBoundingClientRect()).map(a => [a.left, a.right])")
        for what in ("draft", "target pass")
    )
    return sum(min(a[1], b[1]) - max(a[0], b[0]) > 2 for a, b in product(drafts, passes))


def test_a_drafter_beside_the_target_overlaps_its_passes_and_a_press_on_a_bar_goes_there(
    page: Page, tmp_path: Path
) -> None:
    opened(page, tmp_path, BESIDE)
    assert overlapping(page) >= 10
    expect(page.locator(".svp-timeline > p")).to_have_text(
        "the run, modelled: 39.5 ms. The drafter computed for 32 ms, the target for 30 ms, 25.5 ms of that at the same "
        "time; the drafter was idle for 7.5 ms, the target for 6.5 ms. 12 of 16 drafted tokens were thrown away."
    )
    expect(bars(page, "roll back")).to_have_count(2)
    expect(page.locator(".svp-timing .svp-parts")).to_contain_text("waiting for the drafter")
    bars(page, "target pass").nth(2).click()
    expect(page.locator(".svp-where")).to_have_text("Round 3 of 3")
    expect(page.locator(".svp-phase.is-now")).to_contain_text("target pass")
    bars(page, "draft").first.click()
    expect(page.locator(".svp-where")).to_have_text("Round 1 of 3")


def test_a_drafter_that_takes_turns_never_overlaps(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, IN_TURN)
    assert bars(page, "draft").count() == bars(page, "target pass").count() == 8
    assert overlapping(page) == 0
    expect(page.locator(".svp-timeline > p")).to_contain_text("never at the same time")
    expect(page.locator(".svp-timing .svp-parts")).to_contain_text("draft 8.5 ms")


def test_keys_and_a_table_tell_what_the_bars_show(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, BESIDE)
    picture = page.get_by_role("slider", name="timeline of the run, by round")
    picture.press("ArrowRight")
    expect(page.locator(".svp-where")).to_have_text("Round 2 of 3")
    expect(picture).to_have_attribute(
        "aria-valuetext", "round 2 of 3: drafter 12.5 ms, target pass 10 ms, 9.5 ms at the same time"
    )
    page.get_by_text("these rounds in numbers").click()
    rows = page.locator(".svp-timeline tbody tr")
    expect(rows.nth(0).locator("th, td")).to_have_text(["1", "0", "12 ms", "10 ms", "9.5 ms", "2.5 ms", "6"])
    expect(rows).to_have_count(3)


def test_a_long_run_shows_twelve_rounds_around_the_current_one_and_fits_a_phone(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, tmp_path, LONG)
    clock = page.locator(".svp-clock")
    rounds = len(json.loads(LONG)["rounds"])
    assert rounds > 20
    expect(clock).to_contain_text(f"rounds 1 to 12 of {rounds}")
    page.keyboard.press("End")
    expect(clock).to_contain_text(f"rounds {rounds - 11} to {rounds} of {rounds}")
    widths = bars(page, "target pass").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert len(widths) == 12
    assert min(widths) >= 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
