"""SpecTr keeps every draft that shares the accepted token: exact, never fewer accepted, and its bugs are seen."""

from dataclasses import replace

import pytest

from specviz.core.sampling import Sampling
from specviz.proof.exhaustive import WARM, ProofCase, branches
from specviz.proof.survivors import expected
from specviz.verifiers import kseq
from specviz.verifiers.kseq import KSeqOptions, KSeqVerifier, Level
from tests.proof.walked import error, expectation

pytestmark = pytest.mark.slow
CAUGHT = 1e-6
NARROW = Sampling(temperature=1.0, top_k=2)


def drafts(*branching: int, sampling: Sampling = WARM, vocab_size: int = 2, **options) -> ProofCase:
    """On two tokens, where drafts share one most often."""
    given = (("branching", branching), ("draw", "iid"))
    return ProofCase("model", "kseq", given, sampling, vocab_size=vocab_size, **options)


def by_node(case: ProofCase) -> ProofCase:
    """The same, but only the children of the accepted node itself go on."""

    def plant(method):
        return replace(method, verifier=KSeqVerifier(KSeqOptions(survivors=False)))

    return replace(case, fault=plant)


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        (drafts(2, 1, vocab_size=3), "survivors"),
        (drafts(2, 1, vocab_size=3, sampling=NARROW), "survivors"),
        (drafts(3, 1), "survivors"),
        (drafts(2, 2), "survivors"),
        (drafts(2, 1, 1, length=4), "survivors"),
        (drafts(2, 1), "none"),
    ],
    ids=["(2, 1)", "(2, 1), top-k 2", "(3, 1)", "(2, 2)", "three levels", "without survivors"],
)
def test_the_surviving_drafts_leave_the_targets_law_alone(case, rule):
    assert error(case if rule == "survivors" else by_node(case)) < 1e-12


@pytest.mark.parametrize("branching", [(2, 1), (3, 1)])
def test_surviving_drafts_accept_more_and_as_many_as_all_verdicts_of_all_trees_say(branching):
    """What `specviz prove survivors` works out per tree, over all trees, is what the walk over all runs counts."""
    case, rule = drafts(*branching), KSeqVerifier(KSeqOptions())
    exact = expectation(case)
    assert exact > expectation(by_node(case)) + 0.001
    told = expectation(case, lambda record: expected(rule, record.proposal.tree, record.scored))
    assert told == pytest.approx(exact, abs=1e-12)


def test_a_draft_rejected_before_goes_on_with_the_one_accepted_after_it():
    """Two drafts begin with the same token; the first trial rejects, the second accepts: both offer the next token."""
    seen = set()
    for branch in branches(drafts(2, 1), (), 0):
        record = branch.records[0]
        tree, trials = record.proposal.tree, record.verdict.trials
        if tree.tokens[1] == tree.tokens[2] and [one.accepted for one in trials[:2]] == [False, True]:
            seen.add(tuple(trial.node for trial in trials[2:]))
    assert seen == {(3,), (3, 4)}


def test_drafts_that_begin_alike_share_a_row_of_the_targets_pass():
    widths = set()
    for branch in branches(drafts(2, 1), (), 0):
        record = branch.records[0]
        tree = record.proposal.tree
        texts = {tuple(tree.token_path(node)) for node in range(len(tree))}
        added = record.commitment.cache_kept + record.commitment.cache_dropped - record.commitment.cache_before
        assert added == len(texts)
        widths.add(added)
    assert widths == {3, 4, 5}


def test_a_number_of_drafts_that_forgets_the_survivors_is_lossy(monkeypatch):
    """rho of one draft where two are tried."""
    solve = kseq.solve

    def forgetful(p, q, siblings):
        return solve(p, q, 1)

    case = drafts(2, 1)
    monkeypatch.setattr(kseq, "solve", forgetful)
    assert error(case) > CAUGHT


def test_a_survivor_that_repeats_a_token_and_is_not_tried_again_is_lossy(monkeypatch):
    """The number of drafts counts it, the trials leave it out."""
    candidates = KSeqVerifier._candidates
    solve = kseq.solve

    def merged(self, tree, node):
        return list({tree.tokens[child]: child for child in reversed(candidates(self, tree, node))}.values())[::-1]

    def counted(p, q, siblings):
        return solve(p, q, 2)

    monkeypatch.setattr(KSeqVerifier, "_candidates", merged)
    monkeypatch.setattr(kseq, "solve", counted)
    assert error(drafts(2, 1)) > CAUGHT


def test_survivors_by_their_token_alone_are_refused_or_lossy(monkeypatch):
    """The same token after another text is another candidate: its distribution is not the one it is judged by."""

    def loose(self, tree, node):
        tokens = [tree.tokens[parent] if parent >= 0 else -1 for parent in tree.parents]
        wanted = tree.tokens[node]
        return [
            child
            for child in range(1, len(tree))
            if tree.depths[child] == tree.depths[node] + 1 and tokens[child] == wanted
        ]

    monkeypatch.setattr(KSeqVerifier, "_candidates", loose)
    monkeypatch.setattr(kseq, "_shared", lambda tree, children: tree.proposals[children[0]])
    assert error(drafts(2, 1, 1, length=4)) > CAUGHT


def test_a_residual_of_the_wrong_number_of_drafts_is_lossy(monkeypatch):
    """What one draft would leave, where several were tried."""
    monkeypatch.setattr(Level, "passed", property(lambda self: self.beta))
    assert error(drafts(2, 1)) > CAUGHT
