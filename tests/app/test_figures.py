"""Pictures from measurements: of which points, what is drawn, and that no text of the page lets markup through."""

from dataclasses import replace

import pytest

from specviz.app.look import notices
from specviz.app.look.notices import badges, blocks_table
from specviz.app.runs.panels import acceptance_by_depth, accepted_lengths, bar_panels
from specviz.app.speedup.figure import speedup_figure, sweep_table
from specviz.app.speedup.view import drawn, drawn_note, speedup_view
from specviz.protocol.choice import Choice
from specviz.protocol.sweeps.points import Policies, RunCost, SweepPoint
from specviz.protocol.sweeps.store import sweep_csv
from specviz.trace.header import MemoryCard, MethodCard, StepTime
from tests.app.doubles import sample
from tests.app.lab.sweeps import drafted, plain

FLAT = (StepTime(1, 100, 0.010, 0.010, 0.010), StepTime(16, 100, 0.010, 0.010, 0.010))


def point(ratio: float, gamma: int | None = 2, label: str = "model", prompt: str = "a") -> SweepPoint:
    return SweepPoint(
        drafter="none" if label == "none" else label.split()[0], label=label, gamma=gamma, options={}, prompt=prompt,
        family="code", repeat=0, output_tokens=20, rounds=8, decode_s=0.1, tokens_per_s=200 * ratio,
        baseline_tokens_per_s=200.0, ratio=ratio, same_output=True, drafted=16, accepted=8, acceptance_rate=0.5,
        mean_acceptance_length=2.0, alpha=0.5, step_times=FLAT, draft_step_s=0.0,
        temperature=0.0, accepted_lengths=(3, 2, 3), by_depth=((8, 5), (8, 3)), levels=((8, 5), (5, 3)),
        cost=RunCost(0.02, 0.07, 0.006, 0.004, 16, 0.016, 24, 0.06),
    )  # fmt: skip


def test_acceptance_by_depth_is_accepted_over_drafted_per_depth() -> None:
    """Four rounds that drafted 4, 3, 3 and 3 deep, and accepted 2, 3, 1 and 0."""
    rounds = sample().rounds[:4]
    assert [bar.value for bar in acceptance_by_depth(rounds).bars] == ["0.75", "0.50", "0.25", "0.00"]
    assert [bar.value for bar in accepted_lengths(rounds).bars] == ["1", "1", "1", "1", "0"]
    assert accepted_lengths(rounds).bars[0].explanation == "1 of 4 rounds accepted 0"


def test_plain_decoding_has_no_bars_but_a_sentence() -> None:
    plain = sample().rounds[4:5]
    assert bar_panels([acceptance_by_depth(plain), accepted_lengths(plain)]).count("plain decoding") == 2


def test_whiskers_are_the_interval_of_the_median_over_resampled_prompts() -> None:
    view = speedup_view([point(1.0, None, "none"), *[point(ratio, prompt=str(ratio)) for ratio in (1.0, 1.4, 1.8)]])
    (measured,) = view.series[0].points
    assert (measured.median, measured.low, measured.high) == (1.4, 1.0, 1.8)
    (drawn,) = [trace for trace in speedup_figure(view).data if trace.name == "model, measured"]
    assert [round(drawn.error_y.array[0], 9), round(drawn.error_y.arrayminus[0], 9)] == [0.4, 0.4]


def test_hovering_a_point_tells_what_is_divided_by_what() -> None:
    (drawn,) = speedup_figure(speedup_view([point(1.5)])).data[:1]
    told = drawn.text[0].replace("<br>", " ")
    assert (
        "tokens per second ÷ plain decoding&#x27;s, run by run: 300 ÷ 200 (medians); one prompt, so no interval" in told
    )


def test_the_theory_uses_measured_alpha_and_what_passes_take_inside_rounds() -> None:
    """Alpha 0.5 gives 1.5 tokens at γ = 1 and 1.75 at γ = 2. Eight rounds spent 60 ms in the target and 16 in as many
    drafter passes: 7.5 ms beside a plain pass of 10 ms, and a step of 1 ms."""
    view = speedup_view([point(1.4)])
    assert view.series[0].theory.gammas == (1, 2)
    assert view.series[0].theory.speedups == pytest.approx((15 / 8.5, 17.5 / 9.5))
    assert "takes 0.75 times as long there" in view.series[0].theory.explanation


