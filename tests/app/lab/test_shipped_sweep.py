"""The recorded sweep that the When-it-pays tab opens with: does the theory explain its chains?"""

from __future__ import annotations

from specviz.app.lab.cases import cases, paired
from specviz.app.lab.depths import places
from specviz.app.lab.expected import PREDICTION, tokens_per_round
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.result import points_of
from specviz.resources import ROOT

TEMPERATURES = ("0", "0.8")


def shipped() -> tuple[SweepPoint, ...]:
    return tuple(points_of(sweep_store.read(ROOT / "sweeps" / "all_drafters.json.gz")))


def ratios() -> dict[str, float]:
    """Predicted over measured speedup, by the name of the case."""
    return {one.name: one.expected / one.measured for one in PREDICTION.cases(shipped())}


def test_chains_add_as_many_tokens_per_round_as_their_acceptance_says_within_five_percent() -> None:
    """Whatever the machine: no time is in it."""
    own = {case.name: case for case in cases(paired(shipped()))}
    chains = [own[f"model γ={gamma} at temperature {one}"] for gamma in range(1, 9) for one in TEMPERATURES]
    found = [
        tokens_per_round(places(one.points), one.sums.rounds) * one.sums.rounds / one.sums.tokens for one in chains
    ]
    assert all(0.95 < ratio < 1.05 for ratio in found), found


def test_chains_are_predicted_too_fast_by_less_than_twice() -> None:
    """The prediction counts by passes timed alone. In a run a drafter's weights drive the target's out of the caches,
    and a pass behind drafting takes up to 1.5 times as long on the machine of this sweep."""
    stated = ratios()
    chains = [stated[f"model γ={gamma} at temperature {one}"] for gamma in range(1, 9) for one in TEMPERATURES]
    assert all(1 < ratio < 2 for ratio in chains), chains
