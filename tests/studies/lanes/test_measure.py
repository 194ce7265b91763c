"""The comparison of asynchronous methods on tiny checkpoints: every method on every prompt, and what the rows say."""

import pytest

from specviz.asynchronous.process import Job
from specviz.core.sampling import Sampling
from specviz.lm.load import load
from specviz.lm.place import Origin
from specviz.proof.small_models import small_pair
from specviz.protocol.lanes import DRAFT, TARGET, Lanes, Span
from specviz.studies.lanes.measure import METHODS, SERVERS, LanesPlan, Timed, case, clock_of, compare, fan_outs
from tests.lm.conftest import checkpoint, one_thread

__all__ = ["checkpoint", "one_thread"]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_method_writes_plain_decodings_texts(checkpoint, temperature):
    target = str(checkpoint("llama"))
    model, lines = load(target).model, []
    plan = LanesPlan([("a", [1, 2, 3]), ("b", [4, 5])], 10, temperature, 1, 3, 6, 5, 2, 1)
    compared = compare(model, model, Origin(target), plan, lambda token: False, lines.append)
    rows = compared.rows
    assert [one.method for one in rows] == list(METHODS)
    assert [(one.same_text, one.texts) for one in rows] == [(4, 4)] * 5
    assert lines == ["a, repeat 1", "b, repeat 1", "a, repeat 2", "b, repeat 2"]
    plain, sd, *_ = rows
    assert (plain.ratio, plain.drafter_busy, plain.discarded) == (1.0, 0.0, 0.0)
    assert sd.drafter_busy > 0, "the target drafts for itself"
    assert all(0 < one.target_busy <= 1 for one in rows)


PROMPT = (1, 2)
JOB = Job("dsi", PROMPT, 8, Sampling(0.0), 0, gamma=2)


def measured(text: list[int]) -> dict[str, Lanes]:
    """Plain passes of 4 s; drafting takes 1 s a token, a pass over three rows 6 s."""
    plain = [Span(TARGET, "verify", 4.0 * place, 4.0 * place + 4, 0, 1) for place in range(6)]
    turn = [
        Span(DRAFT, "draft", 0, 2, 2),
        Span(TARGET, "verify", 2, 8, 2, 3, 2),
        Span(DRAFT, "draft", 8, 10, 2),
        Span(TARGET, "verify", 10, 16, 2, 3, 2),
    ]
    late = [*turn, Span(DRAFT, "draft", 15.5, 17, 1), Span(DRAFT, "draft", 17, 18, 1)]
    return {
        "plain": Lanes("plain", text, 24.0, plain),
        "sd": Lanes("sd", text, 16.0, turn),
        "amusd": Lanes("amusd", text, 16.0, late),
    }


@pytest.fixture(scope="module")
def target():
    return small_pair()[0]


@pytest.fixture(scope="module")
def text(target) -> list[int]:
    """The model's own greedy text."""
    from specviz.asynchronous.side import Draws, Speaker
    from specviz.core.randomness import SeededRandom

    return [*PROMPT, *Speaker(target, Draws(Sampling(0.0), SeededRandom(0))).next_tokens(PROMPT, 6)]


def test_the_clock_is_that_of_the_measured_passes(text):
    clock = clock_of(measured(text))
    assert clock.draft_s == 1.0
    assert [clock.target_s(rows) for rows in (1, 2, 3)] == [4.0, 5.0, 6.0]


def test_a_drafter_that_is_always_right_is_simulated_to_be_faster_than_in_turn(target, text):
    found = case(measured(text), target, JOB, 0.0)
    seen = [(run.method, run.source) for run in found.runs]
    assert seen == [("plain", "measured"), ("sd", "measured"), ("amusd", "measured"), ("dsi", "simulated")]
    dsi = found.runs[-1]
    assert (dsi.tokens, dsi.discarded()) == (6, 0)
    assert dsi.seconds == 1.0 * 6 + 6.0, "three drafts of two tokens, and the last one's pass"
    assert dsi.lanes() == [DRAFT, *(f"{TARGET} {place + 1}" for place in range(SERVERS))]


def test_a_drafter_that_is_mostly_wrong_writes_the_same_number_of_tokens(text):
    other = small_pair(seed=9)[0]
    dsi = case(measured(text), other, JOB, 0.0).runs[-1]
    assert dsi.tokens == 6
    assert dsi.discarded() > 0


def test_what_a_drafter_was_still_at_is_cut_where_the_text_was_over(target, text):
    amusd = case(measured(text), target, JOB, 0.0).runs[2]
    assert max(span.end_s for span in amusd.spans) == 16.0
    assert len(amusd.spans) == 5


def test_every_fan_out_is_decoded_beside_the_methods_and_only_the_chosen_one_is_a_method(checkpoint):
    """The target drafts for itself, three tokens at a time: of ten, two verdicts are followed by another draft."""
    target = str(checkpoint("llama"))
    plan = LanesPlan([("a", [1, 2, 3])], 10, 0.0, 1, 3, 6, 5, 1, 2)
    model = load(target).model
    found = fan_outs(compare(model, model, Origin(target), plan, lambda token: False).fan_outs, plan)
    seen = [(one.fan_out, one.branches, one.verdicts) for one in found]
    assert seen == [(0, 0, 2), (1, 4, 2), (2, 8, 2), (4, 16, 2), (8, 32, 2)]
    assert (found[0].hits, found[0].ready) == (0, 0.0)
    assert all(one.source == "measured" and one.ratio > 0 for one in found)


def test_a_hit_is_a_verdict_behind_which_something_was_ready_and_ratios_are_medians():
    """Two texts, of three drafts and of two: the first draft of a text follows no verdict."""
    longer = [
        Span(TARGET, "verify", 0, 1, 4, 5, 4),
        Span(TARGET, "verify", 1, 2, 4, 1),
        Span(TARGET, "verify", 2, 3, 2, 2),
    ]
    runs = [Timed(Lanes("ssd", [], 3.0, longer, [4, 0]), 1.5), Timed(Lanes("ssd", [], 2.0, longer[1:], [1]), 0.9)]
    (row,) = fan_outs({2: runs}, LanesPlan([], 10, 0.0, 1, 4, 6, 5, 1, 2))
    assert (row.branches, row.hits, row.verdicts, row.ratio) == (10, 2, 3, 1.2)
    assert row.ready == 0.625, "5 of 4 + 2 + 2"
