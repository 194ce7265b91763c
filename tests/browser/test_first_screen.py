"""What a visitor sees of the page before anything is scrolled or pressed, over the recordings that ship."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page_server import opened

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_the_draft_tree_is_in_the_first_screen(page: Page, learning: str, size: tuple[int, int]) -> None:
    """At the first beat, and when the whole round is there."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    opened(page, learning)
    for beat in (0, 99):
        page.evaluate("beat => document.querySelector('#sv-player .sv-player').specviz.go({ round: 0, beat })", beat)
        for part in ("#sv-player .svp-caption", "#sv-player .svp-btn.is-play", "#sv-prompt", "#sv-run"):
            expect(page.locator(part)).to_be_in_viewport(ratio=1)
        box = page.locator("#sv-player .svp-scroll").bounding_box()
        assert page.evaluate("scrollY") == 0
        assert box["y"] + box["height"] <= size[1]


def test_on_a_phone_held_across_the_bar_is_small_until_it_is_used_and_the_caption_in_sight(
    page: Page, learning: str
) -> None:
    page.set_viewport_size({"width": 844, "height": 390})
    opened(page, learning)
    drafter = page.locator("#sv-drafter")
    expect(drafter).to_be_hidden()
    expect(page.locator("#sv-player .svp-text")).to_be_in_viewport(ratio=1)
    expect(page.locator("#sv-player .svp-caption")).to_be_in_viewport()
    page.get_by_label("prompt", exact=True).first.focus()
    expect(drafter).to_be_visible()


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_why_a_run_did_not_begin_is_in_sight_where_it_was_asked_for(
    page: Page, learning: str, size: tuple[int, int]
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    opened(page, learning)
    page.get_by_label("prompt", exact=True).first.fill("")
    page.locator("#sv-run").click()
    said = page.locator("#sv-message .sv-message-error")
    expect(said).to_contain_text("The prompt is empty")
    expect(said).to_be_in_viewport(ratio=1)
    expect(page.locator("#sv-player .svp-btn.is-play")).to_be_in_viewport(ratio=1)


def test_on_a_phone_what_was_opened_from_the_settings_or_why_not_is_seen(
    page: Page, learning: str, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, learning)
    page.locator("#sv-settings").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a trace file").click()
    chooser.value.set_files(broken)
    expect(page.locator("#sv-message .sv-message-error")).to_contain_text("broken.json: line 1")
    expect(page.locator("#sv-drawer")).to_be_hidden()
    expect(page.locator("#sv-message .sv-message-error")).to_be_in_viewport(ratio=1)


def test_for_who_wants_motion_the_page_plays_by_itself_and_a_press_takes_over(page: Page, learning: str) -> None:
    page.emulate_media(reduced_motion="no-preference")
    page.goto(learning)
    root, play = page.locator("#sv-player .sv-player"), page.locator("#sv-player .svp-btn.is-play")
    expect(root).to_have_attribute("data-alone", "round")
    expect(play).to_have_text("pause")
    page.wait_for_function("() => document.querySelector('#sv-player .sv-player').specviz.cursor.beat > 0")
    page.get_by_role("tab", selected=True).click()
    expect(root).to_have_attribute("data-alone", "")
    expect(play).to_have_text("play")


def test_before_any_script_is_there_a_recorded_round_stands_and_then_the_page(
    page_of_its_own: Page, learning: str
) -> None:
    page, held = page_of_its_own, []
    page.route("**/assets/index-*.js", lambda route: held.append(route))
    with page.expect_request("**/assets/index-*.js"):
        page.goto(learning, wait_until="commit")
    opening = page.locator("#sv-opening")
    expect(opening).to_contain_text("recorded Round 2 of 7: 6 tokens were guessed ahead")
    expect(opening).to_contain_text("The Moon is the only natural satellite of")
    expect(page.locator(".sv-header")).not_to_be_attached()
    held[0].continue_()
    expect(page.locator("#sv-player [data-ready]")).to_be_visible()
    expect(opening).to_be_hidden()
