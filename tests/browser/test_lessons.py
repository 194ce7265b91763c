"""Every lesson in a real Chromium, over the recorded runs that ship: from its first beat to its last by keys alone on
the static site, which has the scripts of the served page and no server to wait for; and what of a lesson is the served
page's own."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from specviz.app.learn import lessons_of
from specviz.app.runs.gallery import gallery
from specviz.app.site import write_site
from specviz.lessons.lesson import read
from specviz.lessons.resolve import stands_in
from specviz.resources import ROOT as ASSETS
from specviz.trace import codec
from tests.browser.conftest import PATIENCE_MS
from tests.browser.page_server import opened
from tests.browser.tabs import open_tab

pytestmark = pytest.mark.browser
LESSONS = [lesson.id for lesson in read()]
STANDS = """(want) => {
  const shown = document.querySelector(".sv-player").specviz;
  const box = document.querySelector(".svl");
  return shown.trace.started.run_id === want.run_id && shown.cursor.round === want.round &&
    box.getAttribute("aria-busy") === "false";
}"""
LESSON_LIST = ".sv-learn-box"
STATE = "() => SpecViz.lesson.state()"


@pytest.fixture
def home(page: Page, learning: str) -> Page:
    return opened(page, learning, LESSON_LIST)


def lessons(page: Page) -> list[dict[str, Any]]:
    """The resolved lessons as the page has them."""
    found: list[dict[str, Any]] = page.evaluate("() => SpecViz.lesson.data.lessons")
    return found


def start(page: Page, name: str) -> dict[str, Any]:
    open_tab(page, "Learn")
    return begun(page, name)


def begun(page: Page, name: str) -> dict[str, Any]:
    """The lesson, once its button in the list of lessons was pressed."""
    one = next(lesson for lesson in lessons(page) if lesson["id"] == name)
    page.get_by_role("button", name=f"Start: {one['title']}").click()
    return one


def standing(page: Page, one: dict[str, Any], beat: dict[str, Any]) -> None:
    """The player shows the beat's run and round."""
    wanted = {"run_id": one["runs"][beat["run"]]["run_id"], "round": beat["at"]["round"]}
    page.wait_for_function(STANDS, arg=wanted)


UNTIL = """(given) => new Promise((done) => {
  const began = performance.now();
  const look = () => {
    const said = (() => { %s })();
    if (said || performance.now() - began > %d) done(said);
    else requestAnimationFrame(look);
  };
  look();
})"""
BEAT = """const [where, want] = given;
const box = document.querySelector(".svl");
const { trace, cursor } = document.querySelector(".sv-player").specviz;
return box.querySelector(".svl-where").textContent === where && box.getAttribute("aria-busy") === "false" &&
  (!want || (trace.started.run_id === want.run_id && cursor.round === want.round)) &&
  document.querySelector(".svp-caption").innerText;"""
"""of a beat: what the player says once it shows the beat's run and round"""
ANSWERED = """const verdict = document.querySelector(".svl-verdict");
return verdict?.textContent && [verdict.textContent, document.querySelectorAll(".svl-choice.is-right").length];"""
"""of a question: the verdict, and how many choices are marked as right"""


def until(page: Page, body: str, *given: object) -> Any:
    """What this says in the page as soon as it says something: one question, where `expect` asks several times."""
    return page.evaluate(UNTIL % (body, PATIENCE_MS), given)


