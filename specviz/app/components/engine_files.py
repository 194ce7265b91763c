"""What a browser needs to run the bundled models itself: the worker's script, and the files that it fetches; as routes
of the served page, or copied into a folder.

    engine.js                 rules as the verifiers declare them, then the scripts of assets/js/engine
    engine/manifest.json      version, models, modules, and every file with its size and hash
    engine/…                  kernels, tokenizer, configs, weights

The page's own scripts carry none of it. A file's address ends in its hash, so a browser may keep it for good. Weights
of trained modules are shipped packed in a way that no browser unpacks by itself, and go out unpacked.
"""

from __future__ import annotations

import bz2
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from specviz.app.components.standalone import ENGINE, needed, script_names
from specviz.resources import ACCEPTANCE_VECTOR, ROOT, asset_path, read_json, read_text
from specviz.trace.declared_rule import declarations
from specviz.version import __version__

MODELS = ("target", "drafter", "drafter-weak")
"""the target first"""
OF_A_MODEL = ("config.json", "model.safetensors")
MODULES = ("eagle", "medusa")
"""drafters' networks trained on the target"""
OF_A_MODULE = ("module.json", "model.safetensors")
STOP_POLICIES = ("decision", "disco", "specdecpp")
"""stop policies that go by trained weights"""
PACKED = ".bz2"
KERNELS = ("engine/kernels_relaxed.wasm", "engine/kernels.wasm")
"""the fastest first: a browser takes the first that it understands"""
FILES = (
    *KERNELS,
    "catalog.json",
    ACCEPTANCE_VECTOR,
    *(f"stops/{policy}.json" for policy in STOP_POLICIES),
    f"models/{MODELS[0]}/tokenizer.json",
    *(f"models/{model}/{file}" for model in MODELS for file in OF_A_MODEL),
    *(f"modules/{module}/{file}" for module in MODULES for file in OF_A_MODULE),
)
MANIFEST = "manifest.json"
SCRIPT = "engine.js"
TYPES = {".wasm": "application/wasm", ".json": "application/json", ".safetensors": "application/octet-stream"}
ASK_AGAIN, FOR_GOOD = "no-cache", "public, max-age=31536000, immutable"
"""of what changes under its address, and of what does not"""


@cache
def worker_script() -> str:
    """A classic worker: everything that the engine's scripts need, and what answers the page's messages."""
    wanted = needed(tuple(name for name in script_names() if name.startswith(f"{ENGINE}/")))
    texts = (read_text(asset_path("js", *name.split("/"))) for name in wanted)
    rules = json.dumps(declarations(), separators=(",", ":"))
    first = f"globalThis.SpecViz = {{ DECLARED: {rules} }};"
    last = "SpecViz.serveEngine(globalThis, { fetch: (...asked) => fetch(...asked), caches: globalThis.caches });"
    return "\n".join([first, *texts, last, ""])


def _shipped(name: str) -> Path:
    """The file of assets/ behind a name under `engine/`, there or not."""
    path = ROOT.joinpath(name)
    packed = path.with_name(path.name + PACKED)
    return packed if packed.is_file() else path


def _content(name: str) -> bytes:
    """As a browser takes it. Raises SpecVizError where it is missing."""
    path = asset_path(*_shipped(name).relative_to(ROOT).parts)
    return bz2.decompress(path.read_bytes()) if path.suffix == PACKED else path.read_bytes()


def engine_files() -> Iterator[tuple[str, bytes]]:
    """Name under `engine/` → its content. Raises SpecVizError where one is missing."""
    for name in FILES:
        yield name, _content(name)


def megabytes() -> int:
    """What a first run fetches, about: packed files count as they lie here. A page is built with it, so a missing file
    counts nothing here."""
    return round(sum(path.stat().st_size for path in map(_shipped, FILES) if path.is_file()) / 1e6)


@cache
def manifest() -> dict[str, Any]:
    """What the worker reads first."""
    generation = read_json(asset_path("models", MODELS[0], "generation_config.json"))
    files = [
        {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in engine_files()
    ]
    chosen = {
        "kernels": list(KERNELS),
        "models": list(MODELS),
        "modules": list(MODULES),
        "stops": list(STOP_POLICIES),
    }
    return {"version": __version__, "eos_ids": [generation["eos_token_id"]], **chosen, "files": files}


def write_engine(out: Path) -> list[Path]:
    """Write `engine.js` and the folder `engine` into `out`; their files."""
    written = [out / SCRIPT, out / ENGINE / MANIFEST]
    (out / ENGINE).mkdir(parents=True, exist_ok=True)
    written[0].write_text(worker_script(), encoding="utf-8")
    written[1].write_text(json.dumps(manifest(), indent=1) + "\n", encoding="utf-8")
    for name, content in engine_files():
        copy = out / ENGINE / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        written.append(copy)
    return written


def routes() -> list[Route]:
    """The same for a server, at the addresses that the folder would have."""
    return [
        Route(f"/{SCRIPT}", _script),
        Route(f"/{ENGINE}/{MANIFEST}", _manifest),
        Route(f"/{ENGINE}/{{name:path}}", _file),
    ]


def _script(_: Request) -> Response:
    return Response(worker_script(), media_type="text/javascript", headers={"cache-control": ASK_AGAIN})


def _manifest(_: Request) -> Response:
    return JSONResponse(manifest(), headers={"cache-control": ASK_AGAIN})


def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES or not _shipped(name).is_file():
        return PlainTextResponse("The browser's engine has no such file.", 404)
    return Response(_content(name), media_type=TYPES[Path(name).suffix], headers={"cache-control": FOR_GOOD})