def test_the_theory_is_told_by_the_plain_runs_how_fast_the_machine_was() -> None:
    """Plain passes of 7.5 ms too, where 10 were measured at first: no pass became dearer in rounds, and a step of 1 ms
    is one of 4/3 ms on that clock."""
    view = speedup_view([point(1.0, None, "none"), point(1.4)])
    assert view.series[0].theory.speedups == pytest.approx((15 / (10 + 4 / 3), 17.5 / (10 + 8 / 3)))


def test_of_many_series_those_with_three_lengths_or_more_have_a_theory() -> None:
    lone = [point(1.1, 2, name) for name in ("a", "b", "c", "d")]
    figure = speedup_figure(speedup_view([*lone, *[point(1.2, gamma, "e") for gamma in (1, 2, 4)]]))
    assert [trace.name for trace in figure.data if trace.name.endswith("theory")] == ["e, theory"]
    few = speedup_figure(speedup_view(lone))
    assert sum(trace.name.endswith("theory") for trace in few.data) == 4


def test_of_many_drafters_the_fastest_are_drawn_and_a_name_brings_the_others_with_their_theory() -> None:
    names = ("a", "b", "c", "d", "e", "f")
    few = speedup_figure(speedup_view([point(1.0 + place / 10, 2, name) for place, name in enumerate(names[:5])]))
    assert {trace.visible for trace in few.data} == {True}
    assert few.data[0].name == "a, measured"
    points = [point(1.0 + place / 10, gamma, name) for place, name in enumerate(names) for gamma in (1, 2, 4)]
    others = [*[point(0.5, gamma, "slow") for gamma in (1, 2, 3, 4)], point(9.0, 2, "b early"), point(8.0, 2, "b late")]
    figure = speedup_figure(speedup_view([*points, *others]))
    drawn = [trace.legendgroup for trace in figure.data if trace.visible is True and trace.showlegend]
    assert drawn == ["f", "e", "d", "c", "b", "b early"], "the last is the fastest setting, which the verdict names"
    assert {trace.visible for trace in figure.data if trace.legendgroup == "slow"} == {"legendonly"}
    theories = [(trace.name, trace.showlegend) for trace in figure.data if trace.name.endswith("theory")]
    assert ("slow, theory", False) in theories
    assert "5 fastest drafters and fastest setting" in figure.layout.legend.title.text
    assert (figure.layout.legend.yref, figure.layout.legend.y) == ("container", 0.0), "below the chart"


def test_a_tree_stands_in_a_column_beside_the_lengths_and_the_break_even_line_is_always_there() -> None:
    figure = speedup_figure(speedup_view([point(1.2), point(0.9, None, "model tree <b>3,2,1")]))
    columns = figure.data[-1]
    assert (list(columns.x), list(columns.y)) == ([3.5], [0.9])
    assert list(figure.layout.xaxis.ticktext) == ["2", "model tree &lt;b&gt;3,2,1"]
    assert [shape.y0 for shape in figure.layout.shapes if shape.y0 == shape.y1] == [1.0]
    assert speedup_figure(speedup_view([])).layout.shapes[0].y0 == 1.0


def test_chart_and_table_name_the_policies_and_theory_keeps_out_of_early_ends() -> None:
    grown = replace(point(1.3, None), policies=Policies(Choice("dyspec", {"budget": 8})))
    view = speedup_view([point(1.2), replace(point(1.1), policies=Policies(stop_policy=Choice("hasty"))), grown])
    seen = [(series.label, series.theory is None) for series in view.series]
    assert seen == [("model", False), ("model · hasty", True)]
    assert [level.label for level in view.levels] == ["model · dyspec budget 8"]
    table = sweep_table(view.rows)
    for cell in (">hasty</td>", ">dyspec budget 8</td>", ' class="sv-speedup">1.30×</td>'):
        assert cell in table


def test_a_slowdown_is_called_one() -> None:
    assert "slower than plain decoding" in speedup_view([point(0.8), point(0.7, 4)]).verdict
    assert 'class="sv-slower"' in sweep_table(speedup_view([point(0.8)]).rows)


def test_figures_are_transparent_and_of_fixed_height() -> None:
    layout = speedup_figure(speedup_view([point(1.2)])).layout
    assert (layout.paper_bgcolor, layout.plot_bgcolor, layout.height) == ("rgba(0,0,0,0)", "rgba(0,0,0,0)", 460)


def test_hostile_names_are_text_on_the_page() -> None:
    started = sample().started
    hostile = replace(started, target=replace(started.target, name='<img src=x onerror="run()">${1+1}'))
    html = notices.badge_row(badges(hostile))
    assert "<img" not in html
    assert "&lt;img src=x onerror=&quot;run()&quot;&gt;" in html
    assert "<b>" not in notices.message("<b>")


