"""c of MBSU over several runs: what all their drafter passes read together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz.protocol.sweeps.points import memory_ratio_of, summarise
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


def test_a_row_says_the_ratio_and_what_a_pass_reads() -> None:
    (row,) = summarise([passing(10, 4.0), passing(30, 8.0)])
    assert (row.memory_ratio, row.pass_reads) == (pytest.approx(6.4), "its heads")
