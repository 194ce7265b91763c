"""The page without a mouse: how far it is to the player, what Space does, what is heard, and lessons on a projector."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser import page_server
from tests.browser.test_player import SAMPLE, opened

pytestmark = pytest.mark.browser
HANDLE = "document.querySelector('#sv-player .sv-player').specviz"
BUSY = "() => document.querySelector('.svl')?.getAttribute('aria-busy') === 'false'"
NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
OPEN_TAB = "[role=tab][aria-selected=true]"
NODE = "#sv-player [role=treeitem][tabindex='0']"
NAMES = """(root) => [...document.querySelectorAll(`${root} :is(button, a, [tabindex='0'], [role=treeitem])`)]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.role !== "region")
  .map((one) => (one.getAttribute("aria-label") ?? one.textContent).trim())"""
"""what each control of the player is called"""


@pytest.fixture
def home(page: Page, learning: str) -> Page:
    page.set_viewport_size({"width": 1280, "height": 720})
    return page_server.opened(page, learning, ".sv-learn-box", ".sv-skip")


def question(page: Page) -> tuple[str, int, dict[str, Any]]:
    """Lesson, place and content of the first beat that asks."""
    for lesson in page.evaluate("() => SpecViz.lesson.data.lessons"):
        for place, beat in enumerate(lesson["beats"]):
            if beat["question"]:
                return lesson["id"], place, beat["question"]
    raise AssertionError("no lesson asks anything")


def lesson(page: Page, name: str, place: int) -> None:
    page.evaluate("([name, place]) => SpecViz.lesson.open(name, place)", [name, place])
    page.wait_for_function(BUSY)


def test_the_first_stop_leads_to_play_arrows_walk_the_tabs_and_space_plays_from_anywhere(home: Page) -> None:
    """A row of tabs is one stop; Space plays and rests on the open tab and on a node; rings are seen in both lights."""
    play, tabs = home.locator("#sv-player .svp-btn.is-play"), home.locator("[role=tablist]").first.get_by_role("tab")
    home.keyboard.press("Tab")
    expect(home.get_by_role("link", name="skip to the player")).to_be_focused()
    home.keyboard.press("Enter")
    expect(play).to_be_focused()
    expect(home.locator("[role=tablist]").first.locator("> [role=tab][tabindex='0']")).to_have_count(1)
    rows = "all => all.map(row => row.querySelectorAll(':scope > [role=tab][tabindex=\"0\"]').length)"
    assert set(home.locator("[role=tablist]:visible").evaluate_all(rows)) == {1}
    home.locator(OPEN_TAB).first.focus()
    home.keyboard.press("ArrowRight")
    expect(tabs.nth(1)).to_be_focused()
    home.keyboard.press("Enter")
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    expect(tabs.nth(1)).to_have_attribute("tabindex", "0")
    expect(tabs.nth(0)).to_have_attribute("tabindex", "-1")
    expect(play).to_be_hidden()
    home.get_by_role("link", name="skip to the player").focus()
    home.keyboard.press("Enter")
    expect(play).to_be_focused()
    for where in (OPEN_TAB, NODE):
        home.keyboard.press("Tab")
        home.locator(where).first.focus()
        for said in ("pause", "play"):
            home.keyboard.press("Space")
            expect(play).to_have_text(said)
    for _ in ("light", "dark"):
        home.locator("#sv-drafter input").focus()
        ring = home.locator("#sv-drafter .wrap:has(> .wrap-inner)")
        expect(ring).to_have_css("outline-style", "solid")
        expect(ring).to_have_css("outline-width", "2px")
        for field in ("#sv-gamma input", "#sv-prompt textarea"):
            home.locator(field).first.focus()
            expect(home.locator(field).first).to_have_css("outline-style", "solid")
        home.locator(".sv-top .sv-light").click()


def test_the_focus_outlives_what_a_key_pressed(home: Page) -> None:
    """Run, which is switched off while it runs; Settings, whose drawer takes it and gives it back; Share, whose menu is
    closed before its dialog is."""
    drawer, opener = home.locator("#sv-drawer"), home.locator("#sv-settings")
    opener.focus()
    home.keyboard.press("Enter")
    expect(drawer.get_by_role("button", name="Close")).to_be_focused()
    drawer.get_by_role("radio").first.focus()
    expect(drawer.locator("label:has(:focus)")).to_have_css("outline-style", "solid")
    home.keyboard.press("Escape")
    expect(opener).to_be_focused()
    home.evaluate("addEventListener('focusin', ({ target }) => (globalThis.been ??= []).push(target.innerText))")
    home.locator("#sv-run").focus()
    home.keyboard.press("Enter")
    expect(home.locator("#sv-message")).to_contain_text("engine time")
    expect(home.locator("#sv-run")).to_be_focused()
    assert home.evaluate("been") == ["Run", "Stop", "Run"]
    share = home.locator("#sv-player .svp-share summary")
    share.focus()
    home.keyboard.press("Enter")
    home.get_by_role("button", name="card with its sentence and link").focus()
    home.keyboard.press("Enter")
    expect(home.get_by_role("button", name="save as PNG")).to_be_focused()
    home.keyboard.press("Escape")
    expect(share).to_be_focused()


def test_a_place_for_files_is_called_what_it_says(page: Page, shipped: str) -> None:
    page_server.opened(page, f"{shipped}#tab=doctor")
    expect(page.get_by_role("button", name="Drop File Here")).to_be_attached()


def test_space_goes_on_in_a_presented_lesson_and_page_down_counts_hands_first(home: Page) -> None:
    """From wherever the focus is; at a question Space asks for an answer."""
    for where in (OPEN_TAB, NODE, ".svl-title"):
        lesson(home, "trees", 0)
        expect(home.locator(".svl-where")).to_contain_text("· 1 of")
        home.evaluate(f"{HANDLE}.set({{ view: 'present' }})")
        home.keyboard.press("Tab")
        home.locator(where).first.evaluate("one => one.focus()")
        home.keyboard.press("Space")
        expect(home.locator(".svl-where")).to_contain_text("· 2 of")
    home.evaluate(f"{HANDLE}.set({{ view: '' }})")
    name, place, asked = question(home)
    lesson(home, name, place)
    home.keyboard.press("Space")
    expect(home.locator(".svl-verdict")).to_have_text(
        "Choose an answer by its letter or with a click, or press “Show the answer”."
    )
    expect(home.locator(".svl-choice.is-right")).to_have_count(0)
    right = [choice["right"] for choice in asked["choices"]].index(True)
    home.keyboard.press("abcdefghi"[right])
    home.keyboard.press("Space")
    expect(home.locator(".svl-verdict")).to_contain_text("Right.")
    lesson(home, "trees", 0)
    home.evaluate(f"{HANDLE}.set({{ guess: true }})")
    home.evaluate(
        f"{HANDLE}.go({{ round: 0, beat: SpecViz.beats({HANDLE}.trace.rounds[0]).findIndex(one => one.trial === 0) }})"
    )
    home.get_by_role("button", name="count a class's hands").click()
    home.keyboard.press("y")
    home.keyboard.press("y")
    home.keyboard.press("PageDown")
    expect(home.locator(".svp-guess-told")).to_contain_text("2 hands had it.")
    expect(home.locator(".svl-where")).to_contain_text("· 1 of")
    home.keyboard.press("PageDown")
    expect(home.locator(".svl-where")).to_contain_text("· 2 of")


def test_tab_goes_the_way_of_the_eye_and_reaches_play_before_the_card(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, SAMPLE)
    order = page.locator(".svp > section").evaluate_all("all => all.map(one => one.className.split('-')[1])")
    wanted = ["text", "caption", "transport", "draft", "card"]
    assert [name for name in order if name in wanted] == wanted


def test_no_control_is_called_by_a_sign_or_a_single_letter(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, SAMPLE, "#round=2&beat=9&node=2")
    names = page.evaluate(NAMES, ".sv-player")
    assert len(names) > 30
    assert [name for name in names if name.isalpha() and len(name) == 1] == []
    assert [name for name in names if set(name) & set("␣⏎⇥")] == []
    assert any(name.startswith("space ") for name in names)


def test_page_down_counts_the_hands_of_a_class_before_it_goes_on(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, SAMPLE, "#round=1&beat=5")
    page.get_by_role("button", name="guess mode: predict each verdict").click()
    page.get_by_role("button", name="count a class's hands").click()
    page.keyboard.press("PageDown")
    page.get_by_label("hands for yes").fill("12")
    page.get_by_label("hands for no").fill("8")
    page.keyboard.press("PageDown")
    expect(page.locator(".svp-guess-told")).to_contain_text("Kept: 12 of 20 hands had it.")
    page.keyboard.press("PageDown")
    assert page.evaluate("document.querySelector('.sv-player').specviz.cursor") == {"round": 0, "beat": 6}


def fullest(beats: list[dict[str, Any]]) -> list[int]:
    """Places of the beats that leave the tree the least room: of those that light the same panels and hide the same
    parts, ask or do not ask, and are live or not, the one with the most words."""
    kinds: dict[str, int] = {}
    words = [len(json.dumps([beat["text"], beat["question"]])) for beat in beats]
    for place in sorted(range(len(beats)), key=words.__getitem__):
        beat = beats[place]
        lit = sorted(set(beat["lit"]) & {"card", "costs", "counters", "exhibits"})
        kinds[json.dumps([lit, beat["hidden"], bool(beat["question"]), bool(beat["live"])])] = place
    return sorted(kinds.values())


BESIDE_THE_TREE = """() => [".svp-card", ".svp-costs", ".svp-counters", ".svp-exhibits"]
    .map((name) => document.querySelector("#sv-player " + name).getBoundingClientRect())
    .filter((box) => box.height > 0).map((box) => [box.top, box.bottom]).sort((one, two) => one[0] - two[0])"""
"""tops and bottoms of the panels that a beat points at"""


def test_the_tree_of_a_presented_lesson_has_half_the_screen_on_its_fullest_pages(home: Page) -> None:
    """In a wide window, and for every third of them when that becomes a phone."""
    home.evaluate(f"{HANDLE}.set({{ view: 'present' }})")
    lessons = home.evaluate("() => SpecViz.lesson.data.lessons")
    beats = [beat | {"in": (each["id"], place)} for each in lessons for place, beat in enumerate(each["beats"])]
    beats = [beat for beat in beats if not beat["touch"] and not beat["write"]]  # those have the window
    chosen = fullest(beats)
    assert len(chosen) > 10
    split = dict.fromkeys([(1280, 720), (390, 844)], 0)
    for at, beat in enumerate(beats[place] for place in chosen):
        lesson(home, *beat["in"])
        for size in list(split)[: 1 if at % 3 else 2]:
            home.set_viewport_size({"width": size[0], "height": size[1]})
            home.evaluate(NEXT_FRAME)
            box = home.locator("#sv-player .svp-scroll").bounding_box()
            assert box["height"] >= size[1] / 2, (*beat["in"], size)
            assert 0 <= box["y"] <= size[1] - box["height"], (*beat["in"], size)
            assert home.locator(".svl-btn.is-next").bounding_box()["y"] < size[1] - 20
            tops = home.evaluate(BESIDE_THE_TREE)
            assert len(tops) < 2 or tops[0][1] <= tops[1][0], "one panel lies over the other"
            split[size] += len(tops) > 1
    assert [many > 0 for many in split.values()] == [True, False], "a phone has room for one"
