"""Coupled sampling: the text is a function of the seed, and target and draft agree as often as the formula says."""

from dataclasses import replace

import pytest
import torch

from specviz.core.randomness import race_times, winner
from specviz.core.sampling import Sampling, residual, transform
from specviz.core.tree import ROOT
from specviz.drafters.drafting.growing import GrowingDraft
from specviz.errors import ProofError
from specviz.proof.exhaustive import WARM, EnumeratedRandom, ProofCase
from specviz.proof.lines import lines
from specviz.proof.races import Race
from specviz.protocol.proofs import Toy
from specviz.theory.formulas import race_agreement
from specviz.trace.events import Trial
from specviz.trace.uniform_draws import RACE, race_time
from specviz.verifiers.base import Verdict
from specviz.verifiers.coupled import CoupledVerifier
from specviz.verifiers.naive import NaiveVerifier
from tests.proof import walked
from tests.proof.one_level import siblings, verdicts
from tests.proof.walked import error, expectation

P, Q = (0.5, 0.3, 0.2), (0.2, 0.45, 0.35)
CHAIN = ProofCase("model", "coupled", (("gamma", 2),), WARM)


def text(drafter: str, seed: int, verifier: str = "coupled", **options: object) -> list[int]:
    return walked.text(ProofCase(drafter, verifier, tuple(options.items()), Sampling(1.0), length=24), seed)


@pytest.mark.parametrize("seed", range(3))
def test_swap_the_drafter_and_the_text_stays(seed):
    plain = text("none", seed)
    assert text("model", seed, gamma=1) == plain
    assert text("model", seed, gamma=3) == plain
    assert text("model", seed, branching=(2, 2)) == plain
    assert text("model", seed, branching=(2,), draw="iid") == plain
    assert text("ngram", seed, gamma=2) == plain
    assert text("random", seed, gamma=2) == plain


def test_with_the_sequential_rule_it_does_not_and_another_seed_writes_another_text():
    texts = {tuple(text(drafter, 0, "sequential", gamma=3)) for drafter in ("model", "ngram", "random")}
    assert len(texts) == 3
    assert text("none", 0) != text("none", 1)


def test_the_winner_is_the_token_with_the_smallest_time_over_probability():
    times = race_times(7, (RACE, 3, 0), 4)
    assert times.tolist() == pytest.approx([race_time(7, (RACE, 3, 0), token) for token in range(4)], rel=1e-15)
    first = int(times.argmin())
    assert winner(torch.full((4,), 0.25), times) == first
    without = torch.full((4,), 1 / 3)
    without[first] = 0.0
    assert winner(without, times) != first


def test_times_differ_between_seeds_places_lanes_and_tokens():
    keys = [(7, (RACE, 3, 0)), (8, (RACE, 3, 0)), (7, (RACE, 4, 0)), (7, (RACE, 3, 1))]
    assert len({race_time(seed, key, token) for seed, key in keys for token in range(3)}) == 12


def test_who_wins_under_p_given_who_won_under_q_by_volumes_of_a_simplex():
    """On the diagonal 1 / Σ_y max(p_y/p_x, q_y/q_x): 1/5, 9/31, 1/5."""
    race = Race(3)
    joint = [[race.won(x, Q).won(y, P).share for y in range(3)] for x in range(3)]
    assert [race.won(token, Q).share for token in range(3)] == pytest.approx(Q)
    assert [sum(row) for row in joint] == pytest.approx(Q)
    assert [sum(column) for column in zip(*joint, strict=True)] == pytest.approx(P)
    assert joint[0] == pytest.approx([0.2, 0.0, 0.0])  # p likes a more than q does: who was first under q still is
    assert [joint[token][token] for token in range(3)] == pytest.approx([1 / 5, 9 / 31, 1 / 5])


def test_agreement_lies_between_the_bound_and_the_maximal_coupling():
    """TV is 0.3, 1 - TV what speculative sampling accepts: (0.7 / 1.3 =) 0.538 < 107/155 < 0.7."""
    assert race_agreement(P, Q) == pytest.approx(107 / 155)
    assert 0.7 / 1.3 < race_agreement(P, Q) < 0.7
    assert race_agreement(P, P) == pytest.approx(1.0)
    assert race_agreement((1.0, 0.0), (0.0, 1.0)) == 0.0


def step(case: ProofCase, text: tuple[int, ...]) -> tuple[list[float], list[float]]:
    p, q = (transform(model.exact_logits((*case.prompt, *text)), case.sampling).tolist() for model in case.models())
    return p, q


def test_the_engine_accepts_a_drafted_candidate_as_often_as_the_formula_says():
    case = replace(CHAIN, options=(("gamma", 1),), length=2)
    assert expectation(case) == pytest.approx(race_agreement(*step(case, ())), abs=1e-12)


