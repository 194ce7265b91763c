"""A sweep's files. Its result: the only reader and the only writer of the JSON, its schema, and CSV with one line per
run. Its definition: TOML in, a `SweepDefinition` out, and back; a key that means nothing is refused.

Place in the flow: `specviz bench sweep` reads a definition, writes the result after each prompt and reads what it
continues; the page reads the shipped result and what visitors hand in, and writes its form as a definition. Bytes of a
result pass the traces' guard, the types, and what the parts must say to each other. Whether a name of a definition
exists is asked when it is expanded.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import TypeAdapter, ValidationError

from specviz.errors import BenchError, OptionError, PromptError, TraceError, shown
from specviz.protocol import choice
from specviz.protocol.choice import STANDARD, Choice, renamed
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.sweeps import definition as sweep_definition
from specviz.protocol.sweeps import points
from specviz.protocol.sweeps import result as sweep_result
from specviz.protocol.sweeps.definition import DrafterEntry, SweepDefinition, fingerprint, nearest, stated
from specviz.protocol.sweeps.points import RunCost, SweepPoint, by_output
from specviz.protocol.sweeps.result import KIND, VERSION, SweepResult
from specviz.resources import ROOT
from specviz.trace import files, header
from specviz.trace.codec import described
from specviz.trace.files import SUFFIXES, compressed, read_file, replace_whole
from specviz.trace.guard import json_of, sentence_of, text_of

MOST_BYTES = 100_000
MOST_OF_AN_AXIS = 64
MOST_NUMBER = 100_000
"""no count of a sweep is meant to be larger"""

POLICIES = ("tree_policy", "stop_policy")
_ADAPTER = TypeAdapter(SweepDefinition)
_COUNTS = ("gammas", "budgets", "trees", "prompts_per_family", "repeats", "max_new_tokens")


def read_definition(path: str | Path) -> SweepDefinition:
    """A sweep file. Raises BenchError; the sentence begins with the file's name."""
    folder = Path(path).parent
    limits = files.Limits(stored_bytes=MOST_BYTES)
    return read_file(Path(path), lambda raw: _with_prompts(_definition_of(raw), folder), limits, BenchError)


