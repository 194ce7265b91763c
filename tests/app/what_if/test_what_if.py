"""The What-if tab: modelled numbers with their arithmetic, presets, and a simulated run for the player."""

import json
from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from specviz.app.runs.gallery import gallery
from specviz.app.what_if.tab import OWN, WhatIfActions, WhatIfFields
from specviz.app.what_if.view import (
    HEAT_ALPHAS,
    WhatIfView,
    number_list,
    speedup_by_alpha_and_gamma,
    speedup_by_gamma,
    what_if_view,
)
from specviz.errors import OptionError
from specviz.protocol.counterfactual import others
from specviz.theory import roofline as hardware
from specviz.theory.formulas import LEVIATHAN_SPEEDUPS
from specviz.trace import codec
from specviz.trace.check import check
from specviz.trace.header import StepTime
from tests.app.doubles import ReplaySource, sample
from tests.curves import hardware_curve

NUMBERS = {"alpha": 0.5, "gamma": 3, "cost_ratio": 0.25, "slower": 2.0, "seed": 7}
FORM = {**NUMBERS, "tree": "", "acceptance": "", "clock": ""}


@pytest.fixture
def actions(tmp_path: Path) -> WhatIfActions:
    """A gallery with the golden run, as if recorded with t(1) = 8 ms and t(16) = 16 ms."""
    trace = sample()
    times = [StepTime(1, 8, 0.008, 0.008, 0.008), StepTime(16, 8, 0.016, 0.016, 0.016)]
    codec.write(replace(trace, started=replace(trace.started, step_times=times)), tmp_path / "run.json.gz")
    return WhatIfActions(gallery(tmp_path))


def view(actions: WhatIfActions, **values: object) -> WhatIfView:
    return what_if_view(actions.setting({**FORM, **values}))


def test_every_number_carries_its_arithmetic(actions: WhatIfActions) -> None:
    """1.875 tokens for a round of 1 + 3 x 0.25 target passes; twice as slow a drafter makes it 2.5."""
    numbers = {one.name: one for one in view(actions).numbers}
    assert numbers["speedup"].value == "1.07×"
    assert numbers["speedup"].arithmetic == "tokens per round × t(1) / round = 1.875 × 1 / 1.75"
    assert numbers["elasticity to drafter latency"].value == "−0.43"
    assert "0.88 → 1.68" in numbers["a drafter 2× as slow ties at"].arithmetic
    assert "tokens per second" not in numbers, "a cost ratio knows no seconds"


def test_the_sentence_says_modelled_and_whether_drafting_pays(actions: WhatIfActions) -> None:
    assert view(actions).verdict.startswith("Modelled: 1.07× plain decoding with γ = 3 at α 0.50. The fastest chain")
    assert "slower than plain decoding, 0.57×" in view(actions, alpha=0.0).verdict
    assert "No chain pays" in view(actions, alpha=0.0).verdict
    assert "or longer" in view(actions, alpha=0.9, cost_ratio=0).verdict


def test_a_printed_row_shows_prediction_and_measurement_beside_the_formula(actions: WhatIfActions) -> None:
    acceptance, alpha, gamma, tree, cost, clock = actions.fill("2")
    shown = view(actions, acceptance=acceptance, alpha=alpha, gamma=gamma, tree=tree, cost_ratio=cost, clock=clock)
    row = LEVIATHAN_SPEEDUPS[2]
    assert (alpha, gamma, cost) == (row.alpha, row.gamma, row.cost_ratio)
    assert "predicted 2.5×, measured 1.7×" in shown.notes[1]
    assert "2211.17192" in shown.notes[1]
    assert len(view(actions).notes) == 1, "another setting names no paper"


def test_a_recorded_run_lends_its_rates_and_its_clock(actions: WhatIfActions) -> None:
    """The golden run accepted 4 of 7, 4 of 6, 2 of 3, 1 of 1 in its text; its drafter passes take 2 ms,
    t(4) is 8 + 3 x 8/15 ms."""
    shown = view(actions, acceptance="run.json.gz", clock=OWN)
    assert shown.chosen.label == "rates by depth 0.57, 0.67, 0.67, 1.00"
    assert "8 recorded rounds on this clock: modelled" in shown.notes[1]
    speed = next(one for one in shown.numbers if one.name == "tokens per second")
    assert speed.arithmetic.endswith("/ 15.6 ms")


