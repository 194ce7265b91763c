"""Blocks drafted in one pass keep the target's law, and what is easily done wrong with them does not.

On every branch of a toy of two tokens. The wrong ones judge a token by another distribution than it was drawn from, or
let a drawn token decide whether it is submitted.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz.core.sampling import transform
from specviz.drafters.dflash import DFlashDrafter
from specviz.drafters.drafting.growing import GrowingDraft
from specviz.drafters.dspark import DSparkDrafter
from specviz.proof.exhaustive import WARM, ProofCase
from specviz.proof.table import EXACT
from specviz.tree_policies import drawing
from tests.proof.walked import error

CAUGHT = 1e-3


def case(drafter: str, gamma: int = 2, **changes: object) -> ProofCase:
    options = (("weights", "untrained"), ("gamma", gamma))
    return ProofCase(drafter, "sequential", options, WARM, prompt=(0, 1), vocab_size=2, length=4, **changes)


SURVIVAL = {"stop_policy": "survival", "stop_policy_options": (("threshold", 0.5),)}


@pytest.mark.parametrize("stop", [{}, SURVIVAL], ids=["whole", "stopped"])
@pytest.mark.parametrize("drafter", ["dflash", "dspark"])
def test_a_block_keeps_the_law_and_so_does_one_that_stops_before_a_token_is_drawn(drafter, stop):
    assert error(case(drafter, 3, **stop)) < EXACT


def test_a_stop_that_looks_at_the_drawn_token_and_takes_it_back_breaks_the_law(monkeypatch):
    """As q of a dropped token never reaches the verifier, the correction knows nothing of it."""
    add = GrowingDraft.add

    def dropping(self, parent, token, kind, proposal, source=None):
        return parent if float(proposal[token]) < 0.5 else add(self, parent, token, kind, proposal, source)

    monkeypatch.setattr(GrowingDraft, "add", dropping)
    assert error(case("dflash", 1)) > CAUGHT


def test_the_likeliest_token_of_a_slot_judged_as_if_it_were_drawn_breaks_the_law(monkeypatch):
    monkeypatch.setattr(
        drawing.Independent,
        "level",
        lambda self, draft, logits, width, first: (
            [[(int(q.argmax()), q)] for q in transform(logits, draft.sampling)],
            0,
        ),
    )
    assert error(case("dflash")) > CAUGHT


def test_a_token_drawn_cooler_than_it_is_judged_breaks_the_law(monkeypatch):
    def cooler(self, draft, logits, width, first):
        judged = transform(logits, draft.sampling)
        drawn = transform(logits / 0.7, draft.sampling)
        tokens = [
            draft.randomness.draw(q, ("draft", draft.round, first + index)).token for index, q in enumerate(drawn)
        ]
        return [[(token, q)] for token, q in zip(tokens, judged, strict=True)], len(tokens)

    monkeypatch.setattr(drawing.Independent, "level", cooler)
    assert error(case("dflash")) > CAUGHT


def test_a_slot_that_was_told_the_token_before_it_judged_by_what_the_pass_alone_said_breaks_the_law(monkeypatch):
    def blind(self, draft, logits, width, first):
        depths = draft.tree.depths
        slots = DFlashDrafter.answer(self.drafter, draft.tree, [len(depths) - 1])
        tokens = [draft.randomness.draw(transform(logits, draft.sampling)[0], ("draft", draft.round, first)).token]
        return [[(tokens[0], transform(slots, draft.sampling)[0])]], 1

    fill = DSparkDrafter._fill

    def noted(self, root, depth, proposal):
        drawing.Independent.drafter = self
        fill(self, root, depth, proposal)

    monkeypatch.setattr(drawing.Independent, "drafter", None, raising=False)
    monkeypatch.setattr(DSparkDrafter, "_fill", noted)
    monkeypatch.setattr(drawing.Independent, "level", blind)
    assert error(case("dspark")) > CAUGHT


@pytest.mark.parametrize("draw", ["top_k", "without_replacement"])
@pytest.mark.parametrize(
    ("drafter", "more"),
    [("dflash", {}), ("dspark", {}), ("medusa", {"nodes": 0}), ("masked_block", {"nodes": 0, "passes": 1})],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_best_paths_of_a_block_keep_the_law_ranked_or_drawn_whatever_filled_it(drafter, more, draw):
    assert error(paths_of(drafter, draw, **more)) < EXACT


def paths_of(drafter: str, draw: str, **more: object) -> ProofCase:
    grown = (("budget", 3), ("draw", draw))
    ranked = replace(case(drafter), tree_policy="ddtree", tree_policy_options=grown, length=3)
    return replace(ranked, options=(*ranked.options, *more.items()))


def test_choosing_among_drawn_tokens_by_their_own_probabilities_breaks_the_law(monkeypatch):
    """Two siblings are drawn at once, and the likelier comes first, or alone."""
    take = drawing.DrawnSiblings.take

    def best_of_two(self, draft):
        if self.left == 0.0:
            return self.spare
        self.spare, first = sorted((take(self, draft), take(self, draft)), key=lambda sibling: sibling.prob)
        return first

    monkeypatch.setattr(drawing.DrawnSiblings, "take", best_of_two)
    assert error(paths_of("dflash", "without_replacement")) > CAUGHT
