"""What the charts beside the lab's draw: x, y and whiskers in their order, worked out by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.app.machine.view import machine_figure, machine_table, machine_view
from specviz.app.runs.gallery import gallery
from specviz.app.speedup.figure import speedup_figure
from specviz.app.speedup.view import speedup_view
from specviz.app.studies.chart import draw
from specviz.app.train.view import acceptance_figure, loss_figure
from specviz.app.what_if.tab import WhatIfActions
from specviz.app.what_if.view import HEAT_ALPHAS, speedup_by_alpha_and_gamma, speedup_by_gamma, what_if_view
from specviz.protocol.trainings import HeldOut, LossMark
from specviz.studies.batches import result as batches
from specviz.studies.batches.result import PLAIN
from specviz.studies.lanes.result import view as lanes_view
from specviz.studies.styles import result as styles
from tests.app.test_figures import point
from tests.app.train.test_train import training
from tests.app.what_if.test_what_if import FORM
from tests.curves import hardware_curve
from tests.studies.lanes.test_result import AS_IT_IS, several
from tests.studies.test_batches import CHAIN, FILE
from tests.studies.test_batches import point as point_of_batch


def numbers(values: object) -> object:
    return pytest.approx(list(values), abs=1e-9)


def test_batches_stand_beside_each_other_at_their_size_with_whiskers_to_their_quartiles() -> None:
    """Of batches of one the speedups of two repeats are 1.5 and 2.5."""
    again = (point_of_batch(PLAIN, 1, 1.0, 1), point_of_batch(CHAIN, 1, 1 / 2.5, 1))
    figure = draw(batches.view(replace(FILE, points=FILE.points + again)).chart)
    chain, accepted, tree, _, plain = figure.data
    assert list(chain.x) == numbers(size / 1.03**0.5 for size in (1, 2, 4))
    assert list(tree.x) == numbers(size * 1.03**0.5 for size in (1, 2, 4))
    assert list(plain.x) == numbers((1 / 1.03**3, 4 * 1.03**3))
    assert (chain.name, tree.name) == ("γ = 2", "tree 2,1")
    assert list(chain.y) == numbers((2.0, 1.25, 0.5))
    assert (list(chain.error_y.array), list(chain.error_y.arrayminus)) == (numbers((0.25, 0, 0)),) * 2
    assert (list(accepted.y), list(accepted.error_y.array)) == ([0.5] * 3, numbers([0.25] * 3))


def test_spans_of_lanes_begin_where_they_began_and_are_as_long_in_milliseconds() -> None:
    figure = draw(lanes_view(several(), AS_IT_IS).chart)
    bars = {bar.name: bar for bar in figure.data}
    drafting, right = bars["drafting"], bars["verifying, all accepted"]
    beside = [place for place, name in enumerate(drafting.y) if name == "AMUSD · drafter"]
    assert [(drafting.base[place], drafting.x[place]) for place in beside] == [(0, 750)]
    simulated = [place for place, name in enumerate(right.y) if name == "DSI (simulated) · target 2"]
    assert [(right.base[place], right.x[place]) for place in simulated] == [(250, 250)]
    assert "draft, then verify · target" in bars["verifying, some rejected"].y
    assert "draft, then verify · target" not in right.y
    assert list(figure.layout.yaxis.categoryarray)[-1].startswith("plain decoding"), "from below: the first on top"
    assert list(figure.layout.xaxis.range) == [0, 2000]


def test_pass_times_have_their_quartiles_and_the_knee_stands_at_its_width() -> None:
    """Quartiles a second to either side, here 1 below and 3 above; all in milliseconds."""
    curve = hardware_curve()
    wide = replace(curve, rows=tuple(replace(one, high_s=one.median_s + 3) for one in curve.rows))
    measured, line, knee, ridge = machine_figure(machine_view(wide, 10, 1)).data
    assert list(measured.x) == [1, 2, 4, 8, 16]
    assert list(measured.y) == numbers((12_000, 12_600, 13_000, 20_000, 40_000))
    assert list(measured.error_y.array) == numbers([3000] * 5)
    assert list(measured.error_y.arrayminus) == numbers([1000] * 5)
    assert (list(knee.x), list(ridge.x)) == ([4, 4], [4, 4])
    assert "knee n = 4: the widest with t ≤ 1.10 × 12 s = 13.2 s" in knee.hovertemplate
    assert "<td>12000 (11000 to 15000)</td>" in machine_table(machine_view(wide, 10, 1)), "no 1.2e+04"
    assert line.name == "roofline, modelled"


def test_a_training_is_drawn_over_its_seconds_with_the_shipped_module_dotted() -> None:
    marks = (HeldOut(0.0, 0, (0.1, 0.05), (0.2, 0.3)), HeldOut(20.0, 40_000, (0.625, 0.5), (0.7, 0.25)))
    shown = training(held_out=marks, shipped_held_out=HeldOut(0.0, 0, (0.8, 0.6), (0.9, 0.95)))
    first, second = acceptance_figure(shown).data
    seen = [(one.name, list(one.x), list(one.y)) for one in (first, second)]
    assert seen == [("depth 1", [0, 20], [0.1, 0.625]), ("depth 2", [0, 20], [0.05, 0.5])]
    assert [one.y0 for one in acceptance_figure(shown).layout.shapes] == [0.8, 0.6]
    losses = (LossMark(1.0, 1000, {"state": 0.5, "token": 0.25}), LossMark(2.0, 2000, {"state": 0.25, "token": 0.125}))
    seen = [(one.name, list(one.x), list(one.y)) for one in loss_figure(training(losses=losses)).data]
    assert seen == [("state", [1, 2], [0.5, 0.25]), ("token", [1, 2], [0.25, 0.125]), ("sum", [1, 2], [0.75, 0.375])]


def test_modelled_speedups_begin_at_plain_decoding_and_the_fastest_chain_stands_on_its_line(tmp_path: Path) -> None:
    """α 0.5, a drafter pass a quarter of the target's: γ 0, 1, 2: 1, 1.5 ÷ 1.25, 1.75 ÷ 1.5."""
    actions = WhatIfActions(gallery(tmp_path))
    view = what_if_view(actions.setting(FORM))
    chosen, best, own = speedup_by_gamma(view).data[-3:]
    assert list(chosen.x)[:3] == [0, 1, 2]
    assert list(chosen.y)[:3] == numbers((1, 1.2, 1.75 / 1.5))
    assert (list(best.x), list(best.y)) == ([1], numbers([1.2]))
    assert (list(own.x), list(own.y)) == ([3], numbers([1.875 / 1.75]))
    heat, tie = speedup_by_alpha_and_gamma(view).data
    place = HEAT_ALPHAS.index(0.5)
    assert 2.0 ** heat.z[0][place] == pytest.approx(1.2)
    assert (heat.y[0], heat.x[place], tie.z[0][place]) == (1, 0.5, heat.z[0][place])
    level = speedup_by_gamma(what_if_view(actions.setting({**FORM, "tree": "2,1"}))).data[-1]
    assert list(level.y) == numbers([(1 + 0.75 + 0.75 * 0.5) / 1.5] * 2)


