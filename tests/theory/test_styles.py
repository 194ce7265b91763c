"""Numbers of prompt styles and the sentences they make, on two sums of which every count is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz.protocol.styles import PLAIN, StyleFile
from specviz.studies.styles.numbers import Cost, Group, cheapest, cost, example, group, groups, names, told
from specviz.studies.styles.result import how, hypotheses, sentence
from tests.protocol.test_styles import run, sample

NAME = "sums, asked in words"


def only(file: StyleFile) -> Group:
    (found,) = groups(file)
    return found


def test_a_row_has_tokens_acceptance_accuracy_and_speed() -> None:
    row = only(sample()).row("chain", "model")
    assert row is not None
    assert row.tokens.value == 30
    assert row.alpha is not None
    assert row.alpha.value == 6 / 8, "accepted ÷ tested: of ten drafted, two were unreached"
    assert row.length is not None
    assert row.length.value == 1 + 6 / 5
    assert row.tokens_per_s.value == pytest.approx(200)
    assert row.speedup is not None
    assert row.speedup.value == pytest.approx(2)
    assert (row.accuracy.hits, row.accuracy.of, row.followed.hits, row.same, row.runs) == (2, 2, 2, 2, 2)
    plain = only(sample()).row("chain", PLAIN)
    assert plain is not None
    assert (plain.alpha, plain.length, plain.speedup) == (None, None, None)


def test_seconds_per_correct_answer_are_all_seconds_over_the_right_answers() -> None:
    found = only(sample())
    costs = {style: row.cost for style in ("direct", "chain", "draft") if (row := found.row(style, PLAIN))}
    assert costs["chain"] == Cost(pytest.approx(0.3), pytest.approx(0.3), pytest.approx(0.3))
    bare = costs["direct"]
    assert bare is not None
    assert bare.value == pytest.approx(0.2), "N · time per token ÷ accuracy: 10 tokens · 10 ms ÷ ½"
    assert (bare.low, bare.high) == (pytest.approx(0.1), None), "a resample may hold the wrong answer twice"
    assert costs["draft"] is None
    assert [told(one) for one in costs.values()] == ["0.20 [0.10–]", "0.30 [0.30–0.30]", "none correct"]


def test_a_wrong_answers_seconds_count() -> None:
    """A mean over right answers alone would say 1 s."""
    found = cost([run("direct", 0, PLAIN, 3.0, 0), run("direct", 1, PLAIN, 1.0, 0)])
    assert found is not None
    assert found.value == pytest.approx(4)


def test_groups_are_named_and_in_the_files_order() -> None:
    assert names(sample()) == {NAME: ("sums", "words")}
    assert group(sample(), NAME) == only(sample())
    assert only(sample()).styles == ("direct", "chain", "draft")
    assert only(sample()).drafters == (PLAIN, "model")


def test_the_sentence_says_what_is_followed_and_what_a_right_answer_costs() -> None:
    assert sentence(only(sample())) == (
        "The target follows CoT; texts in the form that was asked for: CoD 0/2. Fewest seconds per correct answer: "
        "no style with drafter model, 10 tokens, 1 of 2 right, 0.10 [0.05–] s per correct answer; no style with plain "
        "decoding, 10 tokens, 1 of 2 right, 0.20 [0.10–] s per correct answer."
    )
    wrong = replace(sample(), runs=tuple(replace(one, right=False) for one in sample().runs))
    assert cheapest(only(wrong)) is None
    assert sentence(only(wrong)).endswith("No answer was right.")
    assert sentence(only(sample(followed=("direct",)))).startswith("The target follows none of these styles; texts ")


def test_a_style_that_is_not_followed_is_never_the_cheapest() -> None:
    right = tuple(replace(one, right=True, seconds=one.seconds / 9) if one.cell.style == "draft" else one
                  for one in sample().runs)  # fmt: skip
    best = cheapest(only(replace(sample(), runs=right)))
    assert best is not None
    assert best.style == "direct"


def test_hypotheses_stand_beside_what_was_measured_or_that_it_was_not() -> None:
    (_, terse), (_, repeats), (_, short) = hypotheses(only(sample()))
    assert terse.startswith("no style with model: α 0.50 [0.50–0.50] against CoT's 0.75 [0.75–0.75]; 10 tokens, 1 of 2")
    assert terse.endswith("Not tested: CoD, which the target does not write.")
    assert repeats == "Not tested: no such drafter was measured."
    assert short.startswith("Not so here, decoded plainly: no style is the shortest, 10 tokens")
    (_, terse), _, (_, short) = hypotheses(only(sample(followed=("direct", "chain", "draft"))))
    assert "CoD with model: α 0.25 [0.25–0.25] against CoT's 0.75" in terse
    assert "Not tested" not in terse
    (_, terse), _, (_, short) = hypotheses(only(sample(followed=("direct",))))
    assert terse.startswith(
        "Not tested: no style, because the target does not write CoT to compare with; CoD, which the target"
    )
    assert short.startswith("Not tested: no two")


def test_the_shortest_answer_may_be_the_dearest() -> None:
    dear = tuple(replace(one, seconds=one.seconds * 9) if one.cell.style == "direct" else one for one in sample().runs)
    _, _, (_, short) = hypotheses(only(replace(sample(), runs=dear)))
    assert short.startswith("So here, decoded plainly: no style is the shortest")


def test_the_example_is_the_question_with_the_most_different_texts() -> None:
    first = sample()
    same = replace(
        first, answers=tuple(replace(one, text="x") if one.cell.number == 0 else one for one in first.answers)
    )
    assert [one.cell.number for one in example(same, "sums", "words")] == [1, 1, 1]
    assert {one.cell.number for one in example(first, "sums", "words")} == {0}


def test_times_taken_beside_other_work_are_called_provisional() -> None:
    busy = replace(sample(), load=sample().machine.threads + 1.0)
    assert "provisional" in how(busy)
    assert how(sample()) == (
        "2 held-out questions, the same in every style, at most 96 tokens an answer, temperature 0, 1 repeat, by the "
        "time that the processor worked, load 0.5 as it ended"
    )
