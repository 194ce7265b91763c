"""Values of a link reach controls only where the control could have them."""

from typing import Any

import gradio as gr

from specviz.app.form.kept import MOST_TEXT, Kept


def kept(**more: Any) -> Kept:
    controls = {
        "text": gr.Textbox("a"),
        "number": gr.Number(1, minimum=0),
        "slider": gr.Slider(0, 2, value=1),
        "one": gr.Dropdown([("A", "a"), ("B", "b")], value="a"),
        "radio": gr.Radio([1, 2], value=1),
        "several": gr.CheckboxGroup(["a", "b"]),
        "many": gr.Dropdown(["a", "b"], multiselect=True),
        "changing": gr.Dropdown([]),
    }
    return Kept("tab", controls, changing=frozenset({"changing"}), **more)


ALONE = {"text": "b", "number": 3, "slider": 0.5, "one": "b", "radio": 2}
GOOD = {**ALONE, "several": ["b"], "many": ["a", "b"], "changing": "any"}


def test_what_fits_is_filled_in_and_what_changes_is_left_to_the_tab() -> None:
    seen: list[Any] = []

    def fill(values: Any) -> dict[Any, Any]:
        seen.append(values)
        return {}

    parts = kept(fill=fill)
    updates = parts.filled(GOOD)
    assert {name: updates.get(control) for name, control in parts.controls.items()} == {**GOOD, "changing": None}
    assert seen == [GOOD]


def test_what_no_control_could_have_is_left_out() -> None:
    parts = kept()
    wrong: list[tuple[str, object]] = [
        ("text", 1), ("text", "x" * (MOST_TEXT + 1)), ("text", None), ("number", "1"), ("number", -1), ("number", True),
        ("number", 1e300), ("number", float("nan")), ("slider", 2.1), ("one", "c"), ("one", ["a"]), ("one", None),
        ("radio", 3), ("several", "a"), ("several", ["c"]), ("several", [{}]), ("many", "a"), ("many", ["a", "c"]),
        ("changing", ["a"]), ("unknown", "a"), ("radio", True),
    ]  # fmt: skip
    assert [(name, value) for name, value in wrong if parts.filled({name: value}) != {}] == []


def test_a_message_says_what_was_filled_in_and_only_then() -> None:
    line = gr.HTML()
    parts = kept(message=line, said="Filled in")
    assert "Filled in" in parts.filled({"text": "b"})[line]
    assert parts.filled({"one": "c"}) == {}
    assert line in parts.outputs()
