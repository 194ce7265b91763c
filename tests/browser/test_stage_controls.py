"""Who steers the stage without a mouse: whose a key is, what is heard, and what a finger hits."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_player import SAMPLE, at, node, opened
from tests.browser.test_stage import NEXT_FRAME, recording

pytestmark = pytest.mark.browser


@pytest.fixture
def player_page(page: Page, tmp_path: Path) -> Page:
    return opened(page, tmp_path, SAMPLE)


CONTROLS = """() => {
  const box = document.body.appendChild(document.createElement("div"));
  const make = (tag, attributes) => {
    const one = box.appendChild(document.createElement(tag));
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    one.textContent = attributes.id;
    return one;
  };
  window.presses = 0;
  make("button", { id: "tab", role: "tab" });
  make("button", { id: "plain" }).addEventListener("click", () => { window.presses += 1; });
  make("input", { id: "radio", type: "radio", name: "one" });
  make("input", { id: "slider", type: "range", min: 0, max: 100, value: 50 });
  make("textarea", { id: "text" });
  make("div", { id: "far", style: "height: 3000px" });
}"""


CURSOR = "JSON.stringify(document.querySelector('.sv-player').specviz.cursor)"


def test_a_remote_steps_after_a_click_on_a_control_and_the_page_stays(player_page: Page) -> None:
    page = player_page
    page.evaluate(CONTROLS)
    for control in ("tab", "plain", "radio"):
        page.locator(f"#{control}").click()
        presses, top = page.evaluate("[window.presses, scrollY]")
        where = page.evaluate(CURSOR)
        page.keyboard.press("PageDown")
        assert page.evaluate(CURSOR) != where
        for said in ("pause", "play"):
            page.keyboard.press("Space")
            expect(page.locator(".svp-btn.is-play")).to_have_text(said)
        assert page.evaluate("[window.presses, scrollY]") == [presses, top], control


def test_a_slider_and_a_text_keep_their_keys(player_page: Page) -> None:
    page = player_page
    page.evaluate(CONTROLS)
    where = page.evaluate(CURSOR)
    for field in ("slider", "text"):
        page.locator(f"#{field}").click()
        for key in ("PageDown", "Space", "ArrowRight", "n"):
            page.keyboard.press(key)
        assert page.evaluate(CURSOR) == where
        expect(page.locator(".svp-btn.is-play")).to_have_text("play")


def test_space_presses_a_button_that_was_reached_by_keys(player_page: Page) -> None:
    page = player_page
    page.evaluate(CONTROLS)
    page.locator("#tab").click()
    page.keyboard.press("Tab")
    expect(page.locator("#plain")).to_be_focused()
    page.keyboard.press("Space")
    assert page.evaluate("window.presses") == 1
    expect(page.locator(".svp-btn.is-play")).to_have_text("play")


HEARD = """() => {
  const region = document.querySelector(".svp [role=status].svp-aloud");
  window.heard = [];
  new MutationObserver(() => window.heard.push(region.textContent)).observe(region, { childList: true });
}"""


def test_each_beat_is_said_once_and_by_one_voice(player_page: Page) -> None:
    page = player_page
    live = page.locator(".svp [aria-live]:not([aria-live=off]), .svp [role=status], .svp [role=alert]")
    shown = [one.get_attribute("class") for one in live.all() if one.evaluate("one => one.checkVisibility()")]
    assert shown == ["svp-aloud"]
    page.evaluate(HEARD)
    said = []
    for _ in range(12):
        page.keyboard.press("ArrowRight")
        said.append(page.evaluate("window.heard.splice(0)"))
    assert [len(one) for one in said] == [1] * 12
    assert "Round 1 of 8. " in said[0][0]
    assert any("rejected" in one[0] for one in said)


def test_an_arrow_in_the_tree_says_the_node_and_what_it_comes_after(player_page: Page) -> None:
    page = player_page
    at(page, "#round=2&beat=9&node=0")
    node(page, 0).focus()
    page.keyboard.press("ArrowRight")
    name = node(page, 1).get_attribute("aria-label")
    expect(page.locator(".svp-aloud[role=status]")).to_have_text(name)
    assert ", after " in name


def test_a_rejected_token_is_heard_as_rejected_and_never_as_text(player_page: Page) -> None:
    at(player_page, "#round=1&beat=9")
    rejected = player_page.locator(".svp-tok.is-rejected")
    expect(rejected.first).to_have_text("rejected: ␣c")
    assert rejected.first.get_attribute("aria-hidden") is None
    assert (
        player_page.evaluate("getComputedStyle(document.querySelector('.svp-tok.is-rejected')).textDecorationLine")
        == "none"
    )
    at(player_page, "#round=2&beat=1")
    expect(rejected.first).to_have_attribute("aria-hidden", "true")


TARGETS = "[role=treeitem]:not([aria-hidden=true]) .svp-hit, .svp-btn, .svp-depth button, .svp-rounds"


def test_what_is_pressed_is_as_large_as_a_finger_and_a_tapped_nodes_arithmetic_comes_into_view_on_a_phone(
    page: Page, tmp_path: Path
) -> None:
    opened(page, tmp_path, recording("model-tree-code-uuid-fields.json.gz"), "#round=6&beat=99")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate(NEXT_FRAME)
        for target in page.locator(TARGETS).locator("visible=true").all():
            box = target.bounding_box()
            assert round(min(box["height"], box["width"])) >= 40, target.get_attribute("class")
        for phase in page.locator(".svp-phase").all():
            assert phase.bounding_box()["height"] >= 40
    node(page, 2).click()
    expect(page.locator(".svp-numbers")).to_be_in_viewport(ratio=1)
    assert page.locator(".svp-card").bounding_box()["y"] - page.locator(".svp-draft").bounding_box()["y"] < 480
