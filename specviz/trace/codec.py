"""Traces to and from JSON: the only reader and the only writer; a trace from the steps of a run; and the JSON Schema.

Bytes pass the guard (size, nesting, JSON's loose ends), the version gate, the types, and the structural rules;
what comes out can be walked without a further test. Whether it is *true* is `check`'s question.
Same major version: read, unknown fields ignored, fields that had another name given today's. Newer major: refused with
the release to get. Older major: carried forward by pure functions on the JSON data, one per step. Knows nothing about
engines or screens.

The schema states shapes; it is generated from the types, `make generate` writes it to assets/schema, and a test fails
when the file lags behind them.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from specviz.errors import TraceError, TraceVersionError, shown
from specviz.resources import ROOT
from specviz.trace import events, header
from specviz.trace.events import FORMAT, VERSION, Finished, Node, Round, Step, Trace, VocabEntry
from specviz.trace.files import STANDARD, Limits, compressed, read_file, write_file
from specviz.trace.guard import json_of, sentence_of, text_of
from specviz.trace.header import FORMER_NAMES, Started
from specviz.trace.structure import bound_counts, structure
from specviz.trace.summary import summary as summarise

__all__ = ["assemble", "dumps", "loads", "read", "step_data", "to_data", "write"]

TRACE_ADAPTER = TypeAdapter(Trace)
_VOCAB_ADAPTER = TypeAdapter(dict[str, VocabEntry])
_ADAPTERS: Mapping[type, TypeAdapter[Any]] = {
    Trace: TRACE_ADAPTER,
    **{kind: TypeAdapter(kind) for kind in (Started, Round, Node, Finished)},
}


def to_data(record: Trace | Started | Round | Node | Finished) -> dict[str, Any]:
    """The record as plain dicts, lists, strings and numbers, as it stands in the file; for streaming to a page."""
    data: dict[str, Any] = _ADAPTERS[type(record)].dump_python(record)
    return data


def step_data(step: Step) -> dict[str, Any]:
    """One event of a running decode for the page: `{"kind": "started"|"round"|"finished", "event": …, "vocab": …}`."""
    return {
        "kind": type(step.event).__name__.lower(),
        "event": to_data(step.event),
        "vocab": _VOCAB_ADAPTER.dump_python(dict(step.vocab)),
    }


def dumps(trace: Trace) -> str:
    """One line of pure-ASCII JSON, the same for the same trace. Raises TraceError where a number is not finite."""
    try:
        return json.dumps(to_data(trace), separators=(",", ":"), allow_nan=False)
    except ValueError:
        problem = next(structure(trace), "some number is not finite.")
        raise TraceError(f"this trace cannot be written: {problem}") from None


def loads(content: str | bytes, limits: Limits = STANDARD) -> Trace:
    """JSON text, or stored bytes (plain or gzip), to a trace whose indices and ids can be followed blindly.

    Raises TraceError with one sentence that names the place, for whatever else is handed in.
    """
    text = _plain(content, limits) if isinstance(content, str) else text_of(content, limits)
    data, changed = to_current(json_of(text, limits))
    bound_counts(data, limits)
    if changed:
        text = json.dumps(data)
    try:
        trace = TRACE_ADAPTER.validate_json(text, strict=True)
    except ValidationError as error:
        raise TraceError(sentence_of(error, "trace")) from None
    for problem in structure(trace):
        raise TraceError(str(problem))
    return trace


def read(path: str | Path, limits: Limits = STANDARD) -> Trace:
    """A trace file, gzip or not (told by its content). Raises TraceError; the sentence begins with the file's name."""
    return read_file(Path(path), lambda content: loads(content, limits), limits)


def packed(trace: Trace) -> bytes:
    """What `write` puts into a `.json.gz`."""
    return compressed(dumps(trace).encode("ascii"))


def write(trace: Trace, path: str | Path) -> None:
    """Write `.json` or `.json.gz`, by the suffix; the same trace always gives the same bytes."""
    write_file(Path(path), dumps(trace), "a trace")


