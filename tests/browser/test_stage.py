"""The stage: one height for a whole run, the presentation, and what of it is shown."""

import gzip
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from specviz.resources import asset_path
from tests.browser.test_player import SAMPLE, at, node, opened

pytestmark = pytest.mark.browser

PRESENTED = {(1280, 720): 20, (1920, 1080): 30, (390, 844): 12.5}
"""window → the least size of a text there, so that the last row can read it"""
HEIGHTS = """(both) => {
  const player = document.querySelector(".sv-player");
  const { specviz } = player;
  const heights = new Map();
  const { rounds } = specviz.trace;
  const fullest = rounds.reduce((most, round) => (round.nodes.length > most.nodes.length ? round : most));
  for (const round of new Set(both ? [fullest, rounds.at(-1)] : [fullest])) {
    const phases = SpecViz.beats(round).map(({ phase }) => phase);
    phases.forEach((phase, beat) => {
      if (phase === phases[beat - 1] && phase === phases[beat + 1]) return;
      specviz.go({ round: rounds.indexOf(round), beat }, false);
      const height = Math.round(player.getBoundingClientRect().height);
      if (!heights.has(height)) heights.set(height, `round ${round.index + 1}, beat ${beat + 1}`);
    });
  }
  return [...heights];
}"""
"""the player's heights at the first and the last beat of each phase, in the round with most nodes, and, if
`both`, in the last"""
LOAD = "(text) => document.querySelector('.sv-player').specviz.load(text)"
SCROLLED = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
SHOWN = "() => document.querySelector('.sv-player').specviz.trace.started.run_id"
NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""after a change of the window's size the player has drawn itself anew"""
WRITTEN = """(element) => {
  const text = document.createRange();
  text.selectNodeContents(element);
  return text.getBoundingClientRect();
}"""
"""where its text stands, which may be beside its box"""
SMALLEST = """() => {
  const found = [];
  const walk = document.createTreeWalker(document.querySelector(".svp"), NodeFilter.SHOW_TEXT);
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    const parent = text.parentElement;
    if (!text.textContent.trim() || !parent.checkVisibility({ visibilityProperty: true })) continue;
    if (parent.closest(".svp-aloud, title")) continue;
    const drawn = parent.ownerSVGElement ? parent.getScreenCTM().a : parent.currentCSSZoom;
    found.push([parseFloat(getComputedStyle(parent).fontSize) * drawn, parent.className.baseVal ?? parent.className]);
  }
  return found.sort((one, other) => one[0] - other[0])[0];
}"""
"""the smallest size that a piece of text on the stage is drawn in, and what it is"""


def kinds() -> list[str]:
    """Of all recordings those that are the first to fill a part of the stage otherwise: the exhibits that stand below
    the tree, the rule on the card, lanes, a picture, nodes that ride along, how many propose, a chain or a tree."""
    texts, seen = [], set[tuple[int, object]]()
    for path in sorted(asset_path("traces").glob("*.json.gz")):
        text = recording(path.name)
        trace = json.loads(text)
        started, drafts = trace["started"], [each["drafted"] for each in trace["rounds"]]
        trees = [each["nodes"] for each in trace["rounds"]]
        exhibits = frozenset(exhibit["title"] for draft in drafts for exhibit in draft.get("knew") or ())
        lanes, riding = (any(draft.get(name) for draft in drafts) for name in ("lanes", "riding"))
        sources = {node.get("source") for nodes in trees for node in nodes}
        tree = any(len({node.get("parent") for node in nodes}) < len(nodes) for nodes in trees)
        parts = (exhibits, started["verifier"]["name"], lanes, riding, "scene" in started, len(sources), tree)
        if not seen.issuperset(enumerate(parts)):
            seen.update(enumerate(parts))
            texts.append(text)
    return texts


def recording(name: str) -> str:
    return gzip.decompress(asset_path("traces", name).read_bytes()).decode("utf-8")


