"""The lab's charts as numbers: every expected value is worked out by hand from the little sweep of `sweeps.py`."""

from dataclasses import replace
from math import prod

import pytest

from specviz.app.lab import depths, expected, times, tradeoffs, winners
from specviz.app.lab.cases import by_series, cases, fastest, fraction
from specviz.app.lab.chart import LabChart, charts, rows_csv
from tests.app.lab.sweeps import drafted, hasty, plain

POINTS = [plain(), drafted()]


def test_a_case_is_all_its_runs_beside_their_plain_runs() -> None:
    (case,) = cases([plain(), plain("b"), drafted(), drafted(prompt="b", decode_s=0.15, ratio=0.8)])
    assert (case.name, case.series, case.sums.runs) == ("model γ=2", "model", 2)
    assert case.ratio == pytest.approx((24 / 0.24) / 100)
    assert case.median_ratio == pytest.approx((4 / 3 + 0.8) / 2)


def test_the_table_s_ratio_is_the_median_over_the_prompts_of_each_one_s_repeats() -> None:
    """Prompt a: 1, 1, 2 → 1; prompt b: 3. Over the runs it would be 1.5."""
    again = [
        drafted(ratio=1.0),
        drafted(ratio=1.0, repeat=1),
        drafted(ratio=2.0, repeat=2),
        drafted(prompt="b", ratio=3.0),
    ]
    assert cases(again)[0].median_ratio == 2.0


def test_a_case_whose_plain_run_is_missing_has_no_ratio() -> None:
    (case,) = cases([plain("b"), drafted()])
    assert case.plain is None
    assert case.ratio is None


def test_a_case_has_a_ratio_only_where_every_run_of_it_has_a_plain_run_of_its_repeat() -> None:
    """The plain run of repeat 0 is no baseline of repeat 1."""
    twice = [drafted(), drafted(repeat=1)]
    assert cases([plain(), *twice])[0].plain is None
    slow = replace(plain(repeat=1), decode_s=0.36)
    assert cases([plain(), slow, *twice])[0].ratio == pytest.approx((24 / 0.18) / (24 / 0.48))


def test_without_seconds_in_target_passes_nothing_is_divided() -> None:
    untimed = replace(plain(), cost=replace(plain().cost, target_pass_s=0.0))
    assert cases([untimed, drafted()])[0].plain is None
    assert times.mean_rounds([untimed]) == []


def test_the_lengths_of_a_series_stand_from_the_shortest() -> None:
    found = by_series(cases([drafted(gamma=4), drafted(gamma=1), drafted(gamma=2)]))
    assert [case.gamma for case in found["model"]] == [1, 2, 4]


def test_of_two_equally_fast_lengths_the_shorter_one_is_the_fastest() -> None:
    assert [case.gamma for case in fastest(cases([drafted(gamma=4), drafted(gamma=2)]))] == [2]


def test_a_plain_run_at_another_temperature_is_no_baseline_and_the_names_tell_them_apart() -> None:
    warm = [replace(plain(), temperature=1.0), drafted(temperature=1.0, ratio=1.1)]
    names = [case.name for case in cases([*POINTS, *warm])]
    assert names == ["model γ=2 at temperature 0", "model γ=2 at temperature 1"]
    assert cases([plain(), warm[1]])[0].plain is None


def test_of_each_series_the_fastest_length_is_shown_and_the_fastest_series_first() -> None:
    points = [plain(), drafted(), drafted(gamma=4, ratio=1.1), drafted(drafter="ngram", label="ngram", ratio=2.0)]
    assert [case.name for case in fastest(cases(points))] == ["ngram γ=2", "model γ=2"]


def test_a_number_is_told_with_formula_numerator_and_denominator() -> None:
    assert fraction("rate", "hits ÷ tries", 5, 8) == "rate = hits ÷ tries = 5 ÷ 8 = 0.625"
    assert fraction("a", "b", 0.5, 4, ("s", "rounds"), "ms") == "a = b = 0.5 s ÷ 4 rounds = 125 ms"


def test_acceptance_by_position_adds_all_lengths_of_a_drafter() -> None:
    """γ=2: (6, 4), (6, 2); γ=1: (4, 2). Depth 1: 6 of 10, depth 2: 2 of 6, given depth 1: 2 of 4."""
    short = drafted(gamma=1, by_depth=((4, 2),), levels=((4, 2),))
    (line,) = depths.lines([plain(), drafted(), short])
    assert [(place.drafted, place.accepted) for place in line.places] == [(10, 6), (6, 2)]
    assert [place.conditional for place in line.places] == [0.6, 0.5]
    assert line.places[1].explanation == [
        "acceptance at depth 2 = rounds that accepted it ÷ rounds that drafted to it = 2 ÷ 6 = 0.333",
        "given the depths before = rounds that accepted it ÷ rounds that tested it = 2 ÷ 4 = 0.5",
    ]


