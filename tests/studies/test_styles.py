"""Prompt styles: what cannot be so is refused; numbers and sentences, on two sums of which every count is known."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.app.studies.chart import draw
from specviz.app.studies.tab import show
from specviz.corpus.prompt_styles import question
from specviz.errors import TraceError
from specviz.studies.styles.numbers import (
    FORMAT,
    PLAIN,
    VERSION,
    Cell,
    Cost,
    Group,
    StyleAnswer,
    StyleFile,
    StyleRun,
    cheapest,
    cost,
    example,
    group,
    groups,
    names,
    told,
    unequal,
)
from specviz.studies.styles.result import STUDY, how, hypotheses, markdown, sentence, view
from specviz.trace import codec

STARTED = codec.read(Path(__file__).parents[1] / "golden" / "trace-1.0-sample.json").started
RIGHT = {"direct": (False, True), "chain": (True, True), "draft": (False, False)}
"""style → which of its two answers are right"""
TOKENS = {"direct": 10, "chain": 30, "draft": 20}


def run(style: str, number: int, drafter: str, seconds: float, accepted: int) -> StyleRun:
    """Ten candidates drafted in five rounds, eight of them tested; nothing by plain decoding."""
    drafts = drafter != PLAIN
    cell = Cell("sums", "words", style, number)
    return StyleRun(cell, drafter, 0, seconds, TOKENS[style], 5 * drafts, 10 * drafts, accepted * drafts, 8 * drafts,
                    RIGHT[style][number], True)  # fmt: skip


def sample(followed: tuple[str, ...] = ("direct", "chain"), accepted: dict[str, int] | None = None) -> StyleFile:
    """Two sums asked in three styles. A token takes 10 ms by plain decoding, 5 ms by `model`."""
    found = accepted or {"direct": 4, "chain": 6, "draft": 2}
    cells = [(style, number) for number in (0, 1) for style in TOKENS]
    answers = tuple(
        StyleAnswer(Cell("sums", "words", style, number), f"{style}?", 4, f"<b>{style}</b> {number}", style in followed)
        for style, number in cells
    )
    runs = [
        run(style, number, drafter, TOKENS[style] * each, found[style])
        for style, number in cells
        for drafter, each in ((PLAIN, 0.01), ("model", 0.005))
    ]
    return StyleFile(
        FORMAT, VERSION, STARTED.machine, STARTED.target, (STARTED.target,), "2026-01-31T12:00:00Z", "process", 0.5,
        "the command", 7, 96, answers, tuple(runs),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (replace(sample(), clock="sun"), "its clock is neither of the two"),
        (replace(sample(), runs=tuple(one for one in sample().runs if one.drafter == PLAIN)), "nothing but plain"),
        (replace(sample(), runs=(*sample().runs, sample().runs[0])), "is there twice"),
        (replace(sample(), runs=sample().runs[1:]), "has no plain decoding to compare with"),
        (replace(sample(), answers=sample().answers[1:]), "has no answer of plain decoding"),
        (replace(sample(), runs=(*sample().runs[:-1], replace(sample().runs[-1], accepted=9))), "impossible times"),
        (replace(sample(), runs=(*sample().runs[:-1], replace(sample().runs[-1], drafts=11))), "impossible drafts"),
        (
            replace(sample(), answers=(replace(sample().answers[0], cell=Cell("sums", "words", "poem", 0)),)),
            "sums 1 words poem is of no kind, way or style",
        ),
    ],
)
def test_what_cannot_be_so_is_refused_when_it_is_written(tmp_path: Path, changed: StyleFile, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        STUDY.codec.write(changed, tmp_path / "styles.json")
    assert not list(tmp_path.iterdir())


NAME = "sums, asked in words"


def only(file: StyleFile) -> Group:
    (found,) = groups(file)
    return found


def test_a_row_has_tokens_acceptance_accuracy_and_speed() -> None:
    row = only(sample()).row("chain", "model")
    assert row.tokens.value == 30
    assert row.alpha.value == 6 / 8, "accepted ÷ tested: of ten drafted, two were unreached"
    assert row.length.value == 1 + 6 / 5
    assert row.tokens_per_s.value == pytest.approx(200)
    assert row.speedup.value == pytest.approx(2)
    assert (row.accuracy.hits, row.accuracy.of, row.followed.hits, row.same, row.runs) == (2, 2, 2, 2, 2)
    plain = only(sample()).row("chain", PLAIN)
    assert (plain.alpha, plain.length, plain.speedup) == (None, None, None)


def test_seconds_per_correct_answer_are_all_seconds_over_the_right_answers() -> None:
    found = only(sample())
    costs = {style: row.cost for style in ("direct", "chain", "draft") if (row := found.row(style, PLAIN))}
    assert costs["chain"] == Cost(pytest.approx(0.3), pytest.approx(0.3), pytest.approx(0.3))
    bare = costs["direct"]
    assert bare.value == pytest.approx(0.2), "N · time per token ÷ accuracy: 10 tokens · 10 ms ÷ ½"
    assert (bare.low, bare.high) == (pytest.approx(0.1), None), "a resample may hold the wrong answer twice"
    assert costs["draft"] is None
    assert [told(one) for one in costs.values()] == ["0.20 [0.10–]", "0.30 [0.30–0.30]", "none correct"]


def test_a_wrong_answers_seconds_count() -> None:
    """A mean over right answers alone would say 1 s."""
    found = cost([run("direct", 0, PLAIN, 3.0, 0), run("direct", 1, PLAIN, 1.0, 0)])
    assert found.value == pytest.approx(4)


def test_groups_are_named_and_in_the_files_order() -> None:
    assert names(sample()) == {NAME: ("sums", "words")}
    assert group(sample(), NAME) == only(sample())
    assert only(sample()).styles == ("direct", "chain", "draft")
    assert only(sample()).drafters == (PLAIN, "model")


def test_the_sentence_says_what_is_followed_and_what_a_right_answer_costs() -> None:
    assert sentence(only(sample())) == (
        "The target follows CoT; texts in the form that was asked for: CoD 0/2. Fewest seconds per correct answer: "
        "no style with drafter model, 10 tokens, 1 of 2 right, 0.10 [0.050–] s per correct answer; no style with plain "
        "decoding, 10 tokens, 1 of 2 right, 0.20 [0.10–] s per correct answer."
    )
    wrong = replace(sample(), runs=tuple(replace(one, right=False) for one in sample().runs))
    assert cheapest(only(wrong)) is None
    assert sentence(only(wrong)).endswith("No answer was right.")
    assert sentence(only(sample(followed=("direct",)))).startswith("The target follows none of these styles; texts ")


def test_a_style_that_is_not_followed_is_never_the_cheapest() -> None:
    right = tuple(
        replace(one, right=True, seconds=one.seconds / 9) if one.cell.style == "draft" else one for one in sample().runs
    )
    best = cheapest(only(replace(sample(), runs=right)))
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


def test_the_chart_has_a_mark_for_each_drafter_and_says_where_none_was_right() -> None:
    figure = draw(view(sample(), NAME).chart)
    costs, alphas = figure.data[0], figure.data[3]
    assert [trace.name for trace in figure.data[::2]] == ["plain decoding", "model"]
    assert list(costs.y) == pytest.approx([0.2, 0.3]), "no mark where no answer was right"
    assert list(costs.error_y.array) == pytest.approx([0, 0]), "no upper end is drawn where none is known"
    assert list(costs.error_y.arrayminus) == pytest.approx([0.1, 0])
    assert [one.text for one in figure.layout.annotations] == ["none correct"]
    assert [one.x for one in figure.layout.annotations] == [2]
    assert list(alphas.y) == [0.5, 0.75, 0.25]
    assert [one.strip() for one in figure.layout.xaxis.ticktext] == ["no style<br>", "CoT<br>2/2", "CoD<br>0/2"]


def test_what_the_target_wrote_is_shown_and_not_obeyed() -> None:
    said, _, rest, _ = show(STUDY, sample(), NAME)
    assert "The target follows CoT" in str(said)
    assert "&lt;b&gt;chain&lt;/b&gt; 0" in str(rest)
    assert "<b>" not in str(rest)
    assert '<td data-column="style">CoD</td><td data-column="in its form">0/2</td>' in str(rest)
    assert "0.10 [0.050–] s; α 0.50, τ 1.80; 200 tokens/s" in str(rest)
    assert "none correct; α 0.25" in str(rest)
    assert "Hypothesis:" in str(rest)


def test_the_report_escapes_what_the_target_wrote_and_says_where_it_comes_from() -> None:
    text = markdown(sample())
    assert "`<b>chain</b> 0`" in text, "as code, so that a page shows it and does not obey it"
    assert "none correct" in text
    assert "*Hypothesis:*" in text
    assert text.endswith("`the command`")
    assert "### Sums, asked in words" in text
    assert question("sums", 7, 0).text not in text, "the sample's own prompts are shown"


def test_another_text_than_plain_decodings_is_named() -> None:
    file = sample()
    runs = tuple(replace(run, same=run.drafter == PLAIN) for run in file.runs)
    wrong = replace(file, runs=runs, target=replace(file.target, dtype="float32"))
    assert unequal(wrong) == [
        "model wrote another text than plain decoding on sums 1 (no style), sums 1 (CoT), sums 1 (CoD), "
        "sums 2 (no style), sums 2 (CoT), sums 2 (CoD)."
    ]
    assert unequal(replace(wrong, target=replace(file.target, dtype="bfloat16"))) == []
    assert unequal(replace(file, target=replace(file.target, dtype="float32"))) == []
