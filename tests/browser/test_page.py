"""The page in a real browser: open, run live, stop, import, branch, sweep, at two widths and in two lights."""

import gzip
import json
import re
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Download, Page, expect

from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.store import read_definition
from specviz.trace import codec
from tests.app.doubles import SAMPLE, ReplaySource, sample
from tests.browser.page_server import MEASURING, opened, served
from tests.browser.tabs import is_open, open_tab

pytestmark = pytest.mark.browser
expect.set_options(timeout=20_000)


@pytest.fixture
def step(page: Page, watch: str) -> Page:
    """The Watch tab of a freshly opened page, which has no other."""
    return opened(page, watch)


@pytest.fixture
def paying(page: Page, measuring: str) -> Page:
    """A freshly opened page with *When it pays*, where sweeps are made."""
    return opened(page, measuring)


def pick(page: Page, chooser: str, name: str) -> None:
    """Choose from a list."""
    page.locator(f"{chooser} input").click()
    page.get_by_role("option", name=name, exact=True).click()


def message(page: Page, tab: str = "") -> object:
    """Expectations about the sentence beside the buttons."""
    return expect(page.locator(f"#sv-{tab}message .sv-message"))


def caption(page: Page) -> str:
    return page.locator("#sv-player .svp-caption").inner_text()


def test_the_page_opens_on_the_recorded_run_says_what_it_is_is_stepped_through_and_gives_it_away(
    step: Page, tmp_path: Path
) -> None:
    expect(step.locator(".sv-gained")).to_contain_text("8 passes of the big model instead of 20")
    expect(step.locator(".sv-gained .sv-origin")).to_have_text("simulated")
    expect(step.locator(".sv-badge-simulated")).to_have_text(["simulated", "times modelled"])
    expect(step.locator("#sv-status .sv-status")).to_have_text("models ready")
    step.locator("#sv-player .svp-caption").click()
    step.keyboard.press("Home")
    start = caption(step)
    step.keyboard.press("Shift+ArrowRight")
    expect(step.locator("#sv-player .svp-caption")).to_contain_text("Round 2 of 8")
    step.keyboard.press("Shift+ArrowLeft")
    assert caption(step) == start
    step.keyboard.press("n")
    node = step.locator("#sv-player [role=treeitem][aria-level='2']").first
    node.click()
    expect(node).to_have_attribute("aria-selected", "true")
    step.locator("#sv-player summary", has_text="share").click()
    with step.expect_download() as download:
        step.locator("#sv-player .svp-share-list").get_by_role("button", name="trace", exact=True).click()
    download.value.save_as(tmp_path / "got.json")
    assert codec.read(tmp_path / "got.json") == sample()


def test_a_number_beyond_its_bounds_is_named_next_to_run_and_the_queue_is_not_blamed(step: Page) -> None:
    step.get_by_label("temperature", exact=True).first.fill("-1")
    step.locator("#sv-run").click()
    message(step).to_contain_text("Temperature is -1, but must lie between 0 and 10 here.")


def test_a_chip_fills_the_prompt_the_next_press_moves_on_and_the_keyboard_alone_runs_it(step: Page) -> None:
    prompt, chip = step.locator("#sv-prompt textarea"), step.locator(".sv-family button").first
    prompt.focus()
    step.locator(".sv-knows > button").focus()
    step.keyboard.press("Enter")
    chip.click()
    expect(prompt).to_have_value("def first():\n")
    chip.click()
    expect(prompt).to_have_value("def second():\n")
    expect(step.locator("#sv-prompt-note")).to_contain_text("Code, 2 of 2: Second. Another one.")
    step.get_by_role("button", name="Copy", exact=True).focus()
    step.keyboard.press("Enter")
    expect(prompt).to_have_value("one two three one two")
    step.locator("#sv-run").focus()
    step.keyboard.press("Enter")
    message(step).to_contain_text("20 tokens in 8 target passes, 0.13 s of engine time")
    expect(step.locator(".sv-badge-live")).to_be_visible()
    expect(step.locator("#sv-run")).to_be_enabled()
    expect(step.locator("#sv-stop")).to_be_disabled()


