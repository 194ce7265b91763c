"""In float32 at temperature 0, whatever drafts, grows and judges: the text of plain decoding, token for token."""

from dataclasses import replace

import pytest

from specviz.drafters.base import DRAFTERS
from specviz.engine.session import Session
from specviz.live.catalog import bundled_prompts
from specviz.proof.exhaustive import ProofCase
from specviz.proof.sampled import COLD, comparisons, greedy_cases, plain_texts
from specviz.proof.small_models import SHAPE, small_pair
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS

TOKENS = 4
VOCABULARY = 64
PROMPTS = [tuple(byte % VOCABULARY for byte in card.text.encode()[-10:]) for card in bundled_prompts()[:20]]
"""the ends of twenty prompts of the set, their bytes as ids of a small random model"""
SOME = 2
"""so many of them for every drafter's own trees, and one in turn for those that a policy grows: most of the cases, and
the engine's paths are the same"""


@pytest.fixture(scope="module")
def models():
    return small_pair(3, replace(SHAPE, layers=2, vocab_size=VOCABULARY), noise=0.1)


@pytest.fixture(scope="module")
def plain(models):
    return plain_texts(models, PROMPTS, TOKENS)


def test_every_lossless_method_that_works_at_temperature_zero_is_compared():
    found = greedy_cases()
    assert {case.drafter for case in found} == {name for name, kind in DRAFTERS.items() if kind.lossless}
    assert {case.tree_policy for case in found} == {
        "auto",
        *(name for name, kind in TREE_POLICIES.items() if kind.lossless),
    }
    drawn_only = {"block", "kseq", "specinfer"}
    lossless = {name for name, rule in VERIFIERS.items() if rule.lossless}
    assert lossless - drawn_only <= {case.verifier for case in found} <= lossless
    assert len(set(PROMPTS)) == 20


def drafts() -> dict[ProofCase, list[ProofCase]]:
    """How it is drafted → the cases that differ in who judges."""
    groups: dict[ProofCase, list[ProofCase]] = {}
    for case in greedy_cases():
        groups.setdefault(replace(case, verifier="any"), []).append(case)
    return groups


def parameters():
    for number, (draft, cases) in enumerate(drafts().items()):
        if draft.tree_policy == "auto":
            yield pytest.param(cases, slice(SOME), id=str(draft))
        else:
            turn = number % len(PROMPTS)
            yield pytest.param(cases, slice(turn, turn + 1), id=str(draft), marks=pytest.mark.slow)


@pytest.mark.parametrize(("cases", "which"), list(parameters()))
def test_the_greedy_text_is_that_of_plain_decoding(models, plain, cases, which):
    """Whoever judges."""
    prompts = PROMPTS[which]
    for found in comparisons(models, prompts, TOKENS, cases, plain[which]):
        compared = (found.prompts, found.tokens, found.different)
        assert compared == (len(prompts), len(prompts) * TOKENS, 0), str(found.case)


def test_drafts_are_accepted_or_the_comparison_would_show_little(models):
    (found,) = comparisons(models, PROMPTS, TOKENS, [ProofCase("model", "greedy", (("gamma", 2),), COLD)])
    assert found.passes < found.tokens - 5


def test_a_first_token_taken_from_the_drafter_is_seen(models, monkeypatch):
    judge = Session._judge

    def trusting(self, tree, scored):
        verdict = judge(self, tree, scored)
        return verdict if verdict.path or not tree.drafted else replace(verdict, token=tree.tokens[1])

    monkeypatch.setattr(Session, "_judge", trusting)
    (found,) = comparisons(models, PROMPTS, TOKENS, [ProofCase("model", "greedy", (("gamma", 2),), COLD)])
    assert found.different > 5