def test_drafters_of_a_style_stand_half_a_style_apart() -> None:
    from tests.studies.test_styles import sample

    figure = draw(styles.view(sample(), "sums, asked in words").chart)
    plain, drafter = figure.data[0], figure.data[2]
    assert (plain.x[0], drafter.x[0]) == (-0.25, 0.25)


def test_a_sweep_is_drawn_at_its_lengths_with_whiskers_to_both_ends() -> None:
    """Three prompts: 1.0, 1.4, 2.0 at γ = 2, and 3.0 at γ = 5."""
    points = [point(1.0, None, "none"), *[point(ratio, prompt=str(ratio)) for ratio in (1.0, 1.4, 2.0)]]
    points += [point(3.0, 5, prompt=prompt) for prompt in ("1.0", "1.4", "2.0")]
    figure = speedup_figure(speedup_view(points))
    (measured,) = [trace for trace in figure.data if trace.name == "model, measured"]
    assert (list(measured.x), list(measured.y)) == ([2, 5], [1.4, 3.0])
    assert list(measured.error_y.array) == numbers((0.6, 0))
    assert list(measured.error_y.arrayminus) == numbers((0.4, 0))
    (theory,) = [trace for trace in figure.data if trace.name == "model, theory"]
    assert list(theory.x) == sorted(theory.x)
    assert theory.y[0] == pytest.approx(1.5 / (1 + 1 / 7.5)), "a step takes 1 ms in these rounds, a target pass 7.5"
    assert figure.layout.yaxis.range[1] == pytest.approx(1.08 * max(3.0, *theory.y))
