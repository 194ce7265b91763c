"""Three lossy rules: what each makes of one place by hand, where each is exact, and by how much its law is off."""

from dataclasses import replace

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.proof.exhaustive import WARM, ProofCase, distance
from specviz.proof.lossy import law
from specviz.verifiers.base import VERIFIERS
from tests.proof.one_level import Rows, verdicts
from tests.scripted_random import ScriptedRandom

P, Q = torch.tensor([0.2, 0.8]), torch.tensor([0.8, 0.2])
PLAIN = Sampling(1.0)
CHAIN = (("gamma", 2),)


def with_options(rule: str, gamma: int = 2, **options: object) -> ProofCase:
    verifier = VERIFIERS.get(rule).of(options)
    return ProofCase(
        "model",
        rule,
        (("gamma", gamma),),
        WARM,
        length=gamma + 1,
        vocab_size=2,
        fault=lambda method: replace(method, verifier=verifier),
    )


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("ensemble", {"weight": 1.0}, [0.2, 0.8]),
        # the mixture itself: 0.7 · 0.2 + 0.3 · 0.8
        ("ensemble", {"weight": 0.7}, [0.38, 0.62]),
        ("ensemble", {"weight": 0.0}, [0.8, 0.2]),
        # max q is 0.8 and max p 0.8: the drafter is sure enough, and q comes out
        ("cascade", {"defer": "diff", "alpha": 0.0}, [0.8, 0.2]),
        # 0.8 < 1 - 0.1: the target decides
        ("cascade", {"defer": "chow", "alpha": 0.1}, [0.2, 0.8]),
        ("cascade", {"defer": "chow", "alpha": 0.3}, [0.8, 0.2]),
        # one candidate has no window behind it
        ("fly", {"window": 1}, [0.2, 0.8]),
    ],
)
def test_the_law_of_one_place(name, options, expected):
    kind = VERIFIERS.get(name)
    assert law(kind.of(options), P.log(), Q, PLAIN).tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("rule", "measured"), [("ensemble", 0.1225), ("cascade", 0.3887)])
def test_the_law_of_three_tokens_is_off_by_what_the_page_says(rule, measured):
    assert distance(ProofCase("model", rule, CHAIN, WARM)).total_variation == pytest.approx(measured, abs=5e-5)


def test_with_the_whole_weight_on_the_target_the_ensemble_is_exact_on_long_texts():
    assert distance(with_options("ensemble", weight=1.0)).error < 1e-12


def test_fly_is_exact_where_no_window_fits_or_nothing_is_undecided_enough_and_lossy_elsewhere():
    assert distance(with_options("fly", window=2)).error < 1e-12
    assert distance(with_options("fly", window=1, entropy=9.0)).error < 1e-12
    assert distance(with_options("fly", window=1, entropy=0.0)).error > 1e-3


def test_a_lossy_rule_makes_the_text_depend_on_the_length_of_the_draft():
    """Only one token is drafted beyond the window in one case, none in the other."""
    laws = [distance(with_options("fly", gamma, window=1, entropy=0.0)).total_variation for gamma in (1, 2)]
    assert laws[0] < 1e-12 < 1e-3 < laws[1]


def chain(*tokens: int) -> DraftTree:
    tree, node = DraftTree.from_root(0), 0
    for token in tokens:
        node = tree.add(node, token, "point_mass", None, "test")
    return tree


UNDECIDED, SURE = torch.tensor([0.55, 0.45, 0.0]), torch.tensor([0.98, 0.02, 0.0])


def judged(tree: DraftTree, rows: list[torch.Tensor], outcomes: list[bool | int], **options: object):
    randomness = ScriptedRandom(outcomes)
    return VERIFIERS.get("fly").of(options).judge(tree, Rows(tree, rows, greedy=True), randomness, 1)


def test_at_temperature_zero_a_mismatch_is_forgiven_where_the_next_one_agrees():
    """The target wants 0 and gets 1, undecided: H = .55 ln(1/.55) + .45 ln(1/.45) = .688; behind it both agree."""
    verdict = judged(chain(1, 0), [UNDECIDED, SURE, SURE], [False, True, 0], window=1)
    assert (verdict.path, verdict.token, verdict.origin) == ([1, 2], 0, "bonus")
    assert [trial.threshold for trial in verdict.trials] == [1.0, 1.0]
    assert verdict.trials[0].terms == pytest.approx({"entropy": 0.688, "forgiven": 1.0}, abs=1e-3)


def test_a_sure_target_forgives_nothing():
    verdict = judged(chain(1, 0), [SURE, SURE, SURE], [False, True, 0], window=1)
    assert (verdict.path, verdict.token, verdict.origin) == ([], 0, "correction")


def test_two_mismatches_in_a_row_are_not_forgiven():
    verdict = judged(chain(1, 1, 0), [UNDECIDED, UNDECIDED, SURE, SURE], [False, False, True, 0], window=2)
    assert (verdict.path, [trial.node for trial in verdict.trials]) == ([], [1])


def test_the_cascade_says_where_it_trusted_the_drafter():
    tree = DraftTree.from_root(0)
    tree.add(0, 0, "iid", Q, "test")
    ((verdict, weight), *_) = verdicts("cascade", tree, [P, P], {"defer": "diff", "alpha": 0.0})
    assert weight == pytest.approx(0.2)  # of the token behind it alone
    assert (verdict.path, verdict.trials[0].terms) == ([1], {"kept": 1.0})


def test_candidates_that_nobody_drew_are_judged_exactly_by_the_cascade():
    assert distance(ProofCase("ngram", "cascade", (("gamma", 1),), WARM, (0, 0), 2)).error < 1e-12