def test_a_depth_that_was_drafted_and_never_tested_has_no_conditional_rate() -> None:
    (line,) = depths.lines([drafted(by_depth=((4, 0), (4, 0)), levels=((4, 0),))])
    assert [place.conditional for place in line.places] == [0.0, None]
    assert len(line.places[1].explanation) == 1


def test_the_histogram_shares_out_the_rounds_that_drafted() -> None:
    (one,) = depths.histograms([plain(), drafted(accepted_lengths=(3, 2, 1))])
    assert one.shares == [pytest.approx(1 / 2), pytest.approx(1 / 3), pytest.approx(1 / 6)]
    assert one.explanation(1)[0] == "share = rounds that accepted 1 ÷ rounds that drafted = 2 ÷ 6 = 0.333"
    assert "= 4 ÷ 6 = 0.667" in one.explanation(1)[1]


def test_the_ranking_has_each_drafter_once_at_its_fastest_length_and_says_what_the_interval_leaves_open() -> None:
    prompts = ("a", "b", "c")
    twice = [drafted(prompt=prompt, label="good", ratio=2.0) for prompt in prompts]
    longer = [drafted(prompt=prompt, label="good", gamma=4, ratio=1.5) for prompt in prompts]
    mixed = [
        drafted(prompt=prompt, label="so-so", ratio=ratio)
        for prompt, ratio in zip(prompts, (0.5, 1.1, 3.0), strict=True)
    ]
    slow = [drafted(prompt=prompt, label="slow", ratio=0.5) for prompt in prompts]
    found = winners.ranking([*slow, *longer, *mixed, *twice, drafted(label="once", ratio=1.2)])
    assert [(one.name, one.ratio, one.verdict) for one in found] == [
        ("good γ=2", 2.0, "faster than plain decoding"),
        ("once γ=2", 1.2, "undecided"),
        ("so-so γ=2", 1.1, "undecided"),
        ("slow γ=2", 0.5, "slower than plain decoding"),
    ]
    assert (found[2].low, found[2].high) == (0.5, 3.0)


def test_the_waterfall_s_factors_multiply_to_the_measured_ratio_exactly() -> None:
    points = [plain(), replace(plain("b"), decode_s=0.2, rounds=11), drafted(), drafted(prompt="b", decode_s=0.31)]
    (one,) = times.waterfalls(points)
    factors = [step.after / step.before for step in one.steps[1:4]]
    assert one.steps[0].after * prod(factors) == pytest.approx((24 / 0.40) / (24 / 0.32), rel=1e-12)


def test_engine_overhead_is_a_gain_where_plain_decoding_has_more_of_it() -> None:
    """Plain: 10 ms a round for 8 ms of pass; here 15 ms for 13 ms of drafting and pass."""
    overhead = times.waterfalls(POINTS)[0].steps[3]
    assert overhead.after / overhead.before == pytest.approx((10 / 8) / (15 / 13))
    assert "plain decoding: 10 ms a round ÷ 8 ms = 1.25; here: 15 ms ÷ 13 ms = 1.15" in overhead.explanation[1]


def test_without_plain_runs_nothing_can_be_divided() -> None:
    assert times.waterfalls([drafted()]) == []
    assert tradeoffs.plane([drafted()]) is None
    assert expected.PREDICTION.cases([drafted()]) == []


def test_a_drafter_s_place_in_the_plane() -> None:
    """4 ms of drafting per round and a 9 ms pass beside a plain pass of 8 ms, 2 tokens per pass."""
    found = tradeoffs.plane(POINTS)
    (spot,) = found.spots
    assert (spot.latency, spot.tokens, spot.pass_cost) == pytest.approx((0.5, 2.0, 1.125))
    assert spot.explanation[3] == (
        "without engine overhead = tokens ÷ (drafting + wider pass) = 2.00 ÷ (0.50 + 1.12) = 1.23×"
    )


def test_on_a_contour_tokens_are_speedup_times_the_round_s_cost() -> None:
    """k is the median of 1.125 and 1.5: at speedup 1 and latency x stands x + 1.3125."""
    slow = drafted(gamma=4, cost=replace(drafted().cost, target_pass_s=0.072))
    found = tradeoffs.plane([plain(), drafted(), slow])
    assert found.pass_cost == pytest.approx(1.3125)
    even = next(line for line in found.contours if line.speedup == 1)
    for latency, tokens in zip(even.latencies, even.tokens, strict=True):
        assert tokens == pytest.approx(latency + 1.3125)


def test_a_drafter_without_any_drafting_time_is_named_and_not_placed() -> None:
    free = drafted(drafter="echo", label="echo", cost=replace(drafted().cost, draft_s=0.0))
    found = tradeoffs.plane([*POINTS, free])
    assert (len(found.spots), found.without) == (1, ("echo γ=2",))


