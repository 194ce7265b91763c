"""Step times of heads of several sizes: interleaved, and ratios of one repeat."""

from specviz.lm.table import TableModel
from specviz.protocol.sweeps.points import Quartiles
from specviz.studies.heads import measure as head_time
from specviz.studies.heads.measure import step_ratios


def test_every_repeat_gives_a_ratio_of_passes_that_took_turns(monkeypatch):
    whole, small = TableModel(3, 1), TableModel(3, 2)
    seconds = {id(whole): iter([9.0, 2.0, 4.0, 8.0]), id(small): iter([9.0, 1.0, 1.0, 2.0])}
    order = []

    def timed(model, rows):
        assert rows.length > 0
        order.append(model is small)
        return next(seconds[id(model)])

    monkeypatch.setattr(head_time, "step_s", timed)
    assert step_ratios(whole, {64: small}, repeats=3) == {64: Quartiles(0.25, 0.25, 0.375)}
    assert order == [False, True] * 4


def test_real_passes_give_positive_ratios():
    ratios = step_ratios(TableModel(3, 1), {2: TableModel(3, 1)}, repeats=2)
    assert ratios[2].median > 0.0
