"""Traces to and from JSON: the only reader and the only writer.

Bytes pass the guard (size, nesting, JSON's loose ends), the version gate, the types, and the structural rules;
what comes out can be walked without a further test. Whether it is *true* is `check`'s question.
Knows nothing about engines or screens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from specviz.errors import TraceError
from specviz.trace.assemble import assemble
from specviz.trace.events import Finished, Node, Round, Trace, VocabEntry
from specviz.trace.files import compressed, read_file, write_file
from specviz.trace.guard import json_of, text_of
from specviz.trace.header import Started
from specviz.trace.limits import STANDARD, Limits
from specviz.trace.steps import Step
from specviz.trace.structure import bound_counts, structure
from specviz.trace.validation import sentence_of
from specviz.trace.versions import to_current

__all__ = ["assemble", "dumps", "loads", "read", "step_data", "to_data", "write"]

TRACE_ADAPTER = TypeAdapter(Trace)
_VOCAB_ADAPTER = TypeAdapter(Mapping[str, VocabEntry])
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
        "vocab": _VOCAB_ADAPTER.dump_python(step.vocab),
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
