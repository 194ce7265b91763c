"""What each of the lab's charts draws: names, x and y in their order, worked out by hand from three settings.

Beside `model` γ=2 of `sweeps.py` stand `model` γ=4, which makes 12 tokens in 4 rounds of 25 ms: 10 ms drafting (8 of
them in passes), 12 ms target (10 in the pass), 1 ms judging, 2 ms committing; and `ngram` γ=2, the fastest, with 12
tokens in 6 rounds of 10 ms and no passes of a drafter. The longer drafts come first in the sweep.
"""

from math import log2

import plotly.graph_objects as go
import pytest

from specviz.app.lab.chart import chart
from specviz.protocol.sweeps.points import RunCost
from tests.app.lab.sweeps import drafted, hasty, plain

DRAFTS = {"rounds": 4, "drafted": 16, "accepted": 8, "accepted_lengths": (0, 2, 1, 0, 1)}
DEPTHS = {"by_depth": ((4, 4), (4, 2), (4, 1), (4, 1)), "levels": ((4, 4), (4, 2), (2, 1), (1, 1))}
COSTS = {"decode_s": 0.1, "cost": RunCost(0.04, 0.048, 0.004, 0.008, 16, 0.032, 12, 0.04)}
LONGER = drafted(gamma=4, tokens_per_s=120.0, ratio=1.2, **DRAFTS, **DEPTHS, **COSTS)
FREE = {"decode_s": 0.06, "cost": RunCost(0.006, 0.048, 0.002, 0.004, 0, 0.0, 18, 0.045), "memory_ratio": None}
SPEED = {"tokens_per_s": 200.0, "ratio": 2.0, "mbsu": 2.0}
NGRAM = drafted(drafter="ngram", label="ngram", accepted_lengths=(3, 0, 3), **SPEED, **FREE)
POINTS = [plain(), LONGER, drafted(), NGRAM]


def drawn(name: str, points: list = POINTS) -> list[go.Scatter | go.Bar]:
    return list(chart(name).build(points).data)


def numbers(values: object) -> object:
    return pytest.approx(list(values))


def test_acceptance_by_position_a_solid_line_over_all_drafts_and_a_dotted_one_given_the_depths_before() -> None:
    """`model`, both lengths: 10 rounds drafted to depths 1 and 2, 4 to 3 and 4, and 8, 4, 1, 1 of them accepted."""
    solid, dotted, *ngram = drawn("position")
    assert (solid.name, dotted.showlegend, dotted.line.dash) == ("model", False, "dot")
    assert list(solid.x) == list(dotted.x) == [1, 2, 3, 4]
    assert list(solid.y) == [8 / 10, 4 / 10, 1 / 4, 1 / 4]
    assert list(dotted.y) == [8 / 10, 4 / 8, 1 / 2, 1 / 1]
    assert [(line.legendgroup, list(line.x)) for line in ngram] == [("ngram", [1, 2]), ("ngram", [1, 2])]
    assert [list(line.y) for line in ngram] == [[4 / 6, 2 / 6], [4 / 6, 2 / 4]]


def test_accepted_lengths_as_shares_of_the_rounds_that_drafted_the_fastest_setting_first() -> None:
    bars = drawn("lengths")
    assert [bar.name for bar in bars] == ["ngram γ=2", "model γ=2"]
    assert [(list(bar.x), list(bar.y)) for bar in bars] == [([0, 1, 2], [1 / 2, 0, 1 / 2]), ([0, 1, 2], [1 / 3] * 3)]


def test_time_per_round_a_bar_per_setting_from_the_drafter_s_passes_to_committing() -> None:
    """In milliseconds; plain decoding above, then the fastest drafter."""
    bars = drawn("phases")
    assert {tuple(bar.y) for bar in bars} == {("plain decoding", "ngram γ=2", "model γ=2")}
    assert [(bar.name, bar.x) for bar in bars] == [
        ("drafter's passes", numbers((0, 0, 3))),
        ("drafting besides", numbers((0, 1, 1))),
        ("target's pass", numbers((8, 7.5, 9))),
        ("scoring besides", numbers((1, 0.5, 1))),
        ("judging", numbers((0.25, 1 / 3, 0.2))),
        ("committing", numbers((0.75, 2 / 3, 0.8))),
    ]
    hovers = [text.replace("<br>  ", " ") for text in bars[4].hovertext]
    assert "judging = seconds ÷ rounds = 0.002 s ÷ 6 rounds = 0.333 ms" in hovers[1]


