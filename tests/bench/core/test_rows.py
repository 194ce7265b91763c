"""The numbers of a bench's rows, by hand: what each is divided by, and over what a mean or a median is taken."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.bench.core.contest import ContestRun, Measured
from specviz.bench.core.rows import (
    beside_plain,
    decode_speed,
    engine_speed,
    over_prompts,
    ratios,
    row_statistics,
    whole_speed,
)
from specviz.bench.speed.table import overhead, part
from specviz.errors import BenchError
from specviz.protocol.sweeps.points import Quartiles
from specviz.theory.formulas import memory_bound_speedup
from specviz.theory.rows import RunCounts, counts_of
from specviz.trace.codec import read

ROUNDS = tuple(read(Path(__file__).parents[2] / "golden" / "trace-1.0-sample.json").rounds)
"""eight: drafted 4, 15, 3, 3, 0, 4, 4, 3 candidates and accepted 2, 3, 1, 0, -, 4, 1, 3"""


def ran(tokens: int, seconds: float, **more: object) -> Measured:
    counts = RunCounts(tokens, tokens)
    return Measured(list(range(tokens)), seconds, **{"prefill_s": 0.0, "counts": counts, **more})  # type: ignore[arg-type]


def outcome(name: str, measured: Measured, prompt: str = "a", repeat: int = 0, family: str = "code") -> ContestRun:
    return ContestRun(name, prompt, family, repeat, measured)


def test_counts_are_divided_by_what_they_are_named_after() -> None:
    """Rounds 0 and 1 drafted 4 + 15 and accepted 2 + 3, round 4 drafted nothing: 3 passes, of which 2 drafted."""
    rounds = (ROUNDS[0], ROUNDS[1], ROUNDS[4])
    run = ran(8, 1.0, counts=counts_of(rounds, 8))
    row = row_statistics([outcome("x", run), outcome("x", run, repeat=1)])
    assert (row.prompts, row.runs) == (1, 2)
    assert row.acceptance_rate.value == 5 / 19
    assert row.mean_acceptance_length.value == 1 + 5 / 2
    assert row.acceptance_by_depth == (4 / 4, 4 / 4, 2 / 4, 0 / 2)
    assert row.nodes_per_pass.value == 19 / 3
    assert row.tokens_per_pass.value == 8 / 3
    assert row.target_passes.value == 3
    seconds = [sum(getattr(this, phase).seconds for this in rounds) for phase in ("drafted", "scored")]
    assert row.draft_share == pytest.approx(seconds[0] / sum(this.seconds for this in rounds))


def test_the_memory_bound_speedup_of_several_runs_is_the_formula_on_their_sums() -> None:
    """c 4: 40 tokens in 10 passes with 40 of the drafter, and 30 in 30 with none: what 20 and 30 plain passes read."""
    parts = [(40, 10, 40), (30, 30, 0)]
    runs = [
        outcome("x", ran(9, 1.0, counts=RunCounts(n, passes, mbsu=memory_bound_speedup(n / passes, own / passes, 4.0))))
        for n, passes, own in parts
    ]
    assert row_statistics(runs).mbsu.value == pytest.approx(memory_bound_speedup(70 / 40, 40 / 40, 4.0)) == 1.4
    assert row_statistics([*runs, outcome("x", ran(9, 1.0))]).mbsu is None


def test_the_same_output_is_token_for_token_that_of_plain_decoding_on_its_prompt_and_repeat() -> None:
    plain = {
        ("a", 0): [Measured([1, 2, 3], 1.0, 0.0, RunCounts(3, 3))],
        ("a", 1): [Measured([4, 5, 6], 1.0, 0.0, RunCounts(3, 3))],
    }
    runs = [
        outcome("x", Measured(ids, 1.0, 0.0, RunCounts(3, 3)), repeat=repeat)
        for ids, repeat in (([1, 2, 3], 0), ([1, 2, 3], 1))
    ]
    assert row_statistics(runs, plain).same_output == 1
    assert row_statistics(runs).same_output is None


def test_a_run_is_compared_with_the_median_of_plain_decoding_on_its_prompt_in_its_repeat() -> None:
    """Plain: 8 tokens in 8, 1 and 4 s: 1, 8 and 2 a second; in the other repeat 1. The drafter makes 4."""
    plain = {("a", 0): [ran(8, 8.0), ran(8, 1.0), ran(8, 4.0)], ("a", 1): [ran(8, 8.0)]}
    runs = [outcome("x", ran(8, 2.0)), outcome("x", ran(8, 2.0), repeat=1)]
    assert ratios(runs, plain, whole_speed) == {"a": [4 / 2, 4 / 1]}


def test_the_prompt_s_pass_is_in_the_whole_call_and_not_in_decoding() -> None:
    """9 tokens in 5 s, of which the first came with the prompt's pass after 1 s; rounds took 3 s."""
    run = ran(9, 5.0, prefill_s=1.0, prefill_tokens=1, engine_s=3.0)
    assert (whole_speed(run), decode_speed(run), engine_speed(run)) == (9 / 5, 8 / 4, 9 / 3)
    plain = outcome("plain", ran(8, 8.0, prefill_s=0.0))
    (_, row) = part(0.0, [plain, outcome("x", ran(8, 4.0, prefill_s=2.0))], "plain").rows
    assert row.ratio == Quartiles(2.0, 2.0, 2.0)
    assert row.decode_ratio == Quartiles(4.0, 4.0, 4.0)
    assert row.tokens_per_s == 2.0