def test_phases_add_up_to_the_mean_round() -> None:
    """Plain: 9 ms of target, 8 of them in the pass. Drafted: 3 + 1, 9 + 1, 0.2 + 0.8 = 15 ms."""
    base, own = times.mean_rounds(POINTS)
    assert [base.milliseconds(phase) for phase in range(6)] == pytest.approx([0, 0, 8, 1, 0.25, 0.75])
    assert [own.milliseconds(phase) for phase in range(6)] == pytest.approx([3, 1, 9, 1, 0.2, 0.8])
    assert own.explanation(0) == [
        "drafter's passes = seconds ÷ rounds = 0.018 s ÷ 6 rounds = 3 ms",
        "share of the round = its seconds ÷ all phases' seconds = 0.018 s ÷ 0.09 s = 0.2",
    ]


def test_the_winner_of_a_family_may_be_plain_decoding() -> None:
    points = [plain(), drafted(), drafted(gamma=4, ratio=1.5), drafted(prompt="b", family="prose", ratio=0.7)]
    found = winners.families(points)
    assert found.families == ("code", "prose")
    best = [(cell.family, cell.name, cell.ratio) for cell in found.cells if cell.winner]
    assert found.cells[1].explanation == (
        "model γ=4, the fastest of 2 lengths in this family",
        "speedup = median over the prompts of tokens per second ÷ plain decoding's = 1.50",
        "a: 133.3 ÷ 100.0",
    )
    assert best == [("code", "model γ=4", 1.5), ("prose", "plain decoding", 1.0)]


def test_the_front_of_wasted_candidates_against_target_passes() -> None:
    """Full drafts: 6 wasted and 6 passes over 12 tokens; hasty: 2 and 8; a third with 6 and 8 is dominated by both."""
    third = drafted(gamma=4, rounds=8)
    found = tradeoffs.marks([plain(), drafted(), hasty(), third])
    assert [(mark.wasted, mark.passes) for mark in found] == [(0.5, 0.5), (2 / 12, 8 / 12), (0.5, 8 / 12)]
    assert [(mark.stop_policy, mark.on_front) for mark in found] == [("fixed", True), ("hasty", True), ("fixed", False)]


def test_the_economy_counts_only_prompts_that_every_case_has() -> None:
    other = drafted(prompt="b", drafted=99)
    assert [mark.sums.drafted for mark in tradeoffs.marks([plain(), drafted(), other, hasty()])] == [12, 6]
    assert tradeoffs.marks([plain(), other, hasty()]) == []


def test_rounds_that_drafted_nothing_bring_one_token() -> None:
    """3 of 6 rounds draft one token, accepted 2 of 3 times: 1 + 1/2 · 2/3."""
    drawn = depths.places([drafted(by_depth=((3, 2),), levels=((3, 2),))])
    assert expected.tokens_per_round(drawn, 6) == pytest.approx(4 / 3)


def test_no_prediction_without_the_drafter_s_step_time_but_its_name() -> None:
    points = [plain(), drafted(draft_step_s=None)]
    assert expected.PREDICTION.cases(points) == []
    assert expected.PREDICTION.without(points) == ["model γ=2"]
    assert expected.PREDICTION.without(POINTS) == []


def test_a_run_whose_baseline_ran_at_another_time_is_not_divided_by_the_one_that_is_kept() -> None:
    """Resumed: the second run's plain decoding made 90 tokens per second, the one kept for its prompt 100."""
    resumed = drafted(prompt="b", baseline_tokens_per_s=90.0, decode_s=0.5)
    assert [one.steps[-1].after for one in times.waterfalls([*POINTS, plain("b"), resumed])] == pytest.approx([4 / 3])


@pytest.mark.parametrize("chart", charts(), ids=lambda chart: chart.name)
def test_every_chart_s_rows_have_the_same_columns_and_none_without_points(chart: LabChart) -> None:
    made = chart.rows([*POINTS, hasty()])
    assert len({tuple(row) for row in made}) == 1
    assert chart.rows([]) == []


def test_a_chart_s_file_has_a_header_and_no_formula_that_a_spreadsheet_would_run() -> None:
    found = rows_csv(depths.length_rows([drafted(label="=1+1", accepted_lengths=(1, 1))]))
    seen = found.splitlines()
    assert seen == ["case,accepted,rounds,rounds_that_drafted,share", "'=1+1 γ=2,0,1,2,0.5", "'=1+1 γ=2,1,1,2,0.5"]
    assert rows_csv([]) == ""


def test_drafts_that_read_no_weights_have_a_memory_bound_speedup_and_uncounted_weights_have_none() -> None:
    lookup = drafted(drafter="ngram", label="ngram", mbsu=2.0, memory_ratio=None)
    lookup = replace(lookup, cost=replace(lookup.cost, draft_passes=0))
    assert [one.expected for one in expected.MBSU.cases([plain(), lookup])] == [2.0]
    uncounted = drafted(mbsu=None, memory_ratio=None)
    assert expected.MBSU.cases([plain(), uncounted]) == []
    assert expected.MBSU.without([plain(), uncounted]) == ["model γ=2"]
