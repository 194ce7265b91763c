"""However a tree grows and whenever it stops, the text has exactly the target's law: all branches are walked."""

import pytest

from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS, DraftPolicies
from specviz.drafters.drafting.growing import GrowingDraft
from specviz.engine.pairing import check_pairing
from specviz.errors import DraftError, PairingError, ProofError
from specviz.proof.exhaustive import WARM, ProofCase, branches
from specviz.proof.small_models import stop_policy_sets, temperature, tree_policy_sets
from specviz.proof.table import prove
from specviz.stop_policies.base import STOP_POLICIES
from specviz.tree_policies import rsd_s
from specviz.tree_policies.base import TREE_POLICIES
from specviz.tree_policies.drawing import DrawnSiblings, siblings_of
from specviz.tree_policies.dyspec import DySpecTreePolicy
from specviz.verifiers.base import VERIFIERS
from tests.proof.walked import error

CAUGHT = 1e-6
MODEL = DRAFTERS.get("model")
AT_ZERO = ("greedy", "sequential")


def grown(tree_policy: str, options: dict[str, object], **changes: object) -> ProofCase:
    return ProofCase(
        "model", "sequential", tree_policy=tree_policy, tree_policy_options=tuple(options.items()), **changes
    )


def legal(verifier: str, sampling: Sampling, draft_policies: DraftPolicies) -> bool:
    rule = VERIFIERS.get(verifier)
    try:
        drafter = MODEL.of({})
        drafter.follow(draft_policies)
        check_pairing(drafter, rule, sampling)
    except PairingError:
        return False
    return rule.lossless


def tree_policy_cases() -> list[ProofCase]:
    """Every tree policy × verifier that the pairing check allows, on two tokens; at temperature 0, where all rules keep
    the same path, two of them judge all."""
    found = []
    for tree_policy, kind in TREE_POLICIES.items():
        if not kind.lossless:
            continue
        for options in tree_policy_sets(tree_policy):
            draft_policies = DraftPolicies(kind.of(options))
            found += [
                ProofCase(
                    "model",
                    verifier,
                    (),
                    sampling,
                    vocab_size=2,
                    tree_policy=tree_policy,
                    tree_policy_options=tuple(options.items()),
                )
                for verifier in VERIFIERS.names()
                for sampling in (Sampling(0.0), WARM)
                if legal(verifier, sampling, draft_policies) and (sampling == WARM or verifier in AT_ZERO)
            ]
    return found


def stop_cases() -> list[ProofCase]:
    """Every stop policy on a chain and on trees, over as many rounds as it takes to change its mind."""
    shapes: list[dict[str, object]] = [
        {"options": (("gamma", 3),), "length": 4},
        {"tree_policy": "rsd_s", "tree_policy_options": (("width", 2), ("depth", 2))},
        {"tree_policy": "dyspec", "tree_policy_options": (("budget", 3),)},
    ]
    return [
        ProofCase(
            "model",
            "sequential",
            sampling=Sampling(temperature(stop, WARM.temperature)),
            stop_policy=stop,
            stop_policy_options=tuple(options.items()),
            vocab_size=2,
            **shape,
        )
        for stop in STOP_POLICIES.names()
        for options in stop_policy_sets(stop)
        for shape in shapes
    ] + [
        ProofCase("model", verifier, (("gamma", 3),), vocab_size=2, stop_policy="confidence", length=4)
        for verifier in VERIFIERS.names()
        if legal(verifier, WARM, DraftPolicies(TREE_POLICIES.get("chain").of({})))
    ]


def parameters(cases):
    """Those judged one candidate after the other are quick; the other verifiers are slow."""
    for case in cases:
        yield pytest.param(case, id=str(case), marks=() if case.verifier == "sequential" else pytest.mark.slow)


@pytest.mark.parametrize("case", list(parameters(tree_policy_cases())))
def test_a_grown_tree_leaves_the_targets_law_alone(case):
    """And the walk saw every kind of candidate tried, accepted and rejected."""
    found = prove(case)
    assert found.missing == ()
    assert found.error < 1e-12


@pytest.mark.parametrize("case", list(parameters(stop_cases())))
def test_stopping_early_leaves_the_targets_law_alone(case):
    """And the walk saw every kind of candidate tried, accepted and rejected."""
    found = prove(case)
    assert found.missing == ()
    assert found.error < 1e-12


@pytest.mark.parametrize(
    ("tree_policy", "options"),
    [("rsd_s", {"width": 2, "depth": 2}), ("dyspec", {"budget": 4})],
    ids=["rsd_s", "dyspec"],
)
def test_trees_of_random_shape_on_three_tokens(tree_policy, options):
    assert error(grown(tree_policy, options)) < 1e-12


