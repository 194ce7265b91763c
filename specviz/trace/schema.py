"""The JSON Schema of the trace format, generated from the types of `header.py`, `events.py` and what they name.

`make generate` writes it to assets/schema; a test fails when the file lags behind the types. The schema states shapes;
what the parts must say to each other is `check`'s matter.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from specviz.resources import ROOT
from specviz.trace import events, exhibits, header
from specviz.trace.codec import TRACE_ADAPTER
from specviz.trace.events import FORMAT, VERSION

SCHEMA_FILE = ROOT / "schema" / f"trace-{VERSION}.schema.json"


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a whole trace; descriptions are the docstrings of the types."""
    generated = described(TRACE_ADAPTER.json_schema(), "Trace", (header, events, exhibits))
    generated["properties"]["format"] = {"const": FORMAT, "description": "tells a trace from other JSON"}
    major = VERSION.split(".")[0]
    generated["properties"]["version"] |= {"pattern": rf"^{major}\.[0-9]+$", "description": "major.minor of the format"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{FORMAT}:{VERSION}",
        "title": f"{FORMAT} {VERSION}",
        **{key: value for key, value in generated.items() if key != "title"},
    }


def text() -> str:
    """The file's content: indented, so that a change is read line by line."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def described(generated: dict[str, Any], root: str, modules: Sequence[ModuleType]) -> dict[str, Any]:
    """A generated schema of the type `root` with the attribute docstrings of `modules` in place of generated titles."""
    documented = _attribute_docstrings(modules)
    for name, definition in (*generated["$defs"].items(), (root, generated)):
        _describe(definition, documented.get(name, {}))
    return generated


def _describe(definition: dict[str, Any], documented: Mapping[str, str]) -> None:
    definition.pop("title", None)
    for key, value in definition.get("properties", {}).items():
        value.pop("title", None)
        if key in documented:
            value["description"] = documented[key]


def _attribute_docstrings(modules: Sequence[ModuleType]) -> dict[str, dict[str, str]]:
    """Class name → attribute → the string literal under it."""
    found: dict[str, dict[str, str]] = {}
    for item in [line for module in modules for line in ast.parse(inspect.getsource(module)).body]:
        if not isinstance(item, ast.ClassDef):
            continue
        bases = [found.get(base.id, {}) for base in item.bases if isinstance(base, ast.Name)]
        found[item.name] = {name: text for base in bases for name, text in base.items()}
        for line, following in zip(item.body, item.body[1:], strict=False):
            if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)):
                continue
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                found[item.name][line.target.id] = inspect.cleandoc(str(following.value.value))
    return found