def played(page: Page, one: dict[str, Any], first: int = 0) -> None:
    """From its beat `first` to its last by keys alone, each beat at its run and round; every question is answered."""
    many = len(one["beats"])
    for place, beat in enumerate(one["beats"][first:], first):
        run = one["runs"][beat["run"]]
        wanted = None if beat["live"] else {"run_id": run["run_id"], "round": beat["at"]["round"]}
        said = until(page, BEAT, f"{one['title']} · {place + 1} of {many}", wanted)
        assert said, beat["title"]
        if beat["question"]:
            right = [choice["right"] for choice in beat["question"]["choices"]].index(True)
            answer = beat["question"]["choices"][right]["text"]
            told = re.sub(r"Round \d+ of \d+", "", said)
            assert not stands_in(answer, told), f"beside “{beat['title']}” the picture says the answer: {told}"
            page.keyboard.press("abcdefghi"[right])
            page.keyboard.press("Space")
            verdict, marked = until(page, ANSWERED)
            assert "Right." in verdict, beat["title"]
            assert marked == 1
        if beat["live"]:
            expect(page.locator(".svl-verdict")).to_contain_text("needs the page with its engine")
        page.keyboard.press("PageDown" if place % 2 else "Space")
    beats = one["beats"][first:]
    solved = sum(beat["exercise"] and beat["question"] is not None for beat in beats)
    exercises = sum(beat["exercise"] for beat in one["beats"])
    expect(page.locator(".svl-title")).to_have_text("That was the lesson")
    expect(page.locator(".svl-text")).to_contain_text(f"You solved {solved} of {exercises} exercises.")
    page.keyboard.press("PageUp")
    expect(page.locator(".svl-where")).to_contain_text(f"{many} of {many}")


def from_disk(page: Page, file: Path) -> Page:
    """The file in a page of its own, with the network off."""
    context = page.context.browser.new_context(reduced_motion="reduce")
    context.set_offline(True)
    alone = context.new_page()
    alone.on("pageerror", lambda error: pytest.fail(f"script error: {error}"))
    alone.goto(f"file://{file}")
    expect(alone.locator("[data-ready]").first).to_be_attached()
    return alone


def test_the_html_file_exported_from_within_a_lesson_plays_it_from_disk(home: Page, tmp_path: Path) -> None:
    one = start(home, "other_drafters")
    home.keyboard.press("PageDown")
    standing(home, one, one["beats"][1])
    home.wait_for_function("() => SpecViz.lessonAtHand() !== null")
    home.locator("#sv-player summary", has_text="share").click()
    with home.expect_download() as download:
        home.get_by_role("button", name="one HTML file").click()
    download.value.save_as(tmp_path / "lesson.html")
    alone = from_disk(home, tmp_path / "lesson.html")
    played(alone, one, 1)
    alone.context.close()


def test_a_lesson_goes_on_where_the_server_does_not_answer_any_more(page_of_its_own: Page, learning: str) -> None:
    page = opened(page_of_its_own, learning, LESSON_LIST)
    one = start(page, "guess_and_check")
    standing(page, one, one["beats"][0])
    page.wait_for_function("() => SpecViz.lessonAtHand() !== null")
    page.route("**/gradio_api/**", lambda route: None)  # nobody answers
    place = next(place for place, beat in enumerate(one["beats"]) if beat["run"] != one["beats"][0]["run"])
    for _ in range(place):
        page.keyboard.press("PageDown")
    standing(page, one, one["beats"][place])
    expect(page.locator(".svl-where")).to_contain_text(f"{place + 1} of")


def test_every_lesson_is_played_to_its_end_by_keys_alone_from_disk(page: Page, tmp_path: Path) -> None:
    told = json.loads(lessons_of(gallery(ASSETS / "traces")))
    used = {run["file"] for each in told["lessons"] for run in each["runs"].values()}
    shown = tmp_path / "recorded"
    shown.mkdir()
    for name in used:
        (shown / name).symlink_to(ASSETS / "traces" / name)
    write_site(tmp_path / "site", gallery(shown), tmp_path / "no-sweeps", told)
    alone = from_disk(page, tmp_path / "site" / "index.html")
    for name in LESSONS:
        alone.locator(".sv-learn").click()  # without tabs a button opens the list
        played(alone, begun(alone, name))
        alone.get_by_role("button", name="Leave the lesson").click()
    alone.context.close()


