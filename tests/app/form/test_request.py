"""From the form to a request: limits hold on the server, whatever the browser sends, those on the size of trees too."""

from dataclasses import replace

import pytest

from specviz.app.form.request import Limits, check_named, parse_option, request_from, within
from specviz.errors import OptionError
from specviz.live.catalog import saved
from specviz.protocol.runs import Catalog, DatastoreDescription
from tests.app.doubles import BRANCHING, GAMMA, catalog

METHODS_ASKED = {"target": "target", "drafter": "model", "drafter_model": "drafter", "verifier": "auto"}
NUMBERS = {"temperature": 0, "top_k": 0, "top_p": 1, "seed": 7, "max_new_tokens": 32}
OPTIONS = {"drafter.model.gamma": 5, "drafter.model.branching": "3,2,1", "drafter.ngram.gamma": 9}
FORM: dict[str, object] = {"prompt": "def first():\n", **METHODS_ASKED, **NUMBERS, "stop": "", **OPTIONS}


def form(**changes: object) -> dict[str, object]:
    return {**FORM, **changes}


def test_only_the_chosen_drafters_options_are_sent() -> None:
    request = request_from(form(), catalog(), Limits())
    assert request.drafter.options == {"gamma": 5, "branching": [3, 2, 1]}


SHAPED = (replace(GAMMA, shape=True, unless="branching"), replace(BRANCHING, default=[], shape=True))


@pytest.mark.parametrize(
    ("changes", "sent"),
    [
        ({}, {"branching": [3, 2, 1]}),
        ({"drafter.model.branching": ""}, {"gamma": 5, "branching": []}),
        ({"tree_policy": "levels"}, {}),
    ],
    ids=["a tree replaces the chain", "a chain", "a tree policy decides"],
)
def test_options_that_do_nothing_beside_the_others_are_not_sent(changes, sent) -> None:
    none, model, ngram = catalog().drafters
    known = replace(catalog(), drafters=(none, replace(model, options=SHAPED), ngram))
    assert request_from(form(**changes), known, Limits()).drafter.options == sent


def test_tree_policies_are_sent_for_drafters_that_grow_and_for_no_others() -> None:
    policies = {
        "tree_policy": "levels",
        "tree_policy.levels.branching": "2,2",
        "stop_policy": "doubt",
        "stop_policy.doubt.floor": 0.3,
    }
    growing = request_from(form(**policies), catalog(), Limits())
    assert (growing.tree_policy.name, growing.tree_policy.options) == ("levels", {"branching": [2, 2], "budget": 0})
    assert (growing.stop_policy.name, growing.stop_policy.options) == ("doubt", {"floor": 0.3})
    lookup = request_from(form(drafter="ngram", **policies), catalog(), Limits())
    assert (lookup.tree_policy.name, lookup.tree_policy.options, lookup.stop_policy.name) == ("auto", {}, "fixed")


def test_a_memory_is_asked_for_only_of_a_drafter_that_remembers() -> None:
    none, model, ngram = catalog().drafters
    known = replace(catalog(), drafters=(none, model, replace(ngram, remembers=True)))
    assert request_from(form(memory="warm"), known, Limits()).memory == "cold"
    assert request_from(form(memory="warm", drafter="ngram"), known, Limits()).memory == "warm"
    with pytest.raises(OptionError, match="memory is 'hot', but must be one of cold, warm, reset"):
        request_from(form(memory="hot", drafter="ngram"), known, Limits())


def test_an_empty_control_means_the_default() -> None:
    request = request_from(form(**{"drafter.model.branching": "", "drafter.model.gamma": None}), catalog(), Limits())
    assert request.drafter.options == {"gamma": 4, "branching": None}


def test_an_untouched_prompt_keeps_its_name_and_an_edited_one_loses_it() -> None:
    assert request_from(form(), catalog(), Limits()).prompt_name == "code-a"
    assert request_from(form(prompt="def other():"), catalog(), Limits()).prompt_name is None


