"""`specviz check`: every problem named, exit codes a script can trust."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.trace import codec
from tests.cli.conftest import Call


@pytest.fixture
def broken(golden: Path, tmp_path: Path) -> Path:
    """The golden trace with two lies: one accepted token too many in the summary, and a wrong output text."""
    trace = codec.read(golden)
    summary = replace(trace.summary, num_accepted_draft_tokens=trace.summary.num_accepted_draft_tokens + 1)
    path = tmp_path / "broken.json"
    codec.write(replace(trace, summary=summary, finished=replace(trace.finished, text="something else")), path)
    return path


def test_a_sound_trace_passes(specviz: Call, golden: Path) -> None:
    result = specviz("check", golden)
    assert result.code == 0
    assert "sound, 8 rounds" in result.out
    assert result.err == ""


def test_what_no_trace_can_show_is_said(specviz: Call, golden: Path) -> None:
    result = specviz("check", golden)
    assert "not recomputed: that the models say what is recorded of them; no model at hand" in result.out


def test_a_verifier_unknown_here_is_not_recomputed_and_never_called_sound(
    specviz: Call, golden: Path, tmp_path: Path
) -> None:
    """Another package's rule: nothing contradicts it, and nothing was worked out anew."""
    trace = codec.read(golden)
    rounds = [replace(this, judged=replace(this.judged, rule="dreamt_up")) for this in trace.rounds]
    verifier = replace(trace.started.verifier, name="dreamt_up")
    path = tmp_path / "unknown.json"
    codec.write(replace(trace, rounds=rounds, started=replace(trace.started, verifier=verifier)), path)
    result = specviz("check", path)
    assert result.code == 0
    assert "sound" not in result.out
    assert "unknown.json: not recomputed, 8 rounds" in result.out
    assert "lossless mark of the verifier 'dreamt_up', which is unknown here" in result.out


def test_every_error_is_named_and_the_code_is_1(specviz: Call, broken: Path) -> None:
    result = specviz("check", broken)
    assert result.code == 1
    assert "num_accepted_draft_tokens" in result.err
    assert "finished.text" in result.err
    assert "sound" not in result.out


def test_one_broken_trace_among_sound_ones_is_enough(specviz: Call, golden: Path, broken: Path) -> None:
    result = specviz("check", golden, broken, golden)
    assert result.code == 1
    assert result.out.count("sound") == 2


def test_json_lists_files_and_problems(specviz: Call, golden: Path, broken: Path) -> None:
    result = specviz("check", "--json", golden, broken)
    data = json.loads(result.out)
    assert result.code == 1
    assert data["ok"] is False
    assert [file["ok"] for file in data["files"]] == [True, False]
    assert [file["verdict"] for file in data["files"]] == ["sound", "false"]
    assert any("no model at hand" in gap for gap in data["files"][0]["not_recomputed"])
    assert {"place", "sentence", "severity"} <= set(data["files"][1]["problems"][0])


def test_a_file_that_is_no_trace_fails_the_check(specviz: Call, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"format": "something"}')
    result = specviz("check", path)
    assert result.code == 1
    assert "this file is something else" in result.err


def test_a_files_name_is_said_once(specviz: Call, tmp_path: Path) -> None:
    (tmp_path / "m0.json").write_text('{"format": "specviz-trace", "version": "1.0"}')
    (line,) = specviz("check", tmp_path / "m0.json").err.splitlines()
    assert line.startswith(f"{tmp_path / 'm0.json'}: error: ")
    assert line.count("m0.json") == 1


def test_all_missing_fields_are_listed_at_once(specviz: Call, golden: Path, tmp_path: Path) -> None:
    data = json.loads(golden.read_text())
    del data["summary"], data["started"]["seed"], data["started"]["target"]["dtype"]
    for this in data["rounds"]:
        del this["judged"]["path"]
    (tmp_path / "m0.json").write_text(json.dumps(data))
    told = specviz("check", tmp_path / "m0.json").err
    assert "error: 4 fields are missing, and every trace has them: started.target.dtype, started.seed, " in told
    assert "rounds[0].judged.path (and 7 more), summary." in told


def test_a_missing_file_is_wrong_usage(specviz: Call, tmp_path: Path) -> None:
    result = specviz("check", tmp_path / "nowhere.json")
    assert result.code == 2
    assert "there is no file" in result.err
