"""What is spread over a real Ray cluster of two nodes on this machine, workers of which are killed: items, commands, a
sweep. One cluster for all: to start one takes longer than they do."""

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specviz.bench.core.on_ray import each
from specviz.bench.sweep.workplace import trace_name
from specviz.cli.commands.bench import sweep as bench_sweep
from specviz.cli.main import main
from specviz.errors import BenchError
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.result import points_of
from specviz.resources import asset_path
from tests.bench.sweep.frail import SWEEP, frail_source, squared

pytest.importorskip("ray", reason="Ray, an optional extra, is not installed: pip install 'specviz[ray]'")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers know."""
    return tmp_path_factory.mktemp("meeting")


@pytest.fixture(scope="module")
def cluster(meeting: Path) -> Iterator[str]:
    """Its address. Two nodes with one core each, so two workers."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("SPECVIZ_TEST_MEETING", str(meeting))
        node = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
        found = Cluster(initialize_head=True, head_node_args=node)
        found.add_node(num_cpus=1, object_store_memory=80_000_000)
        found.wait_for_nodes()
        try:
            yield found.address
        finally:
            found.shutdown()


def test_every_item_is_answered_in_order_though_a_worker_is_killed(cluster: str, tmp_path: Path) -> None:
    found = each(cluster, squared, [(str(tmp_path), number) for number in range(7)])
    assert [next(found) for _ in range(6)] == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "dead").exists()
    with pytest.raises(BenchError, match=r"^six is not read\.$"):
        next(found)


def test_traces_counted_on_a_cluster_are_said_to_be_what_they_are_here(
    cluster: str, tmp_path: Path, capsys: Any
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
    [(("record", "--fill-in"), "--ray spreads recordings"), (("analyse", "--compare", "a", "b"), "--compare sets two")],
)
def test_what_cannot_be_spread_is_refused(words: tuple[str, ...], said: str, tmp_path: Path, capsys: Any) -> None:
    for name in ("a", "b"):
        shutil.copy(asset_path("traces", "growth-chain.json.gz"), tmp_path / f"{name}.json.gz")
    given = [str(tmp_path / f"{word}.json.gz") if word in ("a", "b") else word for word in words]
    assert main([*given, "--ray", "local"]) == 2
    assert said in capsys.readouterr().err


def test_a_sweep_spread_over_two_workers_of_which_one_is_killed_loses_nothing(
    cluster: str, meeting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Four prompts of three runs each. The worker that measures `two` is killed in its last run; another takes its
    place. Each worker has a pace of its own, so a ratio taken across workers would show."""
    monkeypatch.setattr(bench_sweep, "live_source", frail_source)
    file, out = tmp_path / "own.toml", tmp_path / "r.json"
    file.write_text(SWEEP, encoding="utf-8")
    kept = tmp_path / "kept"
    assert main(["bench", "sweep", str(file), "--out", str(out), "--ray", cluster, "--keep-traces", str(kept)]) == 0
    said = capsys.readouterr()
    assert "is gone: lost while it measured prompt 'two'; what it had measured is kept." in said.err

    result = store.read(out)
    points, workers = points_of(result), result.provenance.workers
    assert result.complete
    assert Counter((one.prompt, one.gamma) for one in points) == {
        (prompt, gamma): 1 for prompt in ("one", "two", "three", "four") for gamma in (None, 1, 3)
    }
    assert len({one.process for one in workers}) == len(workers) >= 2  # the third may be ready too late to be needed
    assert [one.ended for one in workers if one.ended] == ["lost while it measured prompt 'two'"]

    paces = {int(one.read_text()): int(one.name.split("-")[1]) for one in meeting.glob("pace-*")}
    for one in points:
        assert one.worker is not None
        pace = paces[workers[one.worker].process]
        assert one.baseline_tokens_per_s == 1.0 / pace, "plain decoding of the same worker"
        assert one.ratio == (1.0 if one.gamma is None else 2.0)
    for prompt in ("one", "three", "four"):
        assert len({one.worker for one in points if one.prompt == prompt}) == 1, "contestants stay together"
    assert f"| {len(workers)} |" in said.out
    assert {path.name for path in kept.iterdir()} == {trace_name(one) for one in points}
    for one in points:
        trace = json.loads(gzip.decompress((kept / trace_name(one)).read_bytes()))
        assert len(trace["finished"]["output_ids"]) == one.output_tokens
