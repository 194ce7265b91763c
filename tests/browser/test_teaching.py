"""What a class touches, pins, hands in and is measured by, in an exported lesson: by keys, and with hostile words."""

import os
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from specviz.app.components.standalone import standalone_html
from specviz.lessons.lesson import read
from specviz.lessons.resolve import lesson_file
from specviz.resources import ROOT as ASSETS
from specviz.trace import codec

pytestmark = pytest.mark.browser
RUNS = {file.name: partial(codec.read, file) for file in (ASSETS / "traces").glob("model-chain-*.json.gz")}
RUNS |= {file.name: partial(codec.read, file) for file in (ASSETS / "traces").glob("opening*.json.gz")}
HOSTILE = "<img src=x onerror=document.title='broken'> & \"quoted\""
PICTURES = os.environ.get("TEACHING_PICTURES", "")
"""a folder to which pictures of the lesson go"""


def lesson_page(name: str, folder: Path) -> Path:
    """A lesson with its runs in one file."""
    lesson = next(one for one in read() if one.id == name)
    whole = lesson_file(lesson, RUNS)
    text = next(iter(whole["texts"].values()))
    page = folder / "lesson.html"
    page.write_text(standalone_html(text, lesson=whole), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lesson 3."""
    return lesson_page("the_law_stays", tmp_path_factory.mktemp("lesson"))


@pytest.fixture
def lesson(page: Page, exported: Path) -> Page:
    page.goto(exported.as_uri())
    expect(page.locator(".svl-where")).to_contain_text("· 1 of 13")
    return page


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png")


def pressed(page: Page, key: str, times: int) -> None:
    for _ in range(times):
        page.keyboard.press(key)


def reach(page: Page, selector: str) -> None:
    """Walk by Tab until what the selector names has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"Tab does not reach {selector}")


def test_the_overlap_is_taught_by_keys_alone(lesson: Page) -> None:
    page = lesson
    page.keyboard.press("PageDown")
    expect(page.locator(".svl-title")).to_have_text("Touch it")
    expect(page.locator(".svl .svt-tag")).to_have_text("Your numbers, not the run's.")
    reach(page, ".svl [data-step=guess]")
    picture(page, "1-guess")
    reach(page, ".svl [data-step=overlap]")
    page.keyboard.press("Enter")
    expect(page.locator(".svl .svt-words")).to_contain_text("70 of 100 guesses are kept")
    picture(page, "2-overlap")
    reach(page, ".svl [data-step=overhang]")
    page.keyboard.press("Enter")
    expect(page.locator(".svl .svt-words")).to_contain_text("30 of 100 guesses stick out")
    picture(page, "3-overhang")
    reach(page, ".svl [data-step=refill]")
    page.keyboard.press("Enter")
    picture(page, "4-refill")
    reach(page, ".svl [data-step=formula]")
    page.keyboard.press("Enter")
    expect(page.locator(".svl .svt-lines")).to_have_text(
        "r(a) = max(0, p − q) / Σ max(0, p − q) = (0.50 − 0.20) / 0.30 = 1.00"
    )
    reach(page, ".svl [aria-label='q of a']")
    pressed(page, "ArrowRight", 10)
    expect(page.locator(".svl [aria-label='q of a']")).to_have_attribute("aria-valuetext", "0.30")
    expect(page.locator(".svl .svt-lines")).to_contain_text("(0.50 − 0.30)")
    picture(page, "5-dragged")
    expect(page.locator(".svl-title")).to_have_text("Touch it"), "keys on a bar are the bar's"


def test_the_lesson_of_the_rule_is_taught_by_keys_alone_and_counts_a_solved_task(page: Page, tmp_path: Path) -> None:
    page.goto(lesson_page("write_the_rule", tmp_path).as_uri())
    verdict = page.locator(".svl .svw-report .svw-verdict")
    law = (
        "Exact: the law is p, to rounding.",
        "Biased towards b, c (+0.150), away from a",
        "Exact: the law is p, to rounding.",
        "Biased towards b (+0.090), away from a (−0.150)",
        "Biased towards b (+0.060), away from a",
    )
    for place, said in enumerate(law, 1):
        expect(page.locator(".svl-where")).to_have_text(f"Write the rule · {place} of 8")
        expect(verdict).to_contain_text(said)
        picture(page, f"rule-{place}")
        page.keyboard.press("PageDown")
    expect(page.locator(".svl-title")).to_have_text("Exercise: make it exact")
    reach(page, ".svl .svw-code")
    page.keyboard.press("Control+A")
    page.keyboard.type("accept = min(1, p / q)\nreplacement = max(0, p - q)")
    expect(verdict).to_have_text("Exact: the law is p, to rounding.")
    page.keyboard.press("PageDown")
    expect(page.locator(".svl-title")).to_have_text("Exercise: make it exact"), "keys in the editor are the editor's"
    for _ in range(2):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".svl .svw-task .svw-verdict")).to_contain_text("Solved.")
    expect(page.locator(".svl .svw-task")).to_contain_text("For a line to hand in, write your name and check again.")
    expect(page.locator(".svl .svw-line")).to_be_hidden()
    expect(page.locator(".svl .is-next")).to_have_text("Next")
    picture(page, "rule-6-solved")
    page.keyboard.press("PageDown")
    page.keyboard.press("C")
    page.keyboard.press("Space")
    expect(page.locator(".svl-verdict")).to_contain_text("Right. 0.70: min(p, q) of each token")
    pressed(page, "PageDown", 2)
    expect(page.locator(".svl-text")).to_contain_text("You solved 2 of 3 exercises.")
    picture(page, "rule-9-end")


