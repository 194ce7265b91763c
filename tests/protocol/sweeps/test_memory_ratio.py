"""c of MBSU over several runs: what all their drafter passes read together."""

from dataclasses import replace
from typing import Any

import pytest

from specviz.bench.sweep.runner import sweep
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.definition import SweepDrafter, SweepSpec
from specviz.protocol.sweeps.points import by_output
from specviz.resources import asset_path
from specviz.theory.rows import memory_ratio_of, summarise
from tests.app.lab.sweeps import drafted


def passing(passes: int, ratio: float | None, mbsu: float | None = 1.5):
    point = drafted(memory_ratio=ratio, mbsu=mbsu, pass_reads="its heads")
    return replace(point, cost=replace(point.cost, draft_passes=passes))


def test_the_ratio_of_several_runs_weighs_them_by_their_passes() -> None:
    """A target of 8: 10 passes that read 2 each and 30 that read 1 each are 40 passes of 50 / 40."""
    runs = [passing(10, 4.0), passing(30, 8.0)]
    assert memory_ratio_of(runs) == pytest.approx(8 * 40 / 50)
    assert memory_ratio_of([*runs, passing(0, None)]) == pytest.approx(6.4), "no pass, no weight"
    assert memory_ratio_of([*runs, passing(5, None, mbsu=None)]) is None, "nobody counted those"
    assert memory_ratio_of([passing(0, None)]) is None


def test_a_row_says_the_ratio() -> None:
    (row,) = summarise([passing(10, 4.0), passing(30, 8.0)])
    assert row.memory_ratio == pytest.approx(6.4)


def test_a_runs_mbsu_goes_by_its_output_and_not_by_what_was_accepted_behind_the_end() -> None:
    """20 tokens in 8 passes, 32 drafter passes, c = 4: 20/8 × 4 ÷ (4 + 4); without passes that read anything, τ."""
    point = replace(passing(32, 4.0, mbsu=1.375), output_tokens=20, rounds=8)
    assert by_output(point) == 20 / 8 * 4 / (4 + 4)
    assert by_output(replace(point, memory_ratio=None)) == 20 / 8
    assert by_output(replace(point, mbsu=None)) is None, "nobody counted what its passes read"


def test_the_shipped_sweep_is_read_with_one_tau() -> None:
    """Of every run; as it was written 540 of them had tokens behind the end of the text in τ."""
    points = store.read(asset_path("sweeps", "all_drafters.json.gz")).points
    counted = [point for point in points if point.mbsu is not None and point.drafter != "none"]
    assert len(counted) > 1000
    for point in counted:
        tau, passes, c = point.output_tokens / point.rounds, point.cost.draft_passes / point.rounds, point.memory_ratio
        assert point.mbsu == pytest.approx(tau if c is None else tau * c / (passes + c))
        assert point.mbsu <= tau + 1e-9


def test_what_is_read_is_what_the_rounds_of_a_run_give(fake_source: Any) -> None:
    """By the definition on rounds, `metrics.mbsu`, which the runner stores."""
    spec = SweepSpec((SweepDrafter("model"),), (1, 3), ("one", "two"))
    points = list(sweep(fake_source, spec))
    assert any(point.mbsu is not None for point in points)
    assert [by_output(point) for point in points] == [point.mbsu for point in points]
