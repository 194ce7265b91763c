"""The recorded sweep that the Speedup tab opens with: does the theory explain its chains?"""

from __future__ import annotations

from specviz.app.lab.predicted import predictions
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.result import points_of
from specviz.resources import ROOT


def test_chains_of_one_to_eight_are_as_fast_as_predicted_within_fifteen_percent() -> None:
    points = points_of(sweep_store.read(ROOT / "sweeps" / "all_drafters.json.gz"))
    found = {one.name: one.predicted / one.measured for one in predictions(points)}
    ratios = [found[f"model γ={gamma}"] for gamma in range(1, 9)]
    assert all(0.85 < ratio < 1.15 for ratio in ratios), ratios