def _plain(text: str, limits: Limits) -> str:
    if len(text) > limits.text_bytes:
        raise TraceError(f"the text has {len(text):,} characters, but at most {limits.text_bytes:,} are read.")
    return text.removeprefix("\ufeff")


def assemble(steps: Iterable[Step]) -> Trace:
    """Started, rounds, Finished → Trace. Raises TraceError where the steps do not come in this order."""
    started: Started | None = None
    finished: Finished | None = None
    rounds: list[Round] = []
    vocab: dict[str, VocabEntry] = {}
    for step in steps:
        vocab.update(step.vocab)
        event = step.event
        if finished is not None or (started is None) != isinstance(event, Started):
            raise TraceError(f"the run gave {type(event).__name__} out of order; it gives Started, rounds, Finished.")
        if isinstance(event, Started):
            started = event
        elif isinstance(event, Round):
            rounds.append(event)
        else:
            finished = event
    if started is None or finished is None:
        raise TraceError(f"the run gave no {'Finished' if started else 'Started'}; a trace needs both.")
    vocab = {str(key): vocab[str(key)] for key in sorted(map(int, vocab))}
    summary = summarise(started, rounds, finished)
    return Trace(FORMAT, VERSION, started, vocab, rounds, finished, summary)


Migration = Callable[[dict[str, Any]], dict[str, Any]]

MIGRATIONS: dict[int, Migration] = {}
"""major m → the function that makes data of major m + 1 out of it; none yet, 1 is the first"""

_MAJOR, _MINOR = map(int, VERSION.split("."))
_VERSION = re.compile(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})")


def to_current(data: dict[str, Any], migrations: Mapping[int, Migration] = MIGRATIONS) -> tuple[dict[str, Any], bool]:
    """Data of any readable version → data of this version or a later minor one, and whether it was changed.

    Raises TraceError where the file is no trace, TraceVersionError where this release does not read its version.
    """
    if data.get("format") != FORMAT:
        raise TraceError(
            f"format is {shown(data.get('format'))}, but a trace says '{FORMAT}'; this file is something else."
        )
    version = data.get("version")
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if match is None:
        raise TraceError(f"version is {shown(version)}, but must read like '{VERSION}'.")
    major = int(match[1])
    if major > _MAJOR:
        raise TraceVersionError(
            f"version is {version}, but this release reads up to {_MAJOR}.x; "
            f"read it with a SpecViz release whose trace format is {major}.x or newer."
        )
    changed = False
    while major < _MAJOR:
        if major not in migrations:
            raise TraceVersionError(f"version is {version}, which no release has ever written; the oldest is 1.0.")
        data, major, changed = migrations[major](data), major + 1, True
    if not changed and int(match[2]) < _MINOR:
        return {**_renamed(data), "version": VERSION}, True
    return data, changed


def _renamed(data: dict[str, Any]) -> dict[str, Any]:
    """The data of an earlier minor version by the names of this one."""
    started = data.get("started")
    if not isinstance(started, dict):
        return data
    today = {former: name for name, former in FORMER_NAMES.items()}
    return {**data, "started": {today.get(name, name): value for name, value in started.items()}}


SCHEMA_FILE = ROOT / "schema" / f"trace-{VERSION}.schema.json"


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a whole trace; descriptions are the docstrings of the types."""
    generated = described(TRACE_ADAPTER.json_schema(), "Trace", (header, events))
    generated["properties"]["format"] = {"const": FORMAT, "description": "tells a trace from other JSON"}
    major = VERSION.split(".")[0]
    generated["properties"]["version"] |= {"pattern": rf"^{major}\.[0-9]+$", "description": "major.minor of the format"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{FORMAT}:{VERSION}",
        "title": f"{FORMAT} {VERSION}",
        **{key: value for key, value in generated.items() if key != "title"},
    }


def schema_text() -> str:
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