def test_a_question_is_read_out_once_by_radio_buttons_a_wrong_answer_is_said_to_be_wrong_and_a_skipped_one_is_shown(
    home: Page,
) -> None:
    one = start(home, "guess_and_check")
    place = next(index for index, beat in enumerate(one["beats"]) if beat["question"])
    asked, verdict = one["beats"][place]["question"], home.locator(".svl-verdict")
    expect(home.locator(".svl-title")).to_be_focused()
    for _ in range(place):
        home.keyboard.press("PageDown")
    expect(home.locator(".svl [aria-live=polite]")).to_have_count(1)
    expect(home.get_by_role("region", name="lesson")).to_be_visible()
    group = home.get_by_role("group", name=asked["ask"].replace("\u2068", ""))
    expect(group.get_by_role("radio")).to_have_count(len(asked["choices"]))
    group.get_by_role("radio").first.focus()
    home.keyboard.press("Space")
    expect(group.get_by_role("radio").first).to_be_checked()
    home.keyboard.press("ArrowDown")
    expect(group.get_by_role("radio").nth(1)).to_be_checked()
    expect(home.locator(".svl-where")).to_contain_text(f"{place + 1} of")
    home.locator(".svl-title").focus()
    home.keyboard.press("abcdefghi"[[choice["right"] for choice in asked["choices"]].index(False)])
    home.keyboard.press("Space")
    expect(verdict).to_contain_text("Not quite.")
    expect(home.locator(".svl-choice.is-wrong")).to_have_count(1)
    home.keyboard.press("PageUp")
    home.keyboard.press("PageDown")
    home.keyboard.press("PageDown")  # nothing chosen: the answer is shown
    expect(verdict).to_be_visible()
    expect(verdict).not_to_contain_text("Right.")
    expect(home.locator(".svl-choice.is-right")).to_have_count(1)


def test_keys_typed_into_a_field_stay_there_and_a_lesson_that_is_left_leaves_the_page_as_before_and_goes_on_there(
    home: Page, learning: str
) -> None:
    one = start(home, "four_verdicts")
    prompt, where = home.locator("#sv-prompt textarea"), home.locator(".svl-where")
    expect(where).to_contain_text("1 of")
    prompt.fill("")
    prompt.press_sequentially("a b 2")
    expect(prompt).to_have_value("a b 2")
    expect(where).to_contain_text("· 1 of")
    home.locator(".svl-title").focus()
    for place in range(1, 4):
        home.keyboard.press("PageDown")
        expect(where).to_contain_text(f"· {place + 1} of")
        standing(home, one, one["beats"][place])
    home.get_by_role("button", name="Leave the lesson").click()
    expect(home.locator(".svl")).to_have_count(0)
    assert home.evaluate(STATE) is None
    assert home.locator("#sv-player .sv-player").get_attribute("data-guess") in ("", None)
    home.evaluate("() => document.querySelector('#sv-player .sv-player').specviz.go({ round: 1, beat: 0 })")
    before = home.evaluate("() => document.querySelector('#sv-player .sv-player').specviz.cursor")
    home.locator("#sv-player .svp-btn.is-play").focus()  # on the tab an arrow leads to the next tab
    home.keyboard.press("ArrowRight")
    assert home.evaluate("() => document.querySelector('#sv-player .sv-player').specviz.cursor") != before
    home.locator("#sv-run").click()
    expect(home.locator("#sv-message .sv-message")).to_contain_text("20 tokens")
    opened(home, learning, LESSON_LIST)
    open_tab(home, "Learn")
    expect(home.get_by_text(f"at 4 of {len(one['beats'])}")).to_be_visible()
    home.get_by_role("button", name=f"Go on: {one['title']}").click()
    expect(where).to_contain_text(f"4 of {len(one['beats'])}")
    standing(home, one, one["beats"][3])


def test_run_pressed_unchanged_solves_no_exercise_and_a_run_of_ones_own_ticks_it_off(home: Page) -> None:
    opening = codec.read(ASSETS / "traces" / "smollm2-opening.json.gz")
    again = codec.dumps(replace(opening, started=replace(opening.started, run_id="mine", source="live", seed=99)))
    one = start(home, "guess_and_check")
    last, verdict = len(one["beats"]) - 1, home.locator(".svl-verdict")
    home.evaluate("(place) => SpecViz.lesson.open('guess_and_check', place)", last)
    expect(verdict).to_have_text("Waiting for a run of yours.")
    home.evaluate("(text) => document.querySelector('#sv-player .sv-player').specviz.load(text)", again)
    expect(verdict).to_have_text("Your run was asked for as before: change the prompt or a setting, and run again.")
    home.get_by_role("textbox", name="prompt of your run").fill("def add(a, b):")
    home.locator(".svl").get_by_role("button", name="Run", exact=True).click()
    expect(home.locator("#sv-prompt textarea")).to_have_value("def add(a, b):")
    expect(verdict).to_contain_text(re.compile(r"Your run: 20 tokens in 8 passes .* Done\."))
    home.locator(".svl-title").focus()
    home.keyboard.press("PageUp")
    standing(home, one, one["beats"][last - 1])