def test_the_overlap_is_dragged_with_a_finger_on_a_phone(lesson: Page) -> None:
    page = lesson
    page.set_viewport_size({"width": 390, "height": 844})
    page.keyboard.press("PageDown")
    bar = page.locator(".svl [aria-label='p of c']")
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    assert box["height"] >= 40
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(bar).to_have_attribute("aria-valuetext", "0.50")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    picture(page, "6-phone")


def test_the_card_begins_from_its_place_and_says_whose_numbers_they_are(lesson: Page) -> None:
    page = lesson
    pressed(page, "PageDown", 2)
    folded = page.locator(".svp-card .svt-folded")
    folded.locator("summary").click()
    expect(folded).to_contain_text("from now on the numbers are yours")
    expect(folded.locator(".svt-tag")).to_have_text("Your numbers, not the run's.")
    shares = folded.locator("input[aria-label^='p of']").evaluate_all("all => all.map(one => Number(one.value))")
    assert sum(shares) == 100
    assert 2 <= len(shares) <= 5


def test_a_comment_is_written_by_keys_kept_in_the_link_and_shown_as_text(lesson: Page) -> None:
    page = lesson
    page.keyboard.press("c")
    expect(page.locator(".svn-field")).to_be_focused()
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".svn-list q")).to_have_text(HOSTILE)
    expect(page.locator(".svn")).to_contain_text("not by SpecViz")
    page.wait_for_function("() => location.hash.includes('pins=')")
    link = page.evaluate("location.href")
    assert quote(HOSTILE, safe="") in link.replace("'", "%27").replace("(", "%28").replace(")", "%29")
    picture(page, "7-comment")
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".svn-list q")).to_have_text(HOSTILE)
    assert page.title() != "broken"
    assert page.locator(".svn-list img").count() == 0
    page.locator(".svn-off").click()
    expect(page.locator(".svn-list q")).to_have_count(0)


def test_an_exported_file_holds_the_comments(lesson: Page, tmp_path: Path) -> None:
    page = lesson
    page.keyboard.press("c")
    page.keyboard.type("kept")
    page.keyboard.press("Control+Enter")
    page.locator(".svp-share summary").click()
    with page.expect_download() as saving:
        page.get_by_role("button", name="one HTML file, plays offline").click()
    file = tmp_path / "saved.html"
    saving.value.save_as(file)
    page.goto(file.as_uri())
    expect(page.locator(".svn-list q")).to_have_text("kept")


def test_the_card_of_a_moment_is_drawn_and_saved(lesson: Page, tmp_path: Path) -> None:
    page = lesson
    page.locator(".svp-share summary").click()
    page.get_by_role("button", name="card with its sentence and link").click()
    expect(page.locator(".svm .svm-said")).to_contain_text("from one target pass")
    expect(page.locator(".svm .svm-link")).to_contain_text("file:")
    picture(page, "8-card")
    for kind in ("PNG", "SVG"):
        with page.expect_download() as saving:
            page.get_by_role("button", name=f"save as {kind}").click()
        saved = tmp_path / f"card.{kind.lower()}"
        saving.value.save_as(saved)
        head = saved.read_bytes()[:8]
        assert head.startswith(b"\x89PNG" if kind == "PNG" else b"<svg")


def test_plain_words_change_every_explanation_at_once(lesson: Page) -> None:
    page = lesson
    caption = page.locator(".svp-caption > span").last
    expect(caption).to_contain_text("It goes on with")
    page.keyboard.press("w")
    expect(caption).to_contain_text("Then it guesses")
    page.keyboard.press("PageDown")
    expect(page.locator(".svl-text")).to_contain_text("What both models agree on stays.")
    expect(page.locator(".svl .svt-words")).to_contain_text("the small model makes")
    page.keyboard.press("w")
    expect(page.locator(".svl-text")).to_contain_text("What q and p share stays.")
    expect(page.locator(".svl .svt-words")).to_contain_text("The drafter proposes by q")


