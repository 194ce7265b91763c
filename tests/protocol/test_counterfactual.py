"""What the others would have drafted: one round each, on the run's own text, without touching the run."""

from dataclasses import replace

import pytest

from specviz.errors import OptionError
from specviz.live.source import collect
from specviz.protocol.choice import Choice
from specviz.protocol.counterfactual import candidates, depth_first, others, request_for, riding_along
from specviz.protocol.runs import RunRequest
from tests.app.doubles import ReplaySource, sample
from tests.proof.letters import toy_source

REQUEST = RunRequest("abcabc", drafter=Choice("model", {"gamma": 3}), max_new_tokens=12)


@pytest.fixture
def source():
    return toy_source()


def test_the_recorded_round_stands_first_and_every_other_drafter_follows(source):
    trace = collect(source, REQUEST)
    answers = list(others(source, trace, 1))
    assert (answers[0].drafter, answers[0].recorded, answers[0].round) == ("model", True, trace.rounds[1])
    expected = [one.name for one in source.catalog().drafters if one.name not in ("model", "none")]
    assert [one.drafter for one in answers[1:]] == expected
    assert not any(one.recorded for one in answers[1:])


def test_at_temperature_zero_every_answer_is_the_beginning_of_the_same_text(source):
    trace = collect(source, REQUEST)
    before = sum(len(one.committed.tokens) for one in trace.rounds[:1])
    text = trace.finished.output_ids[before:]
    for answer in others(source, trace, 1, ["ngram", "none", "model"]):
        assert answer.round is not None
        tokens = [item.token for item in answer.round.committed.tokens]
        assert tokens == text[: len(tokens)]
        assert answer.round.base_length == trace.rounds[1].base_length


def test_the_same_drafter_with_the_same_options_drafts_the_same_again(source):
    trace = collect(source, replace(REQUEST, temperature=0.9, drafter=Choice("model", {"gamma": 4})))
    again = next(one for one in others(source, trace, 1, ["model"]) if not one.recorded)
    assert again.round is not None
    assert [node.token for node in again.round.nodes] == [node.token for node in trace.rounds[1].nodes]
    assert again.round.judged.path == trace.rounds[1].judged.path


def test_a_verifier_that_cannot_judge_the_other_gives_way_to_the_default(source):
    trace = collect(source, replace(REQUEST, temperature=0.9, verifier=Choice("block")))
    ngram = next(one for one in others(source, trace, 0, ["ngram"]) if not one.recorded)
    assert ngram.round is not None
    assert ngram.round.judged.rule in ("block", "sequential")


def test_no_more_is_asked_for_than_the_run_had_left(source):
    trace = collect(source, REQUEST)
    done = sum(len(one.committed.tokens) for one in trace.rounds[:2])
    method = next(one for one in source.catalog().drafters if one.name == "ngram")
    request = request_for(trace, 2, method)
    assert (request.max_new_tokens, request.drafter.name, request.tree_policy.name) == (12 - done, "ngram", "auto")


@pytest.mark.parametrize(
    ("index", "names", "message"),
    [(99, [], "there is no round 99 in this trace; choose 0 to"), (0, ["nobody"], "there is no drafter 'nobody'")],
)
def test_what_cannot_be_compared_is_refused(source, index, names, message):
    trace = collect(source, REQUEST)
    with pytest.raises(OptionError, match=message):
        list(others(source, trace, index, names))


def test_a_run_of_other_weights_is_no_basis_and_says_so(source):
    trace = collect(source, REQUEST)
    other = replace(
        trace, started=replace(trace.started, target=replace(trace.started.target, weights_sha256="f" * 64))
    )
    answers = list(others(source, other, 0, ["ngram"]))
    assert "made with other weights of" in answers[1].reason
    assert answers[1].round is None


def test_a_tree_is_listed_with_everything_below_a_node_right_after_it(source):
    trace = collect(source, replace(REQUEST, temperature=0.9, drafter=Choice("model", {"branching": [2, 1]})))
    nodes = trace.rounds[0].nodes
    assert [node.parent for node in nodes] == [-1, 0, 0, 1, 2]
    assert [node.id for node in depth_first(nodes)] == [0, 1, 3, 2, 4]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("simulated", "no model took part in this simulated run"),
        ("live", "this trace, written by 'my engine 1', does not say which weights its target had"),
    ],
)
def test_a_trace_without_weights_is_refused_for_what_it_is(source: str, told: str) -> None:
    trace = sample()
    nameless = replace(trace.started.target, weights_sha256="")
    started = replace(trace.started, target=nameless, source=source, producer="my engine 1")
    imported = replace(trace, started=started)
    with pytest.raises(OptionError, match=told):
        list(others(ReplaySource(trace), imported, 0))


def test_nodes_that_ride_along_are_no_candidates_of_a_draft() -> None:
    this = sample().rounds[1]
    everything = list(range(1, 16))
    assert sorted(node.id for node in candidates(this)) == everything
    assert riding_along(this) == ""
    window = [node.id for node in this.nodes if node.depth == 3]
    riding = replace(this, drafted=replace(this.drafted, riding=window))
    assert sorted(node.id for node in candidates(riding)) == [node for node in everything if node not in window]
    assert riding_along(riding) == f"{len(window)} nodes ride along in the target's pass, not as a guess"
    alone = replace(this, drafted=replace(this.drafted, riding=everything))
    assert candidates(alone) == []
