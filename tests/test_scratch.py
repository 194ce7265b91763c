"""A process's folder for a while: locked while it lives, swept where it was killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from specviz import scratch

KEEP = "import specviz.scratch as s; (s.scratch() / 'weights').write_text('x'); print(s.scratch(), flush=True)"
pytestmark = pytest.mark.skipif(scratch.fcntl is None, reason="this system has no such locks: nothing is swept")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(scratch, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def started(rest: str) -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, "-c", f"{KEEP}; {rest}"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_living_process_keeps_its_folder_and_a_killed_ones_is_swept(temporary: Path) -> None:
    process, folder = started("input()")
    (temporary / "specviz-scratch-of-nobody").mkdir()
    (temporary / "others").mkdir()
    assert scratch.sweep() == [], "one lives, one has no lock yet, one is not of SpecViz"
    process.kill()
    process.wait()
    assert folder.is_dir()
    assert scratch.sweep() == [folder]
    assert not folder.exists()
    assert sorted(one.name for one in temporary.iterdir()) == ["others", "specviz-scratch-of-nobody"]


def test_a_process_that_ends_takes_its_folder_along(temporary: Path) -> None:
    process, folder = started("pass")
    process.wait()
    assert not folder.exists()
