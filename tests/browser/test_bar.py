"""The bar above the player: the opening in the first screen, what fills it, what Run runs, and what stays beside it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from specviz.app.runs.gallery import write_index
from specviz.trace import codec
from specviz.trace.events import PlainDecoding, Trace
from tests.app.doubles import ReplaySource, sample
from tests.browser import page_server
from tests.browser.page_server import served

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)
SMALLEST_PX = 12.5
TOUCH_PX = 40


def recorded() -> Trace:
    """The golden run as a recorded one of the drafter `model` at γ 2, 1.37 times as fast as plain decoding."""
    trace = sample()
    drafter = replace(trace.started.drafter, name="model", options={"gamma": 2, "branching": []})
    started = replace(trace.started, source="recorded", run_id="recorded", seed=11, drafter=drafter)
    plain = PlainDecoding(20, 1.37 * trace.finished.decode_s, 3, True)
    return replace(trace, started=started, finished=replace(trace.finished, plain=plain))


@pytest.fixture(scope="module")
def source() -> ReplaySource:
    return ReplaySource(sample())


@pytest.fixture(scope="module")
def address(source: ReplaySource, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("gallery")
    codec.write(recorded(), folder / "a.json.gz")
    write_index(folder)
    with served(source, folder, tabs=["watch"]) as url:
        yield url


def opened(page: Page, address: str, width: int = 1280, height: int = 720) -> Page:
    page.set_viewport_size({"width": width, "height": height})
    page_server.opened(page, address)
    expect(page.locator(".sv-question")).to_be_visible()
    return page


def test_the_question_the_gain_and_the_bar_stand_in_the_first_screen_and_the_drawer_opens_by_keys(
    page: Page, address: str
) -> None:
    opened(page, address)
    stand_in_the_first_screen(page, 1280, 720)
    the_drawer_opens_and_closes_by_keys(page, 1280)


def test_on_a_phone_too_and_nothing_of_the_bar_is_too_small(page: Page, address: str) -> None:
    opened(page, address, 390, 844)
    expect(page.locator("#sv-drafter")).to_be_hidden()  # where prompt and Run stand alone
    run = page.locator("#sv-run").bounding_box()
    page.locator("#sv-prompt textarea").focus()
    page.locator("#sv-prompt textarea").blur()
    expect(page.locator("#sv-drafter")).to_be_visible()
    assert page.locator("#sv-run").bounding_box() == run, "it stays where it is when the rest comes"
    stand_in_the_first_screen(page, 390, 844)
    the_drawer_opens_and_closes_by_keys(page, 390)
    page.locator("#sv-settings").click()
    expect(page.locator("#sv-drawer")).to_be_visible()
    small = page.evaluate(
        """(least) => [...document.querySelectorAll(".gradio-container *")]
          .filter((one) => one.getClientRects().length && !one.closest(".sv-player, svg"))
          .filter((one) => [...one.childNodes].some((text) => text.nodeType === 3 && text.textContent.trim()))
          .filter((one) => parseFloat(getComputedStyle(one).fontSize) < least && !one.closest(".icon"))
          .map((one) => one.tagName + "." + one.className)""",
        SMALLEST_PX,
    )
    assert small == []
    low = page.evaluate(
        """(least) => [...document.querySelectorAll(".sv-bar button, .sv-drawer button, .tab-container button")]
          .filter((one) => one.offsetParent && getComputedStyle(one).visibility === "visible")
          .filter((one) => !one.closest("[aria-hidden=true], .visually-hidden"))
          .map((one) => [one.textContent.trim(), one.getBoundingClientRect().height])
          .filter(([, height]) => height < least && height > 2)""",
        TOUCH_PX,
    )
    assert low == []


def stand_in_the_first_screen(page: Page, width: int, height: int) -> None:
    expect(page.locator(".sv-question")).to_contain_text("How many will the big one keep?")
    expect(page.locator(".sv-win")).to_have_text("1.37× as fast as plain decoding, measured")
    for part in ("#sv-example", "#sv-prompt", "#sv-drafter", "#sv-gamma", "#sv-temperature", "#sv-run", ".sv-gained"):
        box = page.locator(part).bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width + 1, part
        assert box["y"] + box["height"] <= height, part
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('#sv-player .sv-player').specviz.cursor") == {"round": 0, "beat": 0}


def the_drawer_opens_and_closes_by_keys(page: Page, width: int) -> None:
    drawer = page.locator("#sv-drawer")
    expect(drawer).to_be_hidden()
    page.locator("#sv-settings").focus()
    page.keyboard.press("Enter")
    expect(drawer).to_be_visible()
    box = drawer.bounding_box()
    assert (box["y"], box["x"] + box["width"]) == (0, width)
    covers = page.evaluate("getComputedStyle(document.querySelector('#sv-drawer')).backgroundColor")
    assert covers == page.evaluate("getComputedStyle(document.body).backgroundColor"), "what is below shows through"
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    assert page.evaluate("document.activeElement.id") == "sv-settings"


def test_the_recording_fills_the_bar_run_runs_what_is_in_it_and_the_run_before_stays_beside_greyed_and_comes_back(
    page: Page, address: str, source: ReplaySource
) -> None:
    opened(page, address)
    expect(page.locator("#sv-before")).to_be_hidden()
    expect(page.locator("#sv-gamma input")).to_have_value("2")
    expect(page.locator("#sv-temperature input")).to_have_value("1")
    expect(page.locator("#sv-prompt textarea")).to_have_value("def add(a, b):\n")
    page.locator("#sv-gamma input").fill("5")
    page.locator("#sv-run").click()
    expect(page.locator(".sv-gained .sv-origin")).to_have_text("live")
    runs = [request for request, _ in source.requests if request.record]
    asked = runs[-1]
    assert (asked.drafter.name, asked.drafter.options["gamma"], asked.seed) == ("model", 5, 11)
    assert (asked.prompt, asked.temperature) == ("def add(a, b):\n", 1.0)
    expect(page.locator("#sv-before .sv-was")).to_contain_text("1.37×")
    expect(page.locator("#sv-before .sv-is")).to_contain_text("2.00×")
    page.locator("#sv-gamma input").fill("7")
    page.locator("#sv-again").click()
    expect(page.locator(".sv-win")).to_have_text("1.37× as fast as plain decoding, measured")
    expect(page.locator("#sv-gamma input")).to_have_value("2")
    expect(page.locator("#sv-before .sv-was")).to_contain_text("2.00×")


def test_tab_passes_a_list_which_closes_and_what_stands_in_the_bar_stays(
    page: Page, address: str, source: ReplaySource
) -> None:
    """Also where the list scrolls, which is no stop of its own."""
    opened(page, address)
    page.add_style_tag(content="[role=listbox] { max-height: 30px }")
    page.locator("#sv-gamma input").fill("5")
    for passed in ("#sv-example", "#sv-drafter"):
        page.locator(f"{passed} input").focus()
        expect(page.get_by_role("listbox")).to_have_count(1)
        page.keyboard.press("Tab")
        expect(page.get_by_role("listbox")).to_have_count(0)
        assert page.evaluate("document.activeElement !== document.body")
    page.locator("#sv-run").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".sv-gained .sv-origin")).to_have_text("live")
    asked = [request for request, _ in source.requests if request.record][-1]
    assert asked.drafter.options["gamma"] == 5


def test_in_a_window_of_320_pixels_no_word_of_the_bar_leaves_its_button(page: Page, address: str) -> None:
    opened(page, address, 320, 640)
    page.locator("#sv-prompt textarea").focus()
    page.locator("#sv-prompt textarea").blur()
    expect(page.locator("#sv-drafter")).to_be_visible()
    cut = page.evaluate(
        """() => [...document.querySelectorAll(".sv-bar button")]
          .filter((one) => one.checkVisibility() && one.clientWidth > 1 && one.scrollWidth > one.clientWidth)
          .map((one) => one.textContent)"""
    )
    assert cut == []
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_an_example_chosen_by_keys_opens_at_its_round_and_what_is_offered_about_a_token_appears_at_its_card(
    page: Page, address: str
) -> None:
    opened(page, address)
    page.locator("#sv-example input").select_text()  # as Tab does
    page.keyboard.type("rejected")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#sv-player .sv-player').specviz.cursor.round === 3")

    page.evaluate("document.querySelector('#sv-player .sv-player').specviz.go({round: 1, beat: 99})")
    page.locator("#sv-player [role=treeitem][aria-level='2']").first.click()
    page.locator("#sv-player button[title^='continue the run from here']").first.click()
    offer = page.locator(".sv-branch")
    expect(offer).to_contain_text("as its next token")
    page.wait_for_function("document.querySelector('.sv-branch').style.top !== ''")
    card, box = page.locator("#sv-player .svp-card").bounding_box(), offer.bounding_box()
    assert abs(box["x"] - card["x"]) <= 2
    assert card["y"] - 2 <= box["y"] <= card["y"] + card["height"]