@pytest.mark.parametrize("tree_policy", ["rsd_s", "dyspec"])
def test_the_shape_is_random_indeed(tree_policy):
    """Or the tests above would prove nothing about it."""
    case = grown(tree_policy, {"dyspec": {"budget": 3}, "rsd_s": {"width": 2, "depth": 2}}[tree_policy], vocab_size=2)
    shapes = {tuple(branch.records[0].proposal.tree.parents) for branch in branches(case, (), 0)}
    assert len(shapes) > 1


@pytest.mark.parametrize(
    "stop", ["confidence", "entropy", "draft_verify", "heuristic", "decision", "disco", "specdecpp"]
)
def test_drafts_do_end_at_different_depths(stop):
    options = tuple(stop_policy_sets(stop)[0].items())
    case = ProofCase(
        "model", "sequential", (("gamma", 3),), length=5, vocab_size=2, stop_policy=stop, stop_policy_options=options
    )
    rounds = [branch.records for branch in branches(case, (), 1 if stop == "heuristic" else 0)]
    assert len({max(record.proposal.tree.depths) for records in rounds for record in records}) > 1


# Planted bugs. Each is a violation of adaptedness that a real system has shown.


@pytest.mark.planted("unlikely token dropped")
def test_a_drawn_token_dropped_for_its_low_confidence(monkeypatch):
    add = GrowingDraft.add

    def choosy(self, parent, token, kind, proposal):
        if float(proposal[token]) < 0.3:
            self.stop_policy.levels = lambda: 0
            return 0
        return add(self, parent, token, kind, proposal)

    monkeypatch.setattr(GrowingDraft, "add", choosy)
    assert error(grown("chain", {"length": 1})) > CAUGHT


@pytest.mark.planted("unlikely token dropped")
def test_a_node_pruned_after_it_was_drawn_is_refused(monkeypatch):
    monkeypatch.setattr("specviz.tree_policies.dyspec.depth_first", lambda tree: list(range(len(tree) - 1)))
    with pytest.raises(DraftError, match="drops node 3, which was drawn"):
        error(grown("dyspec", {"budget": 3}))


@pytest.mark.planted("siblings sorted")
def test_siblings_moved_after_they_were_drawn_are_refused(monkeypatch):
    monkeypatch.setattr("specviz.tree_policies.dyspec.depth_first", lambda tree: [0, *reversed(range(1, len(tree)))])
    with pytest.raises(DraftError, match="out of their order"):
        error(grown("dyspec", {"budget": 2}, length=2))


@pytest.mark.planted("siblings sorted")
def test_siblings_of_a_beam_sorted_by_their_probability(monkeypatch):
    class Sorted(DrawnSiblings):
        """Draws two and hands out the likelier first."""

        def take(self, draft):
            if not hasattr(self, "_ready"):
                first = super().take(draft)
                second = [super().take(draft)] if self._left > 0.0 else []
                self._ready = sorted([first, *second], key=lambda one: -one.prob)
            return self._ready.pop(0)

    monkeypatch.setattr(
        rsd_s, "siblings_of", lambda logits, sampling: [Sorted(one._q) for one in siblings_of(logits, sampling)]
    )
    assert error(grown("rsd_s", {"width": 2, "depth": 1}, length=2)) > CAUGHT


@pytest.mark.planted("unlikely token dropped")
def test_whether_a_sibling_is_tried_decided_by_its_own_value(monkeypatch):
    class Hesitant(DySpecTreePolicy):
        def grow(self, draft):
            _, logits = draft.expand([0])
            family = siblings_of(logits, draft.sampling)[0]
            for _ in range(2):
                taken = family.take(draft)
                if taken.prob > 0.3:
                    draft.add(0, taken.token, family.kind, taken.proposal)

    monkeypatch.setitem(TREE_POLICIES._entries, "dyspec", Hesitant)
    assert error(grown("dyspec", {}, length=2)) > CAUGHT


@pytest.mark.planted("noise reused")
def test_the_noise_of_the_first_round_used_in_all(monkeypatch):
    def stale(self, probs):
        self.draws += 1
        return self.randomness.draw(probs, ("draft", 0, self.draws - 1)).token

    monkeypatch.setattr(GrowingDraft, "draw", stale)
    with pytest.raises(ProofError, match="is used twice"):
        error(grown("sequoia", {"budget": 2, "depth": 1}))
