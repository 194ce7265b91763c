"""What moves without being asked: a round that pays, then the run at its own speed; and who takes over, and when."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from specviz.app.components.standalone import standalone_html
from tests.browser.test_player import SAMPLE, opened

pytestmark = pytest.mark.browser
ROUND_S, PATIENCE_S = 12, 5
CURSOR = "() => document.querySelector('.sv-player').specviz.cursor"
HEARD = "() => document.querySelector('.svp-aloud[role=status]').textContent"


def timed() -> str:
    """The sample as if it had been recorded (8 rounds, 20 tokens in 0.13 s), plain decoding beside it 20 in 0.2 s."""
    trace = json.loads(SAMPLE)
    trace["started"]["source"] = "recorded"
    plain = {"output_tokens": 20, "decode_s": 0.2, "runs": 3, "same_text": True}
    trace["finished"]["plain"] = plain
    return json.dumps(trace)


@pytest.fixture
def lively(page_at_own_time: Page) -> Page:
    """A visitor who has nothing against motion, and whose clock the test turns."""
    page_at_own_time.emulate_media(reduced_motion="no-preference")
    return page_at_own_time


def moving(page: Page, folder: Path, trace: str = SAMPLE, moment: str = "") -> Page:
    """Opened, and its first round begun."""
    opened(page, folder, trace, moment)
    expect(page.locator(".sv-player")).to_have_attribute("data-alone", "round")
    expect(page.locator(".svp-btn.is-play")).to_have_text("pause")
    return page


def seconds_until(page: Page, wanted: str, most: float) -> float:
    """Turn the clock until `wanted` holds; the seconds that took."""
    for tenth in range(round(most * 10)):
        if page.evaluate(wanted):
            return tenth / 10
        page.clock.run_for(100)
    raise AssertionError(f"not within {most} s: {wanted}")


def test_the_round_that_adds_most_begins_within_five_seconds_and_ends_within_twelve(
    lively: Page, tmp_path: Path
) -> None:
    page = moving(lively, tmp_path)
    assert page.evaluate(CURSOR) == {"round": 5, "beat": 0}
    assert seconds_until(page, f"() => ({CURSOR})().beat > 0", PATIENCE_S) > 0
    assert seconds_until(page, "() => document.querySelector('.sv-player').dataset.phase === 'commit'", ROUND_S) > 1
    assert page.evaluate(CURSOR)["round"] == 5


def test_without_plain_decoding_beside_it_the_round_is_all_and_the_player_rests(lively: Page, tmp_path: Path) -> None:
    page = moving(lively, tmp_path)
    page.clock.run_for(60_000)
    expect(page.locator(".svp-btn.is-play")).to_have_text("play")
    expect(page.locator(".svp-where")).to_have_text("Round 6 of 8")
    expect(page.locator(".svp-own")).to_be_hidden()


def test_then_the_run_goes_at_its_own_speed_beside_plain_decoding_and_rests_at_its_end(
    lively: Page, tmp_path: Path
) -> None:
    page = moving(lively, tmp_path, timed())
    bars = page.locator(".svp-own")
    seconds_until(page, "() => document.querySelector('.sv-player').dataset.alone === 'run'", ROUND_S + 1)
    expect(page.locator(".svp-caption")).to_contain_text(
        "The whole run at its own speed beside plain decoding, 20 times slower: an animation of the recorded times."
    )
    begins = page.locator(".svp-own .svp-small").inner_text()
    assert begins.endswith("of engine time, shown 20 times slower")
    page.clock.run_for(2_000)  # 0.100 to 0.105 s of the run: the sixth round was committed after 0.097 s
    told = page.locator(".svp-own-told")
    expect(told).to_have_text(["16 tokens", "10 tokens"])
    expect(page.locator(".svp-where")).to_have_text("Round 6 of 8")
    page.clock.run_for(3_000)
    expect(told).to_have_text(["20 tokens in 130 ms", "20 tokens in 200 ms"])
    expect(page.locator(".svp-btn.is-play")).to_have_text("play")
    expect(page.locator(".svp-where")).to_have_text("Round 8 of 8")
    page.keyboard.press("Escape")
    expect(bars).to_be_hidden()
    expect(page.locator(".svp-rounds")).to_be_visible()


@pytest.mark.parametrize("how", ["key", "press", "touch"])
def test_a_key_a_press_or_a_touch_takes_over_at_once(lively: Page, tmp_path: Path, how: str) -> None:
    page = moving(lively, tmp_path, timed())
    page.clock.run_for(3_000)
    before = page.evaluate(CURSOR)
    assert before["beat"] > 0
    if how == "key":
        page.keyboard.press("Shift")
    elif how == "press":
        page.locator(".svp-caption").click()
    else:
        page.evaluate("() => document.body.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}))")
    expect(page.locator(".svp-btn.is-play")).to_have_text("play")
    page.clock.run_for(30_000)
    assert page.evaluate(CURSOR) == before


@pytest.mark.parametrize("how", ["Space", "button"])
def test_space_and_the_button_pause_what_moves(lively: Page, tmp_path: Path, how: str) -> None:
    page = moving(lively, tmp_path, timed())
    page.clock.run_for(3_000)
    before = page.evaluate(CURSOR)
    if how == "Space":
        page.keyboard.press("Space")
    else:
        page.locator(".svp-btn.is-play").click()
    expect(page.locator(".svp-btn.is-play")).to_have_text("play")
    page.clock.run_for(30_000)
    assert page.evaluate(CURSOR) == before


def test_an_arrow_takes_over_and_steps_from_there(lively: Page, tmp_path: Path) -> None:
    page = moving(lively, tmp_path)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(CURSOR) == {"round": 5, "beat": 1}


def test_nothing_is_said_aloud_that_nobody_asked_for_and_the_address_stays_empty(lively: Page, tmp_path: Path) -> None:
    page = moving(lively, tmp_path, timed())
    assert page.evaluate(HEARD) == "Round 1 of 8. The drafter proposes “4 spaces”."
    page.clock.run_for(30_000)
    assert page.evaluate(HEARD) == "Round 1 of 8. The drafter proposes “4 spaces”."
    assert page.evaluate("location.hash") == ""
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(HEARD).startswith("Round 8 of 8. ")


@pytest.mark.parametrize("moment", ["#round=2&beat=3", "?embed", "?view=present"])
def test_a_moment_somebody_chose_an_embedded_player_and_a_presentation_stay_as_they_are(
    lively: Page, tmp_path: Path, moment: str
) -> None:
    page = opened(lively, tmp_path, timed(), moment)
    before = page.evaluate(CURSOR)
    page.clock.run_for(30_000)
    assert page.evaluate(CURSOR) == before
    expect(page.locator(".svp-btn.is-play")).to_have_text("play")


def test_where_less_motion_is_wanted_nothing_moves_until_play(lively: Page, tmp_path: Path) -> None:
    lively.emulate_media(reduced_motion="reduce")
    page = opened(lively, tmp_path, timed())
    page.clock.run_for(30_000)
    assert page.evaluate(CURSOR) == {"round": 0, "beat": 0}


def test_a_file_that_was_exported_at_a_moment_opens_there_and_rests(lively: Page, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_text(standalone_html(timed(), {"round": 2, "beat": 1, "node": None}), encoding="utf-8")
    lively.goto(f"file://{file}")
    expect(lively.locator(".svp-where")).to_have_text("Round 3 of 8")
    lively.clock.run_for(30_000)
    assert lively.evaluate(CURSOR) == {"round": 2, "beat": 1}


def test_o_shows_the_run_at_its_own_speed_again_and_says_where_there_is_nothing_beside_it(
    page_at_own_time: Page, tmp_path: Path
) -> None:
    page = opened(page_at_own_time, tmp_path, timed())
    page.keyboard.press("o")
    expect(page.locator(".svp-own")).to_be_visible()
    page.clock.run_for(10_000)
    expect(page.locator(".svp-own-told")).to_have_text(["20 tokens in 130 ms", "20 tokens in 200 ms"])
    opened(page, tmp_path, SAMPLE)
    page.keyboard.press("o")
    expect(page.locator(".svp-tools")).to_contain_text("no plain decoding was timed beside this run")


def test_the_player_is_as_tall_while_the_run_goes_at_its_own_speed(page: Page, tmp_path: Path) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        opened(page, tmp_path, timed())
        height = page.locator(".sv-player").bounding_box()["height"]
        page.keyboard.press("o")
        expect(page.locator(".svp-own")).to_be_visible()
        assert page.locator(".sv-player").bounding_box()["height"] == height
