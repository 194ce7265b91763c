"""Drafters with a process of their own: plain decoding's text, a lane on the engine's clock, no process left over."""

import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from specviz.asynchronous.board import Size
from specviz.asynchronous.process import DraftingProcess, end_waiting
from specviz.asynchronous.side import Draws
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS
from specviz.errors import OptionError
from specviz.live.source import LiveSource, collect
from specviz.lm.load import load
from specviz.lm.place import Origin, origin_of
from specviz.proof.small_models import small_pair
from specviz.protocol.choice import Choice, with_choices
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from specviz.trace.codec import assemble
from specviz.trace.events import Finished, Round
from tests.asynchronous.processes import children, left_over
from tests.lm.conftest import checkpoint, one_thread

__all__ = ["checkpoint", "one_thread"]

METHODS = ("amusd", "pearl", "ssd")


@pytest.fixture(autouse=True)
def nobody_waits():
    """No test begins with the process of the one before."""
    end_waiting()


@pytest.fixture(scope="module")
def models(checkpoint):
    """A target and a drafter that agrees with it now and then."""
    return str(checkpoint("llama")), str(checkpoint("llama", num_hidden_layers=1))


@pytest.fixture(scope="module")
def source():
    return LiveSource(measure=False)


@pytest.fixture
def request_of(models):
    target, drafter = models

    def make(method: str, **changes) -> RunRequest:
        chosen = {"target": target, "drafter_model": drafter, "drafter": method, "device": "cpu", "dtype": "float32"}
        return replace(RunRequest("w1 w2 w3 w1 w2", max_new_tokens=24), **with_choices({**chosen, **changes}))

    return make


@pytest.mark.parametrize("method", METHODS)
def test_the_text_is_plain_decodings_and_the_trace_has_a_lane_on_its_clock(source, request_of, models, method):
    """Twice in the same server: greedy with a drafter that is mostly wrong, then sampled with one that is right."""
    before, right = children(), {"drafter_model": models[0], "verifier": "naive", "temperature": 0.9, "seed": 3}
    for changes in ({"verifier": "greedy", "temperature": 0.0}, right):
        trace = collect(source, request_of(method, **changes))
        plain = collect(source, request_of("none", **changes))
        assert trace.finished.output_ids == plain.finished.output_ids
        assert check(trace) == []
        assert {one.lane for this in trace.rounds for one in this.drafted.lanes} == {"drafter"}
        assert all(not this.drafted.passes for this in trace.rounds)
    assert trace.summary.draft_acceptance_rate == 1.0
    assert len(children()) == len(before) + 1, "one waits for the next run"
    assert all(this.nodes[0].draft_raw is not None for this in trace.rounds if len(this.nodes) > 1)
    assert left_over(before) == []


def test_other_verifiers_judge_what_was_drafted_beside(source, request_of):
    trace = collect(source, request_of("amusd", verifier="sequential", temperature=0.9))
    assert (check(trace), len(trace.finished.output_ids)) == ([], 24)


def test_between_rounds_the_drafter_rests(source, request_of):
    """A page that takes its time gives it none: its lane holds no more than the engine's clock."""
    steps, kept = [], []
    for step in source.run(
        request_of("amusd", verifier="greedy", temperature=0.0, max_new_tokens=8), lambda: False, None
    ):
        steps.append(step.event)
        kept.append(step)
        time.sleep(0.05)
    rounds = [one for one in steps if isinstance(one, Round)]
    spans = [one for this in rounds for one in this.drafted.lanes]
    assert max(one.end_s for one in spans) <= steps[-1].decode_s
    assert sum(one.end_s - one.start_s for one in spans) <= steps[-1].decode_s
    assert check(assemble(kept)) == []


def test_a_pass_is_not_given_away_before_the_engines_clock_has_seen_all_of_it(models):
    """Each pass counts an hour more: nothing is drafted while the clock runs for a moment, nor while it stands still;
    one token is there as soon as it shows two hours."""
    process = DraftingProcess(Origin(models[1]), slowdown_s=3600)
    try:
        process.begin([1, 2, 3], Size(8))
        process.board.allow(4)
        process.clock.run(0.0)
        process.go(Draws(Sampling(0.0), SeededRandom(0)))
        for _ in range(5):
            process.wait()
        process.clock.stop()
        for _ in range(5):
            process.wait()
        assert (process.board.draft_length(), process.spans()) == (3, [])
        process.clock.run(7200.0)
        process.tell()
        while process.board.draft_length() == 3:
            process.wait()
        (span,) = process.spans()
        assert (span.what, span.tokens) == ("draft", 1)
        assert 3600 <= span.end_s - span.start_s < span.end_s < 7200
    finally:
        process.close()


