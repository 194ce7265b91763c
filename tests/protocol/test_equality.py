"""Greedy equality over any source: both runs, float32, token for token; a difference is found and named."""

from dataclasses import replace

import pytest

from specviz.errors import OptionError
from specviz.protocol.choice import Choice
from specviz.protocol.races import compare
from specviz.protocol.runs import RunRequest
from specviz.trace.events import Finished, Step
from tests.app.doubles import ReplaySource, sample
from tests.proof.letters import toy_source


def test_the_pair_writes_the_text_of_plain_decoding_in_fewer_passes():
    found = list(compare(toy_source(), RunRequest("ab", drafter_model="twin", max_new_tokens=12, temperature=0.7)))
    assert not found[0].finished
    assert (found[-1].equal, len(found[-1].plain), found[-1].holds) == (12, 12, True)
    assert found[-1].first_difference is None
    assert found[-1].passes < 12


def test_both_runs_are_greedy_in_float32_and_the_baseline_drafts_nothing():
    source = ReplaySource(sample())
    list(compare(source, RunRequest("x", temperature=1.0, tree_policy=Choice("levels", {"budget": 3}))))
    (plain, _), (drafted, _) = source.requests
    assert (plain.drafter.name, plain.tree_policy.name, plain.tree_policy.options) == ("none", "auto", {})
    assert (drafted.drafter.name, drafted.tree_policy.name) == ("model", "levels")
    assert {(one.temperature, one.dtype, one.verifier.name) for one in (plain, drafted)} == {(0.0, "float32", "auto")}


class Slipping(ReplaySource):
    """Its drafted text ends in another token."""

    def run(self, request, cancelled=lambda: False, resume=None):
        for step in super().run(request, cancelled, resume):
            event = step.event
            if isinstance(event, Finished) and request.drafter.name != "none":
                event = replace(event, output_ids=[*event.output_ids[:-1], event.output_ids[-1] + 1])
            yield Step(event, step.vocab)


def test_a_difference_is_found_at_its_place():
    *_, found = compare(Slipping(sample()), RunRequest("x"))
    assert found.finished
    assert not found.holds
    assert (found.equal, found.first_difference) == (19, 19)


def test_a_stopped_comparison_claims_nothing():
    *_, found = compare(ReplaySource(sample()), RunRequest("x"), cancelled=lambda: True)
    assert not found.holds


def test_what_cannot_run_is_refused_with_the_sources_sentence():
    with pytest.raises(OptionError, match="there is no drafter"):
        list(compare(toy_source(), RunRequest("ab", drafter=Choice("typo"))))
