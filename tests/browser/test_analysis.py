"""The Analysis tab in a real browser: the answer, an example opened in the player, rounds stepped through, files."""

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from specviz.trace import codec
from tests.app.doubles import sample
from tests.browser.page_server import opened
from tests.browser.tabs import is_open, open_tab
from tests.browser.test_page import pick

pytestmark = pytest.mark.browser


@pytest.fixture
def analysis(page: Page, measuring: str) -> Page:
    opened(page, measuring)
    open_tab(page, "Analysis")
    expect(page.locator("#sv-analysis-answer .sv-answer")).to_contain_text("Why are the tokens of")
    return page


def test_the_first_screen_answers_why_its_tables_are_saved_as_one_zip_and_own_traces_are_counted(
    analysis: Page, tmp_path: Path
) -> None:
    """With three kinds of failures, an example of each, and nothing wider than a window or a phone."""
    cards = analysis.locator("#sv-analysis-answer .sv-failure")
    expect(cards).to_have_count(3)
    answer = analysis.locator("#sv-analysis-answer .sv-answer").bounding_box()
    assert answer["y"] + answer["height"] < 800  # without scrolling
    for number in range(3):
        expect(cards.nth(number).locator(".sv-open").first).to_be_visible()
    plot = analysis.locator("#sv-analysis-plot .js-plotly-plot")
    expect(plot).to_contain_text("depth in the draft")
    analysis.get_by_role("radio", name="by token class").check()
    expect(plot).to_contain_text("class of the drafted token")
    with analysis.expect_download() as saved:
        analysis.locator("#sv-analysis-csv").click()
    assert saved.value.suggested_filename == "specviz-analysis.zip"
    with zipfile.ZipFile(saved.value.path()) as archive:
        assert archive.read("runs.csv").count(b"\nthe run in Watch,") == 1
    expect(analysis.locator("#sv-analysis-packed")).to_contain_text("Tables of 1 run")
    assert not re.search(r"<b>", analysis.locator("#sv-analysis-pairs").inner_html())
    for width in (390, 1280):
        analysis.set_viewport_size({"width": width, "height": 844})
        expect(analysis.locator("#sv-analysis-pairs .sv-table")).to_be_visible()
        analysis.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    codec.write(sample(), tmp_path / "mine.json.gz")
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    analysis.get_by_role("radio", name="my traces").check()
    expect(analysis.locator("#sv-analysis-message")).to_contain_text("Choose your traces")
    files = [str(tmp_path / "mine.json.gz"), str(tmp_path / "bad.json")]
    analysis.locator("#sv-analysis-files input[type=file]").set_input_files(files)
    expect(analysis.locator("#sv-analysis-message")).to_contain_text(
        "Counted: 1 run, 1 drafter; 1 file could not be read. bad: "
    )
    expect(analysis.locator("#sv-analysis-missing")).to_contain_text("bad: ")


def test_an_example_opens_the_player_at_that_verdict_and_it_steps_through_the_rounds_that_were_found(
    analysis: Page,
) -> None:
    example = analysis.locator("#sv-analysis-answer .sv-open[data-node]:not([data-node=''])").first
    round_index, node = example.get_attribute("data-round"), example.get_attribute("data-node")
    example.click()
    is_open(analysis, "Watch")
    expect(analysis.locator("#sv-player .svp-where")).to_have_text(f"Round {int(round_index) + 1} of 8")
    chosen = analysis.locator(f"#sv-player [role=treeitem][data-node='{node}']")
    expect(chosen).to_have_attribute("aria-selected", "true")
    expect(chosen).to_have_attribute("data-state", "rejected")
    open_tab(analysis, "Analysis")
    pick(analysis, "#sv-analysis-pattern", "all accepted: a whole path was accepted")
    expect(analysis.locator("#sv-analysis-rounds")).to_contain_text("all accepted")
    chips = analysis.locator("#sv-analysis-rounds .sv-open")
    found = [int(number) for number in chips.evaluate_all("all => all.map(one => one.dataset.round)")]
    assert len(found) > 1
    chips.first.click()
    bar, where = analysis.locator("#sv-player .svp-found"), analysis.locator("#sv-player .svp-where")
    expect(bar).to_contain_text(f"all accepted: round 1 of {len(found)} in this run")
    bar.get_by_role("button", name="next").click()
    expect(where).to_have_text(f"Round {found[1] + 1} of 8")
    bar.get_by_role("button", name="leave").click()
    expect(bar).to_be_hidden()


def test_the_kept_traces_of_a_sweep_are_analysed_with_one_press(analysis: Page) -> None:
    open_tab(analysis, "When it pays")
    analysis.get_by_role("button", name="What to measure").click()
    analysis.locator("#sv-sweep-gammas input, #sv-sweep-gammas textarea").fill("1")
    analysis.locator("#sv-sweep-keep input").check()
    expect(analysis.locator("#sv-sweep-analyse")).to_be_disabled()
    for _ in range(2):  # the second time over files that are handed in while others are counted
        analysis.locator("#sv-sweep-run").click()
        expect(analysis.locator("#sv-sweep-analyse")).to_be_enabled()
        analysis.locator("#sv-sweep-analyse").click()
        is_open(analysis, "Analysis")
        expect(analysis.locator("#sv-analysis-message")).to_contain_text("Counted: 6 runs")
        open_tab(analysis, "When it pays")
