"""Same seed, same trace: what a run resolved stands in its header, whose request gives the same text again."""

from dataclasses import replace
from functools import cache

import pytest

from specviz.drafters.base import DRAFTERS
from specviz.drafters.learned.module import MODULES
from specviz.errors import OptionError
from specviz.live.source import LiveSource, collect
from specviz.protocol.choice import Choice
from specviz.protocol.runs import Resume, RunRequest, request_of
from specviz.stop_policies.base import STOP_POLICIES
from specviz.trace.check import check
from specviz.tree_policies.base import TREE_POLICIES
from tests.proof.letters import LetterTexts, toy_loader

NEED_LAYERS = {"early_exit", "self_speculative"}
"""drafters that a table of probabilities cannot serve; it has no layers"""
NEED_HIDDEN = {"specdecpp"}
"""stop policies that look at hidden states, of which a table has none"""
LONG = {"prompt": "abcab", "temperature": 0.8, "max_new_tokens": 16, "target": "target"}


@cache
def source(measure: bool = True) -> LiveSource:
    return LiveSource(load=toy_loader(), measure=measure, datastores=LetterTexts())


def requests() -> list[RunRequest]:
    given = {"vocabtrim": {"calibration": "ids", "head_size": 4}}  # letters have no table of frequencies
    given |= {name: {"weights": "untrained"} for name in MODULES.names() if name in DRAFTERS.names()}
    given["kangaroo"] |= {"exit_layer": 1}  # of two
    given |= {
        "amusd": {"drafts_per_pass": 3},
        "pearl": {"in_turn": True},
        "ssd": {"in_turn": True},
    }  # no other process can load a table
    drafters = [
        RunRequest(**LONG, drafter=Choice(name, given.get(name, {})))
        for name in DRAFTERS.names()
        if name not in NEED_LAYERS
    ]
    tree_policies = [
        RunRequest(
            **LONG, tree_policy=Choice(name), verifier=Choice("longest_path" if name == "target_init" else "auto")
        )
        for name in TREE_POLICIES.names()
    ]
    stops = [
        RunRequest(
            **{**LONG, "temperature": 0.0 if STOP_POLICIES.get(name).temperatures == "zero" else 0.8},
            stop_policy=Choice(name),
        )
        for name in STOP_POLICIES.names()
        if name not in NEED_HIDDEN
    ]
    fitted = RunRequest(**LONG, drafter=Choice("token_recycling", {"fit": True}))
    return [*drafters, *tree_policies, *stops, fitted]


def named(request: RunRequest) -> str:
    return (
        f"{request.drafter.name}-{request.tree_policy.name}-{request.stop_policy.name}-{dict(request.drafter.options)}"
    )


@pytest.mark.parametrize("request_made", requests(), ids=named)
def test_the_request_of_a_header_gives_the_same_text_on_a_machine_of_any_speed(request_made):
    first = collect(source(), request_made)
    asked = request_of(first.started)
    again = collect(source(measure=False), asked)
    cards = [(one.drafter, one.tree_policy, one.stop_policy) for one in (first.started, again.started)]
    assert cards[0] == cards[1]
    assert again.finished.output_ids == first.finished.output_ids
    assert [len(one.nodes) for one in again.rounds] == [len(one.nodes) for one in first.rounds]


def test_token_recycling_writes_down_its_size_and_never_asks_a_clock_unless_told_to():
    plain = collect(source(), RunRequest(**LONG, drafter=Choice("token_recycling"))).started.drafter.options
    fitted = collect(source(), requests()[-1]).started.drafter.options
    assert (plain["nodes"], plain["fit"]) == (16, False)
    assert 1 <= fitted["nodes"] <= 16
    assert fitted["fit"] is False


def test_a_run_is_repeated_in_the_number_format_it_had():
    """`auto` goes by the processor, and the next machine may have another."""
    started = collect(LiveSource(load=toy_loader(), measure=False), RunRequest("abc", max_new_tokens=2)).started
    half = replace(started, machine=replace(started.machine, dtype="bfloat16"))
    assert request_of(half).dtype == "bfloat16"


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"gamma": 9, "branching": [2, 1], "draw": "auto"}, {"branching": [2, 1], "draw": "auto"}),
        ({"gamma": 3, "branching": [], "draw": "auto"}, {"gamma": 3, "branching": [], "draw": "auto"}),
    ],
)
def test_an_old_trace_that_names_an_option_without_effect_is_repeated_and_continued_without_it(given, left):
    first = collect(source(measure=False), RunRequest(**LONG, drafter=Choice("model", {"branching": "2,1"})))
    old = replace(first, started=replace(first.started, drafter=replace(first.started.drafter, options=given)))
    for resume in (None, Resume(old, 2)):
        again = collect(source(measure=False), request_of(old.started), resume=resume)
        assert again.started.drafter.options == left
        assert check(again) == []
    with pytest.raises(OptionError, match="replaces it"):
        collect(source(measure=False), RunRequest(**LONG, drafter=Choice("model", {"gamma": 9, "branching": "2,1"})))


def test_an_old_trace_that_names_a_shape_beside_a_tree_policy_is_repeated_by_the_policy():
    first = collect(source(measure=False), RunRequest(**LONG, tree_policy=Choice("levels", {"branching": "2,1"})))
    card = replace(first.started.drafter, options={"gamma": 9, "branching": [3, 1], "draw": "auto"})
    again = collect(source(measure=False), request_of(replace(first.started, drafter=card)))
    assert again.finished.output_ids == first.finished.output_ids
    assert "gamma" not in again.started.drafter.options
