"""Two rows of tabs in a real browser: what a first visitor sees, what is behind *Lab*, and every way to get there."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page_server import opened
from tests.browser.tabs import FRONT, LAB, is_open, open_tab, tab
from tests.browser.test_page import wide

pytestmark = pytest.mark.browser
LESSONS = ".sv-learn-box"
HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
  .filter((one) => one.getClientRects().length).map((one) => Number(one.tagName[1]))"""
"""levels of those that are shown, as they stand in the page"""


def test_a_card_of_learn_begins_its_lesson_in_watch_and_says_how_far_one_is(page: Page, learning: str) -> None:
    opened(page, f"{learning}#tab=learn", LESSONS)
    is_open(page, "Learn")
    cards = page.locator(".sv-lessons .svl-row:not(.svx-row)")
    expect(cards).to_have_count(page.evaluate("() => SpecViz.lesson.data.lessons.length"))
    cards.nth(4).get_by_role("button").click()
    is_open(page, "Watch")
    expect(page.locator(".svl-where")).to_contain_text("1 of")
    expect(page.locator(".svl-title")).to_be_focused()
    page.keyboard.press("PageDown")
    expect(page.locator(".svl-where")).to_contain_text("2 of")
    page.get_by_role("button", name="Leave the lesson").click()
    expect(tab(page, "Watch")).to_be_focused()
    open_tab(page, "Learn")
    expect(cards.nth(4)).to_contain_text("at 2 of")
    expect(cards.nth(4).get_by_role("button")).to_contain_text("Go on")


def test_back_and_forth_turn_tabs_and_leave_the_player_where_it_is(page: Page, measuring: str) -> None:
    """In one row, into the second and out of it; a step of the player is none to go back over."""
    opened(page, measuring)
    for name, address in (("When it pays", "when-it-pays"), ("Analysis", "analysis"), ("Watch", "watch")):
        open_tab(page, name)
        page.wait_for_url(f"**/*tab={address}*")
    page.evaluate("document.querySelector('#sv-player .sv-player').specviz.run('nextRound')")
    page.wait_for_url("**/*round=2&*tab=watch*")
    for name in ("Analysis", "When it pays", "Watch"):
        page.go_back()
        is_open(page, name)
    expect(page.locator("#sv-player .svp-where")).to_have_text("Round 2 of 8")
    page.go_forward()
    is_open(page, "When it pays")
    assert re.search("round=2&.*tab=when-it-pays", page.evaluate("() => SpecViz.address()"))


def test_a_first_visitor_sees_five_tabs_and_every_way_to_the_others_leads_there(page: Page, shipped: str) -> None:
    """Behind the last tab, in the address, and by a script, as the links of lessons and of the card open them; and none
    scrolls sideways, opened on a phone, and when that becomes a wide window, or the other way round, in turn. In each
    the headings are an outline."""
    widths = [390, 1280]
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, shipped, LESSONS)
    assert page.get_by_role("tab").all_inner_texts() == [*FRONT], "another tab is not looked at here"
    for name in FRONT:
        expect(tab(page, name)).to_be_visible()
    expect(page.locator("#sv-tabs > .tab-wrapper .overflow-menu")).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.get_by_role("tab")).to_have_text(list(FRONT))
    is_open(page, "Watch")
    tab(page, "Lab").click()
    expect(page.get_by_role("tab")).to_have_text([*FRONT, *LAB])
    is_open(page, "Analysis")
    expect(page.locator("#sv-analysis-of")).to_be_visible()
    open_tab(page, "Proof")
    page.wait_for_url("**/*tab=proof*")
    open_tab(page, "Watch")
    page.wait_for_url("**/*tab=watch*")
    tab(page, "Lab").click()  # where it was left
    is_open(page, "Proof")
    page.keyboard.press("Escape")
    assert "tab=proof" in page.evaluate("() => SpecViz.address()")
    page.evaluate("() => SpecViz.openTab('What if')")
    is_open(page, "What if")
    expect(page.locator("#sv-what-if-plot .main-svg").first).to_be_visible()
    page.evaluate("() => SpecViz.openTab('Race')")
    is_open(page, "Race")
    for name in (*FRONT, *LAB):
        open_tab(page, name)
        for width in widths:
            page.set_viewport_size({"width": width, "height": 844})
            page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        widths.reverse()
        levels = page.evaluate(HEADINGS)
        assert levels[:2] == [1, 2], f"{name} begins with its own heading, for who walks by headings"
        assert all(below <= above + 1 for above, below in pairwise(levels)), f"{name} leaves a level out: {levels}"
    expect(page.locator("#sv-train-player [data-ready]")).to_be_attached()
    a_study_draws_the_shipped_measurement_and_is_in_the_address(page)


def a_study_draws_the_shipped_measurement_and_is_in_the_address(page: Page) -> None:
    open_tab(page, "Studies")
    page.locator("#sv-asynchronous-plot .main-svg").first.wait_for(state="visible")
    page.get_by_label("How large a batch?").check()
    expect(page.locator("#sv-study-asynchronous")).to_be_hidden()
    page.locator("#sv-batch-plot .main-svg").first.wait_for(state="visible")
    wide(page, "#sv-batch-plot")
    expect(page.locator("#sv-batch-sentence")).to_contain_text("speculation pays")
    expect(page.locator("#sv-study-batch")).to_contain_text("Recorded 20")
    page.wait_for_url(re.compile("tab=studies.*set="))  # which test_links.py opens again for other tabs
