"""The gate between a file and its types: bytes in, checked JSON data out, or one sentence saying why not.

Size, nesting, string length and counts are bounded before anything is built from them; then what JSON leaves open is
closed (duplicate keys, NaN, huge integers, broken text). Data without the right types becomes a sentence here, too.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import isfinite
from typing import Any, NoReturn

from pydantic import ValidationError

from specviz.errors import TraceError, shown
from specviz.trace.files import MAX_INTEGER, Limits

_GZIP_MAGIC = b"\x1f\x8b"
MOST_MEMBERS = 64
"""of a gzip file"""
_CHUNK = 1 << 16
# A string, closed or running to the end of the file. Possessive, so that no input makes it step back.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
_LONG_NUMBER = re.compile(r"(?<![0-9.eE+-])[0-9.eE+-]{16,}+")
_LARGE_EXPONENT = re.compile(r"(?<![0-9.])[0-9]++(?:\.[0-9]++)?[eE]\+?[0-9]{3,}+")
_LONG_EXPONENT = re.compile(r"[eE]\+?[0-9]{3}")
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def text_of(raw: bytes, limits: Limits) -> str:
    """Stored bytes, plain or gzip, to text. Raises TraceError on damage and on anything above the limits."""
    if len(raw) > limits.stored_bytes:
        raise TraceError(f"the file has {len(raw):,} bytes, but at most {limits.stored_bytes:,} are read.")
    data = _gunzip(raw, limits.text_bytes) if raw.startswith(_GZIP_MAGIC) else raw
    if len(data) > limits.text_bytes:
        raise TraceError(f"the file has {len(data):,} bytes of text, but at most {limits.text_bytes:,} are read.")
    if not data:
        raise TraceError(f"the file is empty; {limits.what} is one JSON object.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TraceError(
            f"byte {error.start:,} is not valid UTF-8; {limits.what} is JSON text, plain or gzip."
        ) from None


def _gunzip(raw: bytes, ceiling: int) -> bytes:
    """Decompress piece by piece and stop at the ceiling, so that a small file cannot fill the memory."""
    parts: list[bytes] = []
    size = members = 0
    rest = raw
    try:
        while rest:  # a gzip file may have several members
            members += 1
            if members > MOST_MEMBERS:  # what is left is copied for each, so thousands of empty ones take minutes
                raise TraceError(f"the compressed file has more than {MOST_MEMBERS} parts; a trace has one.")
            member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            while not member.eof:
                piece = member.decompress(rest, _CHUNK)
                rest = member.unconsumed_tail
                size += len(piece)
                if size > ceiling:
                    raise TraceError(
                        f"the file unpacks to more than {ceiling:,} bytes, which is the most that is read."
                    )
                parts.append(piece)
                if not piece and not rest and not member.eof:
                    raise TraceError("the compressed file ends too early; it was cut off, get it again.")
            rest = member.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise TraceError(f"the compressed file is damaged ({error}); get it again.") from None
    return b"".join(parts)


def json_of(text: str, limits: Limits) -> dict[str, Any]:
    """Text to one JSON object. Raises TraceError, naming the place as far as it is known."""
    bare = _without_strings(text, limits)
    _bound_containers(bare, limits)
    _bound_numbers(bare, limits)
    try:
        data = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise TraceError(f"line {error.lineno}, column {error.colno} is not valid JSON: {error.msg}.") from None
    if not isinstance(data, dict):
        raise TraceError(f"{limits.what} is one JSON object, but this file holds {_kind(data)}.")
    if _SURROGATE.search(_PAIR.sub("", text)):  # perhaps a lone one; a walk tells where
        for place, value in _strings(data, ""):
            if any("\ud800" <= character <= "\udfff" for character in value):
                raise TraceError(f"{place or 'the file'} holds half of a surrogate pair, which is no character.")
    return data


def rows_of(text: str, limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object) of a file that is one object, a list of them, or one per line."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) > 1 and all(line.strip().startswith("{") and line.strip().endswith("}") for _, line in lines[:2]):
        for number, line in lines:
            try:
                yield f"line {number}: ", json_of(line, limits)
            except TraceError as error:
                raise TraceError(f"line {number}: {error}") from None
    elif text.lstrip().startswith("["):
        for number, row in enumerate(json_of(f'{{"rows":{text}}}', limits)["rows"]):
            if not isinstance(row, dict):
                raise TraceError(f"entry {number} of the list is no object; a response is one.")
            yield f"entry {number}: ", row
    else:
        yield "", json_of(text, limits)


def whole(fields: Mapping[str, Any], *names: str) -> int | None:
    """The first of these fields that is there, a count; None where none is. Raises TraceError where it is no whole
    number of at least 0; a JSON writer may have put a fraction of 0 behind it."""
    name = next((name for name in names if fields.get(name) is not None), None)
    if name is None:
        return None
    value = fields[name]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or value < 0:
        raise TraceError(f"{name} is {shown(fields[name])}, but must be a whole number of at least 0.")
    return value


def _without_strings(text: str, limits: Limits) -> str:
    """What is left of the text when every string is taken out. Raises TraceError where one is too long."""
    for match in _STRING.finditer(text) if len(text) - 2 > limits.string_chars else ():
        if match.end() - match.start() - 2 > limits.string_chars:
            line = text.count("\n", 0, match.start()) + 1
            raise TraceError(
                f"a string starting on line {line} is longer than {limits.string_chars:,} characters, "
                "which is the most that is read."
            )
    return _STRING.sub("", text)


def _bound_containers(bare: str, limits: Limits) -> None:
    depths = accumulate(map(_STEP.__getitem__, _BRACKETS.findall(bare)))
    if next(filter(limits.nesting.__lt__, depths), 0):
        raise TraceError(f"the JSON is nested deeper than {limits.nesting} levels; {limits.what} needs far fewer.")
    if bare.count("[") + bare.count("{") > limits.containers:
        raise TraceError(f"the JSON holds more than {limits.containers:,} objects and lists.")


def _bound_numbers(bare: str, limits: Limits) -> None:
    """Integers stay exact in every reader; every number is a finite double and short enough to be read quickly."""
    for match in _LONG_NUMBER.finditer(bare):
        digits = match[0]
        if len(digits) > limits.number_chars:
            raise TraceError(f"the number {shown(digits)} has more than {limits.number_chars} characters.")
        if digits.lstrip("-").isdigit() and int(digits.lstrip("-")) > MAX_INTEGER:
            raise TraceError(f"the integer {digits} is beyond ±(2^53 - 1), which not every reader holds exactly.")
    for match in _LARGE_EXPONENT.finditer(bare) if _LONG_EXPONENT.search(bare) else ():
        if not isfinite(float(match[0])):
            raise TraceError(f"the number {match[0]} is beyond the largest double; every number must be finite.")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise TraceError(f"the key {shown(key)} stands twice in one object; keep one of them.")
            seen.add(key)
    return data


def _refuse_constant(word: str) -> NoReturn:
    raise TraceError(f"the file holds {word}, which is no JSON number; every number must be finite.")


def _strings(data: Any, place: str) -> Iterator[tuple[str, str]]:
    """Every string with its place, keys included."""
    if isinstance(data, str):
        yield place, data
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from _strings(item, f"{place}[{index}]")
    elif isinstance(data, dict):
        for key, item in data.items():
            yield place, key
            yield from _strings(item, f"{place}.{shown(key, quote=False)}".lstrip("."))


def _kind(data: Any) -> str:
    names = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(data), "null")


Path = tuple[int | str, ...]
"""of a value in JSON data: keys and indices"""


def sentence_of(error: ValidationError, whole: str) -> str:
    """All missing fields, or else the first problem. `whole` is what was read, such as `trace`; safe to print, whatever
    the data holds."""
    problems = error.errors(include_url=False, include_context=False)
    missing = [problem["loc"] for problem in problems if problem["type"] == "missing"]
    if missing:
        return _missing(missing, whole)
    first = problems[0]
    place = place_of(first["loc"]) or f"the {whole}"
    message = first["msg"].removeprefix("Input ").replace("should be", "must be")
    return f"{place} is {shown(first['input'])}, but {message[0].lower()}{message[1:]}."


def _missing(places: Sequence[Path], whole: str) -> str:
    """Each field once, however many rounds and nodes lack it."""
    fields: dict[Path, list[Path]] = {}
    for place in places:
        fields.setdefault(tuple(step for step in place if isinstance(step, str)), []).append(place)
    told = [place_of(field[0]) + (f" (and {len(field) - 1} more)" if field[1:] else "") for field in fields.values()]
    if len(told) == 1:
        return f"{told[0]} is missing; every {whole} has it."
    return f"{len(told)} fields are missing, and every {whole} has them: {', '.join(told)}."


def place_of(path: Path) -> str:
    """("rounds", 3, "nodes") → `rounds[3].nodes`."""
    place = ""
    for step in path:
        if isinstance(step, int):
            place += f"[{step}]"
        else:
            place += f".{shown(step, quote=False)}"
    return place.lstrip(".")
