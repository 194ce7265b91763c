"""The JSON Schema of sweep results, generated from their types and from nowhere else.

`make generate` writes it to assets/schema; a test fails when the file lags behind the types.
"""

from __future__ import annotations

import json
from typing import Any

from specviz.protocol.sweeps import definition as sweep_definition
from specviz.protocol.sweeps import points
from specviz.protocol.sweeps import result as sweep_result
from specviz.protocol.sweeps.result import KIND, VERSION
from specviz.protocol.sweeps.store import ADAPTER
from specviz.resources import ROOT
from specviz.trace import header
from specviz.trace.schema import described

SCHEMA_FILE = ROOT / "schema" / f"sweep-{VERSION}.schema.json"


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a whole result; descriptions are the docstrings of the types."""
    modules = (header, points, sweep_definition, sweep_result)
    generated = described(ADAPTER.json_schema(), "SweepResult", modules)
    generated["$defs"]["StoredPoint"]["properties"].pop("step_times")
    generated["properties"]["kind"] = {"const": KIND, "description": "tells a sweep result from other JSON"}
    generated["properties"]["version"] |= {"pattern": rf"^{VERSION.split('.')[0]}\.[0-9]+$"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{KIND}:{VERSION}",
        "title": f"{KIND} {VERSION}",
        **{key: value for key, value in generated.items() if key != "title"},
    }


def text() -> str:
    """The file's content: indented, so that a change is read line by line."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