def test_an_error_leaves_what_was_typed_and_then_a_token_of_ones_own_choice_continues_the_run(step: Page) -> None:
    step.locator("#sv-prompt textarea").fill("please fail here")
    step.locator("#sv-run").click()
    message(step).to_contain_text("This prompt fails on purpose; choose another.")
    expect(step.locator("#sv-prompt textarea")).to_have_value("please fail here")
    step.locator("#sv-player .svp-caption").click()
    step.keyboard.press("End")
    step.keyboard.press("Home")
    step.keyboard.press("Shift+ArrowRight")
    step.keyboard.press("n")
    step.locator("#sv-player [role=treeitem][aria-level='2']").first.click()
    step.locator("#sv-player button[title^='continue the run from here']").first.click()
    expect(step.locator(".sv-branch")).to_contain_text("as its next token, using the settings in the bar")
    step.get_by_role("button", name="Run from here", exact=True).click()
    message(step).to_contain_text("20 tokens in 8 target passes")
    expect(step.locator(".sv-branch")).to_be_hidden()
    expect(step.locator(".sv-badge-live")).to_be_visible()


def test_a_lossy_verifier_is_marked_an_illegal_pair_explained_and_the_drawer_has_the_chosen_methods_options(
    step: Page,
) -> None:
    """And policies say what they set aside."""
    step.locator("#sv-settings").click()
    step.locator("#sv-verifier").get_by_label("loose").check()
    expect(step.locator("#sv-lossless")).to_contain_text("lossy: loose may change the target's distribution")
    step.locator("#sv-verifier").get_by_label("greedy").check()
    step.locator("#sv-temperature input").fill("0.7")
    step.keyboard.press("Tab")
    message(step).to_contain_text("Greedy judges at temperature 0 only")
    step.locator("#sv-run").click()
    message(step).to_contain_text("Greedy judges at temperature 0 only")
    expect(step.locator("#sv-run")).to_be_enabled()
    pick(step, "#sv-drafter", "none")
    expect(step.get_by_label("longest").first).to_be_hidden()
    expect(step.locator("#sv-gamma input")).to_be_disabled()
    pick(step, "#sv-drafter", "model")
    fold = step.get_by_role("button", name="How the draft grows and ends: auto, fixed")
    fold.click()
    expect(step.locator("#sv-tree_policy")).to_be_visible()
    step.locator("#sv-stop_policy").get_by_label("doubt").check()
    expect(step.get_by_label("floor").first).to_be_visible()
    expect(step.get_by_role("button", name="How the draft grows and ends: auto, doubt")).to_be_visible()
    step.locator("#sv-tree_policy").get_by_label("levels").check()
    expect(step.locator(".sv-method", has_text="set aside").first).to_contain_text("✓ lossless The same children")
    pick(step, "#sv-drafter", "ngram")
    expect(step.locator("#sv-tree_policy")).to_be_hidden()
    expect(step.get_by_label("longest").first).to_be_visible()
    expect(step.get_by_label("branching")).to_be_hidden()


def upload(page: Page, path: Path) -> None:
    """In the open drawer."""
    with page.expect_file_chooser() as chooser:
        page.locator("#sv-upload").click()
    chooser.value.set_files(path)


def wide(page: Page, plot: str) -> None:
    """The chart fills its place, once Plotly has measured that."""
    width = "plot => document.querySelector(`${plot} .main-svg`).getBoundingClientRect().width > 400"
    page.wait_for_function(width, arg=plot)