def test_a_lossy_verifier_is_marked_in_words() -> None:
    started = replace(sample().started, source="live")
    lossy = replace(started, verifier=replace(started.verifier, lossless=False))
    assert [badge.text for badge in badges(lossy)][-1:] == ["verifier sequential ✕ lossy"]
    assert [badge.tone for badge in badges(lossy)].count("lossless") == 0
    assert [badge.text for badge in badges(started)][-2:] == ["verifier sequential", "✓ lossless"]


def test_policies_stand_beside_drafter_and_verifier_and_a_lossy_one_is_marked() -> None:
    tree_policy = MethodCard("levels", {"branching": [3, 2]}, True)
    started = replace(
        sample().started, source="live", tree_policy=tree_policy, stop_policy=MethodCard("hasty", {}, False)
    )
    found = {badge.text: badge for badge in badges(started)}
    seen = list(found)[3:]
    assert seen == ["drafter sample", "tree policy levels", "stop policy hasty ✕ lossy", "verifier sequential"]
    assert found["tree policy levels"].explanation == "branching 3,2"
    assert found["stop policy hasty ✕ lossy"].tone == "lossy"


def test_the_models_badge_says_why_auto_took_its_number_format() -> None:
    started = sample().started
    chosen = replace(started, target=replace(started.target, dtype_why="width 384, and <bfloat16> pays from 512 on"))
    assert badges(started)[2].explanation == "drafter and target weights; device none, float64"
    assert badges(chosen)[2].explanation.endswith("device none, float64: width 384, and <bfloat16> pays from 512 on")
    assert "<bfloat16>" not in notices.badge_row(badges(chosen))


def test_a_head_that_learnt_from_other_weights_of_the_target_wears_a_badge_that_says_so() -> None:
    started = sample().started
    elsewhere = replace(started, drafter=replace(started.drafter, learnt_from="ab" * 32))
    warning = next(badge for badge in badges(elsewhere) if "weights of another file" in badge.text)
    assert "the text stays the target's, but fewer tokens may be accepted" in warning.explanation
    assert not any("another file" in badge.text for badge in badges(started))


def test_a_warm_start_says_what_was_brought_along() -> None:
    started = replace(sample().started, memory=MemoryCard("earlier runs", 3, 40_960, "ab" * 32))
    warm = next(badge for badge in badges(started) if "warm" in badge.text)
    assert warm.text == "warm start: 3 runs, 40 KiB"
    assert "earlier runs; sha256 abababababab…" in warm.explanation
    assert not any("warm" in badge.text for badge in badges(sample().started))


def test_several_temperatures_are_series_of_their_own() -> None:
    view = speedup_view([point(1.2), replace(point(1.1), temperature=0.7)])
    assert [series.label for series in view.series] == ["model at T 0", "model at T 0.7"]


def test_the_csv_has_one_line_per_run_and_no_formula() -> None:
    header, first, second = sweep_csv([point(1.5), point(1.2, prompt="=1+1")]).splitlines()
    cells = dict(zip(header.split(","), first.split(","), strict=True))
    assert (cells["ratio"], cells["tree_policy"], cells["target_rows"], cells["options"]) == ("1.5", "auto", "24", "{}")
    assert "'=1+1" in second


def test_of_many_settings_at_several_temperatures_the_lowest_is_drawn_and_the_page_says_so() -> None:
    few = [drafted(label=f"d{number}", temperature=heat) for number in range(5) for heat in (0.8, 0.0)]
    assert (len(drawn(few)), drawn_note(few)) == (10, "")
    many = [drafted(label=f"d{number}", temperature=heat) for number in range(30) for heat in (0.8, 0.0)]
    assert {one.temperature for one in drawn(many)} == {0.0}
    assert drawn_note(many) == " The charts show temperature 0; the table has all."
    assert drawn_note(many[1::2]) == "", "one temperature alone is drawn whole"
    assert len(drawn(many[1::2])) == 30


def test_texts_that_repeat_themselves_are_left_out_and_counted() -> None:
    view = speedup_view([plain(), drafted(), plain(prompt="b"), drafted(prompt="b", repetition=0.6, ratio=9.0)])
    assert [row.ratio.value for row in view.rows if row.drafter == "model"] == [drafted().ratio]
    assert view.verdict.endswith("Left out, with more than 25% of their 4-grams repeated: 1 text.")


def test_a_column_without_a_name_has_a_cell_and_no_empty_heading() -> None:
    made = blocks_table(("", "share"), [("first", "0.5")])
    assert '<td></td><th scope="col">share</th>' in made
