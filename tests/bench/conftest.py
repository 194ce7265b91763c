"""A real Ray cluster of two nodes on this machine, for the tests of what is spread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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