def test_a_sweep_runs_and_shows_measured_points_with_theory(paying: Page) -> None:
    sweep = speedup(paying)
    open_form(sweep)
    sweep.get_by_label("speculation lengths γ").fill("1,2")
    message(sweep, "sweep-").to_contain_text("makes 10 runs")
    sweep.locator("#sv-sweep-run").click()
    message(sweep, "sweep-").to_contain_text("2.00× plain decoding")
    expect(sweep.locator("#sv-sweep-plot .legendtext")).to_have_text(
        ["model, measured", "model, theory", "ngram, measured", "ngram, theory"]
    )
    open_table(sweep)
    expect(sweep.locator(".sv-table tbody tr")).to_have_count(5)
    with sweep.expect_download() as download:
        sweep.get_by_role("link", name="Results as JSON").or_(sweep.get_by_text("Results as JSON")).first.click()
    result = sweep_store.read(named(download.value, "sweep.json"))
    assert (len(result.points), result.definition.gammas) == (10, (1, 2))
    expect(sweep.locator("#sv-sweep-origin .sv-badge-live")).to_be_visible()
    with sweep.expect_download() as download:
        sweep.locator("#sv-sweep-settings").click()
    assert read_definition(named(download.value, "sweep.toml")) == result.definition


def named(download: Download, name: str) -> Path:
    """A downloaded file, which must have this name."""
    assert download.suggested_filename == name
    return Path(download.path())


def test_a_cancelled_sweep_goes_on_by_resume_and_a_stopped_run_keeps_what_was_computed(
    page: Page, tmp_path: Path
) -> None:
    """The ninth run waits before its third round until the gate opens; only Cancel and Stop can end anything there."""
    gate = Event()
    with served(ReplaySource(sample(), gate, free_rounds=2, free_runs=8), tmp_path, tabs=MEASURING) as url:
        sweep = speedup(opened(page, url))
        file = tmp_path / "own.toml"
        file.write_text('title = "Own <b>"\nevery_drafter = true\n', encoding="utf-8")
        with sweep.expect_file_chooser() as chooser:
            sweep.locator("#sv-sweep-upload").click()
        chooser.value.set_files(file)
        message(sweep, "sweep-").to_contain_text("Own <b>: Run sweep makes its 14 runs")
        sweep.locator("#sv-sweep-run").click()
        expect(sweep.locator("#sv-sweep-message")).to_contain_text(re.compile(r"[2-9] of 14 runs"))
        sweep.locator("#sv-sweep-cancel").click()
        message(sweep, "sweep-").to_contain_text("Cancelled. Fastest measured")
        gate.set()
        sweep.locator("#sv-sweep-resume").click()
        message(sweep, "sweep-").to_contain_text("Fastest measured")
        expect(sweep.locator("#sv-sweep-origin")).to_contain_text("2 prompts × 1")
        expect(sweep.locator("#sv-sweep-resume")).to_be_disabled()
        with sweep.expect_download() as download:
            sweep.get_by_role("link", name="Results as JSON").or_(sweep.get_by_text("Results as JSON")).first.click()
        result = sweep_store.read(named(download.value, "sweep.json"))
        assert (len(result.points), len(result.provenance.continued)) == (14, 1)
        gate.clear()
        open_tab(page, "Watch")
        page.locator("#sv-run").click()
        message(page).to_contain_text("Running: ")
        page.locator("#sv-stop").click()
        message(page).to_contain_text("in 2 target passes")
        message(page).to_contain_text("you stopped it; what was computed is kept")
        expect(page.locator("#sv-run")).to_be_enabled()


def speedup(page: Page) -> Page:
    open_tab(page, "When it pays")
    expect(page.locator("#sv-sweep-plot .plot-container")).to_be_visible()
    return page


def open_form(sweep: Page) -> None:
    """The sweep's settings stand in a fold, so that results are in the first screen."""
    sweep.get_by_role("button", name="What to measure").click()
    expect(sweep.get_by_label("speculation lengths γ")).to_be_visible()


def open_table(sweep: Page) -> None:
    sweep.get_by_role("button", name="All measurements in a table").click()


