"""One race in several lanes: the text depends on seed and lanes alone; how often a list of drafts holds the winner."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from specviz.core.randomness import SeededRandom, race_times
from specviz.core.sampling import Sampling, transform
from specviz.drafters.drafting.growing import GrowingDraft
from specviz.errors import ProofError
from specviz.proof.exhaustive import WARM, EnumeratedRandom, ProofCase
from specviz.proof.races import Race, soonest
from specviz.theory.formulas import list_agreement_bound, race_agreement
from specviz.trace.uniform_draws import RACE, RACES, race_time
from specviz.verifiers.gls import GLSVerifier
from tests.proof import walked
from tests.proof.walked import error, expectation

SMALL = ProofCase("model", "gls", (("gamma", 2),), WARM, length=3, vocab_size=2)
LISTS = (("lists", 2),)
EXACT = 1e-12


def text(drafter: str, lists: int, **options: object) -> list[int]:
    lanes = (("lists", lists),)
    return walked.text(
        ProofCase(drafter, "gls", tuple(options.items()), Sampling(1.0), length=24, verifier_options=lanes), 5
    )


def siblings_of(count: int, vocab_size: int = 3) -> ProofCase:
    given = (("branching", (count,)), ("draw", "iid"))
    lanes = (("lists", count),)
    return replace(SMALL, options=given, length=2, vocab_size=vocab_size, verifier_options=lanes)


def test_swap_the_drafter_and_the_text_stays_but_more_lanes_write_another():
    plain = text("none", 2)
    assert text("model", 2, gamma=3) == plain
    assert text("model", 2, branching=(2, 2), draw="iid") == plain
    assert text("model", 2, branching=(3, 1), draw="iid") == plain
    assert text("ngram", 2, gamma=2) == plain
    assert text("none", 3) != plain


def test_the_time_of_a_token_is_the_smallest_of_its_lanes():
    lanes = [race_times(7, (RACE, 3, lane), 4) for lane in range(3)]
    due = int((np.min(lanes, 0) / np.array([0.4, 0.3, 0.2, 0.1])).argmin())
    drawn = SeededRandom(7).draw(torch.tensor([0.4, 0.3, 0.2, 0.1]), (RACES, 3, 3))
    assert drawn == (due, None)
    assert race_time(7, (RACES, 3, 3), 2) == min(race_time(7, (RACE, 3, lane), 2) for lane in range(3))


@pytest.mark.parametrize(
    "options",
    [
        {"gamma": 2},
        {"branching": (2,), "draw": "iid"},
        {"branching": (2, 1), "draw": "iid"},
        {"branching": (2, 1), "draw": "top_k"},
    ],
    ids=str,
)
def test_the_law_is_the_targets_for_every_tree(options):
    assert error(replace(SMALL, options=tuple(options.items()))) < EXACT


def test_the_engine_accepts_a_list_at_least_as_often_as_the_bound_says():
    case = siblings_of(2)
    p, q = (transform(model.exact_logits(case.prompt), case.sampling).tolist() for model in case.models())
    alone, two, three = (expectation(siblings_of(count)) for count in (1, 2, 3))
    assert alone == pytest.approx(race_agreement(p, q), abs=EXACT)
    assert alone == pytest.approx(list_agreement_bound(p, q, 1), abs=EXACT)
    assert alone < list_agreement_bound(p, q, 2) < two < three
    assert list_agreement_bound(p, q, 3) < three


def test_the_first_of_two_races_by_hand():
    """Two runners a lane and nothing known: a draw from p. One lane won by runner 0 under q = p = (1/2, 1/2): its time
    is exponential with rate 2 whoever won, and so is the other lane's, in which runner 0 wins half the time."""
    assert soonest([Race(2), Race(2)], (0.25, 0.75)) == pytest.approx([0.25, 0.75])
    known = Race(2).won(0, (0.5, 0.5))
    assert soonest([known, Race(2)], (0.5, 0.5)) == pytest.approx([0.5 * 0.75, 0.5 * 0.25])


def test_the_exact_law_is_that_of_simulated_times():
    """40,000 races in two lanes: four standard deviations are 0.01."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.45, 0.35])
    times = np.random.default_rng(3).exponential(size=(40_000, 2, 3))
    drafted, drawn = (times[:, 0] / q).argmin(-1), (times.min(1) / p).argmin(-1)
    exact = soonest([Race(3).won(1, tuple(q)), Race(3)], tuple(p))
    counted = [float(((drafted == 1) & (drawn == token)).mean()) for token in range(3)]
    assert exact == pytest.approx(counted, abs=0.01)


@pytest.mark.planted("noise reused")
def test_one_race_for_all_places_is_refused_in_lanes_too(monkeypatch):
    monkeypatch.setattr(GLSVerifier, "key", lambda self, position: (RACES, 1, 2))
    with pytest.raises(ProofError, match="used twice"):
        error(SMALL)


@pytest.mark.planted("draw per path")
def test_a_target_that_runs_in_a_lane_which_the_draft_chose_changes_the_law(monkeypatch):
    """In the lane that the first sibling's token names: who won it under q is known, so it is no draw from p."""
    looked = GrowingDraft.candidate

    def favoured(self, position):
        return RACE, position, GrowingDraft.last

    def noted(self, probs, index, lane=0):
        token = looked(self, probs, index, lane)
        GrowingDraft.last = token if lane == 0 else GrowingDraft.last
        return token

    monkeypatch.setattr(GrowingDraft, "last", 0, raising=False)
    monkeypatch.setattr(GrowingDraft, "candidate", noted)
    monkeypatch.setattr(GLSVerifier, "key", favoured)
    assert error(replace(SMALL, options=(("branching", (2,)), ("draw", "iid")), length=2)) > 1e-4


def test_a_lane_that_was_raced_is_looked_at_no_more():
    randomness = EnumeratedRandom(())
    probs = torch.tensor([0.5, 0.5], dtype=torch.float64)
    randomness.draw(probs, (RACES, 1, 2))
    with pytest.raises(ProofError, match="looked at after it was used"):
        randomness.peek(probs, (RACE, 1, 1))
