"""What a verifier declares of its rule is what it does, and the shipped file says the same."""

import random

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import FROM_TARGET, DraftTree
from specviz.engine.scoring import ScoredTree
from specviz.errors import OptionError
from specviz.options import to_mapping
from specviz.resources import asset_path
from specviz.trace.declared_rule import KNOWN, OPERATIONS, RULES_FILE, evaluate, parse
from specviz.trace.events import Trial
from specviz.verifiers.base import VERIFIERS, declared_rules

VOCAB = 7


def drafted(kind, shapes, greedy, rng):
    """A tree of candidates drawn at random from random distributions, one per text, and the target's logits."""
    tree, rows = DraftTree.from_root(0), {}
    level = [0]
    for width in [1, 1, 1] if shapes == "chain" else [3, 2]:
        nodes = []
        for parent in level:
            fresh = torch.tensor([rng.random() + 0.05 for _ in range(VOCAB)]).double()
            q = rows.setdefault(tuple(tree.token_path(parent)), fresh / fresh.sum())
            drawn = torch.multinomial(q, width, replacement=kind == "iid").tolist()
            for token in drawn:
                source = FROM_TARGET if kind == "point_mass" and rng.random() < 0.3 else "model"
                nodes.append(tree.add(parent, token, kind, None if kind == "point_mass" else q, source))
        level = nodes
    logits = torch.tensor([[rng.gauss(0, 1.5) for _ in range(VOCAB)] for _ in range(len(tree))]).double()[tree.rows()]
    return tree, ScoredTree(tree, logits, Sampling(0.0 if greedy else 1.0))


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, one in VERIFIERS.items() for kind in sorted(one.judges)]
)
def test_every_threshold_of_a_verifier_is_what_its_declaration_makes_of_the_trial(name, kind):
    verifier = VERIFIERS.get(name)
    rng, trials = random.Random(1), 0
    torch.manual_seed(1)
    for seed in range(60):
        greedy = verifier.temperatures == "zero" or (name == "lenience" and seed % 2 == 0)
        tree, target = drafted(kind, verifier.shapes, greedy, rng)
        judge = verifier.of({})
        verdict = judge.judge(tree, target, SeededRandom(seed), 5)
        assert verdict.order == KNOWN[name].order
        for one in verdict.trials:
            trials += 1
            trial = Trial(
                one.node, one.target_prob, one.draft_prob, one.threshold, one.u, one.accepted, dict(one.terms)
            )
            told = KNOWN[name].threshold(trial, to_mapping(judge.options))
            assert told == pytest.approx(one.threshold, abs=1e-12)
            assert (one.u is not None) == KNOWN[name].compares
            assert set(one.terms) <= set(verifier.rule.terms)
    assert trials > 60


def test_every_verifier_declares_its_rule_and_the_shipped_file_holds_all_of_them():
    assert {name for name, kind in VERIFIERS.items() if kind.rule is None} == set()
    assert set(KNOWN) == set(VERIFIERS.names())
    assert asset_path(RULES_FILE).read_text(encoding="utf-8") == declared_rules(), "run `make generate`"


@pytest.mark.parametrize(
    ("written", "parsed"),
    [
        ("ratio(p, rho * q)", ["ratio", "p", ["times", "rho", "q"]]),
        ("p > 0.5", ["above", "p", 0.5]),
        (
            "where(share, share >= l, exp(-entropy))",
            ["where", "share", ["reaches", "share", "l"], ["exp", ["minus", "entropy"]]],
        ),
    ],
)
def test_a_threshold_is_written_as_an_expression(written, parsed):
    assert parse(written) == parsed


@pytest.mark.parametrize("written", ["", "p +", "p.real", "open(p)", "__import__('os')", "'p'", "p ** 2", "f(p, q=1)"])
def test_what_is_no_threshold_is_refused_with_what_may_be_used(written):
    with pytest.raises(OptionError, match=r"is no threshold .*use p, q, terms"):
        parse(written)


def test_a_term_that_is_missing_is_named():
    with pytest.raises(KeyError, match="rho"):
        evaluate(parse("ratio(p, rho * q)"), {"p": 0.5, "q": 0.5})


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("ratio(0.2, 0.8)", 0.25),
        ("ratio(0.8, 0.2)", 1.0),
        ("ratio(0.2, 0)", 1.0),
        ("ratio(0, 0)", 0.0),
        ("end_here(0.3, 0.7)", 0.5),
        ("end_here(0, 1)", 1.0),
        ("least(0.3, 0.2)", 0.2),
        ("0.2 > 0.2", 0.0),
        ("0.2 >= 0.2", 1.0),
        ("where(left, 1, 0.5)", 0.5),
    ],
)
def test_operations(written, value):
    assert evaluate(parse(written), {}) == pytest.approx(value)
    assert set(OPERATIONS) == {"times", "minus", "least", "exp", "above", "reaches", "ratio", "end_here"}
