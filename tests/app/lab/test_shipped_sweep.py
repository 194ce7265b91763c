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


def test_longer_chains_are_predicted_too_fast_by_no_more_than_a_fifth() -> None:
    """A round takes longer in a run than its passes when the models were loaded, by which the prediction counts."""
    found = ratios()
    chains = [found[f"model γ={gamma} at temperature {one}"] for gamma in range(3, 9) for one in TEMPERATURES]
    assert all(0.85 < ratio < 1.2 for ratio in chains), chains


def test_shorter_chains_are_predicted_too_fast_by_no_more_than_a_quarter() -> None:
    """Behind a target pass the first drafter pass costs more than the mean of four, by which the prediction counts."""
    found = ratios()
    chains = [found[f"model γ={gamma} at temperature {one}"] for gamma in (1, 2) for one in TEMPERATURES]
    assert all(0.85 < ratio < 1.25 for ratio in chains), chains
