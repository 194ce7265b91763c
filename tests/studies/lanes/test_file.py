"""Lanes as a file: what is written is read back, and what cannot be so is refused in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.errors import TraceError
from specviz.protocol.lanes import DRAFT, TARGET, Span
from specviz.studies.lanes import result as lanes
from specviz.studies.lanes.result import FORMAT, VERSION, LanesCase, LanesFile, LanesRun
from specviz.trace import codec

STARTED = codec.read(Path(__file__).parents[2] / "golden" / "trace-1.0-sample.json").started
PLAIN = LanesRun("plain", "measured", 2, 2.0, (Span(TARGET, "verify", 0, 1, 0, 1), Span(TARGET, "verify", 1, 2, 0, 1)))
IN_TURN = LanesRun(
    "sd", "measured", 2, 1.75, (Span(DRAFT, "draft", 0.0, 0.5, 3), Span(TARGET, "verify", 0.5, 1.75, 3, 2, 1))
)


def sample(*runs: LanesRun) -> LanesFile:
    return LanesFile(
        FORMAT, VERSION, "once", " upon a", STARTED.machine, STARTED.target, STARTED.target, 3, 8, 7, 0.0, 0,
        (LanesCase(0.0, runs or (PLAIN, IN_TURN)),),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["lanes.json", "lanes.json.gz"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    lanes.write(sample(), tmp_path / name)
    assert lanes.read(tmp_path / name) == sample()


def test_what_was_drafted_accepted_and_thrown_away() -> None:
    assert (IN_TURN.drafted(), IN_TURN.accepted(), IN_TURN.thrown()) == (3, 1, 2)
    assert (PLAIN.drafted(), PLAIN.thrown()) == (0, 0)
    assert (IN_TURN.busy(DRAFT), IN_TURN.busy(TARGET)) == (0.5 / 1.75, 1.25 / 1.75)
    assert IN_TURN.lanes() == [DRAFT, TARGET]


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ((Span(TARGET, "verify", 0, 1, 0, 1), Span(TARGET, "verify", 0.5, 2, 0, 1)), "busy with two things at once"),
        ((Span(TARGET, "verify", 0, 3, 0, 2),), "has impossible times or counts"),
        ((Span(TARGET, "verify", 1, 0.5, 0, 2),), "has impossible times or counts"),
        ((Span(TARGET, "verify", 0, 1, 1, 1, 2),), "has impossible times or counts"),
        ((Span(TARGET, "sing", 0, 1, 0, 2),), "does something unknown"),
        ((Span(TARGET, "verify", 0, 1, 0, 1),), "has more text than its verifications gave"),
    ],
)
def test_what_cannot_be_so_is_neither_written_nor_read(tmp_path: Path, spans: tuple[Span, ...], said: str) -> None:
    wrong = sample(replace(PLAIN, spans=spans))
    assert any(said in problem for problem in lanes.problems(wrong))
    with pytest.raises(TraceError, match=said):
        lanes.write(wrong, tmp_path / "lanes.json")
    assert not list(tmp_path.iterdir())


def test_another_format_version_and_a_missing_plain_run_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "lanes.json"
    lanes.write(sample(), path)
    data = json.loads(path.read_text())
    for change, said in (
        ({"format": "other"}, "this is no file of lanes of version 1.0, but says 'other' '1.0'"),
        ({"version": "9"}, "but says 'specviz-lanes' '9'"),
        ({"gamma": "four"}, "gamma"),
        ({"cases": []}, "there is no case"),
    ):
        path.write_text(json.dumps(data | change))
        with pytest.raises(TraceError, match=said):
            lanes.read(path)
    assert [*lanes.problems(sample(IN_TURN))] == ["plain decoding is not the first of a case"]
