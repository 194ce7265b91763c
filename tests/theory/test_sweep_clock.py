"""A recorded sweep on another machine's clock, each number worked out by hand from `tests.app.lab.sweeps`."""

from dataclasses import replace

import pytest

from specviz.errors import OptionError
from specviz.protocol.choice import Choice
from specviz.protocol.clocks import WIDTHS, MachineClock, TriedRounds
from specviz.protocol.sweeps.definition import DrafterEntry
from specviz.protocol.sweeps.points import RunCost, SweepPoint
from specviz.protocol.sweeps.result import SweepResult
from specviz.theory.sweep_clock import MOST_WIDTHS, predict, question
from specviz.trace.header import StepTime
from tests.app.lab.sweeps import MACHINE, drafted, hasty, plain, sweep_result

BARE = MachineClock(
    machine=replace(MACHINE, processor="Here"),
    target_sha256="aa",
    step_times=(StepTime(1, 22, 0.004, 0.004, 0.004), StepTime(3, 22, 0.0045, 0.0045, 0.0045)),
    round_times=(StepTime(1, 22, 0.0045, 0.0045, 0.0045), StepTime(3, 22, 0.005, 0.005, 0.005)),
    draft_steps={"dd": 0.0005},
    tried=(TriedRounds(("none", None), 0.0, (1, 1), 0.004, 0.001),),
    repeats=9,
    seconds=3.0,
)
"""a pass over one row takes half as long as in the sweep, one over three 5 ms behind drafting and 4.5 ms alone; the
rest half. Only plain decoding was tried"""


def tried(*rounds: TriedRounds) -> MachineClock:
    return replace(BARE, tried=(*BARE.tried, *rounds))


HALF = TriedRounds(("model", 2), 0.002, (3, 3), 0.005, 0.001)
"""rounds of `drafted` whose drafting and rest take half as long as in the sweep, their passes what bare ones take"""
CLOCK = tried(HALF)
FIVE = (StepTime(1, 22, 0.0045, 0.0045, 0.0045), StepTime(5, 22, 0.0065, 0.0065, 0.0065))


def test_a_run_takes_its_rows_its_drafting_and_the_rest_at_the_other_machines_prices() -> None:
    """Plain: 12 passes of 4 ms and 12 ms for the rest: 12 tokens in 60 ms. With drafts: 6 passes over three rows of
    5 ms, 24 ms of drafting at half, 12 ms besides at half: 48 ms."""
    was, now = predict(sweep_result(plain(), drafted()), CLOCK).points
    assert (was.decode_s, was.tokens_per_s, was.ratio) == pytest.approx((0.06, 200.0, 1.0))
    assert (now.decode_s, now.tokens_per_s, now.baseline_tokens_per_s) == pytest.approx((0.048, 250.0, 200.0))
    assert now.ratio == pytest.approx(1.25)
    assert now.cost == RunCost(
        draft_s=pytest.approx(0.012), target_s=pytest.approx(0.033), judge_s=pytest.approx(0.0006),
        commit_s=pytest.approx(0.0024), draft_passes=12, draft_pass_s=pytest.approx(0.009), target_rows=18,
        target_pass_s=pytest.approx(0.03),
    )  # fmt: skip
    assert (now.step_times, now.draft_step_s) == (CLOCK.step_times, pytest.approx(0.0005))


def test_on_its_own_clock_a_sweep_is_what_it_was() -> None:
    """t(1) of 8 ms and t(3) of 9 ms, as its passes took; 4 ms of drafting; 2 ms besides."""
    times = (StepTime(1, 22, 0.008, 0.008, 0.008), StepTime(3, 22, 0.009, 0.009, 0.009))
    own = (
        TriedRounds(("none", None), 0.0, (1, 1), 0.008, 0.002),
        TriedRounds(("model", 2), 0.004, (3,), 0.009, 0.002),
    )
    same = replace(CLOCK, step_times=times, round_times=times, draft_steps={"dd": 0.001}, tried=own)
    assert [point.ratio for point in predict(sweep_result(plain(), drafted()), same).points] == pytest.approx(
        [1, 4 / 3]
    )


def test_a_slower_drafter_costs_the_speedup() -> None:
    """8 ms of drafting a round: 48 of 84 ms."""
    _, now = predict(sweep_result(plain(), drafted()), tried(replace(HALF, draft_s=0.008))).points
    assert now.ratio == pytest.approx(60 / 84)


