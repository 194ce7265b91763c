"""`specviz space`: the folder of each kind, what is said of it, and the upload to a stand-in of the hub here.

The stand-in answers what `huggingface_hub` asks for, with its storage of large files as the plain protocol (LFS) that
the client falls back to where Xet is switched off.
"""

import base64
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from specviz.app import space
from specviz.app.page.settings import card_of, settings
from specviz.drafters.learned.published import HEADS
from specviz.errors import OptionError
from specviz.lm.fetched import NEEDED, REAL_MODELS
from tests.cli.conftest import Call

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = "assets/models/target/model.safetensors"
LARGE = 10_000_000


class Hub(ThreadingHTTPServer):
    """What it was asked, and the Space that came of it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.files = {"old.txt": b"of an earlier version"}
        self.created: dict[str, Any] = {}
        self.stored: dict[str, bytes] = {}
        """large files by their hash"""
        self.commits: list[str] = []
        self.refusal: tuple[int, str] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answers(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, data: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/api/spaces/ada/specviz/tree/main"):
            files = self.server.files
            self._answer([{"type": "file", "path": name, "size": len(files[name]), "oid": "0" * 40} for name in files])
        elif self.server.refusal:
            self._answer({"error": "there is no such Space"}, 404, {"X-Error-Code": "RepoNotFound"})
        else:
            self._answer({"id": "ada/specviz", "sha": "0" * 40, "siblings": []})

    def do_PUT(self) -> None:
        self.server.stored[self.path.rpartition("/")[2]] = self._body()
        self._answer({})

    def do_POST(self) -> None:
        body, path = self._body(), self.path.partition("?")[0]
        if path == "/api/repos/create":
            if self.server.refusal:
                status, said = self.server.refusal
                self._answer({"error": said}, status, {"X-Error-Message": said})
                return
            self.server.created = json.loads(body)
            self._answer({"url": f"{self.server.address}/spaces/ada/specviz"})
        elif path == "/api/validate-yaml":
            self._answer({"errors": [], "warnings": []})
        elif path == "/api/spaces/ada/specviz/preupload/main":
            modes = {each["path"]: "lfs" if each["size"] > LARGE else "regular" for each in json.loads(body)["files"]}
            answer = [{"path": path, "uploadMode": mode, "shouldIgnore": False} for path, mode in modes.items()]
            self._answer({"files": answer})
        elif path.endswith("/info/lfs/objects/batch"):
            wanted = json.loads(body)["objects"]
            href = f"{self.server.address}/storage"
            objects = [{**each, "actions": {"upload": {"href": f"{href}/{each['oid']}"}}} for each in wanted]
            self._answer({"transfer": "basic", "objects": objects})
        else:
            self._commit(body)

    def _commit(self, body: bytes) -> None:
        files = self.server.files
        for line in map(json.loads, body.decode().splitlines()):
            value = line["value"]
            if line["key"] == "header":
                self.server.commits.append(value["summary"])
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.stored[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        self._answer({"commitUrl": f"{self.server.address}/spaces/ada/specviz/commit/1", "commitOid": "1" * 40})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    for name, value in {"ENDPOINT": server.address, "HF_HUB_DISABLE_XET": True, "HF_HUB_OFFLINE": False}.items():
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
    monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A repository of a few files, one of them large, in place of this one."""
    root = tmp_path / "repository"
    for name, size in {
        "specviz/version.py": 10,
        "assets/small.json": 10,
        "assets/large.safetensors": LARGE + 1,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"\x07" * size)
    (root / "specviz" / "__pycache__").mkdir()
    (root / "specviz" / "__pycache__" / "version.pyc").write_bytes(b"left out")
    for name in ("app.py", "requirements.txt", "spaces_config.yaml", "LICENSE", "CITATION.cff", "README.md"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    (root / "docs" / "img").mkdir(parents=True)
    (root / "docs" / "img" / "player.png").write_bytes(b"a picture")
    monkeypatch.setattr(space, "ROOT", root / "assets")
    return root


SENT = {
    "CITATION.cff", "LICENSE", "README.md", "app.py", "assets/large.safetensors", "assets/small.json",
    "docs/img/player.png", "requirements.txt", "spaces_config.yaml", "specviz/version.py",
}  # fmt: skip


def test_the_folder_of_a_program_has_what_runs_and_nothing_else(small: Path, tmp_path: Path) -> None:
    made = space.write_space("cpu", "ada/specviz", tmp_path / "out")
    assert {name for name, _ in made.files} == SENT
    assert made.large == [("assets/large.safetensors", LARGE + 1)]
    assert made.by_place()[0] == ("assets/", 2, LARGE + 11)


def card_in(folder: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1]))


