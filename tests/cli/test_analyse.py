"""`specviz analyse`: reasons and tables of traces, unreadable files named, exit codes a script can trust."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.trace import codec
from tests.cli.conftest import Call

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two good traces, one of them below, a gallery's index, and a file that is no trace."""
    (tmp_path / "traces" / "below").mkdir(parents=True)
    shutil.copy(GOLDEN / "trace-1.1-sample.json", tmp_path / "traces" / "a.json")
    codec.write(codec.read(GOLDEN / "trace-1.1-greedy.json"), tmp_path / "traces" / "below" / "b.json.gz")
    (tmp_path / "traces" / "index.json").write_text("{}")
    (tmp_path / "traces" / "torn.json").write_text('{"format": "specviz-trace"')
    return tmp_path / "traces"


def test_one_trace_is_told_with_reasons_pairs_and_tables(specviz: Call) -> None:
    result = specviz("analyse", GOLDEN / "trace-1.1-sample.json")
    assert (result.code, result.err) == (0, "")
    assert "8 rounds, 35 candidates: 21 tested, 14 unreached\n  accepted 0.62 [0.41–0.79] of the tested" in result.out
    assert " 40 %    2  other: something else" in result.out
    assert "trace-1.1-sample round 0: …ef␣add(a,␣b):⏎␣␣␣␣return | drafted ␣c, wanted ␣a" in result.out
    assert "    4  1.00 [0.21–1.00]  ████████████████████  1 of 1" in result.out
    assert "Σ min(p, q) promises 0.744, accepted 0.67 [0.42–0.85]" in result.out


def test_no_token_of_a_trace_commands_the_terminal(specviz: Call) -> None:
    out = specviz("analyse", GOLDEN / "trace-1.1-sample.json").out
    assert "\u202e" not in out
    assert "\\u202e" in out


def test_a_folder_is_read_to_its_depth_and_what_cannot_be_read_is_named_and_skipped(
    specviz: Call, folder: Path
) -> None:
    result = specviz("analyse", folder)
    assert result.code == 1
    assert result.err.startswith("skipped: torn.json: ")
    assert result.err.count("\n") == 1, "the gallery's index is no trace and no error"
    assert "sample (toy drafter) · 2 traces\n  10 rounds, 44 candidates" in result.out


def test_json_holds_everything_that_is_printed_and_more(specviz: Call, folder: Path) -> None:
    result = specviz("analyse", folder, "--json", "--pattern", "surprise", "--bits", "2")
    data = json.loads(result.out)
    assert result.code == 1
    assert [one["drafter"] for one in data["drafters"]] == ["sample (toy drafter)"]
    assert data["drafters"][0]["acceptance"]["hits"] == 13 + 4
    assert [(this["run"], this["index"]) for this in data["rounds"]] == [("a", 3), ("a", 6)]
    assert len(data["skipped"]) == 1


@pytest.mark.parametrize("bits", ["nan", "-1"])
def test_bits_that_no_surprise_has_are_refused(specviz: Call, bits: str) -> None:
    result = specviz("analyse", GOLDEN / "trace-1.1-sample.json", "--pattern", "surprise", "--bits", bits)
    assert (result.code, result.out) == (2, "")
    assert f"not counted in {bits} bits" in result.err


def test_rounds_of_a_pattern_are_named(specviz: Call) -> None:
    out = specviz("analyse", GOLDEN / "trace-1.1-sample.json", "--pattern", "saved by a sibling").out
    assert "round 1: 3 of 15 accepted, bonus" in out
    assert "round 6: 1 of 4 accepted, correction" in out
    assert "round 0" not in out


def test_two_traces_stand_side_by_side(specviz: Call) -> None:
    result = specviz("analyse", GOLDEN / "trace-1.1-sample.json", GOLDEN / "trace-1.1-greedy.json", "--compare")
    assert result.code == 0
    assert "the outputs part at position 3: …␣␣␣␣return␣a | ␣+ | ⏎" in result.out
    lines = result.out.splitlines()
    assert " ".join(lines[4].split()) == "3 round 1: 3 of 15, bonus | round 1: 2 of 2, bonus"
    assert lines[5] == "  -- from here on the texts differ"