def test_a_drafter_without_passes_meets_the_targets_weights_where_plain_decoding_left_them() -> None:
    """6 passes over three rows of 4.5 ms: 27 ms, and 36 ms besides at half."""
    copied = drafted(drafter="ngram", label="ngram", cost=replace(drafted().cost, draft_passes=0, draft_pass_s=0.0))
    _, now = predict(sweep_result(plain(), copied), CLOCK).points
    assert now.decode_s == pytest.approx(0.027 + 0.018)


def chain(gamma: int) -> SweepPoint:
    """As `drafted`, with so many candidates in each of 6 rounds."""
    return drafted(gamma=gamma, cost=replace(drafted().cost, target_rows=6 * (1 + gamma)))


def test_what_was_decoded_there_takes_what_its_real_rounds_took() -> None:
    """6 rounds of 3 ms of drafting, a pass of 6 ms where the bare one takes 5, 1.5 ms besides: 63 ms."""
    clock = tried(TriedRounds(("model", 2), 0.003, (3, 3), 0.006, 0.0015))
    _, now = predict(sweep_result(plain(), drafted()), clock).points
    assert now.decode_s == pytest.approx(0.063)
    assert (now.cost.draft_s, now.cost.target_pass_s) == pytest.approx((0.018, 0.036))


def test_a_chain_between_the_shortest_and_the_longest_takes_what_lies_between_theirs() -> None:
    """Drafting takes 2 ms for one candidate, 6 for three; passes what bare ones take; 1 and 3 ms besides."""
    bare = {rows: 0.0045 + 0.00025 * (rows - 1) for rows in (2, 4)}
    clock = tried(
        TriedRounds(("model", 1), 0.002, (2,), bare[2], 0.001), TriedRounds(("model", 3), 0.006, (4,), bare[4], 0.003)
    )
    *_, now, _ = predict(sweep_result(plain(), chain(1), chain(2), chain(3)), clock).points
    assert (now.gamma, now.cost.draft_s) == (2, pytest.approx(6 * 0.004))
    assert now.decode_s == pytest.approx(6 * (0.004 + 0.005 + 0.002))


def test_a_chain_beyond_the_longest_takes_passes_and_the_rest_as_the_longest_and_drafts_on_its_chains_line() -> None:
    """2 ms for one candidate and 6 for three: 8 for four. A pass takes twice as long as the bare one where there are
    three, 3 ms besides; a bare one over five rows 5.5 ms."""
    clock = tried(
        TriedRounds(("model", 1), 0.002, (2,), 0.00475, 0.001), TriedRounds(("model", 3), 0.006, (4,), 0.0105, 0.003)
    )
    clock = replace(clock, round_times=(*BARE.round_times, StepTime(5, 22, 0.0055, 0.0055, 0.0055)))
    *_, now = predict(sweep_result(plain(), chain(1), chain(3), chain(4)), clock).points
    assert now.cost.draft_s == pytest.approx(6 * 0.008)
    assert now.cost.target_pass_s == pytest.approx(6 * 2 * 0.0055)
    assert now.decode_s == pytest.approx(6 * (0.008 + 2 * 0.0055 + 0.003))


def test_a_longer_chain_that_drafted_faster_was_disturbed_and_no_draft_is_free_behind_it() -> None:
    """4 ms for one candidate and 2 for three: as long for five as for three, not nothing."""
    clock = tried(
        TriedRounds(("model", 1), 0.004, (2,), 0.00475, 0.001), TriedRounds(("model", 3), 0.002, (4,), 0.00525, 0.001)
    )
    *_, now = predict(sweep_result(plain(), chain(1), chain(3), chain(5)), clock).points
    assert now.cost.draft_s == pytest.approx(6 * 0.002)


def test_a_repeated_run_stands_beside_plain_decoding_of_the_same_repeat() -> None:
    """Of the second time plain decoding wrote half as much in the same 60 ms."""
    again = replace(plain(repeat=1), output_tokens=6)
    points = predict(sweep_result(plain(), again, drafted(), drafted(repeat=1)), CLOCK).points
    assert [point.ratio for point in points] == pytest.approx([1.0, 1.0, 1.25, 2.5])


def test_a_draft_that_ended_earlier_than_recorded_ones_grows_as_a_chain_does() -> None:
    """A chain's candidate takes 2 ms. Under the stop policy one took 3 ms; recorded were 1.25 in each of 8 rounds."""
    clock = tried(
        TriedRounds(("model", 1), 0.002, (2,), 0.00475, 0.001),
        TriedRounds(("model", 2), 0.004, (3,), 0.005, 0.001),
        TriedRounds(("model · hasty", 2), 0.003, (2, 2), 0.00475, 0.001),
    )
    *_, now = predict(sweep_result(plain(), chain(1), drafted(), hasty(accepted_lengths=(4, 4))), clock).points
    assert now.cost.draft_s == pytest.approx(8 * 0.003 * 1.25)


