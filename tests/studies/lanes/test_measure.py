"""The comparison of asynchronous methods on tiny checkpoints: every method on every prompt, and what the rows say."""

from __future__ import annotations

import pytest

from specviz.lm.load import load
from specviz.lm.place import Origin
from specviz.studies.lanes.measure import METHODS, LanesPlan, compare
from tests.lm.conftest import checkpoint, one_thread

__all__ = ["checkpoint", "one_thread"]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_method_writes_plain_decodings_texts(checkpoint, temperature):
    target = str(checkpoint("llama"))
    model, lines = load(target).model, []
    plan = LanesPlan([("a", [1, 2, 3]), ("b", [4, 5])], 10, temperature, 1, 3, 6, 5, 2)
    compared = compare(model, model, Origin(target), plan, lambda token: False, lines.append)
    rows = compared.rows
    assert [one.method for one in rows] == list(METHODS)
    assert [(one.same_text, one.texts) for one in rows] == [(4, 4)] * 4
    assert lines == ["a, repeat 1", "b, repeat 1", "a, repeat 2", "b, repeat 2"]
    plain, sd, *_ = rows
    assert (plain.ratio, plain.drafter_busy, plain.thrown) == (1.0, 0.0, 0.0)
    assert sd.drafter_busy > 0, "the target drafts for itself"
    assert all(0 < one.target_busy <= 1 for one in rows)
