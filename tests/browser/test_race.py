"""The Race tab in a real browser: a recorded race, one of one's own, scrubbing, playing, keys, hostile text."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from specviz.app.race.tab import RaceActions
from specviz.protocol.runs import Catalog
from tests.app.doubles import ReplaySource, sample
from tests.browser import page_server
from tests.browser.page_server import served
from tests.browser.tabs import open_tab

pytestmark = pytest.mark.browser
TABS = ("watch", "race")
HOSTILE = "#<b>${1+1}`{{x}}"


class Telling(ReplaySource):
    """Each drafter tells of its length in words of its own."""

    def catalog(self) -> Catalog:
        told = [
            replace(one, options=tuple(replace(card, help=f"{card.name} of {one.name}") for card in one.options))
            for one in super().catalog().drafters
        ]
        return replace(super().catalog(), drafters=tuple(told))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(ReplaySource(sample()), tmp_path_factory.mktemp("gallery"), tabs=TABS) as url:
        yield url


@pytest.fixture
def tab(page: Page, address: str) -> Page:
    """The Race tab of a freshly opened page."""
    return opened(page, address)


def opened(page: Page, address: str) -> Page:
    page_server.opened(page, address)
    open_tab(page, "Race")
    expect(page.locator("#sv-race .sv-race[data-ready]")).to_be_attached()
    return page


def run_race(tab: Page) -> None:
    tab.locator("#sv-race-run").click()
    expect(tab.locator("#sv-race-message")).to_contain_text("token for token: 20 tokens.")
    expect(tab.locator("#sv-race .svp-source")).to_have_text("live")


def test_the_prompt_follows_its_examples_without_a_gap(tab: Page) -> None:
    below = tab.locator("#sv-race-note").bounding_box()
    assert below["height"] < 60, "a line of text"


def clock_of(tab: Page) -> float:
    found = re.match(r"engine time ([\d.]+) s of", tab.locator(".svr-clock").inner_text())
    assert found
    return float(found[1])


def tokens_of(tab: Page, runner: int) -> int:
    return int(tab.locator(".svr-state").nth(runner).inner_text().split(" ")[0])


def test_a_length_typed_while_the_answer_to_another_drafter_is_on_its_way_stays(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed, answer = Event(), RaceActions.another

    def late(actions: RaceActions, drafter: str, standing: int | None) -> object:
        assert typed.wait(30)
        return answer(actions, drafter, standing)

    monkeypatch.setattr(RaceActions, "another", late)
    with served(Telling(sample()), tmp_path, tabs=TABS) as url:
        tab = opened(page, url)
        tab.locator("#sv-race-drafter-1 input").click()
        tab.get_by_role("option", name="model").first.click()
        beside = tab.locator(".row", has=tab.locator("#sv-race-drafter-1"), has_not=tab.locator(".row"))
        beside.locator("input[type=number]").fill("7")
        typed.set()
        expect(beside).to_contain_text("of model")
        expect(beside.locator("input[type=number]")).to_have_value("7")


def test_the_tab_opens_on_a_recorded_race_at_its_end_which_keys_walk_after_a_click_on_a_tab(tab: Page) -> None:
    """Flags that stood from the start would say who wins before the race has begun."""
    expect(tab.locator(".svr-equality")).to_be_visible()
    open_tab(tab, "Race")
    tab.keyboard.press("Home")
    assert clock_of(tab) == 0
    tab.keyboard.press("ArrowRight")
    assert clock_of(tab) > 0
    tab.locator(".svr-lanes").press("End")
    flags = tab.locator(".svr-lane .svr-flag")
    for place in range(flags.count()):
        expect(flags.nth(place)).to_be_visible()
    tab.locator(".svr-lanes").press("Home")
    for place in range(flags.count()):
        expect(flags.nth(place)).to_be_hidden()
    tab.locator(".svr-lanes").press("End")
    expect(tab.locator("#sv-race .svp-source")).to_have_text("recorded")
    expect(tab.locator(".svr-equality")).to_be_visible()
    expect(tab.locator(".svr-name").first).to_have_text("plain decoding")
    expect(tab.locator(".svr-ratio").nth(1)).to_contain_text("plain decoding, engine time")
    expect(tab.locator("#sv-race .svp-barlegend")).to_contain_text("correction")
    tab.set_viewport_size({"width": 390, "height": 844})
    expect(tab.locator(".svr-lane").first).to_be_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390, "it fits a phone"
    table = "document.querySelector('.svr-table')"
    assert tab.evaluate(f"{table}.scrollWidth <= {table}.clientWidth"), "the table needs no sideways scrolling"


def test_a_race_of_ones_own_is_recorded_then_scrubbed_with_hostile_text_as_text_and_played_from_the_start_by_space(
    tab: Page,
) -> None:
    """Nothing plays by itself under reduced motion."""
    run_race(tab)
    expect(tab.locator(".sv-race .is-play")).to_have_text("play")
    expect(tab.locator(".svr-name")).to_have_text(["plain decoding", "ngram", "model"])
    expect(tab.locator(".svr-equality")).to_have_text("All 3 outputs are the same, token for token: 20 tokens.")
    for place in range(3):
        expect(tab.locator(".svr-page").nth(place)).to_contain_text(HOSTILE)
    assert tab.locator(".svr-page :is(b, script)").count() == 0
    expect(tab.locator(".svr-ratio").nth(1)).to_contain_text("2.00× plain decoding, engine time")
    assert "20 tokens /" in (tab.locator(".svr-ratio").nth(1).get_attribute("title") or "")

    # scrubbing and keys move all texts, and the result waits for the end
    lanes = tab.locator(".svr-lanes")
    lanes.focus()
    tab.keyboard.press("Home")
    assert [tokens_of(tab, place) for place in range(3)] == [0, 0, 0]
    expect(tab.locator(".svr-result")).to_be_hidden()
    tab.keyboard.press("ArrowRight")
    assert tokens_of(tab, 0) > 0
    picture = tab.locator(".svr-lane").first
    picture.click(position={"x": 200, "y": 20})
    middle = clock_of(tab)
    assert 0 < tokens_of(tab, 0) < 20
    tab.keyboard.press("ArrowLeft")
    assert clock_of(tab) < middle
    tab.keyboard.press("End")
    expect(tab.locator(".svr-result")).to_be_visible()
    assert tokens_of(tab, 2) == 20
    tab.get_by_role("button", name="1/50", exact=True).click()
    expect(tab.locator(".svr-clock")).to_contain_text("shown at 1/50 of real time")
    tab.locator(".svr-lanes").focus()
    tab.keyboard.press("Space")
    expect(tab.locator(".sv-race .is-play")).to_have_text("pause")
    tab.get_by_role("button", name="real time", exact=True).click()
    expect(tab.locator(".sv-race .is-play")).to_have_text("play")
    expect(tab.locator(".svr-result")).to_be_visible()