def test_the_height_is_the_same_in_every_phase_of_the_fullest_and_the_last_round(page: Page, tmp_path: Path) -> None:
    """On a phone; of every third recording in the last round too, and where the phone becomes a wide window. To draw
    all beats, rounds or recordings takes this suite minutes."""
    traces = kinds()
    assert len(traces) > 20
    opened(page, tmp_path, traces[0])
    for place, trace in enumerate(traces):
        page.set_viewport_size({"width": 390, "height": 844})
        page.evaluate(LOAD, trace)
        assert page.evaluate(SHOWN) == json.loads(trace)["started"]["run_id"]
        for width in (390,) if place % 3 else (390, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            page.evaluate(NEXT_FRAME)
            heights = page.evaluate(HEIGHTS, place % 3 == 0)
            apart = max(high for high, _ in heights) - min(high for high, _ in heights)
            assert apart <= 1, (page.evaluate(SHOWN), width, heights)


def test_caption_and_play_stand_in_the_first_screen_above_the_tree(player_page: Page) -> None:
    for width, height in ((1280, 720), (390, 844)):
        player_page.set_viewport_size({"width": width, "height": height})
        player_page.evaluate(NEXT_FRAME)
        top = player_page.locator(".svp-draft").bounding_box()["y"]
        for part in (".svp-caption", ".svp-btn.is-play"):
            box = player_page.locator(part).bounding_box()
            assert box["y"] + box["height"] <= min(top, height), part


@pytest.mark.parametrize(("name", "moment"), [("growth-chain", ""), ("model-tree-code-uuid-fields", "#round=6&beat=3")])
def test_the_presentation_fills_the_window_nothing_scrolls_and_the_last_row_can_read_it(
    page: Page, tmp_path: Path, name: str, moment: str
) -> None:
    opened(page, tmp_path, recording(f"{name}.json.gz"), f"?view=present{moment}")
    for size, least in PRESENTED.items():
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.evaluate(NEXT_FRAME)
        for _ in range(10):
            page.keyboard.press("PageDown")
            assert page.evaluate(SCROLLED) == [*size]
            smallest, what = page.evaluate(SMALLEST)
            assert smallest >= least - 0.01, (size, what)
        for part in (".svp-page", ".svp-scroll", ".svp-caption", ".svp-card", ".is-play"):
            box = page.locator(part).bounding_box()
            assert min(box["height"], box["width"]) >= 40, part
            assert min(box["x"], box["y"]) >= 0, part
            assert box["x"] + box["width"] <= size[0], part
            assert box["y"] + box["height"] <= size[1], part


def test_on_the_page_nothing_is_under_twelve_and_a_half_and_labels_of_the_tree_are_fourteen(
    page: Page, tmp_path: Path
) -> None:
    opened(page, tmp_path, recording("growth-eagle2.json.gz"))
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate(NEXT_FRAME)
        for depth in ("words", "formula", "numbers"):
            page.get_by_role("button", name=depth, exact=True).click()
            for _ in range(6):
                page.keyboard.press("PageDown")
                smallest, what = page.evaluate(SMALLEST)
                assert smallest >= 12.5, (width, what)
        labels = "all => all.map(one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"
        assert min(page.locator(".svp-label").evaluate_all(labels)) >= 14


def test_the_longest_numbers_of_a_presented_card_stand_beside_their_words_and_each_other(
    page: Page, tmp_path: Path
) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, tmp_path, recording("ddtree-block.json.gz"), "?view=present#round=3&beat=99")
    expect(page.locator(".svp-numbers b").first).to_have_text(">0.9999")
    for one, next_to_it in (
        (".svp-numbers dd b", ".svp-numbers dd span"),
        (".svp-bar.is-marked .svp-value.is-target", ".svp-bar.is-marked .svp-value.is-residual"),
    ):
        first, second = (page.locator(part).first.evaluate(WRITTEN) for part in (one, next_to_it))
        assert first["right"] <= second["left"], one
    assert second["right"] <= 1280 - 18


def test_presenting_begins_by_button_steps_by_remote_and_ends_by_escape_where_it_began(player_page: Page) -> None:
    page = player_page
    beside = page.get_by_role("button", name="something else")
    page.evaluate("""() => {
      const other = document.body.appendChild(document.createElement("button"));
      other.textContent = "something else";
    }""")
    expect(beside).to_be_visible()
    page.get_by_role("button", name="present").click()
    root = page.locator(".sv-player")
    expect(root).to_have_attribute("data-view", "present")
    expect(beside).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.sv-player')).colorScheme") == "dark"
    caption = page.locator(".svp-caption")
    seen = [caption.inner_text()]
    for key in ("Space", "PageDown"):
        page.keyboard.press(key)
        seen.append(caption.inner_text())
    assert len(set(seen)) == 3
    page.keyboard.press("PageUp")
    assert caption.inner_text() == seen[1]
    page.keyboard.press("Escape")
    expect(root).to_have_attribute("data-view", "")
    expect(beside).to_be_visible()


def test_what_had_the_focus_before_a_presentation_has_it_after_it(player_page: Page) -> None:
    share = player_page.locator(".svp-share summary")
    share.focus()
    player_page.keyboard.press("p")
    expect(share).to_be_hidden()
    player_page.keyboard.press("Escape")
    expect(share).to_be_focused()


def test_a_presentation_is_light_for_who_has_chosen_light(player_page: Page) -> None:
    player_page.evaluate("localStorage.setItem('specviz.light', 'light')")
    player_page.keyboard.press("p")
    assert player_page.evaluate("getComputedStyle(document.querySelector('.sv-player')).colorScheme") == "light"


@pytest.fixture
def player_page(page: Page, tmp_path: Path) -> Page:
    return opened(page, tmp_path, SAMPLE)