def _definition_of(raw: bytes) -> SweepDefinition:
    if len(raw) > MOST_BYTES:
        raise BenchError(f"is longer than {MOST_BYTES:,} bytes, but a sweep file is a page at most.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BenchError(f"byte {error.start} is not valid UTF-8; a sweep file is TOML text.") from None
    return definition_of(text)


def _with_prompts(definition: SweepDefinition, folder: Path) -> SweepDefinition:
    """The definition with the prompts of the file that it names, which lies beside it. Raises BenchError."""
    if not definition.prompt_file:
        return definition
    if Path(definition.prompt_file).name != definition.prompt_file:  # a visitor's sweep file must not name any other
        raise BenchError("prompt_file must be the name of a file beside the sweep file, without a path.")
    try:
        return replace(definition, own_prompts=read_prompts(folder / definition.prompt_file), prompt_file="")
    except PromptError as error:
        raise BenchError(f"prompt_file: {error}") from None


def definition_of(text: str) -> SweepDefinition:
    """TOML text as a definition. Raises BenchError for a key that there is not, with the nearest one, for a value of
    the wrong type, and for counts below one."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BenchError(f"this is no valid TOML: {error}.") from None
    except RecursionError:
        raise BenchError("this is nested too deeply for a sweep file; lists of lists are the most it needs.") from None
    except ValueError:  # the reader takes no decimal number of so many digits
        raise BenchError(f"this holds a number of thousands of digits; {MOST_NUMBER:,} is the largest taken.") from None
    data = of_today(data)
    entries = data.get("drafters")
    if isinstance(entries, list):
        data["drafters"] = [{"name": entry} if isinstance(entry, str) else entry for entry in entries]
    try:
        _check_keys(data, SweepDefinition, "key of a sweep file called")
        _check_keys(data.get("verifier", {}), Choice, "key of a choice called")
        for one in data["drafters"] if isinstance(entries, list) else ():
            if isinstance(one, dict):
                _check_keys(one, DrafterEntry, "key of a drafter called")
                for role in POLICIES:
                    _check_keys(one.get(role, {}), Choice, "key of a choice called")
        return checked(_ADAPTER.validate_json(_as_json(data), strict=True))
    except OptionError as error:
        raise BenchError(str(error)) from None
    except ValidationError as error:
        raise BenchError(sentence_of(error, "sweep file")) from None


def of_today(data: Mapping[str, Any]) -> dict[str, Any]:
    """A definition as data, one of format 1.0 by the names of today, and every choice with a name and options."""
    data = in_choices(data, ("verifier",))
    if isinstance(entries := data.get("drafters"), list):
        data["drafters"] = [in_choices(entry, POLICIES) if isinstance(entry, dict) else entry for entry in entries]
    return data


def in_choices(settings: Mapping[str, Any], roles: Sequence[str]) -> dict[str, Any]:
    """Settings as data, with `{"name": …, "options": {…}}` for each of these roles that they name: a file may give the
    name alone, and in format 1.0 the options stood apart."""
    made = renamed(settings)
    for role in roles:
        options = made.pop(f"{role}_options", {})
        if not isinstance(made.get(role), dict) and (role in made or options):
            made[role] = {"name": made.get(role, STANDARD[role].name), "options": options}
    return made


def _as_json(data: Mapping[str, Any]) -> str:
    """Raises BenchError for a number that TOML has in other digits than ten and that nobody writes in ten."""
    try:
        return json.dumps(data, default=str)
    except ValueError:
        raise BenchError(f"this holds a number of thousands of digits; {MOST_NUMBER:,} is the largest taken.") from None


def checked(definition: SweepDefinition) -> SweepDefinition:
    """The definition again. Raises BenchError for counts, temperatures and axes out of bounds."""
    for name in _COUNTS:
        for value in _flat(getattr(definition, name)):
            _check_count(name, value)
    for entry in definition.drafters:
        for value in entry.lengths or ():
            _check_count("lengths", value)
    for temperature in definition.temperatures:
        if not 0.0 <= temperature <= 10.0:
            raise BenchError(f"temperatures has {temperature:g}, but each must lie between 0 and 10.")
    for field in fields(definition):
        values = getattr(definition, field.name)
        if isinstance(values, tuple) and field.name != "own_prompts" and len(values) > MOST_OF_AN_AXIS:
            raise BenchError(f"{field.name} has {len(values)} entries, but at most {MOST_OF_AN_AXIS} are taken.")
        if (
            isinstance(values, tuple)
            and field.name not in ("drafters", "own_prompts")
            and len(set(values)) < len(values)
        ):
            raise BenchError(f"{field.name} has an entry twice; leave one of them out.")
    if not definition.temperatures:
        raise BenchError("temperatures is empty; give at least one, such as 0.")
    if not definition.gammas:
        raise BenchError("gammas is empty; give at least one speculation length.")
    return definition


def _check_count(name: str, value: int) -> None:
    if not 1 <= value <= MOST_NUMBER:
        raise BenchError(f"{name} has {value}, but it must be at least 1 and at most {MOST_NUMBER:,}.")


def _flat(value: Any) -> list[int]:
    return [one for part in value for one in _flat(part)] if isinstance(value, tuple) else [value]


def _check_keys(data: Mapping[str, Any], kind: type, what: str) -> None:
    known = [field.name for field in fields(kind)]
    for name in data:
        nearest(name, known, what)


def to_toml(definition: SweepDefinition) -> str:
    """The definition as a sweep file; only what differs from the defaults is written."""
    content = stated(definition)
    drafters = [one["name"] if set(one) == {"name"} else one for one in content.pop("drafters", ())]
    return tomli_w.dumps(content | ({"drafters": drafters} if drafters else {}), indent=2)


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
