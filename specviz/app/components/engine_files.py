"""What a browser needs to run the bundled models itself: the worker's script, and the files that it fetches.

    engine.js                 rules as the verifiers declare them, then the scripts of assets/js/engine
    engine/manifest.json      version, models, and every file with its size and hash
    engine/…                  kernels, tokenizer, configs, weights

The page's own scripts carry none of it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from specviz.app.components.standalone import ENGINE, needed, script_names
from specviz.resources import asset_path, read_json, read_text
from specviz.trace.declared_rule import declarations
from specviz.version import __version__

MODELS = ("target", "drafter", "drafter-weak")
"""the target first"""
OF_A_MODEL = ("config.json", "model.safetensors")
MANIFEST = "manifest.json"


def worker_script() -> str:
    """A classic worker: everything that the engine's scripts need, and what answers the page's messages."""
    wanted = needed(tuple(name for name in script_names() if name.startswith(f"{ENGINE}/")))
    texts = (read_text(asset_path("js", *name.split("/"))) for name in wanted)
    rules = json.dumps(declarations(), separators=(",", ":"))
    first = f"globalThis.SpecViz = {{ DECLARED: {rules} }};"
    last = "SpecViz.serveEngine(globalThis, { fetch: (...asked) => fetch(...asked), caches: globalThis.caches });"
    return "\n".join([first, *texts, last, ""])


def engine_files() -> Iterator[tuple[str, Path]]:
    """Name under `engine/` → the shipped file."""
    names = ["engine/kernels.wasm", "catalog.json", f"models/{MODELS[0]}/tokenizer.json"]
    names += [f"models/{model}/{file}" for model in MODELS for file in OF_A_MODEL]
    for name in names:
        yield name, asset_path(*name.split("/"))


def manifest() -> dict[str, Any]:
    """What the worker reads first."""
    generation = read_json(asset_path("models", MODELS[0], "generation_config.json"))
    files = [
        {"name": name, "bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for name, path in engine_files()
    ]
    return {"version": __version__, "eos_ids": [generation["eos_token_id"]], "models": list(MODELS), "files": files}


def write_engine(out: Path) -> list[Path]:
    """Write `engine.js` and the folder `engine` into `out`; their files."""
    written = [out / "engine.js", out / ENGINE / MANIFEST]
    (out / ENGINE).mkdir(parents=True, exist_ok=True)
    written[0].write_text(worker_script(), encoding="utf-8")
    written[1].write_text(json.dumps(manifest(), indent=1) + "\n", encoding="utf-8")
    for name, path in engine_files():
        copy = out / ENGINE / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        written.append(copy)
    return written
