"""Sweep files, sweep results and races of format 1.0, written once and never again: every later release opens them."""

from __future__ import annotations

from pathlib import Path

from specviz.protocol import races
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.points import summarise
from specviz.protocol.sweeps.result import points_of
from specviz.protocol.sweeps.toml_file import definition_of, read_definition, to_toml

GOLDEN = Path(__file__).parents[1] / "golden"


def test_a_sweep_file_of_1_0_says_what_it_said() -> None:
    definition = read_definition(GOLDEN / "sweep-1.0.toml")
    assert (definition.gammas, definition.trees, definition.temperatures) == ((1, 3), ((3, 2),), (0.0, 0.7))
    assert [entry.label or entry.name for entry in definition.drafters] == ["model", "jacobi", "own"]
    assert definition.drafters[1].lengths == (4,)
    assert definition_of(to_toml(definition)) == definition


def test_a_sweep_result_of_1_0_opens_with_every_run() -> None:
    result = store.read(GOLDEN / "sweep-1.0.json")
    assert (len(result.points), result.complete) == (8, True)
    rows = summarise(points_of(result))
    assert [(row.drafter, row.gamma, row.ratio_median) for row in rows] == [
        ("none", None, 1.0), ("model", 1, 2.0), ("model", 3, 2.0), ("model", None, 1.0),
    ]  # fmt: skip
    assert str(rows[3].policies) == "dyspec budget 8 · confidence"


def test_a_race_of_1_0_opens_with_its_traces_and_ratios() -> None:
    race = races.read(GOLDEN / "race-1.0.json")
    assert [(one.label, one.ratios) for one in race.runners] == [("plain decoding", (1.0,)), ("model γ 1", (2.0, 1.9))]
    assert [len(one.trace.rounds) for one in race.runners] == [8, 4]
