"""Golden traces stay readable for ever: one per released version, never rewritten once released."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from specviz.trace.check import check
from specviz.trace.codec import dumps, read
from specviz.trace.events import VERSION

ROOT = Path(__file__).parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("trace-*.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_golden_trace_is_read_and_sound(path: Path) -> None:
    assert check(read(path)) == []


def test_there_is_a_golden_trace_of_this_version() -> None:
    assert any(path.name.startswith(f"trace-{VERSION}-") for path in GOLDEN)


def test_the_sample_is_what_its_script_writes() -> None:
    command = (
        "from tests.golden.make_sample import sample; from specviz.trace.codec import dumps; print(dumps(sample()))"
    )
    made = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout == dumps(read(ROOT / "tests" / "golden" / "trace-1.0-sample.json")) + "\n"