def test_a_text_that_ends_with_the_prompt_s_pass_is_in_no_decoding_ratio() -> None:
    """On prompt a eight tokens in 4 s behind the first; on b the first is all."""
    plain = [outcome("plain", ran(8, 8.0), prompt, family=prompt) for prompt in "ab"]
    theirs = [outcome("x", ran(9, 5.0, prefill_s=1.0, prefill_tokens=1), family="a")]
    theirs.append(outcome("x", ran(1, 2.0, prefill_s=1.0, prefill_tokens=1), "b", family="b"))
    (_, row) = part(0.0, [*plain, *theirs], "plain").rows
    assert (row.decode_ratio, dict(row.by_family)) == (Quartiles(2.0, 2.0, 2.0), {"a": 2.0})
    assert row.ratio.median == pytest.approx((9 / 5 + 1 / 2) / 2)


def test_a_family_s_number_is_over_its_own_prompts() -> None:
    """`code` twice and `prose` four times as fast as plain decoding; tokens per second are the median over all."""
    plain = [outcome("plain", ran(8, 8.0), prompt, family=family) for prompt, family in (("a", "code"), ("b", "prose"))]
    quick = [outcome("x", ran(8, 4.0)), outcome("x", ran(8, 2.0), "b", family="prose")]
    (_, row) = part(0.0, [*plain, *quick], "plain").rows
    assert dict(row.by_family) == {"code": 2.0, "prose": 4.0}
    assert row.ratio == Quartiles(2.5, 3.0, 3.5)
    assert row.tokens_per_s == 3.0


def test_the_baseline_s_row_comes_first_wherever_it_ran() -> None:
    rows = part(0.0, [outcome("x", ran(8, 4.0)), outcome("plain", ran(8, 8.0))], "plain").rows
    assert [row.name for row in rows] == ["plain", "x"]


def test_runs_without_a_plain_run_of_their_repeat_are_left_out_and_all_of_them_is_an_error() -> None:
    plain, alone = outcome("plain", ran(8, 8.0)), outcome("x", ran(8, 4.0), repeat=1)
    paired, found = beside_plain([plain, outcome("x", ran(8, 4.0)), alone], "plain")
    assert [(one.contestant, one.repeat) for one in paired] == [("plain", 0), ("x", 0)]
    assert list(found) == [("a", 0)]
    with pytest.raises(BenchError, match="not a single plain run"):
        beside_plain([alone], "plain")


def test_the_overhead_of_tracing_is_over_the_seconds_without_it() -> None:
    """1 s of 5 s is a quarter of the other four."""
    runs = [outcome("recorded", replace(ran(8, wall), record_s=1.0)) for wall in (5.0, 3.0, 2.0)]
    assert overhead([*runs, outcome("x", ran(8, 1.0))], "recorded") == Quartiles(0.375, 0.5, 0.75)
    assert overhead([outcome("x", ran(8, 1.0))], "recorded") is None


def test_a_prompt_with_many_repeats_counts_no_more_than_another() -> None:
    """Prompt a: twice, three and four times as fast, 3 in the median; prompt b once, at 1."""
    runs = [outcome("x", ran(8, 8.0 / speed), repeat=repeat) for repeat, speed in enumerate((2, 3, 4))]
    runs.append(outcome("x", ran(8, 8.0), prompt="b"))
    plain = {(run.prompt, run.repeat): [ran(8, 8.0)] for run in runs}
    assert over_prompts(runs, plain, whole_speed) == Quartiles(1.5, 2.0, 2.5)
