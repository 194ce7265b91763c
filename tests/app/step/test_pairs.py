"""The pair chosen in the bar: what follows it, and that nothing of one pair is listed under the other's name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz.app.form.request import Limits, request_from
from specviz.app.runs.examples import Example
from specviz.app.runs.gallery import Gallery, gallery, write_index
from specviz.app.step.actions import StepActions
from specviz.app.step.controls import Controls
from specviz.app.step.opening import OpeningActions
from specviz.app.step.pairs import OTHERS
from specviz.app.step.tab import StepParts, step_tab
from specviz.protocol.runs import RunRequest
from specviz.trace import codec
from specviz.trace.events import Trace
from tests.app.doubles import FetchingSource, sample, unserved

EXAMPLE = Example("", "", 0)
SOURCE = FetchingSource()
"""lacks the real model"""


def run_of(target: str, message: str | None = None) -> Trace:
    """The golden run as a recorded one of a target, drafted by lookup."""
    started, run_id = sample().started, f"run-of-{target}"
    drafter = replace(started.drafter, name="ngram", options={"gamma": 2}, model=None)
    started = replace(started, run_id=run_id, source="recorded", drafter=drafter, chat_message=message)
    return replace(sample(), started=replace(started, target=replace(started.target, name=target)))


@pytest.fixture
def recorded(tmp_path: Path) -> Gallery:
    """Two runs of the bundled target, one of the real one; the page opens on the latter."""
    for file, trace in (
        ("a", run_of("target")),
        ("b", run_of("target")),
        ("real", run_of("smollm2", "Why is the sky blue?")),
    ):
        codec.write(trace, tmp_path / f"{file}.json.gz")
    return write_index(tmp_path, ["real.json.gz", "b.json.gz"])


def tab(shown: Gallery) -> StepParts:
    with unserved():
        return step_tab(StepActions(SOURCE, shown, Limits()))


def opens(shown: Gallery) -> OpeningActions:
    return OpeningActions.over(shown, SOURCE.catalog(), Limits(), Controls(fields=tab(shown).form))


def named(component: Any) -> list[str]:
    """What a list offers, by its values."""
    return [value for _, value in component.choices]


def test_the_page_opens_on_the_first_opening_with_what_goes_with_its_pair(recorded: Gallery) -> None:
    parts = tab(recorded)
    assert parts.bar.models.choice.value == "smollm2"
    assert (parts.form["target"].value, parts.form["chat"].value) == ("smollm2", True)
    assert parts.form["prompt"].value == "Why is the sky blue?"
    assert named(parts.form["drafter"]) == ["none", "ngram"]
    assert named(parts.drawer.recorded) == ["real.json.gz"]
    got = {name: column.visible for name, column in parts.bar.models.columns.items()}
    assert got == {"bundled": False, "smollm2": True}
    assert parts.bar.models.knows.label == "a big world"
    assert [fetch.box.visible for fetch in parts.bar.fetches] == [True]
    seen = [question.label for question, chip in parts.questions.chips if chip.visible]
    assert seen == ["with a real model"]


def test_a_chosen_pair_shows_its_own_opening_and_its_own_lists(recorded: Gallery) -> None:
    answer = opens(recorded).choose("bundled")
    assert codec.loads(str(answer["player"])).started.target.name == "target"
    assert (answer["models"], answer["target"], answer["chat"]) == ("bundled", "target", False)
    assert (answer["recorded"].value, named(answer["recorded"])) == ("b.json.gz", ["a.json.gz", "b.json.gz"])
    assert (answer["drafter"].value, named(answer["drafter"])) == ("ngram", ["model", "none", "ngram"])
    assert (answer["families-bundled"].visible, answer["families-smollm2"].visible) == (True, False)
    assert answer["fetch-smollm2"].visible is False
    back = opens(recorded).choose("smollm2")
    assert (back["models"], named(back["recorded"]), back["chat"]) == ("smollm2", ["real.json.gz"], True)


def test_a_pair_of_which_nothing_is_recorded_opens_its_first_prompt(tmp_path: Path) -> None:
    answer = opens(gallery(tmp_path)).choose("smollm2")
    assert (answer["prompt"], answer["chat"], answer["target"]) == ("Why is the sky blue?", True, "smollm2")
    assert answer["drafter"].value == "ngram"
    assert "player" not in answer


def test_another_target_named_in_settings_takes_the_lists_along(recorded: Gallery) -> None:
    actions = opens(recorded)
    real = actions.follow("smollm2", "model")
    assert (real["models"], real["drafter"].value, real["chat"]) == ("smollm2", "ngram", True)
    mine = actions.follow("./mine", "model")
    assert (mine["models"], mine["drafter"].value, named(mine["recorded"])) == (OTHERS, "model", [])
    assert (mine["families-bundled"].visible, mine["families-smollm2"].visible) == (False, False)
    assert list(actions.choose(OTHERS)) == ["message"]


def test_an_example_is_looked_for_among_those_of_the_targets_pair(recorded: Gallery) -> None:
    title = "sorted out"
    examples = [replace(EXAMPLE, title=title, file=f"{file}.json.gz") for file in ("a", "real")]
    actions = opens(replace(recorded, examples=tuple(examples)))
    for target in ("target", "smollm2"):
        answer = actions.open_example(title, target)
        assert codec.loads(str(answer["player"])).started.target.name == target


def test_a_prompt_keeps_its_name_in_its_own_pair_alone() -> None:
    values = {"prompt": "Why is the sky blue?", "drafter": "ngram", "temperature": 0, "top_k": 0, "top_p": 1, "seed": 7}
    values |= {"max_new_tokens": 8, "drafter_model": "drafter"}
    names = [
        request_from({**values, "target": target}, SOURCE.catalog(), Limits()).prompt_name
        for target in ("smollm2", "target")
    ]
    assert names == ["ask-a", None]


@pytest.mark.parametrize(
    ("limits", "cure"), [(Limits(), "press Get Smol"), (Limits(any_model=False), "to run something, choose bundled")]
)
def test_a_run_of_a_pair_that_is_not_here_says_what_to_do(recorded: Gallery, limits: Limits, cure: str) -> None:
    actions = StepActions(SOURCE, recorded, limits)
    said = actions._refusal(RunRequest("x", target="smollm2"))
    assert said == f"Smol is not on this machine, only recorded runs of it; {cure}."
    assert actions._refusal(RunRequest("x")) is None