def test_it_accepts_more_than_two_independent_draws_and_less_than_the_sequential_rule():
    naive, coupled, sequential = (
        expectation(replace(CHAIN, verifier=rule)) for rule in ("naive", "coupled", "sequential")
    )
    assert naive + 0.1 < coupled < sequential


def test_siblings_without_replacement_are_the_next_ones_in_the_same_race():
    """Two candidates: the chance that the target's winner is among the first two under q, by volumes; a second
    candidate that q draws afresh would find it less often."""
    case = replace(CHAIN, options=(("branching", (2,)),), length=2)
    p, q = step(case, ())
    race, both = Race(3), 0.0
    for first in range(3):
        for second in {0, 1, 2} - {first}:
            rest = [0.0 if token == first else mass for token, mass in enumerate(q)]
            there = race.won(first, q).won(second, rest)
            both += there.won(first, p).share + there.won(second, p).share
    assert expectation(case) == pytest.approx(both, abs=1e-12)


def test_the_law_is_the_targets_whatever_token_is_submitted():
    """The race of the target alone decides: of every single candidate the verdicts add up to p."""
    for token in range(3):
        tree = siblings([token], "point_mass", torch.tensor(Q))
        found = [0.0, 0.0, 0.0]
        for verdict, weight in verdicts("coupled", tree, [torch.tensor(P, dtype=torch.float64)] * 2):
            found[token if verdict.path else verdict.token] += weight if len(verdict.path) < 2 else 0.0
        assert found == pytest.approx(P)


def test_the_page_shows_every_way_the_two_races_can_end():
    proof = lines(Toy(verifier="coupled"))
    ways = {(line.drafted[0].token, line.token): line.prob for line in proof.lines}
    assert ways[1, 1] == pytest.approx(9 / 31)
    assert (0, 1) not in ways
    assert proof.error < 1e-12


@pytest.mark.planted("noise reused")
def test_one_race_for_all_places_is_refused(monkeypatch):
    """A key without the place: the second token would be known to be the first where p did not change."""
    monkeypatch.setattr(
        CoupledVerifier,
        "judge",
        lambda self, tree, target, randomness, position: NaiveVerifier.judge(self, tree, target, randomness, 1),
    )
    with pytest.raises(ProofError, match="used twice"):
        error(CHAIN)


@pytest.mark.planted("noise reused")
def test_a_draft_that_runs_the_race_of_the_place_before_agrees_no_more_than_by_chance(monkeypatch):
    """The text is right all the same: only the agreement falls, to that of two independent draws."""
    monkeypatch.setattr(
        GrowingDraft,
        "candidate",
        lambda draft, probs, index, lane=0: draft.randomness.peek(probs, (RACE, len(draft.context.tokens) + 7, lane)),
    )
    case = replace(CHAIN, options=(("gamma", 1),), length=2)
    p, q = step(case, ())
    assert expectation(case) == pytest.approx(sum(a * b for a, b in zip(p, q, strict=True)), abs=1e-12)
    assert error(case) < 1e-12


@pytest.mark.planted("no residual")
def test_the_ratio_rule_on_a_candidate_of_the_targets_own_race_is_caught(monkeypatch):
    """A rejected winner of the race is judged by p/q, and the correction runs the same race without being told."""

    def ratio(self, tree, target, randomness, position):
        node = ROOT if len(tree) == 1 else 1
        if (
            node
            and randomness.accept(
                min(1.0, target.candidate_prob(1) / tree.proposal_prob(1)), ("accept", position, 1)
            ).accepted
        ):
            drawn = randomness.draw(target.probs(1), (RACE, position + 1, 0))
            return Verdict([1], drawn.token, "bonus", [Trial(1, 1.0, 1.0, 1.0, None, True)])
        left = residual(target.probs(ROOT), tree.proposals[1])[0] if node else target.probs(ROOT)
        drawn = randomness.draw(left, (RACE, position, 0))
        trials = [Trial(1, 1.0, 1.0, 1.0, None, False)] if node else []
        return Verdict([], drawn.token, "correction" if node else "target", trials)

    monkeypatch.setattr(CoupledVerifier, "judge", ratio)
    assert error(replace(CHAIN, options=(("gamma", 1),))) > 1e-3


def test_the_law_of_a_peek_and_a_draw_is_exact():
    found: dict[tuple[int, int], float] = {}
    script: tuple[int, ...] | None = ()
    while script is not None:
        randomness = EnumeratedRandom(script)
        peeked = randomness.peek(torch.tensor(Q, dtype=torch.float64), (RACE, 1, 0))
        drawn = randomness.draw(torch.tensor(P, dtype=torch.float64), (RACE, 1, 0)).token
        found[peeked, drawn] = randomness.weight()
        script = randomness.next_script(0)
    assert found[1, 1] == pytest.approx(9 / 31)
    assert sum(found.values()) == pytest.approx(1.0)
