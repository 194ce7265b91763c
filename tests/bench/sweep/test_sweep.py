"""The sweep as the page and the command line use it: ratios by hand, order, cancelling."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from specviz.bench.core.run import check_deployable
from specviz.bench.sweep.runner import sweep
from specviz.errors import BenchError, SpecVizError
from specviz.protocol.choice import Choice
from specviz.protocol.sweeps.definition import SweepDrafter, SweepSpec, cases, run_count
from specviz.protocol.sweeps.points import Policies, title
from specviz.theory.rows import summarise
from specviz.trace.header import MethodCard

SPEC = SweepSpec(drafters=(SweepDrafter("model"),), gammas=(1, 3), prompt_ids=("one", "two"))


def test_two_tokens_a_round_are_twice_as_fast_as_one(fake_source: Any) -> None:
    """Plain: 8 tokens in 8 s. With one token accepted per round: 8 tokens in 4 rounds of 1 s, a ratio of 2."""
    points = [point for point in sweep(fake_source, SPEC) if point.gamma == 1]
    assert [point.tokens_per_s for point in points] == [2.0, 2.0]
    assert [point.baseline_tokens_per_s for point in points] == [1.0, 1.0]
    assert [point.ratio for point in points] == [2.0, 2.0]


def test_plain_decoding_is_its_own_baseline_with_ratio_one(fake_source: Any) -> None:
    plain = [point for point in sweep(fake_source, SPEC) if point.drafter == "none"]
    assert [point.ratio for point in plain] == [1.0, 1.0]
    assert all(point.acceptance_rate is None and point.alpha is None for point in plain)


def test_acceptance_figures_of_a_chain_that_keeps_one_of_three(fake_source: Any) -> None:
    """4 rounds drafting 3 and keeping 1: 4 of 12 accepted; each round tests two levels, one of them rejected."""
    point = next(point for point in sweep(fake_source, SPEC) if point.gamma == 3)
    assert (point.drafted, point.accepted) == (12, 4)
    assert point.acceptance_rate == pytest.approx(1 / 3)
    assert point.mean_acceptance_length == 2.0
    assert point.alpha == 0.5


def test_a_point_keeps_what_the_charts_divide(fake_source: Any) -> None:
    """4 rounds drafting 3 and keeping 1 in 4 s: depth 1 always kept, depth 2 tested and rejected, depth 3 unreached."""
    point = next(point for point in sweep(fake_source, SPEC) if point.gamma == 3)
    assert point.accepted_lengths == (0, 4, 0, 0)
    assert point.by_depth == ((4, 4), (4, 0), (4, 0))
    assert point.levels == ((4, 4), (4, 0))
    assert point.cost.target_rows == 16
    cost = point.cost
    assert cost.draft_s + cost.target_s + cost.judge_s + cost.commit_s == pytest.approx(point.decode_s)


def test_plain_decoding_comes_first_and_the_others_rotate_from_prompt_to_prompt(fake_source: Any) -> None:
    """Plain decoding and two lengths, two prompts, two repeats: the lengths start at the first, the second, again."""
    spec = SweepSpec(SPEC.drafters, SPEC.gammas, SPEC.prompt_ids, repeats=2)
    list(sweep(fake_source, spec))
    order = [request.drafter.options.get("gamma", 0) for request in fake_source.requests]
    assert order == [0, 1, 3, 0, 3, 1, 0, 3, 1, 0, 1, 3]
    assert [request.prompt for request in fake_source.requests[::3]] == ["a", "b", "a", "b"]


def test_every_point_is_yielded_as_soon_as_its_run_is_done(fake_source: Any) -> None:
    counts = [len(fake_source.requests) for _ in sweep(fake_source, SPEC)]
    assert counts == [1, 2, 3, 4, 5, 6]


def test_every_run_is_asked_without_recording_and_with_the_spec_s_settings(fake_source: Any) -> None:
    spec = SweepSpec(SPEC.drafters, (2,), ("one",), temperatures=(0.7,), max_new_tokens=5)
    list(sweep(fake_source, spec))
    assert {(one.record, one.temperature, one.max_new_tokens) for one in fake_source.requests} == {(False, 0.7, 5)}


def test_a_drafter_without_a_length_runs_once_with_its_options(fake_source: Any) -> None:
    tree = SweepDrafter("model", {"branching": [2, 1]}, length_option=None, label="tree 2,1")
    spec = SweepSpec((tree, SweepDrafter("ngram")), (1, 2), ("one",))
    assert [(case.label, case.gamma) for case in cases(spec)] == [
        ("none", None),
        ("tree 2,1", None),
        ("ngram", 1),
        ("ngram", 2),
    ]
    assert run_count(spec) == 4


def test_cancelling_keeps_finished_points_and_drops_the_run_in_progress(fake_source: Any) -> None:
    """Cancelled in the middle of the second run: only the plain run's point is there."""
    points = list(sweep(fake_source, SPEC, cancelled=lambda: len(fake_source.requests) == 2))
    assert [point.drafter for point in points] == ["none"]


