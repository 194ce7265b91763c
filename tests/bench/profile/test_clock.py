"""The clock of a few seconds: everything in turn, drafters behind a target pass, plain decoding for the rest."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from specviz.bench.profile import clock as timing
from specviz.bench.profile.clock import measure_clock
from specviz.errors import BenchError
from specviz.protocol.clocks import ClockRequest, TriedRounds
from specviz.protocol.runs import RunRequest
from tests.fake_source import FakeSource

REQUEST = ClockRequest(rows=(1, 3, 500), cached_rows=8, budget_s=0.0)


def loaded(name):
    info = SimpleNamespace(context_length=64, weights_sha256=f"sha of {name}", dtype="float32")
    model = SimpleNamespace(name=name, info=info, device=torch.device("cpu"))
    return SimpleNamespace(info=info, model=model)


@pytest.fixture
def passes(monkeypatch):
    """Each pass takes a second for every row; a drafter's a tenth of that."""
    made = []

    def timed(model, cache, n, clock=None):
        made.append((model.name, n))
        return n * (0.1 if model.name == "drafter" else 1.0)

    monkeypatch.setattr(timing, "pass_s", timed)
    monkeypatch.setattr(timing, "filled_cache", lambda model, rows: rows)
    return made


def clocks(source, request=REQUEST, cancelled=lambda: False):
    return list(measure_clock(request, source, loaded, nullcontext(), cancelled))


def test_widths_that_fit_are_timed_behind_a_drafters_steps_and_alone_with_one_row_beside_each(passes):
    """A budget of nothing: three repeats all the same. A round's passes over 2, 1, 1, 1 rows: 0.125 s in the mean."""
    *_, last = clocks(FakeSource())
    steps = [("drafter", n) for n in (2, 1, 1, 1)]
    turn = [*steps, ("target", 1), ("target", 1), *steps, ("target", 3), ("target", 3), ("target", 1)]
    assert passes == turn * 3
    assert last.clock.round_times == last.clock.step_times
    assert [(step.rows, step.cached_rows, step.median_s) for step in last.clock.step_times] == [
        (1, 8, 1.0),
        (3, 8, 3.0),
    ]
    assert last.clock.draft_steps == {"sha of drafter": pytest.approx(0.125)}
    assert (last.clock.target_sha256, last.clock.repeats) == ("sha of target", 3)


def test_ways_of_drafting_are_decoded_with_plain_decoding_before_and_behind(passes):
    """The fake source's rounds are a pass of one second and nothing besides; of 8 tokens a chain of one accepted token
    makes 4 rounds, and the first and the last of each run are left out."""
    source = FakeSource()
    way = RunRequest("").with_drafter("model", {"gamma": 1})
    *_, last = clocks(source, replace(REQUEST, tried={("model", 1): way}))
    assert last.clock.tried == (
        TriedRounds(("none", None), 0.0, (1,) * 6, 1.0, 0.0),
        TriedRounds(("model", 1), 0.0, (2,) * 2, 1.0, 0.0),
    )
    assert [request.drafter.name for request in source.requests] == ["none", "model", "none"] * 3


def test_plain_decoding_stands_behind_every_third_way(passes):
    source = FakeSource()
    ways = {("model", gamma): RunRequest("").with_drafter("model", {"gamma": gamma}) for gamma in (1, 2, 3, 4)}
    clocks(source, replace(REQUEST, tried=ways))
    turn = ["none", "model", "model", "model", "none", "model", "none"]
    assert [request.drafter.name for request in source.requests] == turn * 3


def test_of_a_way_the_drafters_passes_in_a_round_are_counted_without_the_first_and_the_last_rounds():
    def drafted(passes):
        scored = SimpleNamespace(target_pass=SimpleNamespace(rows=3, seconds=1.0))
        return SimpleNamespace(drafted=SimpleNamespace(passes=[None] * passes, seconds=0.5), scored=scored, seconds=2.0)

    run = SimpleNamespace(rounds=[drafted(9), drafted(2), drafted(4), drafted(7)])
    assert timing._rounds(("model", None), run, "") == TriedRounds(("model", None), 0.5, (3, 3), 1.0, 0.5, 3.0)
    two = SimpleNamespace(rounds=[drafted(9), drafted(2)])
    assert timing._rounds(("model", None), two, "").draft_passes == 2


def test_they_are_decoded_behind_the_prompt_of_the_set_that_is_named(passes):
    source = FakeSource()
    clocks(source, replace(REQUEST, prompt_id="two"))
    assert {request.prompt for request in source.requests} == {source.prompts[1].text}
    unknown = FakeSource()
    clocks(unknown, replace(REQUEST, prompt_id="three"))
    assert {request.prompt for request in unknown.requests} == {REQUEST.prompt}


def test_of_the_repeats_the_median_of_each_time_counts():
    repeats = [TriedRounds(("model", 1), draft, (2, 2), target, 0.5) for draft, target in ((1, 6), (3, 4), (2, 5))]
    assert timing._median(repeats) == TriedRounds(("model", 1), 2, (2, 2), 5, 0.5)


def test_a_measurement_that_is_stopped_early_gives_no_clock(passes):
    source = FakeSource()
    steps = clocks(source, cancelled=lambda: len(source.requests) >= 2)
    assert [step.clock for step in steps] == [None]


def test_a_text_that_ends_at_once_is_refused(passes, monkeypatch):
    short = replace(FakeSource(), output=(1,))
    monkeypatch.setattr(timing, "collect", lambda *given: SimpleNamespace(rounds=()))
    with pytest.raises(BenchError, match="ends its text at once"):
        clocks(short)
