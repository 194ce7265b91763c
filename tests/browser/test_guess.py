"""Guess mode in a real browser: asked by keys and by touch, nothing given away before, nothing jumps or leaves."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_player import GOLDEN, SAMPLE, at, opened

pytestmark = pytest.mark.browser

GREEDY = (GOLDEN / "trace-1.0-greedy.json").read_text(encoding="utf-8")
SET = "document.querySelector('.sv-player').specviz.set({ guess: true })"
SCORE = "document.querySelector('.sv-player').specviz.guessScore"


def guessing(page: Page, folder: Path, trace: str = SAMPLE) -> Page:
    opened(page, folder, trace)
    page.evaluate(SET)
    return page


def test_a_verdict_is_asked_by_keys_then_shown_on_the_bar(page: Page, tmp_path: Path) -> None:
    guessing(page, tmp_path)
    at(page, "#round=1&beat=8")
    caption, bar = page.locator(".svp-caption"), page.locator(".svp-ubar")
    expect(caption).to_contain_text("= 0.20. Kept? yes / no")
    expect(page.locator(".svp-card header")).to_contain_text("waiting for its verdict")
    expect(bar.locator(".svp-uneedle")).to_have_count(0)
    page.keyboard.press("n")
    expect(caption).to_contain_text("the uniform draw u is 0.90: rejected")
    expect(bar.locator(".svp-uneedle")).to_have_text("u 0.90")
    expect(bar).to_contain_text("kept below 0.20")
    expect(page.locator(".svp-guess-told")).to_have_text("Rejected: you were right. 1 of 1 right so far.")
    assert page.evaluate(SCORE) == {"verdicts": 1, "votes": 1, "right": 1, "waiting": False}
    page.keyboard.press("Space")
    expect(caption).to_contain_text("The correction")


def test_nothing_gives_the_answer_away(page: Page, tmp_path: Path) -> None:
    guessing(page, tmp_path)
    at(page, "#round=1&beat=8")
    told = page.locator(".svp").inner_text()
    assert "draw u is" not in told
    expect(page.locator(".svp-uneedle")).to_have_count(0)
    for place in (".svp-rounds", ".svp-rail", ".svp-costs > :has(.svp-times)"):
        expect(page.locator(place)).to_be_hidden()
    states = page.locator("[role=treeitem]").evaluate_all("all => all.map(one => one.dataset.state)")
    assert "rejected" not in states
    assert "unreached" not in states
    page.keyboard.press("y")
    expect(page.locator(".svp-card header")).to_contain_text("rejected")


def test_at_temperature_0_the_targets_answer_is_kept_back(page: Page, tmp_path: Path) -> None:
    guessing(page, tmp_path, GREEDY)
    page.evaluate("document.querySelector('.sv-player').specviz.go({ round: 0, beat: 0 })")
    for _ in range(40):
        if "most likely token?" in page.locator(".svp-caption").inner_text():
            break
        page.keyboard.press("ArrowRight")
    expect(page.locator(".svp-caption")).to_contain_text("is this the target's most likely token? yes / no")
    assert page.locator(".svp-fill.is-target").count() == 0
    page.keyboard.press("y")
    expect(page.locator(".svp-ubar")).to_contain_text("The target's first choice is")
    assert page.locator(".svp-fill.is-target").count() > 0


def test_a_class_counts_its_hands_by_touch_and_by_typing(browser: Browser, tmp_path: Path) -> None:
    visitor = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, reduced_motion="reduce")
    page = visitor.new_page()
    guessing(page, tmp_path)
    at(page, "#round=1&beat=8")
    page.locator(".svp-guess-hands").tap()
    page.locator(".svp-guess-guessYes").tap()
    page.locator(".svp-guess-guessYes").tap()
    page.get_by_label("hands for no").fill("5")
    assert page.evaluate(SCORE)["waiting"]
    page.locator(".svp-guess-guessOn").tap()
    expect(page.locator(".svp-guess-told")).to_contain_text("Rejected: 5 of 7 hands had it.")
    assert page.evaluate(SCORE) == {"verdicts": 1, "votes": 7, "right": 5, "waiting": False}
    for part in page.locator(".svp-guess-row button:visible, .svp-guess-row input:visible").all():
        box = part.bounding_box()
        assert box["height"] >= 40
    visitor.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_player_is_as_tall_before_an_answer_as_after_it(page: Page, tmp_path: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    guessing(page, tmp_path)
    at(page, "#round=1&beat=6")
    heights = set()
    for key in ("y", "Space", "n", "Space", "y"):
        heights.add(page.locator(".svp-transport").bounding_box()["height"])
        page.keyboard.press(key)
    assert len(heights) == 1


def test_leaving_guess_mode_brings_everything_back(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, SAMPLE)
    at(page, "#round=1&beat=8")
    switch = page.locator(".svp-guess-switch")
    switch.click()
    expect(page.locator(".svp-rounds")).to_be_hidden()
    switch.click()
    expect(page.locator(".svp-rounds")).to_be_visible()
    expect(page.locator(".svp-card header")).to_contain_text("rejected")
