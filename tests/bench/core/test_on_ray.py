"""Work spread item by item over a real Ray cluster of two nodes, a worker of which is killed; and the commands."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from specviz.bench.core.on_ray import each
from specviz.cli.main import main
from specviz.errors import BenchError, TraceError
from specviz.resources import asset_path

pytest.importorskip("ray", reason="Ray, an optional extra, is not installed: pip install 'specviz[ray]'")


def squared(item: tuple[str, int]) -> int:
    """Of the number; the process that meets 3 first is killed."""
    folder, number = item
    if number == 3:
        try:
            Path(folder, "dead").touch(exist_ok=False)
        except FileExistsError:
            return number**2
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2


def refusing(number: int) -> int:
    if number == 2:
        raise TraceError("two is not read.")
    return number


def test_every_item_is_answered_in_order_though_a_worker_is_killed(cluster: str, tmp_path: Path) -> None:
    items = [(str(tmp_path), number) for number in range(6)]
    assert list(each(cluster, squared, items)) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "dead").exists()
    found = each(cluster, refusing, [1, 2])
    assert next(found) == 1
    with pytest.raises(BenchError, match=r"^two is not read\.$"):
        next(found)


def test_traces_counted_on_a_cluster_are_said_to_be_what_they_are_here(
    cluster: str,
    tmp_path: Path,
    capsys: Any,
) -> None:
    for name in ("growth-chain", "ngram-copy-timer"):
        shutil.copy(asset_path("traces", f"{name}.json.gz"), tmp_path)
    (tmp_path / "broken.json").write_text("{}", encoding="utf-8")
    told = []
    for spread in ([], ["--ray", cluster]):
        assert main(["analyse", str(tmp_path), "--json", *spread]) == 1
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert "broken.json" in told[0]


@pytest.mark.slow
def test_a_recording_made_on_a_cluster_is_one_of_its_list(cluster: str, tmp_path: Path) -> None:
    lines = [
        "[[recording]]",
        'name = "one"',
        'prompt = "story-looked-sleepy"',
        'drafter = "ngram"',
        "max_new_tokens = 4",
    ]
    (tmp_path / "recordings.toml").write_text("\n".join(lines), encoding="utf-8")
    assert main(["record", "--folder", str(tmp_path), "--ray", cluster]) == 0
    assert main(["check", str(tmp_path / "one.json.gz")]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("record", "--fill-in"), "--ray spreads recordings"),
        (("analyse", "--compare", "a", "b"), "--compare sets two"),
    ],
)
def test_what_cannot_be_spread_is_refused(words: tuple[str, ...], said: str, tmp_path: Path, capsys: Any) -> None:
    for name in ("a", "b"):
        shutil.copy(asset_path("traces", "growth-chain.json.gz"), tmp_path / f"{name}.json.gz")
    given = [str(tmp_path / f"{word}.json.gz") if word in ("a", "b") else word for word in words]
    assert main([*given, "--ray", "local"]) == 2
    assert said in capsys.readouterr().err
