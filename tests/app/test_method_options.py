"""The form of the chosen method's options: what it holds, and what is read from it."""

import json

import pytest

from specviz.app.components.framed import MethodOptions, held, read_held
from specviz.app.step.filling import asked_values, by_control
from specviz.errors import OptionError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import MethodDescription, OptionCard, RunRequest

GAMMA = OptionCard("gamma", "int", 4, "how many", minimum=1, maximum=64)
BRANCHING = OptionCard("branching", "ints", [3, 2], "children per node")
MODEL = MethodDescription("model", "A model.", "", True, (GAMMA, BRANCHING))


def test_it_is_told_the_cards_of_every_method_but_of_the_option_that_stands_elsewhere():
    form = MethodOptions([MODEL, MethodDescription("none", "Nothing.", "", True, ())], "", leave_out="gamma")
    cards = json.loads(form.props["cards"])
    assert cards["none"] == []
    (branching,) = cards["model"]
    assert (branching["name"], branching["type"], branching["default"]) == ("branching", "ints", "3,2")


def test_what_it_holds_is_read_back_and_nothing_means_defaults():
    seen = read_held(held("model", {"model.branching": "2,1", "ngram.fit": False}))
    assert seen == {"model.branching": "2,1", "ngram.fit": False}
    assert read_held(None) == read_held("") == read_held("{}") == {}


@pytest.mark.parametrize(
    "value", ["{", "[1]", '{"options": 3}', '{"options": {"model.branching": [1]}}', '{"options": [1]}', "[" * 100_000]
)
def test_a_damaged_value_is_one_sentence(value):
    with pytest.raises(OptionError, match=r"^the options of a method arrived damaged; reload the page"):
        read_held(value)


def test_a_request_fills_one_form_per_kind_of_method_and_the_bars_gamma():
    asked = RunRequest("one", drafter=Choice("model", {"gamma": 7, "branching": [2, 1]}), verifier=Choice("block"))
    filled = by_control(asked_values(asked))
    assert (filled["drafter"], filled["gamma"], filled["verifier"]) == ("model", 7, "block")
    seen = json.loads(filled["drafter.options"])
    assert seen == {"method": "model", "options": {"model.gamma": 7, "model.branching": "2,1"}}
    assert json.loads(filled["verifier.options"]) == {"method": "block", "options": {}}
    assert not [name for name in filled if name.startswith("drafter.model")]
