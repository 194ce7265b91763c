"""The proof's toys tell methods apart: a walk of one drafter's draft is no other drafter's walk under another name."""

from itertools import combinations

import pytest
import torch

from specviz.lm.base import Blocks
from specviz.lm.table import TableModel
from specviz.proof import document
from specviz.proof.exhaustive import ProofCase, branches
from specviz.proof.small_models import STILL, option_sets
from tests.proof.planted_list import DOCUMENT

HEADS = ("medusa", "hydra", "markov", "masked_block")
PROMPT = (0, 1, 2, 0, 1, 0, 0, 1)


def answers(drafter: str) -> list[float]:
    """What the drafter's networks say after the root, then after its first candidate: logits of three tokens each."""
    case = ProofCase(drafter, "sequential", tuple(option_sets(drafter)[0].items()), prompt=PROMPT, length=4)
    record = next(branches(case, (), 0)).records[0]
    return [value for _, rows in record.proposal.draft_logits for row in rows for value in row.tolist()][:6]


def test_no_two_kinds_of_heads_say_the_same_and_one_alone_says_what_the_target_said() -> None:
    said = {name: answers(name) for name in HEADS}
    for one, other in combinations(HEADS, 2):
        assert max(abs(a - b) for a, b in zip(said[one], said[other], strict=True)) > 0.1, (one, other)
    last = TableModel(3, 1).exact_logits(PROMPT[:-1]).tolist()
    away = {name: max(abs(a - b) for a, b in zip(said[name][:3], last, strict=True)) for name in HEADS}
    assert {name for name, far in away.items() if far < 0.1} == STILL


def test_what_heads_say_is_the_same_in_every_walk() -> None:
    assert answers("medusa") == answers("medusa")


def test_a_toy_that_skips_layers_says_something_else_than_one_that_stops_early() -> None:
    """Blocks of its two layers: the first whole; all but the first MLP; the first MLP alone."""
    target = TableModel(3, 1)
    every, first = frozenset([0, 1]), frozenset([0])
    choices = [Blocks.first(1), Blocks(every, frozenset([1])), Blocks(frozenset(), first)]
    rows = [target.running(blocks).exact_logits((0, 1)) for blocks in choices]
    assert all(not torch.allclose(one, other) for one, other in combinations(rows, 2))
    assert torch.equal(rows[0], target.exit.exact_logits((0, 1)))
    assert torch.equal(target.partial([0, 1], target.new_cache(), None, choices[1])[-1], rows[1])


def rows_of_the_page() -> dict[str, dict[str, tuple[str, ...]]]:
    """By drafter and verifier what the walk found, of the drafters that draft as their own options say."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in document.section(DOCUMENT.read_text(encoding="utf-8"), "exact").strip().splitlines()[2:]:
        drafter, growth, stop, verifier, _, _, _, *numbers = (cell.strip() for cell in line.strip("|").split("|"))
        if (growth, stop) == ("own", "–"):
            found.setdefault(drafter.strip("`"), {})[verifier.strip("`")] = tuple(numbers)
    return found


SHORT = {"greedy", "gls"}
"""verifiers walked over a handful of rounds, at temperature 0 or over two tokens: their rows agree by chance"""


@pytest.mark.parametrize("drafter", sorted(set(rows_of_the_page()) - {"none"}))
def test_no_other_drafter_has_its_rows_digit_for_digit(drafter: str) -> None:
    """One row may agree by chance; those of a chain are the same for several verifiers, and count once."""
    rows = rows_of_the_page()
    own = rows.pop(drafter)
    for other, theirs in rows.items():
        same = {own[verifier] for verifier in (own.keys() & theirs.keys()) - SHORT if own[verifier] == theirs[verifier]}
        assert len(same) <= 1, (other, same)


def test_in_every_row_something_was_drafted_and_of_every_kind_something_accepted_and_something_rejected() -> None:
    """Of a row whose walk did not see that the last cell names what is missing."""
    for drafter, rows in rows_of_the_page().items():
        for verifier, (per_round, _, law) in rows.items():
            assert ("NOT PROVED" in law, float(per_round) > 0) == (False, drafter != "none"), (drafter, verifier)