def test_a_drafter_that_is_killed_costs_no_token_and_is_said(source, request_of):
    request = request_of("amusd", verifier="greedy", temperature=0.0)
    before, rounds, finished = children(), list[Round](), None
    for step in source.run(request, lambda: False, None):
        if isinstance(step.event, Round):
            rounds.append(step.event)
            if len(rounds) == 2:
                (child,) = [one for one in children() if one not in before]
                child.kill()
        elif isinstance(step.event, Finished):
            finished = step.event
    plain = collect(source, request_of("none", verifier="greedy", temperature=0.0))
    assert finished is not None
    assert finished.output_ids == plain.finished.output_ids
    assert rounds[-1].drafted.note == {"drafter_process_ended": True}
    assert left_over(before) == []


def test_the_process_of_a_run_waits_for_the_next_with_the_same_weights(source, request_of, models):
    before, started, drafted = children(), list[list[int]](), list[int]()
    for method, model in (("pearl", models[0]), ("pearl", models[0]), ("amusd", models[1])):
        trace = collect(source, request_of(method, drafter_model=model, verifier="greedy", temperature=0.0))
        drafted.append(sum(len(this.nodes) - 1 for this in trace.rounds))
        started.append([one.pid for one in children() if one not in before])
    assert drafted[0] == drafted[1] > 0
    assert [len(pids) for pids in started] == [1, 1, 1]
    assert started[0] == started[1] != started[2]
    assert left_over(before) == []


def test_a_run_that_nobody_goes_on_with_leaves_its_process_to_the_next(source, request_of):
    before = children()
    request = request_of("pearl", verifier="greedy", temperature=0.0)
    for _ in range(2):
        steps = source.run(request, lambda: False, None)
        for step in steps:
            if isinstance(step.event, Round):
                break
        steps.close()
        assert len(children()) == len(before) + 1
    assert (
        collect(source, request).finished.output_ids
        == collect(source, replace(request, drafter=Choice("none"))).finished.output_ids
    )
    assert left_over(before) == []


WITHOUT_GUARD = """
import sys
import specviz
print(
    sum(
        len(this.nodes) - 1
        for this in specviz.run("w1 w2", target=sys.argv[1], drafter_model=sys.argv[1], drafter="pearl").rounds
    )
)
"""


def test_a_script_needs_no_beginning_of_its_own(tmp_path, models):
    """A child that ran the script again would start one itself, and so on."""
    script = tmp_path / "without_guard.py"
    script.write_text(WITHOUT_GUARD)
    said = subprocess.run([sys.executable, script, models[1]], capture_output=True, text=True, check=False)
    assert (said.stderr, int(said.stdout) > 0) == ("", True)


def test_a_text_longer_than_the_drafter_reads_goes_on_plainly(source, request_of, checkpoint):
    short = str(checkpoint("llama", num_hidden_layers=1, max_position_embeddings=12))
    request = request_of("pearl", drafter_model=short, verifier="greedy", temperature=0.0)
    trace, plain = collect(source, request), collect(source, replace(request, drafter=Choice("none")))
    assert trace.finished.output_ids == plain.finished.output_ids
    assert check(trace) == []
    assert trace.rounds[-1].drafted.note == {"drafter_context_full": True}


WITHOUT_END = """
import os, signal, sys
from specviz.asynchronous.process import DraftingProcess
from specviz.asynchronous.board import Size
from specviz.lm.place import Origin
process = DraftingProcess(Origin(sys.argv[1]))
process.begin([1, 2, 3], Size(64))
print(process._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_process_ends_with_its_parent_however_that_ends(tmp_path, models):
    script = tmp_path / "without_end.py"
    script.write_text(WITHOUT_END)
    said = subprocess.run([sys.executable, script, models[1]], capture_output=True, text=True, check=False)
    child = int(said.stdout)
    psutil.wait_procs([psutil.Process(child)] if psutil.pid_exists(child) else [], timeout=20)
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    ("method", "option", "value"),
    [("amusd", "drafts_per_pass", 1), ("pearl", "in_turn", True), ("ssd", "in_turn", True)],
)
def test_a_model_that_no_other_process_can_load_is_refused(method, option, value):
    _, drafting = small_pair()
    with pytest.raises(OptionError, match=f"set the option {option} to draft in this process"):
        DRAFTERS.get(method).of({}).use(drafting)
    inside = DRAFTERS.get(method).of({option: value})
    inside.use(drafting)
    assert inside.drafting_model() is drafting


def test_where_a_model_came_from_is_known_of_loaded_ones_alone(models):
    loaded = load(models[1], device="cpu", dtype="float32").model
    assert origin_of(loaded) == Origin(models[1], "cpu", "float32", "auto")
    assert origin_of(small_pair()[1]) is None
