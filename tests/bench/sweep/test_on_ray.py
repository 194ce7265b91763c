"""`specviz bench sweep --ray` on a real Ray cluster of two nodes on this machine, a worker of which is killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specviz.cli.commands.bench import sweep as bench_sweep
from specviz.cli.main import main
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.result import points_of
from tests.bench.sweep.frail import SWEEP, frail_source

ROOT = Path(__file__).parents[3]
pytest.importorskip("ray", reason="Ray, an optional extra, is not installed: pip install 'specviz[ray]'")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its address. Two nodes with one core each, so two workers."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("SPECVIZ_TEST_MEETING", str(tmp_path))
    node = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    found = Cluster(initialize_head=True, head_node_args=node)
    found.add_node(num_cpus=1, object_store_memory=80_000_000)
    found.wait_for_nodes()
    try:
        yield found.address
    finally:
        found.shutdown()


def test_a_sweep_spread_over_two_workers_of_which_one_is_killed_loses_nothing(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Four prompts of three runs each. The worker that measures `two` is killed in its last run; another takes its
    place. Each worker has a pace of its own, so a ratio taken across workers would show."""
    monkeypatch.setattr(bench_sweep, "live_source", frail_source)
    file, out = tmp_path / "own.toml", tmp_path / "r.json"
    file.write_text(SWEEP, encoding="utf-8")
    assert main(["bench", "sweep", str(file), "--out", str(out), "--ray", cluster]) == 0
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

    paces = {int(one.read_text()): int(one.name.split("-")[1]) for one in tmp_path.glob("pace-*")}
    for one in points:
        assert one.worker is not None
        pace = paces[workers[one.worker].process]
        assert one.baseline_tokens_per_s == 1.0 / pace, "plain decoding of the same worker"
        assert one.ratio == (1.0 if one.gamma is None else 2.0)
    for prompt in ("one", "three", "four"):
        assert len({one.worker for one in points if one.prompt == prompt}) == 1, "contestants stay together"
    assert f"| {len(workers)} |" in said.out
