"""The lossy rules are lossy, by how much on the toys of the proof, and what they promise holds all the same."""

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.proof.exhaustive import WARM, ProofCase, branches, distance, exact, law
from specviz.verifiers.base import VERIFIERS
from tests.proof.one_level import Rows, siblings, verdicts
from tests.proof.walked import error
from tests.scripted_random import ScriptedRandom

CHAIN = (("gamma", 2),)
TREE = (("branching", (2, 1)),)


@pytest.mark.parametrize(
    ("rule", "options", "measured"),
    [
        ("lenience", CHAIN, 0.3757),
        ("lenience", TREE, 0.3757),
        ("longest_path", CHAIN, 0.2073),
        ("longest_path", TREE, 0.2638),
        ("typical", CHAIN, 0.5130),
        ("typical", TREE, 0.6220),
    ],
)
def test_a_lossy_rule_changes_the_law_of_three_tokens(rule, options, measured):
    """Total variation between the text's law and the target's, the numbers of the method's page in docs."""
    found = distance(ProofCase("model", rule, options, WARM)).total_variation
    assert found > 1e-3
    assert found == pytest.approx(measured, abs=5e-4)
    assert VERIFIERS.get(rule).lossless is False


def test_those_that_call_themselves_lossless_are_the_others():
    lossy = {name for name, rule in VERIFIERS.items() if not rule.lossless}
    assert {"lenience", "longest_path", "typical"} <= lossy
    assert lossy.isdisjoint({"greedy", "naive", "sequential", "specinfer", "kseq", "block", "traversal"})


@pytest.mark.parametrize("rule", ["longest_path", "typical"])
def test_at_temperature_zero_a_chain_is_not_relaxed(rule):
    assert error(ProofCase("model", rule, CHAIN, Sampling(0.0))) < 1e-12


def levels(rule, p, q, drawn, kind="iid", options=None):
    target, proposal = (torch.tensor(row, dtype=torch.float64) for row in (p, q))
    tree = siblings(drawn, kind, proposal)
    return verdicts(rule, tree, [target] * len(tree), options)


def test_lenience_divides_q():
    """p = 0.2, q = 0.8, l = 0.5: 0.2 / 0.4; a rejection leaves max(0, p - q)."""
    found = levels("lenience", [0.2, 0.8], [0.8, 0.2], [0], options={"lenience": 0.5})
    assert found[0][0].trials[0].threshold == pytest.approx(0.5)
    assert found[-1][0].residual.tolist() == [0.0, 1.0]


def at_zero(lenience, drawn):
    """Judged at temperature 0 where the target itself says 0.5, 0.3, 0.2."""
    tree = siblings(drawn, "point_mass", torch.zeros(3))
    rows = [torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)] * len(tree)
    ((verdict, weight),) = verdicts("lenience", tree, rows, {"lenience": lenience}, greedy=True)
    assert weight == 1.0
    return verdict


def test_at_temperature_zero_lenience_compares_p_with_the_largest():
    """0.3 against l 0.5: passes up to l = 0.6; 0.2 up to 0.4. Who is rejected leaves the most probable token."""
    assert [at_zero(lenience, [1]).path for lenience in (0.59, 0.61)] == [[1], []]
    assert [at_zero(lenience, [2]).path for lenience in (0.39, 0.41)] == [[1], []]
    rejected = at_zero(0.41, [2])
    assert (rejected.token, rejected.origin) == (0, "correction")
    assert rejected.trials[0].terms == pytest.approx({"share": 0.4})


def test_at_temperature_zero_the_most_probable_always_passes_and_at_l_one_alone():
    assert [at_zero(1.0, [token]).path for token in (0, 1, 2)] == [[1], [], []]
    assert at_zero(0.5, [2, 1, 0]).path == [2]


def test_at_temperature_zero_a_lenient_text_may_differ_from_the_greedy_one():
    """Of the twelve prompts of one or two tokens, at l = 0.5; the number is on the method's page."""
    prompts = [(one,) for one in range(3)] + [(one, two) for one in range(3) for two in range(3)]
    cases = [ProofCase("model", "lenience", CHAIN, Sampling(0.0), prompt) for prompt in prompts]
    assert sum(law(case) != exact(case) for case in cases) == 3


def test_no_token_comes_out_more_than_one_over_l_times_as_often():
    p, q, lenience = [0.1, 0.3, 0.6], [0.7, 0.2, 0.1], 0.5
    probabilities = [0.0, 0.0, 0.0]
    for token, mass in enumerate(q):
        for verdict, weight in levels("lenience", p, q, [token], options={"lenience": lenience}):
            probabilities[token if verdict.path else verdict.token] += mass * weight
    assert sum(probabilities) == pytest.approx(1.0)
    assert probabilities[0] == pytest.approx(min(0.7, 0.1 / lenience))
    assert all(probability <= prob / lenience + 1e-12 for probability, prob in zip(probabilities, p, strict=True))


def test_without_forgiveness_lenience_is_the_sequential_rule():
    plain = levels("sequential", [0.1, 0.3, 0.6], [0.7, 0.2, 0.1], [0, 1])
    strict = levels("lenience", [0.1, 0.3, 0.6], [0.7, 0.2, 0.1], [0, 1], options={"lenience": 1.0})
    assert [(one.path, one.token, weight) for one, weight in strict] == [
        (one.path, one.token, weight) for one, weight in plain
    ]


def test_typical_acceptance_by_hand():
    """p = (0.5, 0.25, 0.25): H = 1.5 ln 2, so the bar is min(0.09, 0.3 / 2.83) = 0.09."""
    ((verdict, weight),) = levels("typical", [0.5, 0.25, 0.25], [0.2, 0.4, 0.4], [1])
    assert weight == 1.0
    assert verdict.trials[0].terms == pytest.approx({"entropy": 1.5 * 0.6931471806, "bar": 0.09})
    assert (verdict.path, verdict.token, verdict.origin) == ([1], 0, "bonus")


def test_an_undecided_target_lowers_the_bar():
    """Ten equal tokens: H = ln 10, the bar is 0.03, and 0.1 passes."""
    ((verdict, _),) = levels("typical", [0.1] * 10, [0.1] * 10, [3], options={"epsilon": 0.5})
    assert verdict.trials[0].terms["bar"] == pytest.approx(0.03)
    assert verdict.path == [1]


def test_of_two_typical_siblings_the_more_probable_wins():
    ((verdict, _),) = levels("typical", [0.2, 0.5, 0.3], [0.4, 0.3, 0.3], [0, 1], kind="without_replacement")
    assert [trial.accepted for trial in verdict.trials] == [True, True]
    assert verdict.path == [2]


def test_the_longest_path_wins_over_the_first_sibling():
    tree = siblings([0, 1], "point_mass", torch.zeros(2))
    tree.add(2, 0, "point_mass", None, "test")
    sure = torch.tensor([1.0, 1.0])
    kind = VERIFIERS.get("longest_path")
    randomness = ScriptedRandom([True, True, True, 0])
    verdict = kind.of({}).judge(tree, Rows(tree, [sure] * 4), randomness, 1)
    assert (verdict.path, verdict.order) == ([2, 3], "longest")


def test_a_rounds_branches_weigh_one():
    for rule in ("longest_path", "typical"):
        case = ProofCase("model", rule, CHAIN, WARM)
        assert sum(branch.weight for branch in branches(case, (), 0)) == pytest.approx(1.0, abs=1e-12)
