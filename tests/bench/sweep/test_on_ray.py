"""`specviz bench sweep --ray` on a real Ray cluster of two nodes on this machine, a worker of which is killed."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from specviz.bench.sweep.workplace import trace_name
from specviz.cli.commands.bench import sweep as bench_sweep
from specviz.cli.main import main
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.result import points_of
from tests.bench.sweep.frail import SWEEP, frail_source

pytest.importorskip("ray", reason="Ray, an optional extra, is not installed: pip install 'specviz[ray]'")


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