def test_the_file_of_time_per_round_has_every_setting_and_the_chart_only_the_fastest() -> None:
    rows = [row for row in chart("phases").rows(POINTS) if row["phase"] in ("judging", "committing")]
    assert [(row["case"], row["phase"], row["seconds"], row["rounds"]) for row in rows] == [
        ("plain decoding", "judging", 0.003, 12),
        ("plain decoding", "committing", 0.009, 12),
        ("model γ=4", "judging", 0.004, 4),
        ("model γ=4", "committing", 0.008, 4),
        ("model γ=2", "judging", 0.0012, 6),
        ("model γ=2", "committing", 0.0048, 6),
        ("ngram γ=2", "judging", 0.002, 6),
        ("ngram γ=2", "committing", 0.004, 6),
    ]


def test_the_waterfall_s_five_bars_of_every_drafter_the_fastest_first() -> None:
    """`ngram`: 2 tokens per pass; a plain pass is 8 ms, drafting 1, its pass 7.5, its round 10 as plain decoding's."""
    bars = drawn("waterfall")
    assert [bar.name for bar in bars] == [
        "tokens per target pass",
        "cost of drafting",
        "cost of the wider pass",
        "engine overhead",
        "measured speedup",
    ]
    assert {tuple(bar.x) for bar in bars} == {("ngram γ=2", "model γ=2")}
    assert [bar.base[0] for bar in bars] == numbers((0, 2, 16 / 9, 16 / 8.5, 0))
    assert [bar.base[0] + bar.y[0] for bar in bars] == numbers((2, 16 / 9, 16 / 8.5, 2, 2))
    assert [bar.base[1] + bar.y[1] for bar in bars] == numbers((2, 4 / 3, 16 / 13, 4 / 3, 4 / 3))


def test_in_the_plane_the_lengths_of_a_drafter_are_joined_from_the_shortest_and_the_longest_is_named() -> None:
    """Drafting takes 4, 10 and 1 ms of a round beside a plain pass of 8; tokens per pass are 2, 3 and 2."""
    *lines, labels, model, ngram = drawn("plane")
    assert (model.name, list(model.x), list(model.y)) == ("model", numbers((0.5, 1.25)), [2, 3])
    assert list(model.text) == ["", "γ=4"]
    assert (ngram.name, list(ngram.x), list(ngram.y), list(ngram.text)) == ("ngram", numbers([0.125]), [2], ["γ=2"])
    assert list(labels.text) == [f"{line.y[0] / (line.x[0] + 1.125):.4g}×" for line in lines], "k = 9 ms ÷ 8 ms"
    assert list(labels.text) == ["0.5×", "0.75×", "1×", "1.5×", "2×"]
    assert [line.line.dash for line in lines] == ["dot", "dot", "dash", "dot", "dot"]


def test_a_family_s_column_has_the_fastest_length_of_each_drafter_and_colours_by_the_logarithm() -> None:
    prose = [plain("b", "prose"), drafted(prompt="b", family="prose", ratio=0.5)]
    (table,) = drawn("families", [*POINTS, *prose])
    assert (list(table.x), list(table.y)) == (["code", "prose"], ["plain decoding", "model", "ngram"])
    assert [list(row) for row in table.text] == [["1.00", "★ 1.00"], ["1.33", "0.50"], ["★ 2.00", "–"]]
    assert [list(row) for row in table.z] == [[0, 0], [log2(4 / 3), -1], [1, None]]
    assert (table.zmin, table.zmax) == (-1, 1)


