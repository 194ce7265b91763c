"""Heads, entropies, agreements and ranks of whole distributions: by torch and by the compiled sweep the same."""

from math import inf, log

import pytest
import torch

from specviz.core.compiled import library
from specviz.core.draws import Room
from specviz.core.transfer import Fetch
from specviz.core.tree import DraftTree
from specviz.engine import measured
from specviz.engine.measured import SOURCE, Sweep, ranks
from specviz.engine.waiting import Swept
from specviz.trace.events import Agreement, TopK

needs_compiler = pytest.mark.skipif(library(SOURCE) is None, reason="there is no compiler here")
WAYS = ["torch", pytest.param("compiled", marks=needs_compiler)]


@pytest.fixture(params=WAYS)
def sweep(request, monkeypatch):
    """sweep(top): both ways of doing the same."""
    if request.param == "torch":
        monkeypatch.setattr(measured, "library", lambda source: None)
    return Sweep


def test_a_head_is_the_most_probable_tokens_and_the_mass_that_is_left(sweep):
    assert sweep(2).head(torch.tensor([0.125, 0.5, 0.125, 0.25])) == TopK([1, 3], [0.5, 0.25], 0.25)


def test_a_head_ends_before_what_is_rounded_to_nothing(sweep):
    assert sweep(3).head(torch.tensor([1.0, 0.0, 4e-7])) == TopK([0], [1.0], 0.0)


@needs_compiler
def test_of_equally_probable_tokens_the_lowest_ids_are_in_the_head():
    assert Sweep(2).head(torch.full((40,), 1 / 40)).tokens == [0, 1]
    assert Sweep(2).head(torch.tensor([0.25, 0.125, 0.375, 0.25])).tokens == [2, 0]


def test_bits_divergence_and_overlap_are_those_of_the_pair_at_a_node(sweep):
    targets = torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    swept = sweep(3)(targets, [([1, 0], torch.tensor([[0.25, 0.25, 0.5], [0.25, 0.5, 0.25]]))])
    assert swept.agreements == [
        Agreement(target_bits=1.5, draft_bits=1.5, kl_bits=0.25, overlap=0.75),
        Agreement(target_bits=1.0, draft_bits=1.5, kl_bits=1.0, overlap=0.5),
        Agreement(target_bits=0.0),
    ]
    assert swept.targets[1] == TopK([0, 1], [0.5, 0.5], 0.0)
    assert swept.drafts == [TopK([1, 0, 2], [0.5, 0.25, 0.25], 0.0), TopK([2, 0, 1], [0.5, 0.25, 0.25], 0.0), None]


def test_a_draft_that_leaves_out_a_token_of_the_target_diverges_without_bound(sweep):
    swept = sweep(3)(torch.tensor([[0.5, 0.25, 0.25]]), [([0], torch.tensor([[1.0, 0.0, 0.0]]))])
    assert swept.agreements[0] == Agreement(target_bits=1.5, draft_bits=0.0, kl_bits=None, overlap=0.5)


def test_logits_become_probabilities_and_an_excluded_token_has_none(sweep):
    logits = torch.tensor([[log(2.0), 0.0, -inf, 0.0]]) + 30
    swept = sweep(4)(logits, [([0], logits)], logits=True)
    assert swept.targets == [TopK([0, 1, 3], [0.5, 0.25, 0.25], 0.0)]
    assert swept.agreements[0] == Agreement(target_bits=1.5, draft_bits=1.5, kl_bits=0.0, overlap=1.0)


def test_what_both_models_exclude_makes_no_difference_between_them(sweep):
    target, draft = torch.tensor([[log(2.0), 0.0, -inf, 0.0]]), torch.tensor([[0.0, 0.0, -inf, log(2.0)]])
    swept = sweep(4)(target, [([0], draft)], logits=True)
    assert swept.agreements[0] == Agreement(target_bits=1.5, draft_bits=1.5, kl_bits=0.25, overlap=0.75)


@needs_compiler
@pytest.mark.parametrize("vocab", [5, 16, 37, 4096])
@pytest.mark.parametrize("logits", [True, False], ids=["logits", "probabilities"])
def test_the_compiled_sweep_says_what_torch_says(monkeypatch, vocab, logits):
    """Rows of a wider tensor, as those of a padded vocabulary are; tokens of very small probability among them."""
    torch.manual_seed(vocab)
    rows = 9 * torch.randn(7, vocab + 3)[:, :vocab]
    rows = rows if logits else rows.softmax(-1)
    targets, drafts = rows[:4], [([0, 1], rows[4:6]), ([3], rows[6:])]
    swept = Sweep(10)(targets, drafts, logits)
    monkeypatch.setattr(measured, "library", lambda source: None)
    plain = Sweep(10)(targets, drafts, logits)
    assert [node for node, head in enumerate(swept.drafts) if head] == [0, 1, 3]
    heads, others = ([*seen.targets, *filter(None, seen.drafts)] for seen in (swept, plain))
    for head, same in zip(heads, others, strict=True):
        assert head.tokens == same.tokens
        assert [*head.probs, head.rest] == pytest.approx([*same.probs, same.rest], abs=1.01e-6)
    for node, agreement in enumerate(swept.agreements):
        same = plain.agreements[node]
        assert agreement.target_bits == pytest.approx(same.target_bits, abs=1.01e-4)
        if node != 2:
            assert agreement.draft_bits == pytest.approx(same.draft_bits, abs=1.01e-4)
            assert agreement.kl_bits == pytest.approx(same.kl_bits, abs=1.01e-4)
            assert agreement.overlap == pytest.approx(same.overlap, abs=1.01e-4)


