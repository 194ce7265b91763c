"""What the server makes of a link's fields, without a browser: the run it names, the run it asks for, other tabs."""

from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from specviz.app.form.kept import Kept
from specviz.app.form.request import Limits
from specviz.app.look.notices import is_error
from specviz.app.runs.gallery import gallery
from specviz.app.step.actions import StepActions
from specviz.app.step.links import AGAIN, OTHER, REMADE, SAME, SIMULATED, Again, LinkActions, LinkParts
from specviz.app.step.tab import step_tab
from specviz.app.tab import LAB, WATCH, TabRows
from specviz.protocol.choice import Choice
from specviz.protocol.links import pack, pack_request, text_hash
from specviz.protocol.runs import RunRequest
from specviz.trace import codec
from specviz.trace.events import Trace
from tests.app.doubles import FetchingSource, sample, unserved
from tests.app.step.test_actions import Visitor

TEXT = text_hash(sample().finished.text)
ASKED = RunRequest("def first():\n", drafter=Choice("ngram", {"gamma": 2}), seed=5, dtype="bfloat16")


def run_of(target: str) -> Trace:
    header = sample().started
    return replace(sample(), started=replace(header, target=replace(header.target, name=target)))


class Linked:
    """The tab over a recorded run and a page of two more tabs, and what a link changes of it by name."""

    def __init__(self, folder: Path, target: str = "target") -> None:
        codec.write(run_of(target), folder / "a.json.gz")
        with unserved():
            step = StepActions(FetchingSource(), gallery(folder), Limits())
            parts = step_tab(step)
            self.seed, self.p, self.document = gr.Number(minimum=0, maximum=99), gr.Textbox(), gr.Markdown()
            front, lab = gr.Tabs(), gr.Tabs()
        self.drawn = list[Mapping[str, Any]]()
        kept = [Kept("race", {"seed": self.seed}), Kept("what-if", {"p": self.p}, simulated=self._simulated)]
        run, stop = parts.bar.buttons()
        form = {**parts.following(), **parts.form}
        self.actions = LinkActions(
            step,
            LinkParts(TabRows(front, lab), parts.stage(), run, stop, form, kept, (self.document, "page of {}".format)),
        )
        stage = zip(("player", "badges", "panels", "message"), parts.stage(), strict=True)
        others = {"seed of race": self.seed, "p": self.p, "document": self.document, "waiting": self.actions.waiting}
        named = {**form, **dict(stage), **others, "front": front, "lab": lab, "Run": run, "Stop": stop}
        self._names = {component: name for name, component in named.items()}

    def _simulated(self, values: Mapping[str, Any]) -> tuple[object, ...]:
        self.drawn.append(values)
        return ("drawn", "", "", "simulated anew")

    def named(self, updates: Mapping[Any, Any]) -> dict[str, Any]:
        """Only what the events declare as their outputs may change."""
        assert set(updates) <= {*self.actions.parts.outputs(), self.actions.waiting}
        found = {self._names[component]: update for component, update in updates.items()}
        return found | ({"message": unescape(found["message"])} if isinstance(found.get("message"), str) else {})

    def asked(self, **fields: object) -> dict[str, Any]:
        return self.named(self.actions.asked(gr.EventData(None, fields)))

    def waits(self, **fields: object) -> dict[str, Any]:
        return self.named(self.actions.waits(gr.EventData(None, fields), Visitor()))

    def rerun(self, again: Again | None) -> list[dict[str, Any]]:
        return [self.named(updates) for updates in self.actions.rerun(again, Visitor())]


@pytest.fixture
def linked(tmp_path: Path) -> Linked:
    return Linked(tmp_path)


@pytest.mark.parametrize(("text", "said"), [(TEXT, "Showing a"), ("", "Showing a"), ("00000000", REMADE)])
def test_a_recorded_run_is_shown_and_one_made_again_since_is_told(linked: Linked, text: str, said: str) -> None:
    shown = linked.asked(run="a", text=text, tab="race")
    assert codec.loads(shown["player"]).started.run_id == sample().started.run_id
    assert said in shown["message"]
    assert (shown["front"].selected, shown["prompt"], shown["models"]) == ("race", "def add(a, b):\n", "bundled")


def test_a_run_that_is_not_recorded_here_is_said_and_the_links_tab_opens_all_the_same(linked: Linked) -> None:
    shown = linked.asked(run="../a", tab="map")
    assert set(shown) == {"front", "lab", "message"}
    assert is_error(shown["message"])
    assert (shown["front"].selected, shown["lab"].selected) == (LAB, "map")


def test_a_link_that_asks_for_a_run_fills_the_form_and_waits_with_its_format(linked: Linked) -> None:
    shown = linked.waits(ask=pack_request(ASKED), text=TEXT, set=pack({"race": {"seed": 7}}))
    again = shown["waiting"]
    assert (again.request.drafter.name, again.request.drafter.options["gamma"], again.request.seed) == ("ngram", 2, 5)
    assert (again.request.dtype, again.text) == ("bfloat16", TEXT)
    assert AGAIN in shown["message"]
    assert (shown["Run"].interactive, shown["Stop"].interactive) == (False, True)
    assert (shown["prompt"], shown["gamma"], shown["seed of race"]) == (ASKED.prompt, 2, 7)


