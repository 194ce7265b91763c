"""What the scripts' types rest on: the trace, from its schema, and the scripts' common namespace, from the scripts.

`tsc` reads both in `make check`; no page loads them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from specviz.app.components.standalone import script_names
from specviz.resources import ROOT, read_text
from specviz.trace.codec import schema

TRACE = ROOT / "js" / "trace.d.ts"
NAMES = ROOT / "js" / "names.d.ts"
GIVES = re.compile(r"^const (?P<script>\w+) = .*\n  return \{(?P<names>[\w\s,:]+)\};\n\}\)\(", re.DOTALL | re.MULTILINE)
"""the end of a script: `return { name, name };`"""
PLAIN = {"integer": "number", "number": "number", "boolean": "boolean", "string": "string", "null": "null"}


def trace_types() -> str:
    """`assets/js/trace.d.ts`: an interface for each type of the format, such as `trace.Round`."""
    whole = schema()
    types = {**whole["$defs"], "Trace": {**whole, "description": f"{whole['title']}: what the player shows."}}
    lines = ["/* The trace as its schema has it. Written by `make generate`. */", "declare namespace trace {"]
    for name, said in types.items():
        lines += [*_comment(said, "  "), f"  interface {name} {{"]
        for key, value in said["properties"].items():
            mark = "" if key in said["required"] else "?"
            lines += [*_comment(value, "    "), f"    {key}{mark}: {_type(value)};"]
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def names() -> str:
    """`assets/js/names.d.ts`: what `SpecViz` holds, by the script that gives it."""
    lines = [
        "/* What the scripts give one another, and what the page puts beside it. Written by `make generate`. */",
        "interface Names extends page.Slots {",
    ]
    for script in sorted(script_names()):
        text = read_text(ROOT / "js" / script)
        gives = GIVES.search(text)
        if gives is None:
            raise ValueError(f"assets/js/{script} ends with no list of the names that it gives")
        for name in re.findall(r"(\w+)(?:: \w+)?", gives["names"]):
            lines.append(f"  {name}: typeof {gives['script']}.{name};")
    return "\n".join([*lines, "}", "declare const SpecViz: Names;"]) + "\n"


def _type(said: Mapping[str, Any]) -> str:
    """A type of the schema in TypeScript."""
    if "$ref" in said:
        return str(said["$ref"]).rpartition("/")[2]
    if "anyOf" in said:
        return " | ".join(dict.fromkeys(_type(one) for one in said["anyOf"]))
    if "enum" in said:
        return " | ".join(f'"{one}"' for one in said["enum"])
    if "const" in said:
        return f'"{said["const"]}"'
    if said["type"] == "array":
        inner = _type(said["items"])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if said["type"] == "object":
        return f"Record<string, {_type(said['additionalProperties'])}>"
    return PLAIN[said["type"]]


def _comment(said: Mapping[str, Any], indent: str) -> Iterator[str]:
    if "description" in said:
        yield f"{indent}/** {' '.join(said['description'].split())} */"