def test_a_drafter_that_was_not_decoded_there_changes_as_one_that_drafts_alike() -> None:
    """Drafting of the one that was takes 2 ms instead of 4, the rest 3 instead of 2."""
    copied = [
        drafted(drafter=name, label=name, cost=replace(drafted().cost, draft_passes=0, draft_pass_s=0.0))
        for name in ("ngram", "rest")
    ]
    clock = tried(TriedRounds(("ngram", 2), 0.002, (3,), 0.0045, 0.003))
    *_, now = predict(sweep_result(plain(), *copied), clock).points
    assert (now.label, now.decode_s) == ("rest", pytest.approx(6 * (0.002 + 0.0045 + 0.003)))


def with_cards(result: SweepResult, **models: str) -> SweepResult:
    """The same with drafters' own models by title: `drafter`, or `weak` of a drafter of its own."""
    usual = result.provenance.drafters["model"]
    cards = {"drafter": usual, "weak": replace(usual, name="weak", weights_sha256="ww")}
    drafters = {**result.provenance.drafters, **{name: cards[model] for name, model in models.items()}}
    asked = (*result.definition.drafters, DrafterEntry("model", drafter_model="weak"))
    return replace(
        result,
        provenance=replace(result.provenance, drafters=drafters),
        definition=replace(result.definition, drafters=asked),
    )


def with_weak(*points: SweepPoint) -> SweepResult:
    """Beside these points `drafted` with a model of its own, and one that drafts alike with the usual model."""
    trimmed = drafted(drafter="vocabtrim", label="vocabtrim", cost=replace(drafted().cost, draft_s=0.018))
    return with_cards(sweep_result(*points, drafted(label="weak"), trimmed), weak="weak", vocabtrim="drafter")


def test_a_chain_of_another_model_takes_what_real_rounds_with_that_model_took() -> None:
    """2.4 ms of drafting, a pass of 4 ms where the bare one takes 5, 0.5 ms besides."""
    clock = tried(HALF, TriedRounds(("weak", 2), 0.0024, (3, 3), 0.004, 0.0005))
    *_, now, _ = predict(with_weak(plain(), drafted()), clock).points
    assert (now.label, now.cost.draft_s) == ("weak", pytest.approx(6 * 0.0024))
    assert now.decode_s == pytest.approx(6 * (0.0024 + 0.004 + 0.0005))


def test_a_chain_of_another_drafter_changes_as_the_chain_of_the_same_model() -> None:
    """The usual model drafts in half the recorded time there, the other one in twice as much."""
    clock = tried(TriedRounds(("weak", 2), 0.008, (3, 3), 0.005, 0.001), HALF)
    *_, now = predict(with_weak(plain(), drafted()), clock).points
    assert (now.label, now.cost.draft_s) == ("vocabtrim", pytest.approx(0.009))


def with_trees(tried_rounds: TriedRounds) -> tuple[SweepPoint, ...]:
    """Predicted: plain decoding of two prompts, and a tree on each: recorded with 2 ms of drafting for two passes a
    round, and with 5 ms for eight."""
    trees = [
        drafted(gamma=None, prompt=prompt, cost=replace(drafted().cost, draft_passes=6 * passes, draft_s=6 * seconds))
        for prompt, passes, seconds in (("a", 2, 0.002), ("b", 8, 0.005))
    ]
    return predict(sweep_result(plain(), plain(prompt="b"), *trees), tried(tried_rounds)).points


def test_a_tree_that_asks_its_model_more_often_on_one_prompt_takes_longer_there() -> None:
    """Four passes took 6 ms there, twice the 3 ms that lie between."""
    points = with_trees(TriedRounds(("model", None), 0.006, (3,), 0.005, 0.001, draft_passes=4))
    assert [now.cost.draft_s for now in points[2:]] == pytest.approx([6 * 0.004, 6 * 0.01])


def test_a_tree_that_asked_less_often_than_in_any_recorded_run_is_held_against_the_nearest() -> None:
    """One pass took 3 ms there."""
    points = with_trees(TriedRounds(("model", None), 0.003, (3,), 0.005, 0.001, draft_passes=1))
    assert points[2].cost.draft_s == pytest.approx(6 * 0.003)


def test_rounds_that_drafted_nothing_are_passes_over_one_row() -> None:
    """3 rounds over 5 rows and 3 over one: 18 rows. On the line 5 rows take 6.5 ms."""
    seldom = drafted(accepted_lengths=(1, 1, 1))
    clock = replace(tried(replace(HALF, target_pass_s=0.0055)), round_times=FIVE)
    _, now = predict(sweep_result(plain(), seldom), clock).points
    assert now.cost.target_pass_s == pytest.approx(3 * 0.0065 + 3 * 0.0045)


