"""`import specviz`: quick, small, and enough to run, keep and check a trace."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import specviz
from specviz.errors import OptionError, TraceError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.codec import assemble
from tests.fake_source import FakeSource

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "trace-1.0-sample.json"


def test_all_names_are_there_and_no_other_is_public() -> None:
    assert specviz.__all__ == ["Trace", "__version__", "check", "read", "record", "run", "write"]
    assert all(getattr(specviz, name) is not None for name in specviz.__all__)
    with pytest.raises(AttributeError, match="module 'specviz' has no attribute 'trase'"):
        specviz.trase  # noqa: B018


@pytest.mark.parametrize("name", ["kept.json", "kept.json.gz"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    trace = specviz.read(GOLDEN)
    specviz.write(trace, tmp_path / name)
    assert specviz.read(tmp_path / name) == trace
    assert isinstance(trace, specviz.Trace)


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(TraceError):
        specviz.read(tmp_path / "list.json")


def test_settings_reach_the_engine(monkeypatch: pytest.MonkeyPatch, fake_source: FakeSource) -> None:
    asked: list[RunRequest] = []

    class Source:
        def run(self, request: RunRequest) -> object:
            asked.append(request)
            return fake_source.run(RunRequest(request.prompt))

    monkeypatch.setattr(specviz, "_engine", Source)
    trace = specviz.run("one two", drafter="ngram", drafter_options={"gamma": 3}, seed=11)
    assert trace == assemble(fake_source.run(RunRequest("one two")))
    assert asked == [RunRequest("one two", drafter=Choice("ngram", {"gamma": 3}), seed=11, stepwise=False)]


def test_an_unknown_setting_is_named_before_anything_is_loaded() -> None:
    with pytest.raises(OptionError, match="a run has no setting 'draughter'; it has prompt, target, drafter"):
        specviz.run("one", draughter="ngram")


@pytest.mark.slow
def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "[]" in done.stdout
    assert (tmp_path / "mean.json.gz").is_file()


def test_a_run_whose_settings_were_whole_numbers_is_sound_after_it_was_kept(tmp_path: Path) -> None:
    trace = specviz.run("The capital of France is", drafter="ngram", temperature=0, top_p=1, max_new_tokens=2)
    specviz.write(trace, tmp_path / "kept.json")
    assert specviz.check(specviz.read(tmp_path / "kept.json")) == []


def test_an_error_is_one_line_whatever_the_names_in_it_hold() -> None:
    """Control characters reach neither a terminal nor a page, nor half a surrogate pair a trace."""
    said = str(OptionError("there is no drafter '\x1b[2J\nübrig \ud83d'; choose one."))
    assert said == "there is no drafter '\\x1b[2J\\nübrig \\ud83d'; choose one."
    assert str(OptionError("γ is 0 – too small.")) == "γ is 0 – too small."
