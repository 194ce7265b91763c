"""The chosen method's options as a gradio component: a frame around `assets/js/page/method_options.js`.

All methods of a kind share one form, drawn in the browser for the chosen one: as controls of Gradio's own their hundred
and fifty options took half of the time in which the page opens, most of them never seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from specviz.errors import OptionError
from specviz.protocol.runs import MethodDescription, OptionCard

TEMPLATE = '<div class="sv-method-options"></div>'
"""fixed: whatever stood here from the data would be evaluated"""
ON_LOAD = """
SpecViz.mountMethodOptions(element, props, watch, (typed) => {
  trigger("changed");
  if (typed) trigger("typed");
});
"""
"""events are found by their names in this text; the value holds what changed before they are sent"""
CHOOSE = "(name, held) => SpecViz.withMethod(held, name)"
"""from (the chosen method, the form's value) to the form's next value"""
LISTED = "listed"
"""of an option that lists paths what its card counts: it is drawn too"""


class MethodOptions(gr.HTML):
    """The value is JSON text, {"method": the chosen one, "options": {"METHOD.OPTION": value}}; an option that it does
    not name has its default. Another value fills what it names. Listeners: `changed`; `typed`, if a visitor did it.
    """

    def __init__(
        self, methods: Sequence[MethodDescription] = (), value: str = "", leave_out: str = "", **settings: Any
    ) -> None:
        """`leave_out`: an option that stands elsewhere. Gradio makes it anew from any of these alone."""
        cards = {
            method_description.name: [_drawn(card) for card in method_description.options if card.name != leave_out]
            for method_description in methods
        }
        super().__init__(
            value, html_template=TEMPLATE, css_template="", js_on_load=ON_LOAD, apply_default_css=False, padding=False,
            cards=json.dumps(cards), **settings,
        )  # fmt: skip

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "JSON text: the chosen method, and the options that are not default"}


def _drawn(card: OptionCard) -> dict[str, Any]:
    default = ",".join(map(str, card.default)) if isinstance(card.default, list | tuple) else card.default
    known = {
        "name": card.name,
        "type": card.type,
        "default": default,
        "help": card.help,
        "minimum": card.minimum,
        "maximum": card.maximum,
        "choices": list(card.choices),
        "drawn": card.counts == LISTED,
    }
    return {name: value for name, value in known.items() if value not in (None, [], False) or name == "default"}


def held(method: str, options: Mapping[str, object]) -> str:
    """The form's value. `options`: by METHOD.OPTION."""
    return json.dumps({"method": method, "options": dict(options)}, ensure_ascii=False)


def read_held(value: object) -> dict[str, object]:
    """The options that the form holds, by METHOD.OPTION. Raises OptionError where it is no such value."""
    try:
        options = json.loads(str(value or "{}")).get("options", {})
        return {str(name): _plain(option) for name, option in options.items()}
    except (ValueError, AttributeError, RecursionError) as error:
        raise OptionError("the options of a method arrived damaged; reload the page and choose them again.") from error


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(value)