CONTRAST = """() => {
  const parse = (text) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => {
    const linear = (one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    const part = colour.map((one) => linear(one / 255));
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const ground = parse(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(".is-unreached :is(.svp-label, .svp-odds)")].map((text) => {
    let seen = 1;
    for (let at = text; at; at = at.parentElement) seen *= Number(getComputedStyle(at).opacity);
    const ink = parse(getComputedStyle(text).fill).map((one, place) => seen * one + (1 - seen) * ground[place]);
    const [low, high] = [light(ink), light(ground)].sort((one, other) => one - other);
    return (high + 0.05) / (low + 0.05);
  });
}"""


def test_unreached_nodes_can_be_read_in_both_lights(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, recording("model-tree-code-uuid-fields.json.gz"), "#round=6&beat=99")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        ratios = page.evaluate(CONTRAST)
        assert len(ratios) >= 8
        assert min(ratios) >= 4.5, scheme


BIG = """(trace) => {
  const big = JSON.parse(trace);
  const round = big.rounds[0];
  const one = round.nodes[1];
  for (let id = round.nodes.length; id < 340; id += 1)
    round.nodes.push({
      ...one,
      id,
      parent: id % 7 ? id - 1 : 0,
      depth: id % 7 ? round.nodes[id - 1].depth + 1 : 1,
      fate: "unreached",
    });
  return JSON.stringify(big);
}"""


def test_a_tree_of_340_nodes_is_folded_and_opens_by_press_and_key(page: Page, tmp_path: Path) -> None:
    page.goto("about:blank")
    opened(page, tmp_path, page.evaluate(BIG, SAMPLE), "#round=1&beat=1")
    page.keyboard.press("PageDown")
    items = page.locator("[role=treeitem]")
    assert items.count() < 120
    folded = page.locator("[role=treeitem][aria-expanded=false]")
    name = int(folded.nth(1).get_attribute("data-node"))
    page.locator(f"[data-node='{name}'] .svp-fold").click()
    expect(node(page, name + 1)).to_be_attached()
    page.locator(f"[data-node='{name}'] .svp-fold").click()
    expect(node(page, name + 1)).not_to_be_attached()
    node(page, name).focus()
    page.keyboard.press("ArrowRight")
    expect(node(page, name + 1)).to_be_attached()
    page.keyboard.press("f")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate(NEXT_FRAME)
        assert items.count() >= 340
        box = page.locator(".svp-scroll")
        assert box.evaluate("one => one.scrollHeight - one.clientHeight") <= 1
        assert box.evaluate("one => one.scrollWidth - one.clientWidth") <= 1


def test_u_can_be_hidden_alone(player_page: Page) -> None:
    at(player_page, "#round=1&beat=8&node=3")
    row = player_page.locator(".svp-numbers > div", has=player_page.locator("dt", has_text="u"))
    expect(row).to_be_visible()
    player_page.evaluate("document.querySelector('.sv-player').specviz.set({ hidden: ['u'] })")
    expect(row).to_be_hidden()
    expect(player_page.locator(".svp-numbers")).to_contain_text("0.20")


AREAS = {"pips": "beats"} | {
    area: area for area in ("text", "draft", "card", "caption", "transport", "costs", "counters", "timing")
}
"""area → its part of the player"""


def test_a_hidden_area_keeps_its_place_and_a_lit_one_shows_it(player_page: Page) -> None:
    page, root = player_page, player_page.locator(".sv-player")
    height = root.bounding_box()["height"]
    change = "change => document.querySelector('.sv-player').specviz.set(change)"
    for area, name in AREAS.items():
        part = page.locator(f".svp-{name}").first
        page.evaluate(change, {"hidden": [area], "lit": []})
        expect(part).to_be_hidden()
        assert root.bounding_box()["height"] == height, area
        page.evaluate(change, {"hidden": [], "lit": [area]})
        shining = page.locator(".svp-scroll") if area == "draft" else part
        expect(shining).to_have_css("box-shadow", re.compile("0px 0px 0px 6px"))


def test_an_embedded_player_has_no_tools(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, SAMPLE, "?embed")
    expect(page.locator(".svp-tools")).to_be_hidden()
    expect(page.locator(".svp-btn.is-play")).to_be_visible()


def test_caption_and_card_speak_of_the_same_node_at_every_verdict(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, recording("verifier-naive.json.gz"))
    apart = page.evaluate("""() => {
      const { specviz } = document.querySelector(".sv-player");
      const apart = [];
      specviz.trace.rounds.forEach((round, index) => SpecViz.beats(round).forEach((now, beat) => {
        specviz.go({ round: index, beat }, false);
        const wanted = now.trial === undefined ? specviz.selected : round.judged.trials[now.trial].node;
        const card = document.querySelector(".svp-card .svp-words").textContent;
        const said = document.querySelector(".svp-caption").lastChild.textContent;
        const other = now.trial !== undefined && !card.startsWith(said);
        if (specviz.selected !== wanted || other) apart.push([said, card]);
      }));
      return apart;
    }""")
    assert apart == []
