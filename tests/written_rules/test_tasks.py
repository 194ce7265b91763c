"""Tasks, the lines that students hand in, and `specviz grade` over a folder of them."""

import csv
from pathlib import Path

import pytest

from specviz.cli.main import main
from specviz.errors import OptionError
from specviz.written_rules.tasks import Task, check_task, hand_in_line, read_line, tasks

EXACT = "accept = min(1, p / q)\nreplacement = max(0, p - q)\n"
FORGOT = "accept = min(1, p / q)\nreplacement = p - q\n"


@pytest.mark.parametrize("task", tasks().values(), ids=list(tasks()))
def test_the_start_of_a_task_does_not_solve_it_and_its_solution_does(task: Task) -> None:
    assert not check_task(task, task.start).passed
    assert check_task(task, task.solution).passed


def test_a_rule_that_keeps_nothing_is_exact_and_solves_nothing() -> None:
    checked = check_task(tasks()["exact"], "accept = 0\nreplacement = p\n")
    assert checked.missing == ("it keeps fewer candidates than it could",)


def test_to_accept_more_and_stay_exact_takes_the_bound_as_a_formula() -> None:
    checked = check_task(tasks()["more"], EXACT + "most = 0.7\n")
    assert checked.missing == ("the line 'most' is missing, or is not the right number",)
    assert check_task(tasks()["more"], EXACT + "most = 1 - sum(max(0, q - p))\n").passed


def test_a_handed_in_line_carries_task_and_rule_and_shows_a_change() -> None:
    line = hand_in_line("exact", "Zoë", "accept = 1  # für alle\nreplacement = p")
    assert read_line(line) == (tasks()["exact"], "Zoë", "accept = 1  # für alle\nreplacement = p")
    assert read_line(hand_in_line("exact", "", "")) == (tasks()["exact"], "", "")
    mark = "specviz|1|rule-"
    for damaged in (line[:-1], line[:-1] + "g", line.replace("exact", "more"), f"{mark}exact", f"{mark}|||"):
        with pytest.raises(OptionError, match="damaged"):
            read_line(damaged)
    with pytest.raises(OptionError, match="no task 'other'"):
        read_line(hand_in_line("other", "Zoë", EXACT))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    submitted = tmp_path / "handed-in"
    (submitted / "late").mkdir(parents=True)
    lines = [
        hand_in_line("exact", "Anna", FORGOT),
        f"> {hand_in_line('exact', 'Anna', EXACT)} ",
        "specviz|1|rule-exact|cut",
    ]
    (submitted / "all.txt").write_text("\n".join(lines), encoding="utf-8")
    (submitted / "late" / "=Ben.txt").write_text(f"Hello,\n{hand_in_line('exact', '', FORGOT)}\n", encoding="utf-8")
    (submitted / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    return submitted


def test_grade_prints_who_solved_what_and_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(folder)]) == 0
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert printed == [
        "student exact more lenience siblings bending_stop honest_stop coupled solved",
        "Anna ✓ – – – – – – 1 of 7",
        "all – – – – – – – 0 of 7",
        "=Ben ✗ – – – – – – 0 of 7",
        "",
        "all · all.txt: the line is damaged: it was cut off or changed; have it copied anew.",
        "=Ben · exact: the law is not p; You forgot max(0, ·)",
    ]


def test_grade_writes_every_line_as_csv_without_formulas(folder: Path, tmp_path: Path) -> None:
    assert main(["grade", str(folder), "--csv", str(tmp_path / "class.csv")]) == 0
    with (tmp_path / "class.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert [row[:3] for row in rows] == [
        ["student", "task", "solved"],
        ["Anna", "exact", "no"],
        ["Anna", "exact", "yes"],
        ["all", "", "no"],
        ["'=Ben", "exact", "no"],
    ]
    assert rows[1][4:] == ["You forgot max(0, ·)", FORGOT, "all.txt"]


def test_grade_says_where_there_is_nothing_to_grade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(tmp_path)]) == 2
    assert main(["grade", str(tmp_path / "nowhere")]) == 2
    printed = capsys.readouterr().err.splitlines()
    assert "specviz|1|rule-…" in printed[0]
    assert "there is no folder" in printed[1]