def test_cancelling_at_a_prompt_s_second_run_does_not_lose_the_prompt(fake_source: Any) -> None:
    points = list(sweep(fake_source, SPEC, cancelled=lambda: len(fake_source.requests) == 5))
    assert [(point.prompt, point.drafter) for point in points[3:]] == [("two", "none")]


def test_policies_reach_the_request_and_tell_cases_apart(fake_source: Any) -> None:
    grown = SweepDrafter("model", {}, None, policies=Policies(Choice("dyspec", {"budget": 8}), Choice("heuristic")))
    spec = SweepSpec((SweepDrafter("model"), grown), (1,), ("one",))
    points = list(sweep(fake_source, spec))
    told = [(one.tree_policy.name, dict(one.tree_policy.options), one.stop_policy.name) for one in fake_source.requests]
    assert told == [("auto", {}, "fixed"), ("auto", {}, "fixed"), ("dyspec", {"budget": 8}, "heuristic")]
    assert [title(row) for row in summarise(points)] == ["none", "model", "model · dyspec budget 8 · heuristic"]


def test_an_unknown_prompt_is_refused_with_the_cure(fake_source: Any) -> None:
    with pytest.raises(SpecVizError, match=r"no prompt 'three'.*list prompts"):
        list(sweep(fake_source, SweepSpec(SPEC.drafters, (1,), ("three",))))


def test_every_temperature_has_its_own_plain_runs(fake_source: Any) -> None:
    spec = SweepSpec(SPEC.drafters, (1,), ("one",), temperatures=(0.0, 0.7))
    points = list(sweep(fake_source, spec))
    assert [(point.drafter, point.temperature) for point in points] == [
        ("none", 0.0),
        ("model", 0.0),
        ("none", 0.7),
        ("model", 0.7),
    ]
    assert [(row.drafter, row.temperature, row.statistics.runs) for row in summarise(points)] == [
        ("none", 0.0, 1),
        ("none", 0.7, 1),
        ("model", 0.0, 1),
        ("model", 0.7, 1),
    ]
    assert run_count(spec) == 4


def test_what_is_done_is_not_run_again_and_the_rest_of_a_prompt_gets_a_plain_run_of_its_own(fake_source: Any) -> None:
    """Two prompts, plain and two lengths: stopped after the fourth run, the second prompt's plain one."""
    done = list(sweep(fake_source, SPEC, cancelled=lambda: len(fake_source.requests) == 5))
    assert [(point.prompt, point.gamma) for point in done] == [("one", None), ("one", 1), ("one", 3), ("two", None)]
    fake_source.requests.clear()
    rest = list(sweep(fake_source, SPEC, done=done))
    assert [(point.prompt, point.gamma) for point in rest] == [("two", 3), ("two", 1)]
    assert [request.drafter.name for request in fake_source.requests] == ["none", "model", "model"]
    assert list(sweep(fake_source, SPEC, done=[*done, *rest])) == []


def test_the_interval_is_that_of_resampled_prompts_and_one_prompt_has_none(fake_source: Any) -> None:
    """Medians of 1, 2 and 3 prompts drawn anew from ratios 1 and 3: every median lies between them."""
    point = next(point for point in sweep(fake_source, SPEC) if point.gamma == 1)
    ratios = {"a": [1.0, 1.0, 9.0], "b": [3.0], "c": [2.0]}
    points = [replace(point, prompt=name, ratio=ratio) for name, runs in ratios.items() for ratio in runs]
    (row,) = summarise(points)
    assert (row.ratio, row.statistics.prompts, row.statistics.runs) == ((2.0, 1.0, 3.0), 3, 5)
    (alone,) = summarise(points[:3])
    assert (alone.ratio, alone.statistics.prompts) == ((1.0, 1.0, 1.0), 1)


def test_rows_hold_the_median_over_prompts_and_repeats(fake_source: Any) -> None:
    points = list(sweep(fake_source, SPEC))
    rows = summarise(points)
    assert [(row.drafter, row.gamma, row.statistics.runs) for row in rows] == [
        ("none", None, 2),
        ("model", 1, 2),
        ("model", 3, 2),
    ]
    assert rows[1].ratio == (2.0, 2.0, 2.0)
    assert rows[1].statistics.same_output == 2
    assert rows[2].statistics.acceptance_rate.value == pytest.approx(1 / 3)
    assert [row.statistics.nodes_per_pass.value for row in rows] == [0.0, 1.0, 3.0]


def test_quartiles_interpolate_between_order_statistics() -> None:
    from specviz.protocol.sweeps.points import quartiles

    assert quartiles([4.0, 1.0, 2.0, 3.0]) == (1.75, 2.5, 3.25)
    with pytest.raises(SpecVizError, match="no runs"):
        quartiles([])


def test_a_run_that_asked_the_target_beforehand_is_no_speed() -> None:
    card = MethodCard("seer", {}, True, deployable=False)
    started = SimpleNamespace(stop_policy=card)
    with pytest.raises(BenchError, match="'seer' asks the target beforehand"):
        check_deployable(started)
    check_deployable(SimpleNamespace(stop_policy=None))
