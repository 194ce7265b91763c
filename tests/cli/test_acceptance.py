"""`specviz acceptance`: traces and records of other engines in one comparison, and what is missing said."""

import json
from pathlib import Path

from tests.cli.conftest import Call
from tests.protocol.acceptance.records import sglang, vllm


def test_a_trace_and_two_engines_stand_in_one_table(specviz: Call, golden: Path, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(vllm()))
    (tmp_path / "s.json").write_text(json.dumps(sglang()))
    result = specviz("acceptance", golden, tmp_path / "v.json", tmp_path / "s.json")
    assert result.code == 0
    head, own, first, second, *notes = result.out.splitlines()
    assert head.split()[:8] == ["run", "engine", "requests", "steps", "drafted", "accepted", "rate", "mean"]
    assert "0.389" in own
    assert " *" not in own
    assert first.split() == ["v.json", "vllm", "*", "1", "43", "129", "10", "0.078", "1.23", "9%", "7%", "7%"]
    assert second.split() == ["s.json", "sglang", "*", "1", "5", "15", "6", "0.400", "2.20", "80%", "20%", "20%"]
    assert any("summary only: the engine tells counts, so there is no tree" in note for note in notes)


def test_json_says_which_runs_have_no_tree(specviz: Call, golden: Path, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(vllm()))
    data = json.loads(specviz("acceptance", "--json", golden, tmp_path / "v.json").out)
    assert [run["summary_only"] for run in data["runs"]] == [False, True]
    assert data["runs"][1]["acceptance_histogram"] == [39, 1, 0, 3]


def test_a_file_that_tells_nothing_is_skipped_and_the_code_is_1(specviz: Call, golden: Path, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = specviz("acceptance", tmp_path / "x.json", golden)
    assert result.code == 1
    assert "skipped: x.json: there is no acceptance record in it" in result.err
    assert golden.name in result.out


def test_export_writes_the_engines_words(specviz: Call, golden: Path, tmp_path: Path) -> None:
    assert specviz("export", golden, "--as", "vllm", "--out", tmp_path / "o.json").code == 0
    told = json.loads((tmp_path / "o.json").read_text())["metrics"]["speculative_decoding"]
    assert (told["num_spec_steps"], told["num_accepted_draft_tokens"]) == (7, 14)
    assert "leave --round away" in specviz("export", golden, "--as", "aiperf", "--round", "1").err
