"""The wheel is whole: installed by itself, in a folder far from the repository, `run`, `check` and `app` work.

Nothing is downloaded. The wheel is built with the build backend that is here, and what it depends on is lent to the
fresh environment by a path file.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import Parser
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import numpy
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
START_S = 180
BUILD = """
import sys, zlib
zlib.Z_DEFAULT_COMPRESSION = 0  # most is packed already; to squeeze it once more takes seconds
from hatchling.build import build_wheel
build_wheel(sys.argv[1])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([sys.executable, "-c", BUILD, folder], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh environment with the wheel in it."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--no-compile", wheel], check=True, capture_output=True)
    (packages,) = place.glob("lib/python*/site-packages")
    # Editable installs over there do not come along: path files are read only in an environment's own folder.
    (packages / "lent.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n", encoding="utf-8")
    return place / "bin"


def environment() -> dict[str, str]:
    """This process's variables without those by which the repository could be found."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPECVIZ", "GRADIO"))}
    return {**kept, "HF_HUB_OFFLINE": "1"}


def specviz(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [installed / "specviz", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def test_every_tracked_asset_and_the_licence_are_inside(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(["git", "ls-files", "assets"], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = [f"specviz/{path}" for path in listed.stdout.splitlines()]
    assert len(tracked) > 50
    assert [path for path in tracked if path not in inside] == []
    assert {"specviz/py.typed", "specviz/assets/spaces_config.yaml"} <= inside
    assert [name for name in inside if name.endswith(".dist-info/licenses/LICENSE")]
    assert {name.partition("/")[0].partition("-")[0] for name in inside} == {"specviz"}


def test_the_base_needs_neither_torch_nor_gradio(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    fields = Parser().parsestr(archive.read(metadata).decode())
    needs = fields.get_all("Requires-Dist") or []
    base = {re.split(r"[^\w-]", line)[0] for line in needs if "extra ==" not in line}
    assert {"numpy", "pydantic"} <= base
    assert not base & {"torch", "transformers", "tokenizers", "gradio", "plotly", "matplotlib", "pandas", "ray"}
    extras = "engine app train mcp analysis large quantised gguf ray zero llama-cpp dev"
    assert set(fields.get_all("Provides-Extra") or []) == set(extras.split())


def test_a_run_of_the_bundled_pair_is_decoded_and_checked(installed: Path, tmp_path: Path) -> None:
    done = specviz(
        installed, tmp_path, "run", "--drafter", "model", "--prompt", "def f", "--max-new-tokens", "8",
        "--trace", "run.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    checked = specviz(installed, tmp_path, "check", "run.json")
    assert (checked.returncode, checked.stdout.partition(",")[0]) == (0, "run.json: sound"), checked.stderr


def test_python_finds_the_installed_package_and_not_the_repository(installed: Path, tmp_path: Path) -> None:
    code = "import specviz, specviz.resources as r; print(r.INSTALLED, specviz.__file__)"
    command = [installed / "python", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"True {installed.parent}")


@contextmanager
def served(installed: Path, folder: Path) -> Iterator[str]:
    """The address of a page that `specviz app` serves, up and answering; ended afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "log").open("w") as log:
        command = [installed / "specviz", "app", "--port", str(port)]
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)
        try:
            address, give_up = f"http://127.0.0.1:{port}/", time.monotonic() + START_S
            while not answers(address):
                ended = process.poll()
                assert ended is None, (folder / "log").read_text()
                assert time.monotonic() < give_up, f"no answer after {START_S} s: {(folder / 'log').read_text()}"
                time.sleep(0.5)
            yield address
        finally:
            process.terminate()
            process.wait(30)


def answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=30):
            return True
    except (URLError, ConnectionError):
        return False


def test_the_page_is_served_with_its_scripts_and_its_tabs(installed: Path, tmp_path: Path) -> None:
    with served(installed, tmp_path) as address, urlopen(f"{address}config", timeout=30) as response:
        page = json.load(response)
    assert page["title"] == "SpecViz"
    script = (ROOT / "assets" / "js" / "panels" / "tree.js").read_text(encoding="utf-8")
    assert script.rpartition("\n\n")[2] in page["head"], "its end, without the comments, which are not sent"
    assert {"watch", "race", "proof"} <= {part["props"].get("id") for part in page["components"]}
