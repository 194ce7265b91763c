"""Gradio components of our own, each a fixed frame around scripts in `assets/js`, which draw its value.

A value is text, mostly JSON, and not an object, because gradio compares objects key by key on each update; an empty one
shows an empty frame. Whatever stood in a frame's HTML from the data would be evaluated, so nothing does. Events are
found by their names in the script's text.

All methods of a kind share one form of options, drawn in the browser for the chosen one: as controls of Gradio's own
their hundred and fifty options took half of the time in which the page opens, most of them never seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gradio as gr

from specviz.errors import OptionError
from specviz.protocol.runs import MethodDescription, OptionCard


class Framed(gr.HTML):
    """A frame that a script fills."""

    FRAME: ClassVar[str]
    SCRIPT: ClassVar[str]
    VALUE: ClassVar[str]
    """what the value is, for whoever asks the page for its interface"""

    def __init__(self, value: str = "", **settings: Any) -> None:
        super().__init__(
            value,
            html_template=self.FRAME,
            css_template="",
            js_on_load=self.SCRIPT,
            apply_default_css=False,
            **settings,
        )

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": self.VALUE}


class Player(Framed):
    """Steps through one run; of one still being computed the text has `finished` null and every round so far.
    Listeners: `branch` (continue from a round with a token of the visitor's choice; carries {round, node, token})."""

    FRAME = '<div class="sv-player"></div>'
    SCRIPT = "SpecViz.mount(element, props, watch, (data) => trigger('branch', data));"
    VALUE = "a trace as JSON text"


class RunHere(Framed):
    """The button that runs what stands in the controls in the visitor's own browser. The value is what the server
    answers to `asked`, as JSON text: {"request"} or {"refusal"}. Listeners: `asked` (the button was pressed), `said`
    (`SpecViz.hereSays` has another line to show), `began` (the player shows a run that grows; `SpecViz.hereBegins` says
    what stands around it), `ran` (a run is over; carries {trace}, as JSON text)."""

    FRAME = '<div class="sv-here"></div>'
    SCRIPT = """
const tell = {
  asked: () => trigger("asked"),
  said: () => trigger("said"),
  began: () => trigger("began"),
  ran: (run) => trigger("ran", run),
};
SpecViz.mountHere(element, props, (what, data) => tell[what](data));
"""
    VALUE = "a request for the browser's engine, or why there is none, as JSON text"

    def __init__(self, value: str = "", megabytes: int = 0, **settings: Any) -> None:
        """`megabytes`: what the first run fetches."""
        super().__init__(value, megabytes=megabytes, **settings)


class SeriesHere(Framed):
    """The button that makes the runs of a tab's form in the visitor's own browser. The value is what the server answers
    to `asked`, as JSON text: {"tab", "requests"} or {"tab", "refusal"}. Listeners: `asked` (the button was pressed),
    `said` (`SpecViz.seriesSays` has another line to show), `ran` (all was run, or as much as was before a stop; carries
    {runs}, JSON text of a list of {"refusal", "trace"})."""

    FRAME = '<div class="sv-here sv-series"></div>'
    SCRIPT = """
const tell = {
  asked: () => trigger("asked"),
  said: () => trigger("said"),
  ran: (runs) => trigger("ran", runs),
};
SpecViz.mountSeries(element, props, (what, data) => tell[what](data));
"""
    VALUE = "requests for the browser's engine, or why there are none, as JSON text"

    def __init__(self, tab: str, megabytes: int, value: str = "", **settings: Any) -> None:
        """`megabytes`: what the first run fetches."""
        super().__init__(value, tab=tab, megabytes=megabytes, **settings)


class RaceStage(Framed):
    """Replays a recorded race, as `specviz.app.race.view.race_json` writes it."""

    FRAME = '<div class="sv-player sv-race"></div>'
    SCRIPT = "SpecViz.mountRace(element, props, watch);"
    VALUE = "a race as JSON text"


class RuleEditor(Framed):
    """Where a visitor writes an accept rule and sees its law, without a value: the browser works everything out."""

    FRAME = '<div class="sv-rule"></div>'
    SCRIPT = "SpecViz.mountRule(element.querySelector('.sv-rule'));"
    VALUE = "nothing: the rule stays in the browser"


class ScenePicture(Framed):
    """Draws the picture of a scene: its shapes as a trace's header holds them."""

    FRAME = '<div class="sv-scene"></div>'
    SCRIPT = "SpecViz.mountScene(element, props, watch);"
    VALUE = "a list of shapes as JSON text"


class LessonCards(Framed):
    """The list of lessons, without a value."""

    FRAME = '<div class="sv-lessons"></div>'
    SCRIPT = "SpecViz.showLessons(element.querySelector('.sv-lessons'));"
    VALUE = "nothing: the cards are drawn in the browser"


class Learn(Framed):
    """Plays lessons, resolved as JSON text. Nothing to see: it stands outside the tabs, whose content is mounted when
    they are first opened. Listeners: `lesson` (a recorded run is to be shown; carries its file) and `texts` (files
    whose texts are wanted, to be answered by the value, so that an exported file can hold a whole lesson)."""

    FRAME = '<div class="sv-learn-box" hidden></div>'
    SCRIPT = (
        "const learn = SpecViz.mountLearn(element.querySelector('.sv-learn-box'), { data: props.value, button: false, "
        "load: (file) => trigger('lesson', { file }), gather: (files) => trigger('texts', { files }) });"
        "watch('value', () => learn.keep(props.value));"
    )
    VALUE = "resolved lessons as JSON text"


class Address(Framed):
    """The page's address, invisible: what a link names comes to the server, once on opening and whenever it changes.
    What is written into the address is written in the browser (`assets/js/player/address.js`), while stepping.

    Listeners, both with the fields of `docs/links.md`: `asked` for what is there already, `rerun` for a run to be made
    again. A page that was loaded anew sends along the prompt that was `typed` before."""

    FRAME = '<div class="sv-recordings" hidden></div>'
    SCRIPT = """
SpecViz.named(JSON.parse(props.value || "{}"));
SpecViz.followTabs();
let typed = SpecViz.typedBefore();
const open = (link) => {
  const fields = typed ? { ...link, typed } : link;
  typed = "";
  const again = fields.ask && !fields.run;
  if (again) trigger("rerun", fields);
  else trigger("asked", fields);
};
SpecViz.openLinks(open);
if (typed) open({});
"""
    VALUE = "names of recorded runs by run id, as JSON text"

    def __init__(self, recorded: Mapping[str, str], **settings: Any) -> None:
        """`recorded`: run id → the name by which links call that recorded run."""
        super().__init__(json.dumps(dict(recorded)), elem_classes="sv-address", **settings)


class Places(gr.HTML):
    """Finished HTML, escaped by whoever wrote it, with buttons that open the player somewhere. Listener: `opened` (a
    button with `data-open` was pressed; carries {run, round, node, found})."""

    SCRIPT = """
element.addEventListener("click", (event) => {
  const at = event.target.closest("[data-open]");
  if (!at) return;
  const { run, round, node, found } = at.dataset;
  trigger("opened", { run, round: Number(round), node: node ? Number(node) : null, found: !!found });
});
"""

    def __init__(self, value: str = "", **settings: Any) -> None:
        super().__init__(value, js_on_load=self.SCRIPT, **settings)

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "HTML"}


# --- the chosen method's options -------------------------------------------------------------------------------------


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
            value,
            html_template=TEMPLATE,
            css_template="",
            js_on_load=ON_LOAD,
            apply_default_css=False,
            padding=False,
            cards=json.dumps(cards),
            **settings,
        )

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