def test_wasted_candidates_against_target_passes_and_the_front_from_the_left() -> None:
    """Wasted: 8, 6 and 2 over 12 tokens; passes: 4, 6 and 8."""
    front, fixed, early = drawn("economy", [plain(), LONGER, drafted(), hasty()])
    assert (list(front.x), list(front.y)) == ([2 / 12, 6 / 12, 8 / 12], [8 / 12, 6 / 12, 4 / 12])
    assert (fixed.name, list(fixed.x), list(fixed.y)) == ("stop policy fixed", [8 / 12, 6 / 12], [4 / 12, 6 / 12])
    assert (early.name, list(early.x), list(early.y)) == ("stop policy hasty", [2 / 12], [8 / 12])
    assert [text.strip() for text in fixed.text] == ["model γ=4", "model γ=2"]


def test_predicted_speedups_from_the_left_and_measured_ones_upwards() -> None:
    """γ=4: 1 + 1 + 1/2 + 1/4 + 1/4 = 3 tokens for (12 + 4) ÷ 8; γ=2: 2 for (12 + 2) ÷ 8; ngram: 2 for 12 ÷ 8."""
    even, model, ngram = drawn("predicted")
    assert list(even.x) == list(even.y)
    assert (model.name, list(model.x), list(model.y)) == ("model", numbers((3 / 2, 8 / 7)), numbers((1.2, 4 / 3)))
    assert (ngram.name, list(ngram.x), list(ngram.y)) == ("ngram", numbers([4 / 3]), numbers([2]))


def test_memory_bound_speedups_from_the_left_and_measured_ones_upwards() -> None:
    """c = 4: 3 · 4 ÷ (4 + 4) and 2 · 4 ÷ (2 + 4); drafts that read no weights: tokens per pass."""
    _, model, ngram = drawn("mbsu")
    assert (model.name, list(model.x), list(model.y)) == ("model", numbers((3 / 2, 4 / 3)), numbers((1.2, 4 / 3)))
    assert (ngram.name, list(ngram.x), list(ngram.y)) == ("ngram", [2], numbers([2]))


def test_the_ranking_has_the_fastest_on_top_and_whiskers_to_the_ends_of_the_interval() -> None:
    """Medians of three prompts; the whiskers of 0.5, 1.1 and 3.0 reach down by 0.6 and up by 1.9."""
    kept = {"good": (2.0, 2.0, 2.0), "so-so": (0.5, 1.1, 3.0), "slow": (0.5, 0.5, 0.5)}
    points = [
        drafted(prompt=prompt, label=name, drafter=name, ratio=ratio)
        for name in ("slow", "so-so", "good")
        for prompt, ratio in zip("abc", kept[name], strict=True)
    ]
    figure = chart("ranking").build(points)
    assert [(one.name, list(one.x), list(one.y)) for one in figure.data] == [
        ("faster than plain decoding", [2.0], ["good γ=2"]),
        ("undecided", [1.1], ["so-so γ=2"]),
        ("slower than plain decoding", [0.5], ["slow γ=2"]),
    ]
    whiskers = figure.data[1].error_x
    assert (list(whiskers.arrayminus), list(whiskers.array)) == (numbers([0.6]), numbers([1.9]))
    assert list(figure.layout.yaxis.categoryarray) == ["slow γ=2", "so-so γ=2", "good γ=2"], "from below"


def test_repetition_to_the_right_and_tokens_per_pass_upwards_one_mark_a_prompt() -> None:
    """Prompt b: 12 tokens in 6 and in 4 passes, repetitions 0.2 and 0.4."""
    again = [drafted(prompt="b", repetition=0.2), drafted(prompt="b", repeat=1, repetition=0.4, rounds=4)]
    ngram, model = drawn("why", [*POINTS, *again])
    assert (ngram.name, list(ngram.x), list(ngram.y)) == ("ngram γ=2", [0.1], [2.0])
    assert (model.name, list(model.x), list(model.y)) == ("model γ=2", numbers((0.1, 0.3)), numbers((2.0, 2.4)))
