"""The folded panels below the tree: the pass row by row, the cache over the run, and the columns from logits to p."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_player import SAMPLE, at, node, opened

pytestmark = pytest.mark.browser


@pytest.fixture
def player(page: Page, tmp_path: Path) -> Page:
    return opened(page, tmp_path, SAMPLE)


def test_a_click_on_a_row_of_the_mask_selects_its_node_and_lights_its_path(player: Page) -> None:
    at(player, "#round=2&beat=9")
    player.get_by_text("The target pass row by row").click()
    said = player.locator(".svp-pass-said").first
    node(player, 1).click()
    expect(said).to_contain_text("Row 2 of")
    mask = player.locator(".svp-pass-box svg")
    rows = int(re.search(r"Row 2 of (\d+)", mask.get_attribute("aria-label")).group(1))
    box = mask.bounding_box()
    mask.click(position={"x": box["width"] - 4, "y": box["height"] * 3.5 / rows})
    expect(node(player, 3)).to_have_attribute("aria-selected", "true")
    expect(said).to_contain_text("Row 4 of")


def test_the_mask_is_kept_back_until_the_target_was_asked(player: Page) -> None:
    at(player, "#round=1&beat=1")
    player.get_by_text("The target pass row by row").click()
    expect(player.locator(".svp-pass-box")).to_contain_text("The target has not been asked yet.")


def test_a_click_in_the_cache_of_the_run_goes_to_the_round(player: Page) -> None:
    player.get_by_text("The target's cache over the whole run").click()
    picture = player.locator(".svp-ledger")
    expect(picture).to_be_visible()
    box = picture.bounding_box()
    picture.click(position={"x": box["width"] * 4.5 / 8, "y": 60})
    expect(player.locator(".svp-where")).to_have_text("Round 5 of 8")


def large_tree(children: int, each: int) -> str:
    """The sample with a wide draft in its second round: every candidate a point mass, none but the first two tried."""
    data = json.loads(SAMPLE)
    this = data["rounds"][1]
    root, one = this["nodes"][0], this["nodes"][1]
    nodes = [root]
    for parent in [0] * children + [1 + place for place in range(children) for _ in range(each)]:
        depth = nodes[parent]["depth"] + 1
        nodes.append({**one, "id": len(nodes), "parent": parent, "depth": depth, "fate": "unreached"})
    nodes[1]["fate"] = "rejected"
    judged = {**this["judged"], "path": [], "final_node": 0, "trials": [{**this["judged"]["trials"][0], "node": 1}]}
    data["rounds"][1] = {**this, "nodes": nodes, "judged": judged}
    data["rounds"] = data["rounds"][:2]
    return json.dumps(data)


def test_a_press_on_the_map_of_a_large_tree_goes_to_a_folded_node(page: Page, tmp_path: Path) -> None:
    player = opened(page, tmp_path, large_tree(32, 8))
    at(player, "#round=2&beat=3")
    shown = player.locator("[role=treeitem]").count()
    assert shown < 60
    strip = player.locator(".svp-treemap")
    box = strip.bounding_box()
    strip.click(position={"x": box["width"] - 20, "y": 48})
    chosen = player.locator("[role=treeitem][aria-selected=true]")
    expect(chosen).to_have_attribute("aria-level", "3")
    assert int(chosen.get_attribute("data-node")) > 250
    expect(strip.locator("svg")).to_have_attribute(
        "aria-label", "map of the whole tree: 288 candidates, 20 of them shown above"
    )


def test_a_smaller_picture_shows_more_of_the_tree(page: Page, tmp_path: Path) -> None:
    player = opened(page, tmp_path, large_tree(9, 4))
    at(player, "#round=2&beat=3")
    before = player.locator("[role=treeitem]").count()
    smaller = player.get_by_role("button", name="smaller, with more of the tree unfolded")
    smaller.click()
    smaller.click()
    expect(smaller).to_be_disabled()
    assert player.locator("[role=treeitem]").count() > before
    expect(player.get_by_role("button", name="larger")).to_be_enabled()


def test_a_small_tree_has_no_map(player: Page) -> None:
    expect(player.locator(".svp-treemap")).to_be_hidden()


def test_the_columns_say_whose_distribution_they_are_and_what_is_not_stored(player: Page) -> None:
    at(player, "#round=1&beat=8&node=1")
    player.get_by_text("from logits to p, column by column").click()
    columns = player.locator(".svp-columns")
    expect(columns).to_contain_text("Not stored: the logits themselves")
    expect(columns.locator("thead")).to_contain_text("÷ 1")
    columns.get_by_role("button", name="draft").click()
    expect(columns.locator("thead th").last).to_have_text("q")
