"""Sweep results as files: the only reader and the only writer of their JSON, its schema, and CSV with one line per run.

Place in the flow: `specviz bench sweep` writes after each prompt and reads what it continues; the page reads the
shipped result and what visitors hand in. Bytes pass the traces' guard, the types, and what the parts must say to each
other.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from specviz.errors import BenchError, TraceError, shown
from specviz.protocol import choice
from specviz.protocol.sweeps import definition as sweep_definition
from specviz.protocol.sweeps import points
from specviz.protocol.sweeps import result as sweep_result
from specviz.protocol.sweeps.definition import fingerprint
from specviz.protocol.sweeps.points import RunCost, SweepPoint, by_output
from specviz.protocol.sweeps.result import KIND, VERSION, SweepResult
from specviz.protocol.sweeps.toml_file import POLICIES, checked, in_choices, of_today
from specviz.resources import ROOT
from specviz.trace import files, header
from specviz.trace.codec import described
from specviz.trace.files import SUFFIXES, compressed, read_file, replace_whole
from specviz.trace.guard import json_of, sentence_of, text_of

LIMITS = replace(files.UPLOAD, what="a sweep result")
MOST_POINTS = 20_000

ADAPTER = TypeAdapter(SweepResult)


def dumps(result: SweepResult) -> str:
    """One line per run of pure-ASCII JSON, the same for the same result."""
    data: dict[str, Any] = ADAPTER.dump_python(result, mode="json", exclude={"points": {"__all__": {"step_times"}}})
    points = data.pop("points")
    head = json.dumps(data, separators=(",", ":"), allow_nan=False)
    lines = ",\n".join(json.dumps(point, separators=(",", ":"), allow_nan=False) for point in points)
    return f'{head[:-1]},\n"points":[\n{lines}]}}\n'


def loads(raw: bytes) -> SweepResult:
    """Stored bytes, plain or gzip. Raises BenchError with one sentence that names the place."""
    try:
        data = json_of(text := text_of(raw, LIMITS), LIMITS)
    except TraceError as error:
        raise BenchError(str(error)) from None
    if data.get("kind") != KIND:
        raise BenchError(
            f"kind is {shown(data.get('kind'))}, but a sweep result says '{KIND}'; this is something else."
        )
    version = data.get("version")
    if not isinstance(version, str) or version.split(".")[0] != VERSION.split(".")[0]:
        raise BenchError(f"version is {shown(version)}, but this release reads {VERSION.split('.')[0]}.x.")
    try:
        result: SweepResult = ADAPTER.validate_json(
            text if version == VERSION else json.dumps(_of_today(data)), strict=True
        )
    except ValidationError as error:
        raise BenchError(sentence_of(error, "sweep result")) from None
    check(result)
    return replace(result, points=tuple(replace(point, mbsu=by_output(point)) for point in result.points))


def _of_today(data: dict[str, Any]) -> dict[str, Any]:
    """A result of an earlier format by the names of today; what has another type than it must have is left as it is."""
    made = {**data, "version": VERSION}
    if isinstance(data.get("definition"), dict):
        made["definition"] = of_today(data["definition"])
    if isinstance(points := data.get("points"), list):
        made["points"] = [_renamed_policies(point) for point in points]
    return made


def _renamed_policies(point: Any) -> Any:
    known = isinstance(point, dict) and isinstance(point.get("policies"), dict)
    return {**point, "policies": in_choices(point["policies"], POLICIES)} if known else point


def check(result: SweepResult) -> None:
    """Raises BenchError where the parts contradict each other."""
    checked(result.definition)
    if result.definition_sha256 != fingerprint(result.definition):
        raise BenchError("definition_sha256 does not belong to the definition; one of them was changed by hand.")
    if len(result.points) > MOST_POINTS:
        raise BenchError(f"the result has {len(result.points):,} runs, but at most {MOST_POINTS:,} are read.")
    for number, point in enumerate(result.points):
        if not 0 <= point.curve < len(result.curves):
            raise BenchError(f"points[{number}].curve is {point.curve}, but there are {len(result.curves)} curves.")
        if point.worker is not None and not 0 <= point.worker < len(result.provenance.workers):
            raise BenchError(
                f"points[{number}].worker is {point.worker}, but there are {len(result.provenance.workers)} workers."
            )
        if min(point.tokens_per_s, point.baseline_tokens_per_s, point.decode_s, point.ratio) <= 0:
            raise BenchError(f"points[{number}] has a speed or a time that is not above 0.")
        if abs(point.ratio * point.baseline_tokens_per_s - point.tokens_per_s) > 1e-6 * point.tokens_per_s:
            raise BenchError(f"points[{number}].ratio is not tokens_per_s ÷ baseline_tokens_per_s.")


def read(path: str | Path) -> SweepResult:
    """A result file, gzip or not. Raises BenchError; the sentence begins with the file's name."""
    return read_file(Path(path), loads, LIMITS, BenchError)


def is_sweep(path: str | Path, most_bytes: int) -> bool:
    """Whether a file is a sweep to run (.toml) or says that it is a result, sound or not; at most so many bytes."""
    path = Path(path)
    if path.suffix == ".toml":
        return True
    try:
        with path.open("rb") as file:
            raw = file.read(most_bytes + 1)
        return len(raw) <= most_bytes and json_of(text_of(raw, LIMITS), LIMITS).get("kind") == KIND
    except (OSError, TraceError):
        return False


def check_place(path: Path) -> None:
    """Raises BenchError where `write` could not write: asked before a measurement, not after it."""
    if not path.name.endswith(SUFFIXES):
        raise BenchError(f"{path.name}: a sweep result is written to a name ending in .json or .json.gz.")
    if not path.parent.is_dir():
        raise BenchError(f"{path.name}: there is no folder '{path.parent}' to write it to; make it first.")


def write(result: SweepResult, path: Path) -> None:
    """The file as a whole or not at all: a stop in the middle leaves the one before."""
    check_place(path)
    content = dumps(result).encode("ascii")
    try:
        replace_whole(path, compressed(content) if path.name.endswith(".gz") else content)
    except OSError as error:
        raise BenchError(f"{path.name}: cannot be written ({error.strerror}); choose another place.") from None


LEFT_OUT = ("step_times", "policies", "accepted_lengths", "by_depth", "levels", "cost")
"""nested fields; the JSON has them"""
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
"""how a cell begins that a spreadsheet runs; the full-width signs too, where the spreadsheet's language has them"""


def sweep_csv(points: Sequence[SweepPoint]) -> str:
    """A header first; options stand as JSON in one cell."""
    columns = [column.name for column in fields(SweepPoint) if column.name not in LEFT_OUT]
    costs = [column.name for column in fields(RunCost)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *(f"{role}{end}" for role in POLICIES for end in ("", "_options")), *costs])
    for point in points:
        cells = [getattr(point, name) for name in columns]
        for chosen in (point.policies.tree_policy, point.policies.stop_policy):
            cells += [chosen.name, dict(chosen.options)]
        cells += [getattr(point.cost, name) for name in costs]
        writer.writerow(list(map(cell, cells)))
    return text.getvalue()


def cell(value: object) -> object:
    """A value as a cell. Spreadsheets run cells that begin like a formula: such text gets a leading apostrophe."""
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return value


SCHEMA_FILE = ROOT / "schema" / f"sweep-{VERSION}.schema.json"


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a whole result; descriptions are the docstrings of the types."""
    modules = (header, choice, points, sweep_definition, sweep_result)
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


def schema_text() -> str:
    """The file's content: indented, so that a change is read line by line."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