@pytest.mark.parametrize(("tab", "opened"), [("race", "race"), ("nothing", WATCH), (None, WATCH)])
def test_a_run_that_is_made_again_opens_the_links_tab_or_else_its_own(linked: Linked, tab: object, opened: str) -> None:
    assert linked.waits(ask=pack_request(ASKED), tab=tab)["front"].selected == opened


@pytest.mark.parametrize("ask", ["", "cut", pack_request(replace(ASKED, drafter=Choice("unknown")))])
def test_a_link_that_cannot_be_run_says_why_and_nothing_waits(linked: Linked, ask: str) -> None:
    shown = linked.waits(ask=ask)
    assert set(shown) == {"message", "waiting"}
    assert (is_error(shown["message"]), shown["waiting"]) == (True, None)


@pytest.mark.parametrize(("text", "said"), [(TEXT, {SAME}), ("00000000", {OTHER}), ("", set())])
def test_a_run_made_again_says_at_its_end_whether_its_text_is_the_links(
    linked: Linked, text: str, said: set[str]
) -> None:
    linked.waits(ask=pack_request(ASKED))
    first, *_, last = linked.rerun(Again(ASKED, text))
    assert AGAIN in first["message"]
    assert {line for line in (SAME, OTHER) if line in last["message"]} == said
    assert AGAIN not in last["message"]
    assert last["Run"].interactive is True


def test_nothing_runs_where_nothing_waits(linked: Linked) -> None:
    assert linked.rerun(None) == [{"player": gr.skip()}]
    assert linked.actions.step.source.requests == []


def test_chosen_methods_leave_the_prompt_and_the_models_alone(linked: Linked) -> None:
    shown = linked.asked(choose=pack_request(ASKED))
    assert (shown["drafter"], shown["gamma"]) == ("ngram", 2)
    assert {"prompt", "target", "seed", "models"}.isdisjoint(shown)


def test_chosen_methods_that_the_opening_pair_lacks_bring_their_pair_and_a_prompt_of_its(tmp_path: Path) -> None:
    linked = Linked(tmp_path, "smollm2")
    assert "prompt" not in linked.asked(choose=pack_request(ASKED))
    shown = linked.asked(choose=pack_request(replace(ASKED, drafter=Choice("model"))))
    assert (shown["prompt"], shown["target"], shown["models"]) == ("def first():\n", "target", "bundled")
    assert shown["drafter"].value == "model"


def test_values_go_to_the_tab_that_they_are_kept_for_and_those_that_do_not_fit_nowhere(linked: Linked) -> None:
    values = {"race": {"seed": 7}, "what-if": {"p": "0.5", "seed": 8}, "elsewhere": {"seed": 9}}
    shown = linked.asked(set=pack(values), doc="eagle")
    assert (shown["seed of race"], shown["p"], shown["document"].value) == (7, "0.5", "page of eagle")
    assert set(shown) == {"seed of race", "p", "document", *linked.asked()}
    assert "seed of race" not in linked.asked(set=pack({"race": {"seed": 100}}))
    assert linked.asked(what=pack({"p": "0.25"}))["p"] == "0.25", "as earlier releases wrote it"


@pytest.mark.parametrize("values", [["race"], {"race": 3}])
def test_values_of_another_form_are_refused_in_a_sentence(linked: Linked, values: object) -> None:
    assert "values cannot be read" in linked.asked(set=pack(values))["message"]


def test_a_simulated_run_is_drawn_again_from_the_values_of_the_tab_that_makes_such_runs(linked: Linked) -> None:
    values = {"what-if": {"p": "0.5", "unknown": 1}, "race": {"seed": 7}}
    shown = linked.asked(run=SIMULATED, set=pack(values))
    assert (shown["player"], shown["message"]) == ("drawn", "simulated anew")
    assert linked.asked(run=SIMULATED)["player"] == "drawn"
    assert linked.drawn == [{"p": "0.5"}, {}]


def test_fields_that_are_no_texts_are_none(linked: Linked) -> None:
    """Whoever writes an event may put anything into it."""
    assert linked.asked(run=3, tab=["race"], choose={}, set=None) == linked.asked()


def test_a_prompt_that_was_typed_before_a_reload_stands_after_whatever_the_link_fills_in(linked: Linked) -> None:
    typed = {"typed": "my own question"}
    assert linked.asked(**typed)["prompt"] == "my own question"
    assert linked.asked(run="a", **typed)["prompt"] == "my own question"
    assert linked.asked(run="../a", **typed)["prompt"] == "my own question"
    assert linked.waits(ask=pack_request(ASKED), **typed)["prompt"] == "my own question"
    assert linked.waits(ask="?", **typed)["prompt"] == "my own question"
    assert "prompt" not in linked.asked(typed="x" * 1_000_000), "longer than a prompt may be"
    assert "prompt" not in linked.asked(typed=3)
