"""A notebook may hand `specviz.run` anything: what a setting cannot be is said before anything is looked at."""

from dataclasses import fields
from typing import Any

import pytest

from specviz.errors import OptionError
from specviz.live.plan import _KINDS, check_types, make_plan
from specviz.protocol.choice import STANDARD, Choice, with_choices
from specviz.protocol.runs import RunRequest

OPTIONS = "but must be a mapping of option names to numbers, text or lists of whole numbers."


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temperature": "0.8"}, "temperature is '0.8', but must be a number."),
        ({"temperature": True}, "temperature is True, but must be a number."),
        ({"max_new_tokens": 4.0}, "max_new_tokens is 4.0, but must be a whole number."),
        ({"prompt": None}, "prompt is None, but must be text."),
        ({"prompt": "half \ud83d"}, "prompt is 'half \\ud83d', but must be text."),
        ({"stop": "end"}, "stop is 'end', but must be a list of texts."),
        ({"drafter": 3}, "drafter is 3, but must be text."),
        ({"drafter_options": [("gamma", 2)]}, f"drafter_options is [('gamma', 2)], {OPTIONS}"),
        ({"drafter_options": {"gamma": {}}}, f"drafter_options is {{'gamma': {{}}}}, {OPTIONS}"),
        ({"seed": [0] * 99}, "seed is [" + "0, " * 19 + "0,…, but must be a whole number within ±(2^53 - 1)."),
        ({"record": 1}, "record is 1, but must be True or False."),
    ],
)
def test_a_setting_of_another_kind_is_named_with_what_it_must_be(settings: dict[str, Any], said: str) -> None:
    request = RunRequest(**({"prompt": "a"} | with_choices(settings)))
    with pytest.raises(OptionError) as caught:
        make_plan(request)
    assert str(caught.value) == said


def test_every_setting_is_looked_at_and_the_defaults_are_right() -> None:
    check_types(RunRequest("a"))
    check_types(
        RunRequest("a", temperature=1, stop=("x",), drafter=Choice("model", {"branching": [2, 1], "draw": "iid"}))
    )
    looked_at = [*STANDARD, *(name for names, _, _ in _KINDS for name in names)]
    assert sorted(looked_at) == sorted(field.name for field in fields(RunRequest))


def test_a_name_in_place_of_a_choice_is_said() -> None:
    with pytest.raises(OptionError, match=r"^drafter is 'ngram', but must be a Choice of a name and options\.$"):
        check_types(RunRequest("a", drafter="ngram"))  # type: ignore[arg-type]
