"""`specviz profile`: flags become a request, the curve becomes a file and a table, a stop keeps what is done."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.bench.profile import measure as profiling
from specviz.protocol.profiles import Profiled, ProfileRequest, loads, read
from tests.cli.conftest import Call
from tests.curves import hardware_curve


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ProfileRequest]:
    """Every request; each is answered with the toy curve."""
    requests: list[ProfileRequest] = []

    def answer(request: ProfileRequest, *others: object) -> Iterator[Profiled]:
        requests.append(request)
        yield Profiled(1, 2, None)
        yield Profiled(2, 2, hardware_curve())

    monkeypatch.setattr(profiling, "profile", answer)
    return requests


def test_the_curve_is_written_and_shown_beside_its_roofline(
    specviz: Call, asked: list[ProfileRequest], tmp_path: Path
) -> None:
    done = specviz("profile", "--out", tmp_path / "toy.json")
    assert (done.code, done.err) == (0, f"wrote {tmp_path / 'toy.json'}\n")
    assert read(tmp_path / "toy.json") == hardware_curve()
    assert "context 10, batch 1: knee at n = 4, ridge at n = 4.0" in done.out
    assert "| 8 | 20000.00 [19000.00–21000.00] | 1.67 | 22000.00 |" in done.out
    assert asked == [ProfileRequest()]


def test_the_file_is_named_after_machine_and_model(
    specviz: Call, asked: list[ProfileRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = specviz("profile", "--json")
    assert loads(done.out.encode()) == read(tmp_path / "toy-box--toy.json")


def test_flags_become_the_request(specviz: Call, asked: list[ProfileRequest], tmp_path: Path) -> None:
    words = "--shape 7b --rows 1,8 --contexts 128,2048 --batch 1,8 --repeats 5 --device cuda --dtype bfloat16 --bare"
    specviz("profile", *words.split(), "--name", "a GPU", "--target", "t", "--out", tmp_path / "x.json")
    assert asked == [
        ProfileRequest("t", "7b", (1, 8), (128, 2048), (1, 8), 5, "cuda", "bfloat16", bare=True, name="a GPU")
    ]


def test_a_stop_keeps_the_curve_and_says_so(specviz: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cut = replace(hardware_curve(), complete=False)
    monkeypatch.setattr(profiling, "profile", lambda *arguments: iter([Profiled(1, 2, cut)]))
    done = specviz("profile", "--out", tmp_path / "toy.json")
    assert (done.code, done.err) == (1, f"stopped early; wrote {tmp_path / 'toy.json'}\n")
    assert not read(tmp_path / "toy.json").complete


def test_a_stop_that_leaves_nothing_writes_nothing(
    specviz: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(profiling, "profile", lambda *arguments: iter([Profiled(1, 2, None)]))
    done = specviz("profile", "--out", tmp_path / "toy.json")
    assert done.code == 2
    assert "nothing was written" in done.err
    assert list(tmp_path.iterdir()) == []
