"""A draft's shape drawn by hand in a real browser: the text stays the truth, whoever changes it."""

from dataclasses import replace
from pathlib import Path

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


def node(picture: Locator, path: str) -> Locator:
    return picture.locator(f".svd-node[data-path='{path}']")


def fits_a_phone(page: Page, picture: Locator) -> None:
    """And is large enough for a finger."""
    page.set_viewport_size({"width": 390, "height": 844})
    boxes = [button.bounding_box() for button in picture.get_by_role("button").all()]
    assert len(boxes) == 4 + 6
    assert min(min(box["width"], box["height"]) for box in boxes) >= 40
    around = picture.bounding_box()
    assert 0 <= around["x"] <= around["x"] + around["width"] <= 390, around
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 800})


def test_text_keys_presets_and_presses_draw_one_shape_which_the_run_gets(page: Page, tmp_path: Path) -> None:
    """A damaged text is said, and the last good picture stays."""
    source = Drawn(sample())
    with served(source, tmp_path, tabs=["watch"]) as address:
        opened(page, address)
        page.locator("#sv-settings").click()
        page.get_by_role("button", name="How the draft grows and ends").click()
        page.locator("#sv-tree_policy").get_by_label("paths").check()
        picture, text = page.locator("#sv-drawing"), page.get_by_role("textbox", name="paths")
        expect(picture.locator(".svd-node")).to_have_count(4)
        text.fill("0; 1,1")
        said = "paths lists 1,1, but not 1, below which it hangs; add that, or leave this one out."
        expect(picture).to_contain_text(said)
        expect(picture.locator(".svd-node")).to_have_count(4)
        text.fill("[[0], [0, 0], [0, 1], [0, 2]]")
        expect(picture).to_contain_text("4 candidates, 2 deep.")
        expect(picture.locator(".svd-node")).to_have_count(5)
        text.fill(PATHS.default)
        expect(picture.locator(".svd-node")).to_have_count(4)
        fits_a_phone(page, picture)
        node(picture, "").focus()
        for key in ("ArrowRight", "+", "ArrowDown", "ArrowDown", "Delete"):
            page.keyboard.press(key)
        expect(text).to_have_value("0; 1; 0,0")
        expect(node(picture, "0")).to_be_focused()
        picture.get_by_role("button", name="4 × 2").click()
        expect(text).to_have_value("0; 1; 2; 3; 0,0; 0,1; 1,0; 1,1; 2,0; 2,1; 3,0; 3,1")
        picture.get_by_role("button", name="take this round's tree").click()
        player = "document.querySelector('#sv-player .sv-player').specviz"
        shape = page.evaluate(f"(({{ trace, cursor }}) => SpecViz.shapeOf(trace.rounds[cursor.round]))({player})")
        expect(text).to_have_value(shape)
        assert shape.startswith("0; ")
        text.fill(PATHS.default)
        expect(picture.locator(".svd-node")).to_have_count(4)
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
        [asked, *_] = [request for request, _ in source.requests if request.drafter.name == "model"]
        assert (asked.tree_policy.name, asked.tree_policy.options) == ("paths", {"paths": "0; 1; 2; 1,0"})