def test_stop_strings_stand_one_per_line_and_may_hold_a_line_break() -> None:
    assert request_from(form(stop="END\n\\n\\n\n"), catalog(), Limits()).stop == ("END", "\n\n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"prompt": ""}, "prompt is empty"),
        ({"prompt": "x" * 11}, "11 characters"),
        ({"drafter": "oracle"}, "no drafter 'oracle'"),
        ({"verifier": "hope"}, "no verifier 'hope'"),
        ({"tree_policy": "weed"}, "no tree policy 'weed'"),
        ({"temperature": 11}, "temperature is 11"),
        ({"temperature": None}, "temperature is empty, but must be a number."),
        ({"temperature": -1}, "temperature is -1, but must lie between 0 and 10 here."),
        ({"max_new_tokens": 65}, "between 1 and 64"),
        ({"top_p": -0.5}, "top p is -0.5"),
        ({"drafter.model.gamma": "many"}, "option 'gamma'"),
        ({"drafter.model.gamma": 2.5}, "whole number"),
        ({"drafter.model.branching": "inf"}, "option 'branching'"),
        ({"seed": 2**53}, "seed is 9"),
        ({"drafter.model.branching": "3;2"}, "commas between"),
        ({"drafter.model.branching": "9,9,9"}, "makes 819 candidates"),
        ({"target": "/etc"}, "not offered here"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(change: dict[str, object], words: str) -> None:
    limits = Limits(max_new_tokens=64, prompt_chars=20 if "prompt" not in change else 10, any_model=False)
    with pytest.raises(OptionError, match=words):
        request_from(form(**change), catalog(), limits)


def test_a_model_that_an_option_names_must_be_on_offer_too() -> None:
    listed = catalog().models[0].name
    check_named({"others": f"{listed}, {listed}"}, catalog(), Limits(any_model=False))
    with pytest.raises(OptionError, match="'owner/huge' is not offered here"):
        check_named({"others": f"{listed}, owner/huge"}, catalog(), Limits(any_model=False))
    check_named({"others": "owner/huge"}, catalog(), Limits())


def test_on_ones_own_machine_any_model_may_be_named() -> None:
    assert request_from(form(target="some/model"), catalog(), Limits()).target == "some/model"


@pytest.mark.parametrize("way", ["warm", "reset"])
def test_where_visitors_are_strangers_no_run_touches_the_servers_memory(way: str) -> None:
    known = catalog()
    known = replace(known, drafters=tuple(replace(one, remembers=True) for one in known.drafters))
    assert request_from(form(memory=way), known, Limits()).memory == way
    with pytest.raises(OptionError, match=f"memory is '{way}', but must be one of cold here"):
        request_from(form(memory=way), known, Limits(shared_memory=False))
    assert request_from(form(memory="cold"), known, Limits(shared_memory=False)).memory == "cold"


def retrieving() -> Catalog:
    known = catalog()
    store = DatastoreDescription("/cache/ab.datastore", "notes", 12345, 6_100_000, "2026-01-31")
    return replace(known, drafters=tuple(replace(one, retrieves=True) for one in known.drafters), datastores=(store,))


@pytest.mark.parametrize(
    ("asked", "file"),
    [("ab.datastore", "/cache/ab.datastore"), ("", ""), (None, ""), ("my/own.datastore", "my/own.datastore")],
)
def test_a_listed_datastore_is_called_by_its_name_and_others_by_their_path(asked: str | None, file: str) -> None:
    assert request_from(form(datastore=asked), retrieving(), Limits()).datastore == file
    assert request_from(form(datastore=asked), catalog(), Limits()).datastore == "", "this drafter retrieves nothing"


def test_where_strangers_meet_no_file_outside_the_list_is_read() -> None:
    strict = Limits(any_model=False)
    assert request_from(form(datastore="ab.datastore"), retrieving(), strict).datastore == "/cache/ab.datastore"
    for path in ("/etc/passwd", "/cache/ab.datastore"):
        with pytest.raises(OptionError, match=f"the datastore '{path}' is not offered here"):
            request_from(form(datastore=path), retrieving(), strict)


def test_numbers_are_read_from_text_too() -> None:
    assert parse_option(GAMMA, "6") == 6
    assert parse_option(BRANCHING, [2, 1]) == [2, 1]


SMALL = Limits(max_tree_nodes=64)
METHODS = {method.name: method for method in (*saved().tree_policies, *saved().drafters)}
TREE_POLICIES = [method.name for method in saved().tree_policies]


def asked(name, **options):
    method = METHODS[name]
    return within(SMALL, method, {**{card.name: card.default for card in method.options}, **options})


@pytest.mark.parametrize("tree_policy", TREE_POLICIES)
def test_the_budget_of_every_tree_policy_is_capped(tree_policy):
    assert asked(tree_policy, budget=64)["budget"] == 64
    with pytest.raises(OptionError, match="budget 65 makes 65 candidates per round, but this machine takes 64"):
        asked(tree_policy, budget=65)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("rsd_s", {"width": 13, "depth": 5}, "width 13 with depth 5 makes 65 candidates"),
        ("levels", {"branching": [5, 13]}, "branching 5,13 makes 70 candidates"),
        ("model", {"branching": [4, 4, 4], "gamma": 2}, "branching 4,4,4 makes 84 candidates"),
        (
            "paths",
            {"paths": "; ".join([*map(str, range(32)), *(f"{rank},0" for rank in range(32)), "0,0,0"])},
            "the list of paths makes 65 candidates",
        ),
        ("paths", {"paths": "0; 1,0"}, "paths lists 1,0, but not 1, below which it hangs"),
    ],
)
def test_so_is_a_shape_of_many_candidates(name, options, sentence):
    with pytest.raises(OptionError, match=sentence):
        asked(name, **options)


def test_a_large_shape_cut_by_its_budget_fits():
    assert asked("rsd_s", width=32, depth=32, budget=20)["budget"] == 20


def test_every_tree_policy_says_what_its_options_count():
    assert all(any(card.counts == "candidates" for card in METHODS[name].options) for name in TREE_POLICIES)