def test_the_list_of_presets_says_what_it_is_for_and_begins_with_the_first_recorded_run(actions: WhatIfActions) -> None:
    """The golden run drafts four levels deep at most."""
    assert actions.presets()[0] == ("choose one to fill in", "")
    label, file = actions.presets()[1]
    assert label.startswith("recorded here: sample tree + sequential for toy target: run, temperature 1")
    acceptance, _, gamma, tree, _, clock = actions.fill(file)
    assert (acceptance, gamma, tree, clock) == ("run.json.gz", 4, "", OWN)


def test_a_measured_curve_gives_the_clock_at_its_context_and_batch(
    actions: WhatIfActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sequences: t(1) = 20 s, t(4) = 30 s, three drafter passes of 0.25 x 20 s: 3.75 tokens in 45 s."""
    one, two = hardware_curve(batch=1), hardware_curve({1: 20.0, 4: 30.0}, batch=2)
    monkeypatch.setattr(hardware, "curves", lambda: {"box": replace(one, rows=one.rows + two.rows)})
    assert ("box, measured curve", "box") in actions.clocks()
    place = actions.places("box")
    assert (place.visible, [value for _, value in place.choices]) == (True, ["10,1", "10,2"])
    assert actions.places("").visible is False
    shown = view(actions, clock="box", place="10,2")
    assert shown.point.speedup == pytest.approx(1.875 * 20 / 45)
    speed = next(one for one in shown.numbers if one.name == "tokens per second")
    assert speed.value == f"{2 * 1.875 / 45:.1f}"
    assert "on toy box, context 10, batch 2" in shown.notes[0]


def test_the_charts_hold_chosen_and_best_chain_and_break_even(actions: WhatIfActions) -> None:
    shown = view(actions)
    names = [trace.name for trace in speedup_by_gamma(shown).data]
    assert names[-3:] == ["α 0.50, modelled", "fastest chain: γ = 1", "chosen: γ = 3"]
    assert "tree 3,2,1 (15 candidates), modelled" in [
        trace.name for trace in speedup_by_gamma(view(actions, tree="3,2,1")).data
    ]
    heat = speedup_by_alpha_and_gamma(shown).data[0]
    assert heat.customdata[2][HEAT_ALPHAS.index(0.5)] == pytest.approx((1.875, 1.75, 1.875 / 1.75))


def test_names_are_escaped(actions: WhatIfActions) -> None:
    numbers = (replace(view(actions).numbers[0], name="<b>"),)
    assert "<b>" not in number_list(numbers)


def test_a_simulated_run_goes_to_the_player_with_its_labels(actions: WhatIfActions) -> None:
    fields = {name: gr.Textbox() for name in FORM}
    controls = WhatIfFields(fields)
    given = {fields[name]: value for name, value in {**FORM, "tree": "2,1"}.items()}
    tabs, player, badges, _, message, _ = actions.step_through(controls)(given)
    trace = codec.loads(str(player).encode())
    assert (tabs.selected, trace.started.source, check(trace)) == ("watch", "simulated", [])
    assert json.loads(str(player))["started"]["target"]["name"] == "no model"
    assert "times modelled" in str(badges)
    assert "no model ran" in str(message)
    with pytest.raises(OptionError, match="no model took part"):
        list(others(ReplaySource(trace), trace, 0))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"alpha": 1.5}, "alpha is 1.5, but must be from 0 to 1"),
        ({"tree": "3;2"}, "the tree is '3;2'"),
        ({"tree": "16,16"}, "at most 256"),
        ({"clock": "abacus"}, "no curve 'abacus'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_a_sentence(
    actions: WhatIfActions, values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(OptionError, match=sentence):
        view(actions, **values)
