"""Curve files: what is written is read back, and what is no measured curve is refused with a reason."""

import json
from dataclasses import replace

import pytest

from specviz.errors import TraceError
from specviz.protocol.profiles import MOST_ROWS, dumps, loads, read
from tests.curves import hardware_curve


def changed(**parts: object) -> bytes:
    return json.dumps({**json.loads(dumps(hardware_curve())), **parts}).encode()


def test_a_curve_is_read_back_as_it_was_written() -> None:
    curve = hardware_curve()
    assert loads(dumps(curve).encode()) == curve


def test_how_weights_are_stored_may_be_said_and_need_not() -> None:
    curve = hardware_curve()
    short = replace(curve, model=replace(curve.model, stored_bytes=2))
    assert loads(dumps(short).encode()) == short
    older = json.loads(dumps(curve))
    del older["model"]["stored_bytes"]
    assert loads(json.dumps(older).encode()) == curve
    with pytest.raises(TraceError, match=r"model\.stored_bytes is 0, which is below 1"):
        dumps(replace(curve, model=replace(curve.model, stored_bytes=0)))


def test_every_time_has_a_line_of_its_own() -> None:
    lines = [line for line in dumps(hardware_curve()).splitlines() if line.startswith('  {"n"')]
    assert len(lines) == 5
    assert '"median_s": 12.6' in lines[1]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "the file is empty"),
        (b"[1]", "a list"),
        (changed(format="specviz-trace"), "no measured step-time curve"),
        (changed(version=2), "version 2"),
        (changed(rows=[]), "rows holds no time"),
        (changed(rows=[{"n": 1}]), r"6 fields are missing, and every curve has them: rows\[0\]\.context"),
        (changed(rows=[{**json.loads(dumps(hardware_curve()))["rows"][0], "n": "1"}]), r"rows\[0\]\.n"),
        (changed(rows=[{}] * (MOST_ROWS + 1)), "at most 2,000 are read"),
        (changed(reading={"median": 0, "low": 0, "high": 0, "how": ""}), "reading is no rate"),
        (changed(name=None), "name"),
    ],
)
def test_what_is_no_curve_is_refused_with_the_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(TraceError, match=reason):
        loads(raw)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"median_s": 14.0}, r"rows\[0\] has no time with quartiles"),
        ({"low_s": 0.0}, r"rows\[0\] has no time with quartiles"),
        ({"high_s": float("inf")}, r"rows\[0\] has no time with quartiles"),
        ({"n": 0}, r"rows\[0\] has a count"),
        ({"n": 2}, r"rows\[1\] is there twice"),
    ],
)
def test_a_curve_that_cannot_be_true_is_not_written(parts: dict[str, float], reason: str) -> None:
    curve = hardware_curve()
    with pytest.raises(TraceError, match=reason):
        dumps(replace(curve, rows=(replace(curve.rows[0], **parts), *curve.rows[1:])))


def test_a_file_that_is_missing_or_huge_is_refused_by_name(tmp_path) -> None:
    with pytest.raises(TraceError, match=r"gone\.json: cannot be read"):
        read(tmp_path / "gone.json")
    (tmp_path / "big.json").write_bytes(b" " * (512 * 2**10 + 1))
    with pytest.raises(TraceError, match=r"big\.json: the file has 524,289 bytes"):
        read(tmp_path / "big.json")
