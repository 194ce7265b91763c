"""The two protocols drafting in the target's own process: which tokens are drafted when, worked out by hand."""

from dataclasses import replace

import pytest

from specviz.asynchronous.board import EngineClock
from specviz.live.source import LiveSource, collect
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from specviz.trace.events import IN_TURN, Trace
from tests.lm.conftest import checkpoint, one_thread

__all__ = ["checkpoint", "one_thread"]


@pytest.fixture(scope="module")
def run(checkpoint):
    """A run whose drafter is the target again, and so always right; or another model, and so mostly wrong."""
    target, wrong = str(checkpoint("llama")), str(checkpoint("llama", num_hidden_layers=1))
    source = LiveSource(measure=False)

    def decode(drafter: str, right: bool = True, **options: object) -> Trace:
        request = RunRequest("w1 w2 w3", target=target, drafter_model=target if right else wrong, temperature=0.0)
        return collect(source, replace(request, drafter=Choice(drafter, options), max_new_tokens=13))

    return decode


def shape(trace: Trace) -> list[tuple[int, int, int]]:
    """Per round: candidates, committed tokens, tokens drafted."""
    return [
        (
            len(this.nodes) - 1,
            len(this.committed.tokens),
            sum(one.tokens for one in this.drafted.lanes if one.what == "draft"),
        )
        for this in trace.rounds
    ]


def test_pearl_confirms_one_token_and_then_reads_what_was_drafted_beside(run) -> None:
    """γ = 3: one round to begin, then two candidates and a token that the next draft begins with, 13 tokens in all. The
    last one is never drafted."""
    trace = run("pearl", in_turn=True, gamma=3)
    assert shape(trace) == [(0, 1, 3), (2, 3, 3), (2, 3, 3), (2, 3, 3), (2, 3, 0)]
    assert check(trace) == []


def test_pearl_gives_up_a_draft_whose_first_token_was_wrong(run) -> None:
    """Each round is a pass for one token, and three drafted tokens are thrown away."""
    trace = run("pearl", right=False, in_turn=True, gamma=3)
    assert shape(trace)[:4] == [(0, 1, 3)] * 4
    discarded = [one.tokens for this in trace.rounds for one in this.drafted.lanes if one.what == "roll back"]
    assert discarded[:3] == [3, 3, 3]
    assert {one.origin for this in trace.rounds for one in this.committed.tokens} == {"target"}


def test_ssd_has_every_draft_ready_behind_a_drafter_that_is_always_right(run) -> None:
    """γ = 3 and the likeliest verdict behind each count: a draft, and beside the pass over it the drafter's own next
    token and three behind each of four verdicts. A verdict that was drafted for has its draft; at the text's end there
    is room for less."""
    trace = run("ssd", in_turn=True, gamma=3, fan_out=1)
    assert shape(trace) == [(3, 4, 3 + 1 + 3 * 4), (3, 4, 1 + 3 * 4), (3, 4, 1 + 3 + 2 + 1), (0, 1, 0)]
    assert [this.drafted.note.get("ready_at_the_verdict") for this in trace.rounds] == [None, 3, 3, None]
    assert [one.tokens for this in trace.rounds for one in this.drafted.lanes if one.what == "roll back"] == [9, 9, 6]
    assert check(trace) == []


def test_ssd_reads_what_was_handed_over_before_it_drafts_behind_it(run) -> None:
    """γ = 4: of a branch that is handed over, two tokens have room, and the draft is as long as it may be. One pass
    reads its first token, and one verdict is left that a token can follow."""
    trace = run("ssd", in_turn=True, gamma=4, fan_out=1)
    assert shape(trace) == [(4, 5, 4 + 1 + 4 * 5), (4, 5, 1 + 4 + 4 + 4 + 3 + 2), (2, 3, 1 + 1)]
    assert [this.drafted.note.get("ready_at_the_verdict") for this in trace.rounds] == [None, 4, 2]
    assert check(trace) == []


def test_ssd_drafts_what_a_drafter_in_turn_does_whatever_it_foresees(run) -> None:
    """Only when a draft is there differs, and how much was drafted for nothing."""
    plain, foreseen = (run("ssd", right=False, in_turn=True, gamma=3, fan_out=fan_out) for fan_out in (0, 16))
    in_turn = run("model", right=False, gamma=3)
    assert [[node.token for node in this.nodes] for this in plain.rounds] == [
        [node.token for node in this.nodes] for this in foreseen.rounds
    ]
    assert [[node.token for node in this.nodes] for this in plain.rounds[:-1]] == [
        [node.token for node in this.nodes] for this in in_turn.rounds[:-1]
    ]
    assert {this.drafted.note.get("ready_at_the_verdict") for this in plain.rounds[1:]} <= {0, None}
    hits = [this.drafted.note.get("ready_at_the_verdict") for this in foreseen.rounds[1:]]
    assert {0, 3} <= set(hits), "some verdicts are hit and some are not"
    assert check(plain) == check(foreseen) == []


def test_amusd_takes_what_is_there_and_goes_on_drafting(run) -> None:
    """Two tokens a pass, at most four ahead: it waits for the first one, drafts two more beside the pass over it (which
    gives two tokens), so one is there; then two more, of which the target's own token takes one each time."""
    trace = run("amusd", drafts_per_pass=2, ahead=4, widest=2)
    assert shape(trace)[:4] == [(1, 2, 3), (1, 2, 2), (1, 2, 2), (1, 2, 2)]
    assert trace.summary.draft_acceptance_rate == 1.0


def test_amusd_reads_no_more_at_once_than_it_is_told_to(run) -> None:
    trace = run("amusd", drafts_per_pass=8, ahead=8, widest=3)
    assert [len(this.nodes) - 1 for this in trace.rounds] == [1, 3, 3, 2]
    assert [one.tokens for this in trace.rounds for one in this.drafted.lanes if one.what == "roll back"] == []


def test_amusd_drafts_anew_after_a_rejection(run) -> None:
    """A rejected token, and all that was drafted behind it, is thrown away before the next is waited for."""
    trace = run("amusd", right=False, drafts_per_pass=2, ahead=4, widest=2)
    assert [(this.drafted.lanes[0].what, this.drafted.lanes[0].tokens) for this in trace.rounds[1:3]] == [
        ("roll back", 3),
        ("roll back", 3),
    ]


@pytest.mark.parametrize(
    ("drafter", "options"),
    [("amusd", {"drafts_per_pass": 3}), ("pearl", {"in_turn": True}), ("ssd", {"in_turn": True})],
)
def test_nothing_overlaps_and_the_lane_says_so(run, drafter, options) -> None:
    for this in (trace := run(drafter, **options)).rounds:
        over = this.start_s + this.drafted.seconds
        assert {one.lane for one in this.drafted.lanes} <= {IN_TURN}
        assert all(this.start_s - 1e-9 <= one.start_s <= one.end_s <= over for one in this.drafted.lanes)
    assert check(trace) == []


def test_the_engines_clock_stands_still_between_rounds() -> None:
    clock = EngineClock([0, 0])
    assert (clock.is_running, clock.now()) == (False, 0.0)
    clock.run(2.0)
    assert clock.is_running
    assert clock.now() >= 2.0
    clock.stop()
    stood = clock.now()
    assert (clock.now(), clock.is_running) == (stood, False)
    clock.run(stood)
    assert clock.now() >= stood
