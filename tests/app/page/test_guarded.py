"""A page's events answer in a sentence, whatever was posted: wrong values before the function, mistakes without a
traceback, and faults of its own with one in the log."""

import logging
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio.state_holder import SessionState

from specviz.app.page.door import Guarded
from specviz.errors import OptionError
from tests.event_loop import run_to_the_end
from tests.fuzz.events import outcomes, page


class Act:
    """What the event does: it says what it was given, or fails."""

    wrong: Exception | None = None

    def __call__(self, *values: Any) -> str:
        if self.wrong is not None:
            raise self.wrong
        return repr(values)


ACT = Act()


@cache
def demo() -> Guarded:
    """A page of one event over one control of each kind."""
    with Guarded() as page:
        controls = [
            gr.Textbox(label="prompt"),
            gr.Slider(0, 10, label="gamma"),
            gr.Checkbox(label="chat"),
            gr.Dropdown(["a", "b"], label="method"),
            gr.CheckboxGroup(["a", "b"], label="shown"),
            gr.Number(0, label="seed", minimum=0, maximum=10),
        ]
        gr.Button().click(ACT, controls, gr.Textbox())
    return page


def post(wrong: Exception | None, *values: Any) -> Any:
    [function] = [one for one in demo().fns.values() if one.fn]
    ACT.wrong = wrong
    return run_to_the_end(demo().process_api(function, list(values), SessionState(demo())))["data"][0]


RIGHT = ("text", 3, True, "a", ["b"], 1)


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (0, 7, "prompt is 7, but must be text; reload the page."),
        (0, ["x" * 900], "prompt is ['xxx"),
        (0, "\ud800", "A text holds half of a surrogate pair, which is not a character; remove it."),
        (1, "3", "gamma is '3', but must be a number; reload the page."),
        (1, True, "gamma is True, but must be a number; reload the page."),
        (1, float("nan"), "gamma is nan, but must be a number; reload the page."),
        (1, 10**5_000, "gamma is a value of type int too long to be shown, but must be a number; reload the page."),
        (5, 11, "seed is 11, but must be from 0 to 10."),
        (2, "yes", "chat is 'yes', but must be true or false; reload the page."),
        (3, {"a": 1}, "method is {'a': 1}, but must be one of its choices; reload the page."),
        (3, "c", "The page's controls cannot have these values: Value: c is not in the list of choices"),
        (4, "b", "shown is 'b', but must be a list; reload the page."),
        (4, ["c"], "The page's controls cannot have these values: Value: 'c' (type: "),
    ],
    ids=[str(number) for number in range(13)],
)
def test_a_value_that_no_control_has_never_reaches_the_function(at: int, value: Any, said: str) -> None:
    with pytest.raises(gr.Error) as refused:
        post(AssertionError("it was called"), *RIGHT[:at], value, *RIGHT[at + 1 :])
    assert str(refused.value.message).startswith(said), refused.value.message
    assert (refused.value.print_exception, len(refused.value.message) < 400) == (False, True)


@pytest.mark.parametrize("values", [(), RIGHT[:4], (*RIGHT, 1)], ids=["none", "too few", "too many"])
def test_another_number_of_values_is_one_sentence(values: tuple[Any, ...]) -> None:
    with pytest.raises(gr.Error, match=f"{len(values)} values arrived, but this event takes 6"):
        post(None, *values)


def test_an_empty_box_is_an_empty_text() -> None:
    assert post(None, None, *RIGHT[1:]) == "('', 3, True, 'a', ['b'], 1)"


def test_a_visitors_mistake_is_its_sentence_and_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(gr.Error, match="gamma is 9") as refused:
        post(OptionError("gamma is 9"), *RIGHT)
    assert refused.value.print_exception is False
    assert caplog.records == []


def test_a_fault_of_its_own_is_in_the_log_and_not_on_the_page(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(gr.Error, match=r"This failed \(KeyError\)") as refused:
        post(KeyError("/home/secret"), *RIGHT)
    assert "secret" not in refused.value.message
    assert [(one.levelname, one.exc_info is not None) for one in caplog.records] == [("ERROR", True)]


def test_no_event_of_the_page_falls_over_what_is_posted_to_it(tmp_path: Path) -> None:
    """Two posts to each; `python -m tests.fuzz --events 40` makes many."""
    whole = page(tmp_path)
    numbers = [number for number, function in whole.fns.items() if function.fn]
    assert len(numbers) > 100
    faults = [f"{event}: {wrong}" for event, wrong in outcomes(whole, numbers, 2, seed=7) if wrong]
    assert faults == []
