"""Terms explain themselves: on hover, on focus, on a tap; never in the text of a model."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import page_server
from tests.browser.test_player import SAMPLE, at, opened

pytestmark = pytest.mark.browser

POPOVER = "#sv-popover"


def test_a_term_explains_itself_on_hover_and_escape_closes(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, SAMPLE)
    at(page, "#round=1&beat=5")
    term = page.locator(".svp-caption .sv-term", has_text="target pass")
    term.hover()
    expect(page.locator(POPOVER)).to_contain_text("one forward pass of the target over the root and all nodes")
    page.keyboard.press("Escape")
    expect(page.locator(POPOVER)).to_have_count(0)


def test_a_term_explains_itself_on_focus_and_says_so_to_a_reader(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, SAMPLE)
    at(page, "#round=1&beat=8")
    term = page.locator(".svp-words .sv-term", has_text="acceptance probability")
    term.focus()
    expect(page.locator(POPOVER)).to_contain_text("with which a trial accepts")
    expect(term).to_have_attribute("aria-describedby", "sv-popover")
    where = page.locator(".svp-where").inner_text()
    page.keyboard.press("ArrowRight")  # keys still belong to the player
    expect(page.locator(".svp-caption")).to_contain_text("correction")
    assert page.locator(".svp-where").inner_text() == where


def test_a_tap_opens_and_a_tap_elsewhere_closes(browser: Browser, tmp_path: Path) -> None:
    visitor = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, reduced_motion="reduce")
    page = visitor.new_page()
    opened(page, tmp_path, SAMPLE)
    at(page, "#round=1&beat=5")
    page.locator(".svp-caption .sv-term").first.tap()
    popover = page.locator(POPOVER)
    expect(popover).to_be_visible()
    box = popover.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.locator(".svp-where").tap()
    expect(popover).to_have_count(0)
    visitor.close()


def test_the_text_of_a_model_is_left_alone(page: Page, tmp_path: Path) -> None:
    trace = SAMPLE.replace('"prompt_text":"', '"prompt_text":"the target drafts a round; ')
    assert trace != SAMPLE
    opened(page, tmp_path, trace)
    expect(page.locator(".svp-text")).to_contain_text("the target drafts a round")
    expect(page.locator(".svp-text .sv-term, .svp-draft svg .sv-term, .svp-word .sv-term")).to_have_count(0)
    assert page.locator(".sv-term").count() > 5


def test_a_sentence_is_the_same_with_its_terms_set_apart(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, SAMPLE)
    at(page, "#round=1&beat=5")
    expect(page.locator(".svp-caption > span:last-child")).to_have_text(
        "One target pass scores the root and all 4 candidates at once: 5 new rows on top of 7 in the cache."
    )


def test_labels_and_tables_of_the_page_explain_themselves_too(page: Page, watch: str) -> None:
    page_server.opened(page, watch)
    label = page.locator("[data-testid=block-info].sv-term", has_text="temperature").first
    label.focus()
    expect(page.locator(POPOVER)).to_contain_text("the most probable token is taken")
    page.keyboard.press("Escape")
    page.locator("#sv-settings").click()
    page.locator(".sv-drafter-fold > button").first.click()
    expect(page.locator(".sv-drafters th.sv-term", has_text="drafter").first).to_be_visible()
    typed = page.locator("#sv-prompt textarea")
    assert typed.evaluate("field => field.closest('.sv-term')") is None
