"""What `specviz bench passes` prints, from measurements written out."""

from itertools import cycle
from types import SimpleNamespace

import pytest

from specviz.bench import passes as bench_passes
from specviz.bench.passes import Passes, PassTable, RoundTable, in_another_order, tables, time_passes, time_rounds
from specviz.cli.sources import SharedModels, live_source
from specviz.core.draws import Chooser
from specviz.lm.llama.model import LlamaModel
from specviz.lm.load import load
from specviz.protocol.runs import RunRequest
from specviz.trace.events import Pass


def test_the_tables_set_passes_against_reading_their_weights_and_rounds_against_their_steps():
    passes = [PassTable("target", "float32", 60_000_000, 0.004, {1: 0.005, 5: 0.006, 8: 0.01})]
    rounds = [RoundTable("float32", 0.8, 1.25, 1.05, 0.031, 0.022)]
    assert tables(passes, rounds).splitlines() == [
        "| model | format | MB | GB/s | reading, ms | t(1), ms | t(1) ÷ reading | t(5) ÷ t(1) | t(8) ÷ t(1) |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| target | float32 | 60.0 | 15.0 | 4.00 | 5.00 | 1.25 | 1.20 | 2.00 |",
        "",
        "| format | temperature | drafting ÷ its steps alone | ÷ its steps after a target's pass | tracing "
        "| formed later |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| float32 | 0.8 | 1.25 | 1.05 | 3.1% | 2.2% |",
    ]
    assert "drafting" not in tables(passes, [])


def test_passes_are_timed_for_each_number_of_rows_and_bytes_are_those_of_the_format():
    table = time_passes(load("drafter", dtype="bfloat16"), repeats=1, rows=(1, 3))
    assert (table.dtype, table.weight_bytes, sorted(table.pass_s)) == ("bfloat16", 2 * 3_565_440, [1, 3])
    assert min(table.reading_s, *table.pass_s.values()) > 0


def test_of_each_pass_the_fastest_repeat_counts_but_not_the_one_that_sets_up_buffers(monkeypatch):
    passes, readings = iter([0.001, 0.007, 0.005, 0.006]), iter([0.001, 0.004, 0.003, 0.005])
    monkeypatch.setattr(bench_passes, "pass_s", lambda *asked: next(passes))
    monkeypatch.setattr(bench_passes, "_reading_s", lambda *asked: next(readings))
    table = time_passes(load("drafter"), repeats=3, rows=(1,))
    assert (table.pass_s, table.reading_s) == ({1: 0.005}, 0.003)


def test_no_pass_is_always_timed_behind_the_same_one_and_reading_always_behind_a_pass():
    orders = [in_another_order([1, 5], repeat) for repeat in range(8)]
    assert {tuple(sorted(order)) for order in orders} == {(0, 1, 5)}
    assert {order[order.index(5) - 1] for order in orders if order[0] != 5} == {0, 1}
    assert all(order[0] != 0 for order in orders), "the repeat before may have ended with reading"


def test_a_run_s_passes_are_gone_through_as_it_had_them_over_as_many_cached_rows(monkeypatch):
    asked = []
    monkeypatch.setattr(LlamaModel, "write_chain", lambda *_: None)
    target, drafter = (_noted(load(name).model, name, asked) for name in ("target", "drafter"))
    rounds = [_round([Pass(2, 8, 0.0), Pass(1, 10, 0.0)], Pass(3, 9, 0.0)), _round([], Pass(1, 11, 0.0))]
    passes = Passes(target, drafter, rounds)
    asked.clear()
    stripped = [passes.steps_s(rounds, judged) for judged in (True, False)]
    steps = [("drafter", 8, 2, None, True), ("drafter", 10, 1, None, True)]
    assert asked == [*steps, ("target", 9, 3, None, False), ("target", 11, 1, None, False), *steps]
    assert [[seconds > 0 for seconds in each] for each in stripped] == [[True, False]] * 2


@pytest.mark.skipif(Chooser.of(1) is None, reason="there is no compiler here")
def test_a_chain_that_a_round_had_by_one_call_is_gone_through_by_one_and_a_level_of_two_is_not():
    asked = []
    target, drafter = (_noted(load(name).model, name, asked) for name in ("target", "drafter"))
    chain, level = [Pass(2, 8, 0.0), Pass(1, 10, 0.0)], [Pass(1, 9, 0.0), Pass(2, 10, 0.0)]
    rounds = [_round(steps, Pass(3, 9, 0.0)) for steps in (chain, level)]
    passes, write = Passes(target, drafter, rounds), drafter.write_chain
    drafter.write_chain = lambda tokens, cache, chooser: (
        asked.append((cache.length, len(tokens), chooser.steps)) or write(tokens, cache, chooser)
    )
    asked.clear()
    assert min(passes.steps_s(rounds, judged=False)) > 0
    assert asked == [(8, 2, 2), ("drafter", 9, 1, None, True), ("drafter", 10, 2, None, True)]


def _noted(model, name, asked):
    """It writes down what it is asked for: cached rows, new ones, parents, whether the last alone is read out."""
    forward = model.forward

    def noted(tokens, cache, parents=None, last_only=False):
        asked.append((name, cache.length, len(tokens), parents, last_only))
        return forward(tokens, cache, parents, last_only)

    model.forward = noted
    return model


def test_rounds_are_set_against_their_steps_in_medians_and_without_the_first(monkeypatch):
    """Of three runs; of steps in a loop the second time through, behind a target's pass the first."""
    drafted = cycle([[9.0, 0.6, 0.3], [9.0, 0.5, 0.3], [9.0, 5.0, 0.4]])  # of the run before them, too
    next(drafted)
    left = iter([7.0, 0.02, 0.04, 0.06])
    alone = cycle([[1.0, 1.0, 1.0], [0.1, 0.3, 0.1]])

    def run(source, request):
        rounds = [SimpleNamespace(drafted=SimpleNamespace(seconds=seconds)) for seconds in next(drafted)]
        finished = SimpleNamespace(prefill_s=0.5, decode_s=1.5, record_s=0.1)
        started = SimpleNamespace(machine=SimpleNamespace(dtype="float32"))
        return SimpleNamespace(rounds=rounds, finished=finished, started=started)

    def steps_s(rounds, judged):
        return [0.2, 0.4, 0.2] if judged else next(alone)

    monkeypatch.setattr(bench_passes, "_collected", run)
    monkeypatch.setattr(bench_passes, "Passes", lambda *asked: SimpleNamespace(steps_s=steps_s))
    monkeypatch.setattr(bench_passes, "_forming_s", lambda run: next(left))
    [row] = time_rounds(None, RunRequest("x"), None, None, [0.8], runs=3)
    assert (row.dtype, row.temperature) == ("float32", 0.8)
    measured = [round(ratio, 6) for ratio in (row.step_ratio, row.after_target_ratio, row.tracing, row.forming)]
    assert measured == [2.25, 1.5, 0.05, 0.02]


def _round(steps, judging):
    return SimpleNamespace(drafted=SimpleNamespace(passes=steps), scored=SimpleNamespace(target_pass=judging))


def test_every_temperature_has_a_row_of_what_its_rounds_cost():
    source = live_source(models := SharedModels(), measure=False)
    request = RunRequest("Tom had a", max_new_tokens=24)
    pair = (models(name, device="auto", dtype="auto").model for name in ("target", "drafter"))
    rows = list(time_rounds(source, request, *pair, (0.0, 0.8), runs=2))
    assert [row.temperature for row in rows] == [0.0, 0.8]
    assert min(min(row.step_ratio, row.after_target_ratio, row.tracing) for row in rows) > 0