@pytest.mark.parametrize(("kind", "hardware"), [("zero", "zero-a10g"), ("cpu", "cpu-basic")])
def test_the_card_names_the_hardware_and_a_picture_and_the_rest_of_the_readme_stays(
    small: Path, tmp_path: Path, kind: str, hardware: str
) -> None:
    folder = space.write_space(kind, "ada/specviz", tmp_path / "out").path
    card = card_in(folder)
    assert card["suggested_hardware"] == hardware
    assert card["thumbnail"] == "https://huggingface.co/spaces/ada/specviz/resolve/main/docs/img/player.png"
    made, kept = ((place / "README.md").read_text(encoding="utf-8") for place in (folder, ROOT))
    assert made.endswith(kept[-500:])


def test_zerogpu_gets_the_models_when_the_space_is_built() -> None:
    files = "config.json,generation_config.json,tokenizer.json,tokenizer_config.json,model.safetensors"
    names = [
        "HuggingFaceTB/SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-1.7B-Instruct", "Qwen/Qwen2.5-1.5B-Instruct",
        "Qwen/Qwen2.5-0.5B-Instruct",
    ]  # fmt: skip
    whole = ["Qwen/Qwen3-1.7B", "AngelSlim/Qwen3-1.7B_eagle3"]
    assert card_of("zero")["models"] == [*names, *whole]
    assert card_of("zero")["preload_from_hub"] == [*(f"{name} {files}" for name in names), *whole]


def test_the_real_model_of_the_page_is_there_from_the_start_on_every_space_that_runs_programs() -> None:
    (real,) = (model.hub for model in REAL_MODELS.values())
    assert card_of("cpu")["preload_from_hub"] == [f"{real} {','.join(settings()['hub_files'])}"]
    assert card_of("cpu")["models"] == [real]
    assert real in card_of("zero")["models"]
    assert {*NEEDED} <= {*settings()["hub_files"]}, "what is looked for in the hub's cache is what was downloaded"
    assert not {"models", "preload_from_hub"} & {*card_of("static")}


def test_a_head_on_the_card_is_the_one_that_drafts_for_the_target_beside_it() -> None:
    pairs = settings()["hub_pairs"]["zero-gpu"]
    assert {pair["target"]["name"]: pair["head"]["name"] for pair in pairs if "head" in pair} == HEADS


ZEROGPU_TORCH = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")
"""what ZeroGPU takes, as its documentation listed in August 2026; and Python 3.12.12 or 3.10.13"""


def test_what_zerogpu_takes_lies_within_what_we_take() -> None:
    usual = {Requirement(line.partition("#")[0]).name: Requirement(line.partition("#")[0]) for line in lines_of("cpu")}
    zero = {Requirement(line.partition("#")[0]).name: Requirement(line.partition("#")[0]) for line in lines_of("zero")}
    taken = [version for version in ZEROGPU_TORCH if zero["torch"].specifier.contains(version)]
    assert taken == ["2.11.0"]
    assert usual["torch"].specifier.contains("2.11.0")
    assert {name for name in zero if name not in usual} == {"spaces"}
    assert {name for name in usual if zero[name].specifier != usual[name].specifier} == {"torch"}
    assert card_of("zero")["python_version"] == "3.12"
    assert 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'zero = ["specviz[engine,app]", "{zero["spaces"]}"]' in pyproject()


def pyproject() -> str:
    return (ROOT / "pyproject.toml").read_text(encoding="utf-8").replace(">=0.51,<1", "<1,>=0.51")


def lines_of(kind: str) -> list[str]:
    return [line for line in space.requirements_of(kind).splitlines() if re.match(r"[A-Za-z]", line)]


