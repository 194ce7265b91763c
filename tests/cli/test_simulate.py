"""`specviz simulate`: modelled numbers that say so, and a run that is sound and labelled."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.protocol import profiles as hardware
from specviz.trace import codec
from specviz.trace.header import StepTime
from tests.cli.conftest import Call
from tests.curves import hardware_curve


@pytest.fixture
def curve(tmp_path: Path) -> Path:
    """t(1) = 10 s, t(16) = 40 s; twice that for a batch of two."""
    one, two = (hardware_curve({1: 10.0 * k, 16: 40.0 * k}, batch=k) for k in (1, 2))
    path = tmp_path / "box.json"
    path.write_text(hardware.dumps(replace(one, rows=one.rows + two.rows)))
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
    """A bonus every round: 4 tokens for t(4) = 16 s and three drafter passes of 1 s; two sequences: twice that."""
    flags = ("simulate", "--alpha", 1, "--gamma", 3, "--cost-ratio", 0.1, "--curve", curve, "--json")
    one, two = json.loads(specviz(*flags).out), json.loads(specviz(*flags, "--batch", 2).out)
    assert one["speedup"] == two["speedup"] == pytest.approx(4 * 10 / (16 + 3))
    assert one["tokens_per_s"] == two["tokens_per_s"] == pytest.approx(4 / 19)
    assert one["clock"] == "toy box, toy, context 10, batch 1, cost ratio 0.1"


def test_a_recorded_run_on_another_clock(specviz: Call, curve: Path, golden: Path, tmp_path: Path) -> None:
    """The golden run as if t(1) had been 8 ms where its drafter passes took 2 ms: a quarter, so 2.5 s on the box."""
    trace = codec.read(golden)
    times = [StepTime(1, 8, 0.008, 0.008, 0.008)]
    path = tmp_path / "run.json"
    codec.write(replace(trace, started=replace(trace.started, step_times=times)), path)
    found = json.loads(specviz("simulate", "--replay", path, "--curve", curve, "--json").out)
    target = sum(10 + 2 * (len(this.nodes) - 1) for this in trace.rounds)
    draft = 2.5 * sum(len(this.drafted.passes) for this in trace.rounds)
    assert found["label"].startswith("modelled: the rounds of a simulated run")
    assert found["clock"].endswith("drafter passes as dear as in the run")
    assert found["speedup"] == pytest.approx(20 * 10 / (target + draft))
