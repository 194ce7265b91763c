"""The panel that judges a recorded round again: slider to sentence to marks in the tree, by keyboard, and back."""

import gzip
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from specviz.resources import ROOT
from tests.browser.test_player import GOLDEN, SAMPLE, at, node, opened

pytestmark = pytest.mark.browser

LABEL = "same candidates, same uniform draws. It claims nothing about speed"


def unfolded(page: Page, folder: Path, trace: str, moment: str) -> Page:
    opened(page, folder, trace, moment)
    page.get_by_text("Re-judge this round").click()
    return page


def test_moving_the_temperature_by_keyboard_tells_the_flips_and_marks_them_in_the_tree(
    page: Page, tmp_path: Path
) -> None:
    unfolded(page, tmp_path, SAMPLE, "#round=2&beat=14")
    told = page.locator(".svp-rejudge [role=status]")
    expect(page.locator(".svp-rejudge")).to_contain_text(LABEL)
    expect(told).to_have_text("Nothing is moved: these are the recorded verdicts.")
    slider = page.get_by_role("slider", name="temperature")
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", "0.5 (was 1)")
    expect(page.locator(".svp-where")).to_have_text("Round 2 of 8")
    expect(told).to_have_text("1 of 5 verdicts flips. Accepted candidates: 3 recorded, 2 now.")
    expect(node(page, 14)).to_have_attribute("data-changed", "rejected")
    assert "would be rejected" in str(node(page, 14).get_attribute("aria-label"))
    expect(node(page, 14).locator(".svp-changed")).to_have_text("▼")
    expect(page.locator(".svp-change")).to_contain_text("p 0.45 → 0.56")
    page.get_by_role("button", name="reset to the recorded settings").click()
    expect(slider).to_have_attribute("aria-valuetext", "1")
    expect(page.locator("[data-changed]")).to_have_count(0)


def test_lenience_is_marked_lossy_and_folding_the_panel_ends_it(page: Page, tmp_path: Path) -> None:
    unfolded(page, tmp_path, SAMPLE, "#round=2&beat=14")
    expect(page.locator(".svp-drift")).to_be_hidden()
    page.get_by_role("slider", name="lenience").fill("0")
    expect(page.locator(".svp-drift")).to_be_visible()
    expect(page.locator("[data-changed=accepted]").first).to_be_attached()
    page.get_by_text("Re-judge this round").click()
    expect(page.locator("[data-changed]")).to_have_count(0)


def test_the_panel_says_what_it_cannot_judge_again(page: Page, tmp_path: Path) -> None:
    trace = json.loads(SAMPLE)
    trace["rounds"][0]["judged"]["rule"] = "block"
    unfolded(page, tmp_path, json.dumps(trace), "#round=1&beat=9")
    expect(page.locator(".svp-rejudge")).to_contain_text("This round was judged by block.")
    expect(page.get_by_role("slider", name="temperature")).to_be_hidden()
    at(page, "#round=2&beat=1")
    expect(page.locator(".svp-rejudge")).to_contain_text("not all spoken yet")
    page.get_by_role("button", name="go to the last verdict").click()
    expect(page.get_by_role("slider", name="temperature")).to_be_visible()


def test_above_temperature_0_a_greedy_round_has_probabilities_but_no_verdicts(page: Page, tmp_path: Path) -> None:
    greedy = (GOLDEN / "trace-1.0-greedy.json").read_text(encoding="utf-8")
    unfolded(page, tmp_path, greedy, "#round=2&beat=99")
    page.get_by_role("slider", name="temperature").fill("20")
    expect(page.locator(".svp-rejudge [role=status]")).to_contain_text("no u was drawn")


TRACES = ROOT / "traces"
FLIP = """(trace) => {
  for (const round of trace.rounds) for (const temperature of [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) {
    const found = SpecViz.rejudge(trace, round, { ...SpecViz.recorded(trace), temperature });
    if (found && found.flips && found.accepted[1] !== null) return [round.index, temperature, SpecViz.rejudged(found)];
  }
}"""


def test_a_shipped_recording_has_a_verdict_that_flips_when_it_is_colder(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, tmp_path, SAMPLE)
    recordings = (
        gzip.decompress(file.read_bytes()).decode("utf-8") for file in sorted(TRACES.glob("growth-*.json.gz"))
    )
    trace, found = next((one, flip) for one in recordings if (flip := page.evaluate(FLIP, json.loads(one))))
    index, temperature, sentence = found
    opened(page, tmp_path, trace)
    at(page, f"#round={index + 1}&beat=99")
    page.get_by_text("Re-judge this round").click()
    page.get_by_role("slider", name="temperature").fill(str(round(temperature / 0.05)))
    expect(page.locator(".svp-rejudge [role=status]")).to_have_text(sentence)
    expect(page.locator(".svp-change:is(.is-accepted, .is-rejected)").first).to_be_visible()
    expect(page.locator("[data-changed=accepted], [data-changed=rejected]").first).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
