"""`specviz doctor` as somebody types it."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Call

RECORD = {"timings": {"predicted_n": 200, "predicted_ms": 4000.0, "draft_n": 300, "draft_n_accepted": 100}}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "response.json"
    path.write_text(json.dumps(RECORD))
    return path


def test_findings_are_printed_with_formula_and_lesson(specviz: Call, record: Path) -> None:
    result = specviz("doctor", record, "--plain", "25")
    assert result.code == 0
    text = " ".join(result.out.split())
    assert "response.json: timings of responses of llama.cpp, 1 request" in text
    assert "· It pays It is 2.00 times as fast as plain decoding there, so faster (both measured)." in text
    assert "[50.0 ÷ 25.0 tokens per second] Lesson 4: When it pays, and when not." in text


def test_json_has_counts_and_findings(specviz: Call, record: Path) -> None:
    data = json.loads(specviz("doctor", record, "--json").out)
    assert (data["engine"], data["num_draft_tokens"], data["mean_acceptance_length"]) == ("llama.cpp", 300, 2.0)
    assert data["findings"][0]["title"] == "What drafting may cost"


def test_standard_input_is_read(specviz: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(RECORD).encode())))
    assert "llama.cpp" in specviz("doctor", "-").out


def test_a_file_that_is_no_record_is_named_and_the_others_are_told_of(specviz: Call, record: Path) -> None:
    other = record.with_name("other.txt")
    other.write_text("nothing of the kind")
    result = specviz("doctor", other, record)
    assert result.code == 1
    assert "skipped: other.txt: this is no record that is known here." in result.err
    assert "llama.cpp" in result.out


def test_a_trace_is_a_record_too(specviz: Call, golden: Path) -> None:
    assert "a trace of specviz" in specviz("doctor", golden).out
