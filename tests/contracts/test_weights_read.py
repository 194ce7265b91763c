"""Every registered drafter says of each of its passes how many bytes of weights it reads, and in words which; or it is
named here with the reason why it cannot."""

import pytest

from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import Grows
from specviz.live.source import collect
from specviz.proof.small_models import option_sets
from specviz.theory import metrics
from tests.contracts.test_drafter_contract import METHOD_IDS, METHODS, request_for

UNABLE = {
    "amusd": "its passes are made beside the target's, on a lane: what they read is read while the target reads",
    "pearl": "its passes are made beside the target's, on a lane: what they read is read while the target reads",
    "ssd": "its passes are made beside the target's, on a lane: what they read is read while the target reads",
}
"""drafter → why MBSU does not speak of it"""


@pytest.mark.parametrize(("drafter", "options"), METHODS, ids=METHOD_IDS)
def test_every_pass_says_which_weights_it_reads(pair, drafter, options):
    session = pair.session(request_for(drafter, options, verifier="greedy", max_new_tokens=8), [1, 2, 1, 2, 1])
    session.begin()
    passes = []
    while session.finished is None:
        passes += session.round().proposal.passes
    if drafter in UNABLE or not passes:
        assert passes == []
        return
    assert [one for one in passes if one.read is None] == []
    assert session.method.drafter.pass_reads, "in words, too"
    assert all(one.read for one in passes if one.depth), "a pass that drafts reads something"


def test_whoever_grows_drafts_declares_and_whoever_is_named_is_registered():
    grows = {name for name, kind in DRAFTERS.items() if issubclass(kind, Grows)}
    assert {name for name in grows if not DRAFTERS.get(name).pass_reads} == set()
    assert set(UNABLE) <= set(DRAFTERS.names())
    assert [name for name in UNABLE if DRAFTERS.get(name).pass_reads] == []


@pytest.mark.parametrize(
    ("drafter", "options"),
    [
        ("medusa", {"weights": "untrained"}),
        ("early_exit", {"exit_layer": 1, "gamma": 2}),
        ("merged", option_sets("merged")[0]),
    ],
)
def test_a_trace_carries_it_and_so_has_a_memory_bound_speedup(source, drafter, options):
    """Layers that the target's pass goes on from cost nothing: it would have read them itself."""
    trace = collect(source, request_for(drafter, options, verifier="greedy", max_new_tokens=8))
    passes = [one for this in trace.rounds for one in this.drafted.passes]
    assert passes
    assert all((one.read or 0) > 0 for one in passes if one.depth or drafter != "early_exit")
    assert [one.read for one in passes if one.depth is None and drafter == "early_exit"] == [0] * len(
        [this for this in trace.rounds if this.nodes[1:] and drafter == "early_exit"]
    )
    assert trace.started.drafter.pass_reads == DRAFTERS.get(drafter).pass_reads != ""
    ratio, value = metrics.memory_ratio(trace.started, trace.rounds), metrics.mbsu(trace.started, trace.rounds)
    tau = metrics.tokens_per_target_pass(trace.rounds)
    assert value == pytest.approx(tau * ratio / (len(passes) / len(trace.rounds) + ratio))
    assert value < tau
