"""Blocks drafted in one pass keep the target's law, and what is easily done wrong with them does not.

On every branch of a toy of two tokens. The wrong ones judge a token by another distribution than it was drawn from, or
let a drawn token decide whether it is submitted.
"""

from dataclasses import replace

import pytest
import torch

from specviz.core.sampling import transform
from specviz.drafters.dflash import DFlashDrafter
from specviz.drafters.drafting.growing import GrowingDraft
from specviz.drafters.dspark import DSparkDrafter
from specviz.drafters.learned.module import MODULES, TargetParts, fresh
from specviz.drafters.learned.weights import write_module
from specviz.options import from_mapping
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


def judged_by(monkeypatch, drafter, rows) -> None:
    """Tokens of a chain are drawn as ever, and judged by what `rows` makes of the drafter and its tree."""

    def level(self, draft, logits, width, first):
        token = draft.randomness.draw(transform(logits, draft.sampling)[0], ("draft", draft.round, first)).token
        return [[(token, transform(rows(self.drafter, draft.tree), draft.sampling)[0])]], 1

    fill = drafter._fill

    def noted(self, root, depth, proposal):
        drawing.Independent.drafter = self
        fill(self, root, depth, proposal)

    monkeypatch.setattr(drawing.Independent, "drafter", None, raising=False)
    monkeypatch.setattr(drafter, "_fill", noted)
    monkeypatch.setattr(drawing.Independent, "level", level)


def blind(drafter, tree):
    """What the pass alone says below the last node."""
    return drafter.slots[[tree.depths[-1]]]


def test_a_slot_that_was_told_the_token_before_it_judged_by_what_the_pass_alone_said_breaks_the_law(monkeypatch):
    judged_by(monkeypatch, DSparkDrafter, blind)
    assert error(case("dspark")) > CAUGHT


@pytest.fixture(scope="module")
def second(tmp_path_factory) -> ProofCase:
    """DFlash 2 on a toy of three tokens, of which a slot selects two: its rows mixed, its weights random."""
    return random_block(tmp_path_factory, slots=2, selector_rank=2, selected=2, convolution=3)


def random_block(tmp_path_factory, **shape) -> ProofCase:
    chain = replace(case("dflash"), vocab_size=3, length=3)
    target = chain.models()[0]
    kind = MODULES.get("dflash")
    module = fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, shape))
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    folder = tmp_path_factory.mktemp("second") / "dflash"
    write_module(module, folder, {})
    return replace(chain, options=(("weights", str(folder)), ("gamma", 2)))


def test_a_chain_of_selected_tokens_judged_by_the_scores_behind_the_token_before_keeps_the_law(second):
    assert error(second) < EXACT


@pytest.mark.parametrize("draw", ["top_k", "without_replacement"])
def test_the_best_paths_through_selected_tokens_keep_the_law_ranked_or_drawn(second, draw):
    grown = (("budget", 3), ("draw", draw))
    assert error(replace(second, tree_policy="ddtree", tree_policy_options=grown)) < EXACT


def test_branches_that_a_second_pass_chose_among_keep_the_law(tmp_path_factory):
    causal = random_block(tmp_path_factory, slots=2, causal=True)
    grown = (("budget", 3), ("rescore", True))
    assert error(replace(causal, tree_policy="ddtree", tree_policy_options=grown)) < EXACT


def among_all(drafter, tree):
    """The scores of every token, not only of those that can be drafted."""
    node, module = len(tree) - 1, drafter.module
    before = module.rows_before(torch.tensor([tree.tokens[node]]))
    slots = [tree.depths[node]]
    return drafter.slots[slots] + module.selector(drafter.states[slots], before, drafter.followers[None])


@pytest.mark.parametrize("rows", [blind, among_all], ids=["by the pass alone", "among all tokens"])
def test_a_selected_token_judged_by_any_other_scores_breaks_the_law(monkeypatch, second, rows):
    judged_by(monkeypatch, DFlashDrafter, rows)
    assert error(second) > CAUGHT


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