def test_a_link_of_a_presented_lesson_leads_to_a_tab_that_is_seen(page: Page, shipped: str) -> None:
    """Without the presentation, whose player is hidden there: the window would be empty, and no key would help."""
    opened(page, shipped, LESSON_LIST)
    one = start(page, "when_it_pays")
    standing(page, one, one["beats"][0])
    page.keyboard.press("p")
    page.locator(".svl-link:not(.is-leave)").click()
    expect(page.locator("#sv-what-if-verdict")).to_be_visible()
    open_tab(page, "Watch")
    expect(page.locator(".svl")).to_be_visible()
    page.wait_for_function("() => !location.hash.includes('view=present')")


def test_a_presented_question_shows_every_answer_and_then_its_verdict(home: Page) -> None:
    """The six with the most words, in the window of a projector."""
    home.set_viewport_size({"width": 1280, "height": 720})
    start(home, "guess_and_check")
    home.keyboard.press("p")
    beats = [(each["id"], place, beat) for each in lessons(home) for place, beat in enumerate(each["beats"])]
    asking = [
        (name, place, json.dumps([beat["text"], beat["question"]])) for name, place, beat in beats if beat["question"]
    ]
    choices, verdict, foot = (home.locator(f".svl .svl-{part}") for part in ("choice", "verdict", "foot"))
    for name, place, _ in sorted(asking, key=lambda one: len(one[2]))[-6:]:
        home.evaluate("([name, place]) => SpecViz.lesson.open(name, place)", [name, place])
        expect(home.locator(".svl")).to_have_attribute("aria-busy", "false")
        expect(verdict).to_be_hidden()
        assert bottom(choices.last) <= foot.bounding_box()["y"], (name, place)
        home.keyboard.press("a")
        home.keyboard.press("PageDown")
        expect(verdict).to_be_visible()
        assert bottom(verdict) <= foot.bounding_box()["y"], (name, place)
        assert choices.first.bounding_box()["y"] > 0, (name, place)


def bottom(part: Locator) -> float:
    box = part.bounding_box()
    return box["y"] + box["height"]


def test_on_a_phone_the_guesses_that_are_asked_about_come_next_and_play_once_it_is_answered(
    page: Page, learning: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, learning, LESSON_LIST)
    start(page, "guess_and_check")
    page.evaluate("() => SpecViz.lesson.open('guess_and_check', 4)")
    expect(page.locator(".svl-title")).to_have_text("How many will the target keep?")
    play, drafted = page.locator("#sv-player .svp-btn.is-play"), page.locator("#sv-player [role=treeitem]")
    page.locator(".svl").evaluate("lesson => lesson.scrollIntoView()")
    expect(drafted.nth(2)).to_be_in_viewport(ratio=1)
    expect(play).to_be_hidden()
    page.locator(".svl-choice input").nth(1).check()
    page.locator(".svl-btn.is-next").click()
    expect(page.locator(".svl-verdict")).to_contain_text("Right.")
    expect(play).to_be_visible()


def test_on_a_phone_it_stands_above_the_player_fits_and_its_link_leads_to_a_tab_and_the_first_tab_back(
    page: Page, shipped: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, shipped, LESSON_LIST)
    one = start(page, "when_it_pays")
    standing(page, one, one["beats"][0])
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    lesson, stage = page.locator(".svl").bounding_box(), page.locator("#sv-player .svp").bounding_box()
    assert lesson["y"] + lesson["height"] <= stage["y"]
    for button in page.locator(".svl button:visible").all():
        box = button.bounding_box()
        assert box["height"] >= 40
    page.locator(".svl-link:not(.is-leave)").click()  # What if waits behind the menu of tabs
    expect(page.locator("#sv-what-if-verdict")).to_be_visible()
    page.keyboard.press("PageDown")  # the lesson is out of sight: not its key
    open_tab(page, "Watch")
    expect(page.locator(".svl")).to_be_visible()
    expect(page.locator(".svl-where")).to_contain_text(f"1 of {len(one['beats'])}")