def test_every_kind_says_what_it_costs_and_has_a_tier() -> None:
    kinds = settings()["spaces"]
    assert tuple(kinds) == space.KINDS
    assert all(len(kind["says"]) > 40 for kind in kinds.values())
    assert {kind["tier"] for kind in kinds.values()} - {""} <= set(settings()["tiers"])


def test_the_static_one_is_the_site_with_the_engine(tmp_path: Path) -> None:
    made = space.write_space("static", "ada/specviz", tmp_path / "out")
    names = {name for name, _ in made.files}
    assert {"index.html", "plotly.js", "README.md", "docs/img/player.png"} <= names
    assert any(name.endswith("model.safetensors") for name in names)
    assert made.large, "the target's weights go to the storage of large files"
    card = card_in(made.path)
    assert (card["sdk"], card["app_file"]) == ("static", "index.html")
    assert not {"sdk_version", "python_version", "suggested_hardware"} & set(card)


def test_a_dry_run_says_what_would_be_sent_and_sends_nothing(
    specviz: Call, small: Path, tmp_path: Path, hub: Hub
) -> None:
    done = specviz("space", "ZERO", "--to", "ada/specviz", "--out", str(tmp_path / "out"), "--dry-run")
    assert done.code == 0
    assert "ada/specviz: a Space of the kind zero: a GPU for seconds at a time" in done.out
    assert "10 files, 10.0 MB" in done.out.replace("10.1 MB", "10.0 MB")
    assert "to the storage of large files: assets/large.safetensors, 10.0 MB" in done.out
    assert "  suggested_hardware: zero-a10g" in done.out
    assert done.out.endswith("Nothing was sent (--dry-run).\n")
    assert (hub.created, hub.commits) == ({}, [])


def test_it_makes_the_space_and_its_files_are_those_of_the_folder(specviz: Call, small: Path, hub: Hub) -> None:
    """What only an earlier version had is removed; the large file goes another way and arrives whole."""
    done = specviz("space", "zero", "--to", "ada/specviz", "--private")
    assert done.code == 0, done.err
    assert done.out.endswith(f"Sent: {hub.address}/spaces/ada/specviz\n")
    assert (hub.created["name"], hub.created["sdk"]) == ("specviz", "gradio")
    assert hub.created["hardware"] == "zero-a10g"
    assert hub.commits == ["SpecViz, a Space of the kind zero"]
    assert set(hub.files) == SENT
    assert hub.files["assets/large.safetensors"] == b"\x07" * (LARGE + 1)
    assert len(hub.stored) == 1
    assert b"torch==2.11.0\n" in hub.files["requirements.txt"]


@pytest.mark.parametrize(
    ("status", "kind", "sentence"),
    [
        (401, "zero", "the hub does not know you"),
        (402, "cpu", "needs a paid plan: try zero or static"),
        (403, "zero", "may not make or change the Space ada/specviz (HTTP 403: not yours)"),
        (500, "zero", "the hub refused the Space ada/specviz (HTTP 500: not yours)"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(
    specviz: Call, small: Path, hub: Hub, status: int, kind: str, sentence: str
) -> None:
    hub.refusal = (status, "not yours")
    done = specviz("space", kind, "--to", "ada/specviz")
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1


def test_a_hub_that_is_not_there_is_one_sentence(specviz: Call, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    done = specviz("space", "zero", "--to", "ada/specviz")
    assert done.code == 2
    assert "the hub at http://127.0.0.1:9 cannot be reached" in done.err


@pytest.mark.parametrize("name", ["specviz", "ada/", "ada/spec viz", "ada/b/c", "../x"])
def test_a_name_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="must be owner/name, such as ada/specviz"):
        space.write_space("cpu", name, tmp_path / "out")


def test_a_folder_that_holds_something_is_left_alone(small: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(OptionError, match="is not empty; choose a new folder"):
        space.write_space("cpu", "ada/specviz", tmp_path / "out")


def test_an_installed_package_makes_the_static_one_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(space, "INSTALLED", True)
    with pytest.raises(OptionError, match="is made from a clone of the repository"):
        space.write_space("zero", "ada/specviz", tmp_path / "out")
