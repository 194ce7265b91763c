"""The player alone, in a file of its own: steps, selection, keys, narrow screens, runs that grow."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from specviz.app.components.standalone import standalone_html
from specviz.resources import ROOT, asset_path
from specviz.trace import codec
from tests.browser.pictures import RECORDING, telling_moment

pytestmark = pytest.mark.browser

GOLDEN = Path(__file__).parents[1] / "golden"
SAMPLE = (GOLDEN / "trace-1.0-sample.json").read_text(encoding="utf-8")


@pytest.fixture
def player(page: Page, tmp_path: Path) -> Page:
    """The sample run, opened."""
    return opened(page, tmp_path, SAMPLE)


WALK = """(question) => {
  const answers = [];
  for (let beat = 0, before = ""; before !== (before = document.querySelector(".svp").innerText); beat += 1) {
    const answer = eval(question);
    if (answer !== false) answers.push(answer);
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  }
  return answers;
}"""
"""asks something at every beat until the picture stops changing; leaves out every `false`"""


def opened(page: Page, folder: Path, trace: str, moment: str = "") -> Page:
    file = folder / "run.html"
    file.write_text(standalone_html(trace), encoding="utf-8")
    page.goto(f"file://{file}{moment}")
    expect(page.locator("[data-ready]")).to_be_attached()
    return page


def at(page: Page, moment: str) -> None:
    """Go to a moment by the address alone."""
    page.evaluate("hash => { location.hash = hash }", moment)
    expect(page.locator(".svp-where")).to_contain_text(f"Round {moment.split('round=')[1].split('&')[0]} of")


def node(page: Page, name: int | str) -> Locator:
    return page.locator(f"[role=treeitem][data-node='{name}']")


PICTURE = """document.querySelector(".svp").innerText
  + [...document.querySelectorAll("[role=treeitem]")].map((one) => one.ariaLabel + one.dataset.state)"""
"""everything the player says, and how each node looks"""


def test_it_opens_on_the_first_beat_of_the_run(player: Page) -> None:
    expect(player.locator(".svp-where")).to_have_text("Round 1 of 8")
    expect(player.locator(".svp-phase.is-now")).to_contain_text("draft")
    states = player.locator("[role=treeitem]").evaluate_all("all => all.map(one => one.dataset.state)")
    assert set(states) == {"root", "drafted", "hidden"}


def test_stepping_forward_and_back_passes_through_the_same_pictures(player: Page) -> None:
    player.keyboard.press("Home")
    there = player.evaluate(WALK, PICTURE)
    assert len(there) == len(set(there)) == 67
    back = player.evaluate(WALK.replace("ArrowRight", "ArrowLeft"), PICTURE)
    assert back == there[::-1]


def test_a_round_is_told_in_its_four_phases(player: Page) -> None:
    at(player, "#round=1&beat=1")
    caption = player.locator(".svp-caption")
    expect(caption).to_contain_text("The drafter proposes ␣␣␣␣.")
    player.get_by_role("button", name="target pass").click()
    expect(caption).to_contain_text("scores the root and all 4 candidates at once")
    player.get_by_role("button", name="verdicts").click()
    expect(caption).to_contain_text("accepted without a doubt")
    player.get_by_role("button", name="commit").click()
    expect(caption).to_contain_text("3 tokens from one target pass")


def test_the_target_is_not_known_before_its_pass(player: Page) -> None:
    at(player, "#round=1&beat=1")
    expect(player.locator(".svp-card")).to_contain_text("The target has not been asked yet.")
    assert player.locator(".svp-fill.is-target").count() == 0


def test_a_token_inside_an_accepted_path_leads_to_its_round_also_where_only_paths_are_tried(
    page: Page, tmp_path: Path
) -> None:
    run = gzip.decompress(asset_path("traces/verifier-block.json.gz").read_bytes()).decode()
    player = opened(page, tmp_path, run, "#round=2")
    player.locator(".svp-tok[data-round='0'][data-node='2']").click()
    expect(player.locator(".svp-where")).to_contain_text("Round 1 of")
    expect(node(player, 2)).to_have_attribute("aria-selected", "true")


def test_a_click_on_a_node_shows_its_card_everywhere(player: Page) -> None:
    at(player, "#round=2&beat=9")
    node(player, 2).click()
    card = player.locator(".svp-card")
    expect(card.locator("header")).to_contain_text("second of 3 siblings")
    expect(card).to_contain_text("target, after 1 rejection")
    expect(card).to_contain_text("siblings in the order they were tried")
    expect(node(player, 2)).to_have_attribute("aria-selected", "true")
    expect(player.locator(".svp-tok.is-selected")).to_have_text("rejected: -")
    expect(player.locator(".svp-cell.is-selected")).to_have_attribute("data-node", "2")
    expect(player.locator(".svp-bar.is-marked .svp-name")).to_contain_text("-")
    card.get_by_role("button", name="space +: to its node").first.click()
    expect(node(player, 3)).to_have_attribute("aria-selected", "true")


def test_the_arithmetic_is_that_of_the_trace(player: Page) -> None:
    at(player, "#round=1&beat=8&node=3")
    numbers = " ".join(player.locator(".svp-numbers").inner_text().split())
    assert numbers == (
        "p 0.10 target q 0.50 draft p/q 0.20 0.10 / 0.50; acceptance probability min(1, 0.20) = 0.20 "
        "u 0.90 ≥ 0.20: rejected"
    )


def test_words_numbers_formula_is_remembered(player: Page) -> None:
    at(player, "#round=1&beat=8&node=3")
    player.get_by_role("button", name="formula").click()
    expect(player.locator(".svp-math")).to_contain_text("min(1, p(x) / Q(x))")
    player.reload()
    expect(player.locator(".svp-math")).to_contain_text("min(1, p(x) / Q(x))")
    player.get_by_role("button", name="words", exact=True).click()
    expect(player.locator(".svp-numbers")).to_be_hidden()


def test_a_token_in_the_text_leads_to_its_verdict(player: Page) -> None:
    at(player, "#round=3&beat=1")
    player.locator(".svp-tok.is-rejected").first.click()
    expect(player.locator(".svp-where")).to_contain_text("Round 1 of")
    expect(node(player, 3)).to_have_attribute("aria-selected", "true")
    expect(player.locator(".svp-caption")).to_contain_text("rejected")


def test_keys_move_by_round_rejection_and_bonus(player: Page) -> None:
    where, caption = player.locator(".svp-where"), player.locator(".svp-caption")
    player.keyboard.press("Home")
    expect(where).to_contain_text("Round 1 of 8")
    player.keyboard.press("n")
    expect(caption).to_contain_text("rejected")
    player.keyboard.press("b")
    expect(caption).to_contain_text("a bonus")
    player.keyboard.press("Shift+ArrowRight")
    expect(where).to_contain_text("Round 3 of 8")
    player.keyboard.press("Shift+ArrowLeft")
    expect(where).to_contain_text("Round 2 of 8")
    player.keyboard.press("N")
    expect(where).to_contain_text("Round 1 of 8")
    player.keyboard.press("End")
    expect(where).to_contain_text("Round 8 of 8")
    player.keyboard.press("PageUp")
    expect(player.locator(".svp-phase.is-now")).to_contain_text("verdicts")
    player.keyboard.press("?")
    expect(player.get_by_role("dialog")).to_be_visible()
    player.keyboard.press("Escape")
    expect(player.get_by_role("dialog")).to_be_hidden()


def test_keys_belong_to_a_field_while_typing_there(player: Page) -> None:
    at(player, "#round=2&beat=1")
    player.evaluate("document.body.append(document.createElement('input'))")
    player.locator("body > input").focus()
    player.keyboard.type("bn ?")
    player.keyboard.press("End")
    expect(player.locator(".svp-where")).to_contain_text("Round 2 of 8")
    expect(player.locator("body > input")).to_have_value("bn ?")
    player.keyboard.press("Control+b")
    expect(player.locator(".svp-where")).to_contain_text("Round 2 of 8")


def test_space_on_a_button_presses_the_button(player: Page) -> None:
    at(player, "#round=1&beat=8&node=3")
    player.get_by_role("button", name="formula").focus()
    player.keyboard.press("Space")
    expect(player.locator(".svp-math")).not_to_be_empty()
    expect(player.locator(".svp-btn.is-play")).to_have_text("play")


def test_arrows_inside_the_tree_walk_from_node_to_node(player: Page) -> None:
    at(player, "#round=2&beat=9&node=0")
    node(player, 0).focus()
    picked = []
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        player.keyboard.press(key)
        picked.append(player.locator("[role=treeitem][aria-selected=true]").get_attribute("data-node"))
    assert picked == ["1", "2", "3", "8", "3", "0"]
    expect(player.locator(".svp-where")).to_contain_text("Round 2 of 8")
    assert player.locator("[role=treeitem][tabindex='0']").count() == 1


def test_play_walks_on_a_round_in_ten_seconds_at_most_and_stops_at_the_end(
    page_at_own_time: Page, tmp_path: Path
) -> None:
    page = page_at_own_time
    opened(page, tmp_path, SAMPLE)
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(page.locator(".svp-btn.is-play")).to_have_text("pause")
    page.clock.run_for(200)  # too short for a sentence of four words
    expect(page.locator(".svp-caption")).to_contain_text("The drafter proposes")
    page.clock.run_for(9_600)
    expect(page.locator(".svp-where")).to_contain_text("Round 1 of 8")
    page.clock.run_for(400)
    expect(page.locator(".svp-where")).to_contain_text("Round 2 of 8")
    page.clock.run_for(80_000)
    expect(page.locator(".svp-where")).to_contain_text("Round 8 of 8")
    expect(page.locator(".svp-btn.is-play")).to_have_text("play")


def test_the_page_never_scrolls_sideways_and_buttons_stay_where_they_are_while_stepping(player: Page) -> None:
    player.get_by_text("as a table").click()
    expect(player.get_by_role("region", name="the tree as a table")).to_have_attribute("tabindex", "0")
    place = "JSON.stringify(document.querySelector('.is-next').getBoundingClientRect())"
    for width in (320, 1280):
        player.set_viewport_size({"width": width, "height": 844})
        player.keyboard.press("Home")
        seen = player.evaluate(WALK, f"[document.documentElement.scrollWidth > innerWidth, {place}]")
        assert {sideways for sideways, _ in seen} == {False}
        assert len({where for _, where in seen}) == 1


@pytest.mark.parametrize("moment", ["#round=99&beat=99", "#round=2&beat=3&node=77", "#round=x", "#tab=other"])
def test_a_moment_that_does_not_exist_is_no_error(page: Page, tmp_path: Path, moment: str) -> None:
    opened(page, tmp_path, SAMPLE, moment)
    expect(page.locator("[role=treeitem][aria-selected=true]")).to_have_count(1)


def shared(player: Page, name: str) -> None:
    """Choose an entry of the share menu."""
    player.locator("summary", has_text="share").click()
    player.locator(".svp-share-list").get_by_role("button", name=name, exact=True).click()


def test_the_link_to_this_moment_opens_it_again(player: Page) -> None:
    at(player, "#round=1&beat=8")
    node(player, 1).click()
    shared(player, "copy link to this moment")
    player.wait_for_url("**round=1&beat=8&node=1*")
    player.reload()
    expect(node(player, 1)).to_have_attribute("aria-selected", "true")


def test_the_trace_can_be_taken_away(player: Page) -> None:
    with player.expect_download() as download:
        shared(player, "trace")
    assert download.value.suggested_filename == "specviz-sample-trace.json"
    assert json.loads(Path(download.value.path()).read_text(encoding="utf-8")) == json.loads(SAMPLE)


def test_counters_explain_themselves_on_focus(player: Page) -> None:
    rate = player.locator(".svp-counter", has_text="acceptance rate")
    rate.focus()
    expect(rate.get_by_role("tooltip")).to_be_visible()
    expect(rate.get_by_role("tooltip")).to_contain_text("accepted ÷ drafted =")


def test_nothing_moves_where_motion_is_unwanted(player: Page) -> None:
    player.keyboard.press("Home")
    for _ in range(12):
        player.keyboard.press("ArrowRight")
        assert player.evaluate("document.getAnimations().length") == 0


def test_light_and_dark_follow_the_system_until_the_button_is_pressed_and_then_the_visitor(player: Page) -> None:
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    ground = "getComputedStyle(document.body).backgroundColor"
    player.emulate_media(color_scheme="dark")
    dark = player.evaluate(ground)
    button = player.get_by_role("button", name="switch between light and dark")
    button.focus()
    player.keyboard.press("Enter")
    assert player.evaluate(scheme) == "light"
    assert player.evaluate(ground) != dark
    player.reload()
    assert player.evaluate(scheme) == "light"
    button.press("Space")
    player.emulate_media(color_scheme="light")
    assert (player.evaluate(scheme), player.evaluate(ground)) == ("dark", dark)


def test_every_method_stands_in_the_badge_and_a_lossy_one_is_marked(page: Page, tmp_path: Path) -> None:
    trace = json.loads(SAMPLE)
    trace["started"]["tree_policy"] = {"name": "levels", "options": {"branching": [3, 2]}, "lossless": True}
    trace["started"]["stop_policy"] = {"name": "hasty", "options": {}, "lossless": False}
    trace["started"]["source"] = "live"  # a simulated run is never called lossless
    opened(page, tmp_path, json.dumps(trace))
    expect(page.locator(".svp-badge")).to_contain_text("tree policy levels")
    expect(page.locator(".svp-lossy")).to_have_text("✕ lossy")
    expect(page.locator(".svp-badge span", has=page.locator(".svp-lossy"))).to_contain_text("stop policy hasty")
    expect(page.locator(".svp-badge")).not_to_contain_text("✓ lossless")


def test_the_tree_is_a_tree_to_a_screen_reader(player: Page) -> None:
    at(player, "#round=1&beat=9")
    tree = player.get_by_role("tree", name="draft tree of round 1")
    expect(tree.get_by_role("treeitem", name="space c, rejected, draft 0.50, target 0.10")).to_be_visible()
    expect(tree.get_by_role("treeitem", name="space a, correction")).to_be_visible()
    player.get_by_text("as a table").click()
    expect(player.get_by_role("row", name="3 ␣c 2 3 0.50 0.10 rejected")).to_be_visible()


LIVE = """([trace, rounds]) => {
  const whole = JSON.parse(trace);
  const grow = (count, over) => JSON.stringify(
    { ...whole, rounds: whole.rounds.slice(0, count), finished: over ? whole.finished : null, summary: null });
  document.querySelector("main").replaceChildren();
  const box = document.body.appendChild(document.createElement("div"));
  const props = { value: "" };
  let changed;
  SpecViz.mount(box, props, (name, call) => { changed = call; });
  window.grow = (count, over) => { props.value = grow(count, over); changed(); };
  window.other = () => { props.value = trace.replace('"run_id":"sample"', '"run_id":"other"'); changed(); };
}"""


@pytest.fixture
def live(player: Page) -> Page:
    player.evaluate(LIVE, [SAMPLE, 0])
    expect(player.get_by_text("No run to show yet.")).to_be_visible()
    return player


def test_a_growing_run_is_followed(live: Page) -> None:
    where = live.locator(".svp-where")
    live.evaluate("grow(1)")
    expect(where).to_have_text("Round 1 of 1 so far")
    live.evaluate("grow(4)")
    expect(where).to_have_text("Round 4 of 4 so far")
    live.evaluate("grow(8, true)")
    expect(where).to_have_text("Round 8 of 8")


def test_who_looks_back_during_a_run_is_left_there(live: Page) -> None:
    where = live.locator(".svp-where")
    live.evaluate("grow(4)")
    live.keyboard.press("Home")
    live.evaluate("grow(6)")
    expect(where).to_have_text("Round 1 of 6 so far")
    live.keyboard.press("End")
    live.evaluate("grow(7)")
    expect(where).to_have_text("Round 7 of 7 so far")


def test_another_run_opens_anew(live: Page) -> None:
    live.evaluate("grow(8, true)")
    live.evaluate("other()")
    expect(live.locator(".svp-where")).to_have_text("Round 1 of 8")


def test_the_readmes_picture_is_of_a_round_with_an_accepted_and_a_rejected_candidate() -> None:
    trace = codec.read(ROOT / "traces" / RECORDING)
    assert re.fullmatch(r"#round=\d+&beat=999&node=\d+", telling_moment(trace))
    unrejected = [one for one in trace.rounds if all(trial.accepted for trial in one.judged.trials)]
    assert unrejected, "the test needs a round without a rejection"
    with pytest.raises(AssertionError, match="choose another recording"):
        telling_moment(replace(trace, rounds=tuple(unrejected)))