def test_drafters_whose_drafting_was_not_timed_are_named_and_left_out() -> None:
    """One works beside the target, one makes passes of heads, and no round with the other model was decoded there."""
    pearl = drafted(drafter="pearl", label="pearl", cost=replace(drafted().cost, draft_passes=0, draft_pass_s=0.0))
    heads = drafted(drafter="eagle", label="eagle", draft_step_s=None)
    predicted = predict(with_weak(plain(), drafted(), pearl, heads), CLOCK)
    assert [point.label for point in predicted.points] == ["none", "model", "vocabtrim"]
    assert predicted.left_out == ("pearl", "eagle", "weak")


def test_what_is_timed_is_what_the_sweep_ran() -> None:
    """Rounds of one and of three rows; half of 12 tokens and 16 of the prompt are cached."""
    result = sweep_result(plain(), drafted())
    asked = question(replace(result, definition=replace(result.definition, dtype="bfloat16")))
    assert (asked.rows, asked.cached_rows, asked.dtype) == ((1, 3), 22, "bfloat16")
    assert (asked.target, asked.drafter_models) == ("target", ("drafter",))
    assert asked.prompt_id == "a"


def test_the_prompt_of_the_short_runs_has_one_of_the_longer_texts_at_the_lowest_temperature() -> None:
    """Rounds on a and b write two tokens, on c one; the texts of d and e are the longest where they are sampled."""
    runs = [
        drafted(prompt=prompt, output_tokens=tokens, rounds=rounds, temperature=temperature)
        for prompt, tokens, rounds, temperature in (
            ("a", 4, 2, 0.0),
            ("b", 12, 6, 0.0),
            ("c", 12, 12, 0.0),
            ("d", 40, 20, 0.8),
            ("e", 40, 10, 0.8),
        )
    ]
    assert question(sweep_result(plain(), *runs)).prompt_id == "b"


def test_each_model_of_the_usual_drafter_is_tried_under_its_name() -> None:
    asked = question(with_weak(plain(), drafted()))
    assert {case: way.drafter_model for case, way in asked.tried.items()} == {
        ("model", 2): "drafter",
        ("weak", 2): "weak",
    }


def test_of_other_drafters_with_a_model_the_first_of_each_kind_that_the_usual_one_lacks_is_tried() -> None:
    """No chain of the usual drafter was run, but a tree. Two others draft chains and one a tree."""
    ways = (("rasd", None), ("model", None), ("vocabtrim", 2), ("cross_vocabulary", 2))
    result = sweep_result(plain(), *(drafted(drafter=name, label=name, gamma=gamma) for name, gamma in ways))
    result = with_cards(result, **{name: "drafter" for name, _ in ways})
    assert list(question(result).tried) == [("model", None), ("vocabtrim", 2)]


def test_some_ways_of_drafting_are_tried_the_shortest_and_the_longest_drafts_of_each() -> None:
    """Those of the usual drafter under each policy, and of the first drafter that asks no model."""
    copied = [
        replace(chain(gamma), drafter=name, label=name, cost=replace(chain(gamma).cost, draft_passes=0))
        for name in ("ngram", "random")
        for gamma in (1, 2)
    ]
    asked = question(sweep_result(plain(), chain(1), chain(2), chain(3), hasty(), *copied))
    assert list(asked.tried) == [("model", 1), ("model", 3), ("model · hasty", 2), ("ngram", 1), ("ngram", 2)]
    tried_so = asked.tried["model · hasty", 2]
    assert (tried_so.drafter, tried_so.stop_policy.name) == (Choice("model", {"gamma": 2}), "hasty")


def test_of_very_many_widths_the_usual_ones_and_the_widest_are_timed() -> None:
    cost = drafted().cost
    many = [drafted(label=str(n), cost=replace(cost, target_rows=6 * n)) for n in range(2, MOST_WIDTHS + 2)]
    assert question(sweep_result(plain(), *many)).rows == tuple(sorted({*WIDTHS, MOST_WIDTHS + 1}))


def test_a_clock_of_another_target_and_a_sweep_without_plain_decoding_are_refused() -> None:
    with pytest.raises(OptionError, match="other weights than were timed here"):
        predict(sweep_result(plain(), drafted()), replace(CLOCK, target_sha256="bb"))
    with pytest.raises(OptionError, match="no run of plain decoding"):
        predict(sweep_result(drafted()), CLOCK)
