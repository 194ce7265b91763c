"""The editor of rules in a real browser, in an exported file: by keys and by dragging. That the served page has it too
is in test_proof_tab.py."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from specviz.app.components.standalone import standalone_html
from specviz.trace import codec
from specviz.written_rules.tasks import check_task, read_line
from tests.app.doubles import sample

pytestmark = pytest.mark.browser


@pytest.fixture
def editor(page_of_its_own: Page, context: BrowserContext, tmp_path: Path) -> Iterator[Locator]:
    """That of an exported file, opened from disk with the network off."""
    context.set_offline(True)
    file = tmp_path / "run.html"
    file.write_text(standalone_html(codec.dumps(sample())), encoding="utf-8")
    page_of_its_own.goto(f"file://{file}")
    page_of_its_own.locator("summary", has_text="Write the rule").click()
    yield page_of_its_own.locator(".sv-rule")
    context.set_offline(False)


def test_the_law_of_a_rule_appears_while_it_is_written(editor: Locator) -> None:
    verdict, rule = editor.locator(".svw-verdict"), editor.get_by_label("the rule, a line each")
    expect(verdict).to_have_text("Biased towards b (+0.090), away from a (−0.150); total variation 0.150.")
    expect(editor.locator(".svw-mistakes strong")).to_have_text(["You draw from p"])
    rule.fill("accept = min(1, p / q)\nreplacement = max(0, p - q)")
    expect(verdict).to_have_text("Exact: the law is p, to rounding.")
    rule.fill("accept = min(1, P / q)")
    expect(editor.get_by_role("alert")).to_contain_text("line 1, column 17: 'P' is not known here")


def walk(key: str, to: Locator) -> None:
    """Press a key until this has the focus."""
    for _ in range(30):
        if to.evaluate("element => element === document.activeElement"):
            return
        to.page.keyboard.press(key)
    raise AssertionError(f"thirty times {key} did not lead to {to}")


def test_a_task_is_solved_and_handed_in_by_keys_alone(editor: Locator) -> None:
    page = editor.page
    editor.get_by_label("task", exact=True).focus()
    page.keyboard.type("Make it exact")
    expect(editor.get_by_role("heading", name="Make it exact")).to_be_visible()
    rule = editor.get_by_label("the rule, a line each")
    walk("Tab", rule)
    page.keyboard.press("Control+A")
    page.keyboard.type("accept = min(1, p / q)\nreplacement = max(0, p - q)")
    check = editor.get_by_role("button", name="Check and hand in")
    walk("Shift+Tab", check)
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("Anna")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(editor.locator(".svw-task .svw-verdict")).to_contain_text("Solved.")
    line = editor.get_by_label("line to hand in").input_value()
    task, student, text = read_line(line)
    assert (task.id, student) == ("exact", "Anna")
    assert check_task(task, text).passed


def test_a_bar_moves_by_keys_and_by_dragging(editor: Locator) -> None:
    bar = editor.get_by_role("slider", name="p of a")
    bar.focus()
    editor.page.keyboard.press("PageUp")
    expect(bar).to_have_attribute("aria-valuenow", "0.600")
    box = bar.bounding_box()
    bar.click(position={"x": box["width"] * 0.25, "y": box["height"] / 2})
    expect(bar).to_have_attribute("aria-valuenow", re.compile(r"0\.2[45]"))
    editor.page.mouse.down()
    bar.hover(position={"x": box["width"] * 0.75, "y": box["height"] / 2})
    editor.page.mouse.up()
    expect(bar).to_have_attribute("aria-valuenow", re.compile(r"0\.7[45]"))
    shown = [float(one.get_attribute("aria-valuenow") or 0) for one in editor.get_by_label(re.compile("^p of")).all()]
    assert sum(shown) == pytest.approx(1, abs=2e-3)


def test_presenting_fills_the_window_and_escape_leaves(editor: Locator) -> None:
    editor.get_by_role("button", name="Present").click()
    expect(editor).to_have_attribute("data-view", "present")
    box = editor.bounding_box()
    assert (box["x"], box["y"]) == (0, 0)
    editor.page.keyboard.press("Escape")
    expect(editor).not_to_have_attribute("data-view", "present")
    editor.get_by_role("button", name="Present").click()
    editor.page.mouse.click(5, 5)  # beside everything: the focus is nowhere
    editor.page.keyboard.press("Escape")
    expect(editor).not_to_have_attribute("data-view", "present")


def test_a_line_is_copied_where_a_browser_gives_no_clipboard_as_over_plain_http(editor: Locator) -> None:
    page = editor.page
    page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    editor.get_by_label("task", exact=True).select_option("exact")
    editor.get_by_label("your name").fill("Anna")
    editor.get_by_role("button", name="Check and hand in").click()
    line = editor.get_by_label("line to hand in")
    expect(line).to_have_value(re.compile(r"^specviz\|"))
    editor.get_by_role("button", name="Copy", exact=True).click()
    expect(editor.get_by_role("button", name="Copied")).to_be_visible()
    expect(line).to_be_focused()
    rule = editor.get_by_label("the rule, a line each")
    rule.fill("")
    page.keyboard.press("Control+V")
    expect(rule).to_have_value(line.input_value())


def test_the_editor_is_no_wider_than_a_phone(editor: Locator) -> None:
    page = editor.page
    page.set_viewport_size({"width": 390, "height": 844})
    editor.get_by_label("tokens").select_option("8")
    editor.get_by_label("show the second position too").check()
    expect(editor.locator(".svw-pairs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    editor.get_by_role("button", name="In plain words").click()
    expect(editor.locator(".svw-verdict")).to_contain_text("Wrong: too often b")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