def test_comparing_takes_two(specviz: Call) -> None:
    result = specviz("analyse", GOLDEN / "trace-1.1-sample.json", "--compare")
    assert (result.code, result.err) == (2, "specviz: --compare sets two traces side by side, but 1 are given.\n")


def test_one_drafter_of_many_is_chosen_by_its_name(specviz: Call, tmp_path: Path) -> None:
    trace = codec.read(GOLDEN / "trace-1.1-sample.json")
    other = replace(trace.started, drafter=replace(trace.started.drafter, name="ngram", model=None))
    codec.write(replace(trace, started=other), tmp_path / "other.json")
    both = (GOLDEN / "trace-1.1-sample.json", tmp_path / "other.json")
    assert specviz("analyse", *both, "--drafter", "ngram").out.startswith("ngram · other")
    wrong = specviz("analyse", *both, "--drafter", "medusa")
    assert wrong.code == 2
    assert "--drafter is 'medusa', but these traces are of: ngram, sample (toy drafter)." in wrong.err


def test_csv_files_have_a_line_per_candidate_and_round_and_run_no_formula(specviz: Call, tmp_path: Path) -> None:
    assert specviz("analyse", GOLDEN / "trace-1.1-sample.json", "--csv", tmp_path / "out").code == 0
    files = {path.stem: path.open(encoding="utf-8", newline="") for path in (tmp_path / "out").glob("*.csv")}
    tables = {name: list(csv.DictReader(file)) for name, file in files.items()}
    lengths = {name: len(lines) for name, lines in tables.items()}
    assert lengths == {"candidates": 35, "rounds": 8, "rates": 32, "pairs": 7, "failures": 4, "calibration": 8}
    candidates = tables["candidates"]
    assert [line["fate"] for line in candidates].count("unreached") == 14
    assert next(line for line in candidates if line["token"] == "27")["text"] == "'-"
    assert float(candidates[0]["belief_overlap"]) > 0.5


@pytest.mark.parametrize("place", ["nowhere", "nowhere.json"])
def test_a_place_that_is_not_there_is_said(specviz: Call, tmp_path: Path, place: str) -> None:
    result = specviz("analyse", tmp_path / place)
    assert result.code == 2
    assert f"there is no file or folder '{tmp_path / place}'" in result.err


def test_a_folder_without_traces_is_said(specviz: Call, tmp_path: Path) -> None:
    assert "give a folder of traces" in specviz("analyse", tmp_path).err


def test_the_page_names_three_kinds_of_each_drafter_with_examples_that_open_the_player(
    specviz: Call, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- failures -->\nold\n<!-- /failures -->\nafter\n", encoding="utf-8")
    (tmp_path / "runs").mkdir()
    shutil.copy(GOLDEN / "trace-1.1-sample.json", tmp_path / "runs" / "a.json")
    assert specviz("analyse", tmp_path / "runs", "--write", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- failures -->\nCounted by")
    assert text.endswith("<!-- /failures -->\nafter\n")
    assert "- 40 % (2 of 5) *other*: something else\n  - [a, round 4](http://127.0.0.1:7860/#ask=" in text
    assert text.count("\n- ") == 3
    assert "old" not in text


def test_a_page_is_not_written_from_a_folder_that_cannot_be_read_whole(specviz: Call, folder: Path) -> None:
    page = folder.parent / "page.md"
    page.write_text("<!-- failures -->\n<!-- /failures -->\n", encoding="utf-8")
    assert specviz("analyse", folder, "--write", page).code == 2
    assert page.read_text(encoding="utf-8") == "<!-- failures -->\n<!-- /failures -->\n"