def test_what_a_presented_lesson_puts_under_the_hands_has_the_window(lesson: Page) -> None:
    page = lesson
    page.set_viewport_size({"width": 1280, "height": 720})
    page.keyboard.press("p")
    page.keyboard.press("PageDown")
    expect(page.locator(".svl .svt-step").first).to_be_visible()
    page.locator(".svl [data-step=formula]").click()
    expect(page.locator(".svl .svt-lines")).to_contain_text("max(0, p − q)")
    bars = page.locator(".svl .svt").bounding_box()
    assert bars["y"] + bars["height"] < 720, "all of it is in the window, at its fullest step"
    expect(page.locator(".svp-scroll")).to_be_hidden()
    picture(page, "9-present")
    page.keyboard.press("PageDown")
    expect(page.locator(".svp-scroll")).to_be_visible()


def test_a_test_is_taken_by_keys_and_read_on_the_board(lesson: Page) -> None:
    page = lesson
    lines = []
    for name, key in (("before", "ArrowDown"), ("after", "Space")):
        page.evaluate("(id) => SpecViz.openExercises(id)", name)
        for at in range(10):
            reach(page, f"input[name=svx-{at}]")
            page.keyboard.press(key)
        reach(page, ".svx-name")
        page.keyboard.type("Ada")
        page.keyboard.press("Enter")
        lines.append(page.locator(".svx-line").input_value())
        expect(page.locator(".svx-said")).to_contain_text("Copy the line and hand it in.")
        assert page.locator(".svx .is-right").count() == (10 if name == "after" else 0)
        picture(page, f"10-{name}")
        page.keyboard.press("Escape")
        expect(page.locator(".svx")).to_have_count(0)
    assert lines[0].startswith("specviz|1|before|Ada|")
    assert lines[1].startswith("specviz|1|after|Ada|")
    page.evaluate("() => SpecViz.openExercises('class')")
    page.locator(".svx-lines").fill("\n".join([*lines, lines[0].replace("|Ada|", "|Bo|"), "nonsense"]))
    expect(page.locator(".svx-table").first.locator("tbody th")).to_have_text("Ada")
    expect(page.locator(".svx-problems li")).to_have_count(2)
    expect(page.locator(".svx-board")).to_contain_text("1 student took both tests")
    picture(page, "11-board")


def test_answers_outlive_a_reload_as_after_a_lost_connection_and_no_closing(lesson: Page) -> None:
    page = lesson
    page.evaluate("() => SpecViz.openExercises('before')")
    for at, place in ((0, 1), (7, 2)):
        page.locator(f"input[name=svx-{at}]").nth(place).check()
    page.locator(".svx-name").fill("Ada | B")
    page.wait_for_function("() => location.hash.includes('exercises=before')")
    page.reload()
    expect(page.locator("input[name=svx-0]").nth(1)).to_be_checked()
    expect(page.locator("input[name=svx-7]").nth(2)).to_be_checked()
    expect(page.locator(".svx input:checked")).to_have_count(2)
    expect(page.locator(".svx-name")).to_have_value("Ada | B")
    page.keyboard.press("Escape")
    expect(page.locator(".svx")).to_have_count(0)
    page.evaluate("() => SpecViz.openExercises('before')")
    expect(page.locator(".svx-name")).to_have_value("")
    expect(page.locator(".svx input:checked")).to_have_count(0)


def test_a_name_on_the_board_is_text(lesson: Page) -> None:
    page = lesson
    line = page.evaluate("(name) => SpecViz.handInLine({ task: 'before', name, answer: 'BBBBBBBBBB' })", HOSTILE)
    page.evaluate("() => SpecViz.openExercises('class')")
    page.locator(".svx-lines").fill(line)
    expect(page.locator(".svx-table tbody th").first).to_have_text(HOSTILE[:40].strip())
    assert page.locator(".svx-table img").count() == 0


def test_a_link_opens_the_homework_and_the_lesson_ends_with_it(page: Page, exported: Path) -> None:
    page.goto(exported.as_uri() + "#exercises=homework-trees")
    expect(page.locator(".svx li fieldset")).to_have_count(3)
    page.keyboard.press("Escape")
    page.wait_for_function("() => !location.hash.includes('exercises=')")
    expect(page.get_by_role("button", name="Homework of this lesson")).to_be_hidden()
    page.evaluate("() => SpecViz.lesson.open('the_law_stays', 12)")
    page.keyboard.press("PageDown")
    page.get_by_role("button", name="Homework of this lesson").click()
    expect(page.locator(".svx h2")).to_have_text("Homework: Why the text stays the target's")
