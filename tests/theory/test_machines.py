"""One sweep on two kinds of machine, side by side."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.theory.machines import FILE, beside, dumps, kept, sweep_of, table, why
from tests.app.lab.sweeps import MACHINE, drafted, plain, sweep_result

RESULT = sweep_result(plain(), drafted(), drafted(label="unheard-of"))
OTHER = replace(sweep_of(RESULT, "abc123", "before it was fast"), machine=replace(MACHINE, processor="Other"))


def test_only_the_settings_of_the_table_are_kept_with_their_intervals() -> None:
    rows = [(row.title, row.gamma, row.temperature, row.speedup) for row in OTHER.rows]
    assert rows == [("none", None, 0.0, 1.0), ("model", 2, 0.0, 1.333)]
    assert (OTHER.rows[1].low, OTHER.rows[1].high, OTHER.rows[0].tokens_per_s) == (1.333, 1.333, 100.0)


def test_both_machines_stand_side_by_side_and_each_says_what_it_is() -> None:
    heads, body = table(beside(RESULT, [OTHER]))
    assert heads == ["setting", "temperature", "Recorder, 2026-01-02", "Other, 2026-01-02, before it was fast"]
    assert body == [
        ["plain decoding", "0", "100 tokens/s", "100 tokens/s"],
        ["model, γ = 2", "0", "1.33× [1.33–1.33]", "1.33× [1.33–1.33]"],
    ]


def test_every_temperature_of_the_first_sweep_has_its_rows() -> None:
    both = sweep_result(plain(), drafted(), replace(plain(), temperature=0.8), drafted(temperature=0.8))
    assert [cells[1] for cells in table([sweep_of(both)])[1]] == ["0", "0", "0.8", "0.8"]


def test_machines_differ_by_the_price_of_width_and_of_a_drafters_step() -> None:
    """Plain passes of 8 ms; rounds of 9 ms and steps of 1.5 ms, and elsewhere twice and half as dear."""
    chain = drafted(gamma=4)
    here = sweep_of(sweep_result(plain(), chain))
    assert (here.width, here.step) == (1.125, pytest.approx(0.1875, abs=0.001))
    assert why([here, replace(OTHER, width=2.25, step=0.094)]) == (
        "Why they differ: with model at γ = 4 a target pass takes on Recorder 1.12 times as long as one of plain "
        "decoding, and a drafter's step 0.19 of it; on Other 2.25 times as long as one of plain decoding, and a "
        "drafter's step 0.09 of it."
    )
    assert why([here, OTHER]) == "", "a sweep without this setting has no price"


def test_a_setting_that_one_of_them_lacks_is_a_dash() -> None:
    _, body = table(beside(RESULT, [replace(OTHER, rows=OTHER.rows[:1])]))
    assert body[1][3] == "–"


def test_what_was_kept_of_the_processor_that_the_sweep_ran_on_is_not_shown_twice() -> None:
    assert len(beside(RESULT, [replace(OTHER, machine=MACHINE)])) == 1


def test_the_file_holds_what_was_written_into_it(tmp_path: Path) -> None:
    path = tmp_path / "machines.json"
    path.write_text(dumps([OTHER, OTHER]), encoding="utf-8")
    assert kept(path) == (OTHER, OTHER)


def test_a_damaged_file_leaves_the_table_without_it(tmp_path: Path) -> None:
    path = tmp_path / "machines.json"
    path.write_text("{", encoding="utf-8")
    assert kept(path) == ()


@pytest.mark.parametrize("machine", kept(), ids=lambda sweep: sweep.machine.processor)
def test_what_ships_says_of_which_commit_it_is_and_what_was_different(machine) -> None:
    assert machine.commit
    assert machine.note
    assert FILE.stat().st_size < 20_000