@pytest.mark.parametrize("temperature", [0.05, 0.8, 3.0])
def test_probabilities_tell_the_same_whether_the_logits_they_were_made_of_are_known(sweep, temperature):
    """Excluded tokens, equal logits and drafts of their own among them."""
    torch.manual_seed(5)
    logits = 3 * torch.randn(3, 131)
    logits[0, 7:90] = -inf
    logits[1, 3] = logits[1, 100] = 20.0
    probs, drafts = (logits / temperature).softmax(-1), [([0, 1], torch.randn(2, 131).softmax(-1))]
    whole = sweep(10)
    fetch, raw = Fetch(), whole.ask(Fetch(), logits, logits=True)
    seen = whole.ask(fetch, probs, drafts, made_of=[logits], temperature=temperature)()
    alone = sweep(10)(probs, drafts)
    assert raw().targets[1].tokens[:2] == [3, 100]
    assert seen.targets == alone.targets
    assert seen.drafts == alone.drafts
    for agreement, same in zip(seen.agreements, alone.agreements, strict=True):
        assert agreement.target_bits == pytest.approx(same.target_bits, abs=1.01e-4)
        assert agreement.draft_bits == same.draft_bits
        assert agreement.kl_bits == pytest.approx(same.kl_bits, abs=1.01e-4)
        assert agreement.overlap == same.overlap


@needs_compiler
@pytest.mark.parametrize("rejected", [True, False])
def test_a_chain_by_one_call_is_told_as_its_rows_are_one_after_another(rejected):
    torch.manual_seed(7)
    logits, believed, temperature = 3 * torch.randn(4, 131), 3 * torch.randn(3, 131), 0.8
    room = torch.vstack([(logits / temperature).softmax(-1), torch.randn(1, 131).softmax(-1)])
    q, rest, nodes, fetch = (believed / temperature).softmax(-1), room[4] if rejected else None, range(3), Fetch()
    sweep, other = Sweep(10), Sweep(10)
    rooms = [Room(whole, whole.unbind(), whole.data_ptr()) for whole in (room, q)]
    one = sweep.ask_chain(logits, (nodes, believed), *rooms, temperature, rest)
    head = None if rest is None else other.ask_head(fetch, rest)
    raw = other.ask(fetch, logits, [(nodes, believed)], logits=True)
    judged = other.ask(fetch, room[:4], [(nodes, q)], made_of=[logits, believed], temperature=temperature)
    told, fresh = other.since((0, 0)), sweep.since((0, 0))
    assert (one[0](), one[1]()) == (raw(), judged())
    assert list(fresh()) == list(told())
    assert one[2] is head is None or one[2]() == head()


@needs_compiler
def test_a_sweep_goes_on_to_more_rows_and_another_vocabulary():
    sweep = Sweep(2)
    sweep.head(torch.tensor([1.0, 0.0]))
    assert sweep(torch.eye(3), []).targets == [TopK([i], [1.0], 0.0) for i in range(3)]


def test_whoever_asks_before_others_have_seen_their_answers_gets_the_own_ones(sweep):
    """Rows of two vocabularies; a single row of a draft; ranks in rows that are swept and in others."""
    tree = DraftTree.from_root(0)
    tree.add(0, 2, "point_mass", None, "test")
    fetch, whole = Fetch(), sweep(1)
    half, quarter = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.25, 0.25, 0.5]])
    first = whole.ask(fetch, half, [([0], quarter[0])])
    second, alone = whole.ask(fetch, quarter), whole.ask_head(fetch, half[0])
    ranked, unswept = whole.ask_ranks(fetch, quarter, tree), whole.ask_ranks(fetch, quarter + 1, tree)
    third = whole.ask(fetch, torch.eye(4)[3:])
    assert third().targets == [TopK([3], [1.0], 0.0)]
    assert second().targets == [TopK([2], [0.5], 0.5)]
    assert alone() == TopK([0], [0.5], 0.5)
    assert second().agreements == [Agreement(target_bits=1.5)]
    assert first() == Swept(
        [TopK([0], [0.5], 0.5)],
        [TopK([2], [0.5], 0.5)],
        [Agreement(1.5, draft_bits=1.5, kl_bits=0.25, overlap=0.75)],
    )
    assert ranked() == unswept() == [None, 1]
    assert whole.head(half[0]) == TopK([0], [0.5], 0.5), "one who asks later is answered too"


@needs_compiler
@pytest.mark.parametrize("top", [1, 10, 64, 70])
@pytest.mark.parametrize("vocab", [63, 64, 131, 640])
def test_a_compiled_head_is_that_of_a_stable_sort_where_many_numbers_are_equal(top, vocab):
    torch.manual_seed(top)
    logits = torch.randint(0, 5, (6, vocab)).float()
    logits[0] = 7.0
    logits[1, :50] = -inf
    for row, head in zip(logits, Sweep(top)(logits, [], logits=True).targets, strict=True):
        order = row.argsort(descending=True, stable=True)[:top].tolist()
        assert head.tokens == [token for token in order if row[token] > -inf]


@pytest.mark.parametrize("way", WAYS)
def test_ranks_count_what_stands_before_a_token_and_equal_ones_with_lower_ids(way, monkeypatch):
    if way == "torch":
        monkeypatch.setattr(measured, "library", lambda source: None)
    row = [0.0] * 40
    row[3] = row[20] = row[39] = 1.0
    row[37] = 2.0
    tree = DraftTree.from_root(0)
    for token in (39, 20, 3, 37, 38, 0):
        tree.add(0, token, "point_mass", None, "test")
    assert ranks(torch.tensor([row] * 7), tree) == [None, 4, 3, 2, 1, 40, 5]
