"""What `specviz bench passes` prints, from measurements written out."""

from specviz.bench.passes import PassTable, RoundTable, in_another_order, tables, time_passes, time_rounds
from specviz.cli.sources import SharedModels, live_source
from specviz.lm.load import load
from specviz.lm.step_time import filled_cache, pass_s
from specviz.protocol.runs import RunRequest


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


def test_no_pass_is_always_timed_behind_the_same_one_and_reading_always_behind_a_pass():
    orders = [in_another_order([1, 5], repeat) for repeat in range(8)]
    assert {tuple(sorted(order)) for order in orders} == {(0, 1, 5)}
    assert {order[order.index(5) - 1] for order in orders if order[0] != 5} == {0, 1}
    assert all(order[0] != 0 for order in orders), "the repeat before may have ended with reading"


def test_a_step_of_a_chain_reads_out_its_last_row_and_its_rows_stay_for_the_next():
    model, asked = load("drafter").model, []
    cache, forward = filled_cache(model, 5), model.forward
    model.forward = lambda *given, **named: asked.append(named) or forward(*given, **named)
    assert min(pass_s(model, cache, 2, as_chain=True), pass_s(model, cache, 1, as_chain=True)) > 0
    assert (asked, cache.length, cache.base) == ([{"last_only": True}] * 2, 8, 8)
    pass_s(model, cache, 3)
    assert (asked[2:], cache.length) == ([{"last_only": False}], 8)


def test_every_temperature_has_a_row_of_what_its_rounds_cost():
    source = live_source(models := SharedModels(), measure=False)
    request = RunRequest("Tom had a", max_new_tokens=24)
    pair = (models(name, device="auto", dtype="auto").model for name in ("target", "drafter"))
    rows = list(time_rounds(source, request, *pair, (0.0, 0.8)))
    assert [row.temperature for row in rows] == [0.0, 0.8]
    assert min(min(row.step_ratio, row.after_target_ratio, row.tracing) for row in rows) > 0