def test_the_chart_is_in_the_first_screen_and_the_light_button_darkens_it_and_is_remembered(paying: Page) -> None:
    """It stood below 800 px of controls, and Plotly's tools covered an entry of its legend."""
    button = paying.get_by_role("button", name="switch between light and dark")
    ink = "getComputedStyle(document.querySelector('#sv-sweep-plot .legendtext, #sv-sweep-plot text')).fill"
    light = speedup(paying).evaluate(ink)
    box = paying.locator("#sv-sweep-plot").bounding_box()
    assert box["y"] < 480
    expect(paying.locator("#sv-sweep-plot .modebar")).to_be_hidden()
    button.focus()
    paying.keyboard.press("Enter")
    expect(paying.locator("body")).to_have_class(re.compile(r"\bdark\b"))
    paying.wait_for_function(f"light => {ink} !== light", arg=light)
    paying.reload()
    expect(paying.locator("#sv-player [data-ready]").first).to_be_attached()
    expect(paying.locator("body")).to_have_class(re.compile(r"\bdark\b"))
    assert paying.evaluate("getComputedStyle(document.querySelector('.sv-player')).colorScheme") == "dark"


def test_trace_files_are_opened_a_bad_one_is_refused_with_its_place_and_hostile_names_stay_text(
    step: Page, tmp_path: Path
) -> None:
    step.locator("#sv-settings").click()
    content, badges = SAMPLE.read_bytes(), step.locator("#sv-badges")
    (tmp_path / "mine.json").write_bytes(content.replace(b'"seed":7', b'"seed":11'))
    upload(step, tmp_path / "mine.json")
    expect(badges).to_contain_text("seed 11")
    (tmp_path / "mine.json.gz").write_bytes(gzip.compress(content.replace(b'"seed":7', b'"seed":13')))
    upload(step, tmp_path / "mine.json.gz")
    expect(badges).to_contain_text("seed 13")
    data = json.loads(content)
    data["rounds"][3]["nodes"][1]["parent"] = 99
    (tmp_path / "broken.json").write_text(json.dumps(data), encoding="utf-8")
    upload(step, tmp_path / "broken.json")
    message(step).to_contain_text(re.compile(r"broken\.json: rounds\[3\]\.nodes\[1\]"))
    expect(badges).to_contain_text("seed 13")
    data = json.loads(content)
    name = "<img src=x onerror=alert(1)>${1+1}`{{x}}"
    data["started"]["target"]["name"] = name
    (tmp_path / "hostile.json").write_text(json.dumps(data), encoding="utf-8")
    upload(step, tmp_path / "hostile.json")
    expect(badges).to_contain_text(name)
    assert badges.locator("img").count() == 0


def test_machine_draws_a_shipped_curve_its_fold_answers_its_slider_and_a_sweep_file_opens_in_its_own_tab(
    paying: Page, tmp_path: Path
) -> None:
    """And a trace that is handed in leaves no old name in the lists."""
    open_tab(paying, "Machine")
    expect(paying.locator("#sv-machine-sentence")).to_contain_text("Free means at most 10% more time")
    expect(paying.locator("#sv-machine-plot .legendtext").first).to_have_text("t(n), measured")
    expect(paying.locator("#sv-machine-table tbody tr").first).to_contain_text("1.00")
    expect(paying.locator("#sv-machine-run")).to_be_disabled()
    paying.locator("#sv-heads").get_by_text("A smaller draft head").click()
    paying.locator("#sv-heads-plot .main-svg").first.wait_for(state="visible")
    wide(paying, "#sv-heads-plot")
    paying.locator("#sv-heads-size input[type=number]").fill("2048")
    paying.locator("#sv-heads-size input[type=number]").press("Tab")
    paying.locator("#sv-heads-sentence").get_by_text("2048 of 4096 tokens").wait_for()
    open_tab(paying, "Watch")
    recorded = paying.locator("#sv-recorded input").first
    assert recorded.input_value()
    paying.locator("#sv-settings").click()
    upload(paying, SAMPLE)
    expect(recorded).to_have_value("")
    file = tmp_path / "own.toml"
    file.write_text('title = "Own"\nevery_drafter = true\n', encoding="utf-8")
    upload(paying, file)
    expect(paying.locator("#sv-sweep-message")).to_contain_text("Own: Run sweep makes its 14 runs")
    is_open(paying, "When it pays")
