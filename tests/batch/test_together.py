"""Texts decoded together are, token for token, what each is alone: chains and trees, greedy and sampled."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace

import pytest
import torch

from specviz.batch.together import Decoded, Model, SessionOf, Turn, decode_together
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Proposal
from specviz.drafters.capabilities import with_model
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import PromptError
from specviz.lm.llama.batch import LlamaBatch
from specviz.lm.llama.replay import Replays, direct
from specviz.lm.load import load
from specviz.lm.table import TableModel
from specviz.options import Options
from specviz.verifiers.base import VERIFIERS
from tests.batch.one_by_one import OneByOne
from tests.batch.test_pausable import standing
from tests.lm.conftest import checkpoint, one_thread

__all__ = ["checkpoint", "one_thread"]

PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 11], [12, 13]]
SHAPES = {"chain": (1, 1, 1), "tree": (2, 2, 1), "plain": ()}
NEVER = Ending(Limits(3), lambda token: b"")
SAMPLINGS = {"greedy": Sampling(), "sampled": Sampling(0.9), "cut": Sampling(0.8, top_k=5)}


@pytest.fixture
def pair(checkpoint):
    """Two Llama checkpoints of one vocabulary that do not agree."""
    target = load(str(checkpoint("llama", num_key_value_heads=2)), adapter="lean-llama").model
    return target, load(str(checkpoint("llama", intermediate_size=32)), adapter="lean-llama").model


def session_of(number, shape, sampling, most=14, eos=()) -> SessionOf:
    def make(target, drafter) -> Session:
        kind = DRAFTERS.get("model" if shape else "none").of({"branching": shape} if shape else {})
        verifier = VERIFIERS.get("greedy" if sampling.greedy else "sequential").of({})
        method = Method(with_model(kind, drafter), verifier, sampling, SeededRandom(100 + number))
        return Session(target, method, Start(PROMPTS[number]), Ending(Limits(most, frozenset(eos)), lambda token: b""))

    return make


def alone(pair, make: SessionOf) -> tuple[list[int], str | None]:
    session = make(*pair)
    start = len(session.tokens)
    session.begin()
    while session.finished is None:
        session.round()
    return session.tokens[start:], session.finished


def together(pair, sessions, batch_of: Callable = lambda model: model.new_batch()) -> Decoded:
    return decode_together(*(Model(one, batch_of(one)) for one in pair), sessions)


def texts(decoded: Decoded) -> list[tuple[list[int], str | None]]:
    return [(one.tokens, one.reason) for one in decoded.texts]


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_each_text_is_what_it_is_alone(pair, shape, sampling):
    sessions = [session_of(number, shape, sampling) for number in range(4)]
    expected = [alone(pair, make) for make in sessions]
    assert len({tuple(tokens) for tokens, _ in expected}) == 4, "four texts that could be mistaken for one show nothing"
    assert texts(together(pair, sessions)) == expected


def replayed(model):
    there = copy(model)
    there.replays = Replays(there, direct)
    return there


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_each_text_is_what_it_is_alone_where_the_batch_replays_its_passes(pair, shape):
    """They end one after the other, so that lanes are given up on the way."""
    sessions = [session_of(number, shape, SAMPLINGS["sampled"], 5 + 4 * number) for number in range(4)]
    expected = [alone(pair, make) for make in sessions]
    assert texts(together([replayed(model) for model in pair], sessions)) == expected


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_texts_end_at_different_times_by_length_and_by_end_of_text(pair, shape):
    free = [alone(pair, session_of(number, shape, SAMPLINGS["sampled"]))[0] for number in range(4)]
    ends = free[2][4]
    sessions = [
        session_of(number, shape, SAMPLINGS["sampled"], most, [ends]) for number, most in enumerate((3, 14, 14, 1))
    ]
    expected = [alone(pair, make) for make in sessions]
    assert expected[2][1] == "eos"
    assert [reason for _, reason in expected].count("length") >= 2
    decoded = together(pair, sessions)
    assert texts(decoded) == expected
    assert decoded.seconds == max(one.seconds for one in decoded.texts)


def test_a_text_that_fills_the_context_ends_and_the_others_go_on(pair):
    sessions = [session_of(number, (1, 1, 1), Sampling(), most) for number, most in enumerate((1000, 5, 5, 5))]
    decoded = together(pair, sessions)
    assert [len(one.tokens) for one in decoded.texts] == [45, 5, 5, 5]
    assert texts(decoded) == [alone(pair, make) for make in sessions]


def test_all_drafts_share_their_passes_and_so_do_all_verifications(pair):
    """With the target drafting for itself every draft is accepted: two rounds of four tokens, all at once."""
    pair = (pair[0], pair[0])
    sessions = [session_of(number, (1, 1, 1), Sampling(), 8) for number in range(4)]
    decoded = together(pair, sessions)
    assert decoded.passes == {Turn.TARGET: 2, Turn.DRAFTER: 6}
    assert decoded.shares == 8
    assert [(one.rounds, one.drafts, one.drafted, one.accepted) for one in decoded.texts] == [(2, 2, 6, 6)] * 4


class Window(Drafter[Options]):
    """Drafts one token of a list, below which a node rides along; 9 rides along itself; at the end nothing."""

    name = "window"

    def __init__(self, says: list[int]) -> None:
        super().__init__(Options())
        self.says = says

    def propose(self, context: DraftContext) -> Proposal:
        tree = DraftTree.from_root(context.tokens[-1])
        if context.max_depth < 2:
            return Proposal(tree)
        token = self.says.pop(0)
        first = tree.add(0, token, "point_mass", None, "window")
        riding = tree.add(first, 3, "point_mass", None, "window")
        return Proposal(tree, riding=[first, riding] if token == 9 else [riding])


class Always(TableModel):
    """Writes 3 whatever the text."""

    def exact_logits(self, context):
        return torch.tensor([float(token == 3) for token in range(10)], dtype=torch.float64)


def test_counts_are_of_what_was_drafted_and_not_of_what_rode_along() -> None:
    """9 tokens of a target that writes 3, 3, …: 3 is accepted and so is the node that rides below it, 4 is rejected,
    9 rides along itself and is rejected, then 3 again; and in the last rounds nothing is drafted."""

    def make(target, drafter) -> Session:
        method = Method(Window([3, 4, 9, 3]), VERIFIERS.get("greedy").of({}), Sampling(), SeededRandom(1))
        return Session(target, method, Start([1]), Ending(Limits(9), lambda token: b""))

    (one,) = together((Always(10, 1), Always(10, 1)), [make], OneByOne).texts
    assert one.tokens == [3] * 9
    assert (one.rounds, one.drafts, one.drafted, one.accepted) == (5, 3, 3, 2)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_rounds_drafts_and_accepted_candidates_are_those_of_each_text_alone(pair, shape):
    sessions = [session_of(number, shape, SAMPLINGS["sampled"]) for number in range(4)]
    due = []
    for make in sessions:
        session, records = make(*pair), []
        session.begin()
        while session.finished is None:
            records.append(session.round())
        drafted = [record for record in records if len(record.proposal.tree) > 1]
        accepted = sum(len(record.verdict.path) for record in records)
        due.append((len(records), len(drafted), sum(len(one.proposal.tree) - 1 for one in drafted), accepted))
    counts = [(one.rounds, one.drafts, one.drafted, one.accepted) for one in together(pair, sessions).texts]
    assert counts == due
    assert not shape or all(0 < accepted < drafted for _, _, drafted, accepted in counts)


class Watched(LlamaBatch):
    """Takes down how many sequences it holds at each pass."""

    def forward(self, shares):
        self.held = [*getattr(self, "held", []), len(self._caches) - len(self._left)]
        return super().forward(shares)


def test_who_is_over_is_in_no_pass_and_holds_no_place_any_more(pair):
    sessions = [session_of(number, (), Sampling(), most) for number, most in enumerate((2, 4, 4, 1))]
    target, drafter = (Model(one, Watched(one)) for one in pair)
    decoded = decode_together(target, drafter, sessions)
    assert (decoded.passes[Turn.TARGET], decoded.shares) == (4, 4 + 3 + 2 + 2)
    assert target.batch.held[-4:] == [4, 3, 2, 2]
    assert decoded.passes[Turn.DRAFTER] == 0
    assert target.batch._caches == target.batch._left == []


def test_the_order_of_the_texts_changes_none_of_them(pair):
    sessions = [session_of(number, (2, 1), SAMPLINGS["sampled"]) for number in range(4)]
    assert texts(together(pair, sessions[::-1])) == texts(together(pair, sessions))[::-1]


def test_one_text_is_a_batch_and_none_is_nothing(pair):
    make = session_of(2, (2, 1), SAMPLINGS["sampled"])
    assert texts(together(pair, [make])) == [alone(pair, make)]
    assert together(pair, []).texts == []


class Mixed(OneByOne):
    """Gives every text the answer of its neighbour."""

    def forward(self, shares):
        found = super().forward(shares)
        return found[1:] + found[:1] if len({len(one) for one in found}) == 1 else found


@pytest.mark.planted("leak between texts of a batch")
def test_an_answer_that_goes_to_the_neighbour_is_seen():
    pair = TableModel(20, 1), TableModel(20, 2)
    sessions = [session_of(number, (1, 1), Sampling()) for number in range(4)]
    expected = [alone(pair, make) for make in sessions]
    assert texts(together(pair, sessions, OneByOne)) == expected
    assert texts(together(pair, sessions, Mixed)) != expected


class Failing(SeededRandom):
    """Fails once the text is longer than six tokens."""

    def draw(self, probs, key):
        if key[1] > 6:
            raise ArithmeticError("no number")
        return super().draw(probs, key)


def test_an_error_of_one_text_ends_all_and_leaves_none_standing(pair):
    def failing(target, drafter):
        session = session_of(0, (), SAMPLINGS["sampled"])(target, drafter)
        session.method = replace(session.method, randomness=Failing(1))
        return session

    def empty(target, drafter):
        return Session(target, session_of(0, (), Sampling())(target, drafter).method, Start([]), NEVER)

    before, good = standing(), session_of(1, (1,), SAMPLINGS["sampled"])
    with pytest.raises(ArithmeticError, match="no number"):
        together(pair, [good, failing, good])
    with pytest.raises(PromptError, match="the prompt is empty"):
        together(pair, [good, empty, good])
    assert standing() == before


def test_a_text_that_ends_leaves_the_others_and_the_caller_in_the_mode_that_they_were_in(pair):
    """All run in one thread, whose inference mode is everybody's: the shortest text leaves it first."""
    sessions = [session_of(number, (1, 1), SAMPLINGS["sampled"], 2 + 4 * number) for number in range(4)]
    modes: list[bool] = []

    class Seen(LlamaBatch):
        def forward(self, shares):
            modes.append(torch.is_inference_mode_enabled())
            return super().forward(shares)

    together(pair, sessions, Seen)
    assert set(modes) == {True}
    assert not torch.is_inference_mode_enabled()


def test_the_clock_runs_from_the_moment_when_all_prompts_are_read(pair):
    """A clock that ticks at each look: looks are before and after each pass, at the beginning, and at each end."""
    ticks = iter(range(100))
    sessions = [session_of(number, (), Sampling(), most) for number, most in enumerate((1, 2, 2, 2))]
    decoded = decode_together(*(Model(one, one.new_batch()) for one in pair), sessions, lambda: next(ticks))
    assert (decoded.pass_s, decoded.seconds) == (2, 8)
    assert [one.seconds for one in decoded.texts] == [3, 6, 7, 8]
