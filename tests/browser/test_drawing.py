"""A draft's shape drawn by hand in a real browser: the text stays the truth, whoever changes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect

from specviz.protocol.runs import Catalog, MethodDescription, OptionCard
from tests.app.doubles import ReplaySource, catalog, sample
from tests.browser.page_server import opened, served

pytestmark = pytest.mark.browser

PATHS = OptionCard("paths", "str", "0; 1; 0,0", "the draft's shape as paths of ranks", counts="listed")
OF_ITS_OWN = MethodDescription("paths", "A tree of a shape that is written down.", "", True, (PATHS,))


class Drawn(ReplaySource):
    """The double with one more tree policy."""

    def catalog(self) -> Catalog:
        return replace(catalog(), tree_policies=(*catalog().tree_policies, OF_ITS_OWN))


@pytest.fixture(scope="module")
def source() -> Drawn:
    return Drawn(sample())


@pytest.fixture(scope="module")
def address(source: Drawn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(source, tmp_path_factory.mktemp("gallery"), tabs=["watch"]) as url:
        yield url


def drawing(page: Page, address: str) -> tuple[Locator, Locator]:
    """(the picture, the field of paths)."""
    opened(page, address)
    page.locator("#sv-settings").click()
    page.get_by_role("button", name="How the draft grows and ends").click()
    page.locator("#sv-tree_policy").get_by_label("paths").check()
    picture = page.locator("#sv-drawing")
    expect(picture.locator(".svd-node")).to_have_count(4)
    return picture, page.get_by_role("textbox", name="paths")


def node(picture: Locator, path: str) -> Locator:
    return picture.locator(f".svd-node[data-path='{path}']")


def test_a_press_adds_or_removes_and_the_run_gets_what_the_text_says(page: Page, address: str, source: Drawn) -> None:
    picture, text = drawing(page, address)
    node(picture, "").click()
    node(picture, "1").click()
    expect(text).to_have_value("0; 1; 2; 0,0; 1,0")
    expect(picture).to_contain_text("5 candidates, 2 deep.")
    picture.get_by_role("button", name="a press removes a leaf").click()
    node(picture, "0").click()
    expect(picture).to_contain_text("0 stays: it has children.")
    node(picture, "0,0").click()
    node(picture, "0").click()
    expect(text).to_have_value("0; 1; 0,0")
    picture.get_by_role("button", name="undo").click()
    expect(text).to_have_value("0; 1; 2; 1,0")
    page.locator("#sv-drawer").get_by_role("button", name="Close").click()
    page.locator("#sv-run").click()
    expect(page.locator("#sv-badges")).to_contain_text("live")
    expect(page.locator("#sv-run")).to_be_enabled()
    drafted = [
        asked for asked, _ in source.requests if asked.drafter.name == "model"
    ]  # plain decoding is timed beside it
    assert drafted[-1].tree_policy.name == "paths"
    assert drafted[-1].tree_policy.options == {"paths": "0; 1; 2; 1,0"}


def test_a_damaged_text_is_said_and_the_last_good_picture_stays_and_then_the_keyboard_draws_and_a_press_gives_presets(
    page: Page, address: str
) -> None:
    picture, text = drawing(page, address)
    text.fill("0; 1,1")
    expect(picture).to_contain_text(
        "paths lists 1,1, but not 1, below which it hangs; add that, or leave this one out."
    )
    expect(picture.locator(".svd-node")).to_have_count(4)
    text.fill("[[0], [0, 0], [0, 1], [0, 2]]")
    expect(picture).to_contain_text("4 candidates, 2 deep.")
    expect(picture.locator(".svd-node")).to_have_count(5)
    text.fill(PATHS.default)
    expect(picture.locator(".svd-node")).to_have_count(4)
    node(picture, "").focus()
    for key in ("ArrowRight", "+", "ArrowDown", "ArrowDown", "Delete"):
        page.keyboard.press(key)
    expect(text).to_have_value("0; 1; 0,0")
    expect(node(picture, "0")).to_be_focused()
    picture.get_by_role("button", name="4 × 2").click()
    expect(text).to_have_value("0; 1; 2; 3; 0,0; 0,1; 1,0; 1,1; 2,0; 2,1; 3,0; 3,1")
    picture.get_by_role("button", name="take this round's tree").click()
    shape = page.evaluate(
        "(({ trace, cursor }) => SpecViz.shapeOf(trace.rounds[cursor.round]))"
        "(document.querySelector('#sv-player .sv-player').specviz)"
    )
    expect(text).to_have_value(shape)
    assert shape.startswith("0; ")


def test_on_a_phone_everything_fits_and_is_large_enough_for_a_finger(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    picture, _ = drawing(page, address)
    boxes = [button.bounding_box() for button in picture.get_by_role("button").all()]
    assert len(boxes) == 4 + 6
    for box in boxes:
        assert box is not None
        assert min(box["width"], box["height"]) >= 40, box
    around = picture.bounding_box()
    assert around is not None
    assert around["x"] >= 0
    assert around["x"] + around["width"] <= 390, around
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
