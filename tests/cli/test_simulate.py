"""`specviz simulate`: modelled numbers that say so, and a run that is sound and labelled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz.trace import codec, hardware
from specviz.trace.events import Machine, StepTime
from specviz.trace.hardware import Ceiling, HardwareCurve, ModelSizes, PassTime

Call = Callable[..., Any]


@pytest.fixture
def curve(tmp_path: Path) -> Path:
    """t(1) = 10 ms, t(16) = 40 ms; twice that for a batch of two."""
    sizes = ModelSizes("toy", "", 1, 1, 4, 1, 1, 1, 1, 1, 1)
    rate = Ceiling(1.0, 1.0, 1.0, "none")
    times = ((1, 1, 0.010), (16, 1, 0.040), (1, 2, 0.020), (16, 2, 0.080))
    rows = tuple(PassTime(n, 128, batch, s, s, s, 1) for n, batch, s in times)
    box = Machine("cpu", "float32", 1, 1, "a box", "3", "2", "5", "linux")
    path = tmp_path / "box.json"
    made = HardwareCurve("a box", box, sizes, "engine", False, "wall", rate, rate, rows, "2026-01-01T00:00:00Z", "", "")
    path.write_text(hardware.dumps(made))
    return path


def test_numbers_come_from_the_formulas_and_say_that_they_are_modelled(specviz: Call) -> None:
    found = json.loads(specviz("simulate", "--alpha", 0.8, "--gamma", 5, "--cost-ratio", 0, "--json").out)
    assert found["label"] == "modelled: no model ran"
    assert (round(found["speedup"], 2), found["best_gamma"], found["elasticity"]) == (3.69, 64, 0.0)
    assert "tokens_per_s" not in found, "a cost ratio knows no seconds"


def test_the_written_run_is_sound_and_simulated(specviz: Call, tmp_path: Path) -> None:
    path = tmp_path / "sim.json.gz"
    assert "tree 3,2,1, 15 candidates" in specviz("simulate", "--tree", "3,2,1", "--rounds", 5, "--trace", path).out
    assert "sound, 5 rounds" in specviz("check", path).out
    assert "simulated run sim-" in specviz("replay", path).out
    assert codec.read(path).started.source == "simulated"


def test_a_curve_gives_the_clock_at_its_batch(specviz: Call, curve: Path) -> None:
    """A bonus every round: 4 tokens for t(4) = 16 ms and three drafter passes of 1 ms; two sequences: twice that."""
    flags = ("simulate", "--alpha", 1, "--gamma", 3, "--cost-ratio", 0.1, "--curve", curve, "--json")
    one, two = json.loads(specviz(*flags).out), json.loads(specviz(*flags, "--batch", 2).out)
    assert one["speedup"] == two["speedup"] == pytest.approx(4 * 10 / (16 + 3))
    assert one["tokens_per_s"] == two["tokens_per_s"] == pytest.approx(4 / 0.019)
    assert one["clock"] == "a box, toy, context 128, batch 1, cost ratio 0.1"


def test_a_recorded_run_on_another_clock(specviz: Call, curve: Path, golden: Path, tmp_path: Path) -> None:
    """The golden run as if t(1) had been 8 ms where its drafter passes took 2 ms: a quarter, so 2.5 ms on the box."""
    trace = codec.read(golden)
    times = [StepTime(1, 8, 0.008, 0.008, 0.008)]
    path = tmp_path / "run.json"
    codec.write(replace(trace, started=replace(trace.started, step_times=times)), path)
    found = json.loads(specviz("simulate", "--replay", path, "--curve", curve, "--json").out)
    target = sum(0.010 + 0.002 * (len(this.nodes) - 1) for this in trace.rounds)
    draft = 0.0025 * sum(len(this.drafted.passes) for this in trace.rounds)
    assert found["label"].startswith("modelled: the rounds of a simulated run")
    assert found["speedup"] == pytest.approx(20 * 0.010 / (target + draft))


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--alpha", "1.5"), "alpha is 1.5"),
        (("--tree", "3,x"), "--tree is '3,x'"),
        (("--batch", "4"), "name one with --curve"),
        (("--replay", "x.json"), "say which with --curve"),
        (("--replay", "x.json", "--curve", "y", "--gamma", "4"), "keeps the run's own rounds"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(specviz: Call, flags: tuple[str, ...], sentence: str) -> None:
    result = specviz("simulate", *flags)
    assert result.code == 2
    assert sentence in result.err
