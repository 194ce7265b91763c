"""Batches as a file: what is written is read back, and what cannot be so is refused in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.errors import TraceError
from specviz.studies.batches import result as batches
from specviz.studies.batches.result import FORMAT, PLAIN, VERSION, BatchFile, BatchPoint, BatchText, Shape, name_of
from specviz.trace import codec

STARTED = codec.read(Path(__file__).parent.parent / "golden" / "trace-1.0-sample.json").started
CHAIN: Shape = (1, 1)


def point(shape: Shape, size: int, seconds: float, repeat: int = 0) -> BatchPoint:
    """40 tokens; half of the time in passes, of which each serves all texts."""
    passes = 40 // size
    return BatchPoint(shape, size, repeat, seconds, seconds / 2, 40, passes, passes * size, 0 if shape == PLAIN else 8)


def text(shape: Shape, size: int, prompt: str = "a", accepted: int = 6, same: bool = True) -> BatchText:
    drafted = 0 if shape == PLAIN else 8
    return BatchText(shape, size, prompt, drafted // 2, drafted, accepted if drafted else 0, same)


def sample(speedups: dict[int, float], shapes: tuple[Shape, ...] = (CHAIN,)) -> BatchFile:
    """Plain decoding takes a second at every size; every shape is `speedups` times as fast."""
    points = [point(PLAIN, size, 1.0) for size in speedups]
    points += [point(shape, size, 1 / ratio) for shape in shapes for size, ratio in speedups.items()]
    texts = [
        text(shape, size, prompt, accepted)
        for shape in (PLAIN, *shapes)
        for size in speedups
        for prompt, accepted in (("a", 6), ("b", 2))
    ]
    return BatchFile(
        FORMAT, VERSION, STARTED.machine, STARTED.target, STARTED.target, "2026-01-31T12:00:00Z", "process",
        1.25, 0.0, 7, 20,
        tuple(points), tuple(texts),
    )  # fmt: skip


GOOD = sample({1: 1.5, 2: 1.25})


@pytest.mark.parametrize("name", ["batch.json", "batch.json.gz"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    file = replace(GOOD, points=tuple(replace(one, seconds=0.5, pass_s=0.25) for one in GOOD.points))
    batches.write(file, tmp_path / name)
    assert batches.read(tmp_path / name) == file


@pytest.mark.parametrize(("shape", "name"), [((), "plain decoding"), ((1, 1, 1), "γ = 3"), ((3, 2, 1), "tree 3,2,1")])
def test_a_shape_has_a_name(shape: Shape, name: str) -> None:
    assert name_of(shape) == name


def _points(*more: BatchPoint, without: int = 0) -> BatchFile:
    return replace(GOOD, points=(*GOOD.points[without:], *more))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (replace(GOOD, clock="sun"), "its clock is neither of the two"),
        (replace(GOOD, points=GOOD.points[:2]), "nothing was measured beside plain decoding"),
        (_points(without=1), "γ = 2 in batches of 1, repeat 1, has no plain decoding beside it"),
        (_points(point(CHAIN, 2, 1.0)), "γ = 2 in batches of 2, repeat 1, is there twice"),
        (replace(GOOD, texts=GOOD.texts[2:]), "plain decoding in batches of 1, repeat 1, has no texts"),
        (_points(replace(point(PLAIN, 1, 1.0, 1), pass_s=2.0)), "batches of 1 has impossible times or counts"),
        (_points(replace(point(PLAIN, 1, 1.0, 1), tokens=3)), "batches of 1 has impossible times or counts"),
        (_points(replace(point(PLAIN, 1, 1.0, 1), shares=41)), "has more texts in its passes than there are"),
        (replace(GOOD, texts=(*GOOD.texts, text(CHAIN, 1, "c", 9))), "γ = 2 on c has impossible counts"),
    ],
)
def test_what_cannot_be_so_is_neither_written_nor_read(tmp_path: Path, file: BatchFile, said: str) -> None:
    assert any(said in problem for problem in batches.problems(file))
    with pytest.raises(TraceError, match=said):
        batches.write(file, tmp_path / "batch.json")
    assert not list(tmp_path.iterdir())


def test_another_format_version_or_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    batches.write(GOOD, path)
    data = json.loads(path.read_text())
    for change, said in (
        ({"format": "other"}, "this is no file of batches of version 1.0, but says 'other' '1.0'"),
        ({"version": "9"}, "but says 'specviz-batches' '9'"),
        ({"seed": "seven"}, "seed"),
        ({"points": []}, "nothing was measured beside plain decoding"),
    ):
        path.write_text(json.dumps(data | change))
        with pytest.raises(TraceError, match=said):
            batches.read(path)
