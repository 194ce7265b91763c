"""Tasks over written rules: whether a rule fulfils one, and the line of text in which a student hands it in.

A handed-in line is specviz|1|rule-TASK|NAME|RULE|CHECK, as all that students hand in (`rules/hand_in.js`): the rule as
base64 (of web addresses) of its UTF-8, - for an empty one, and the CRC-32 of everything before it in eight hexadecimal
digits. The check shows a line that was cut off or mistyped; whether the rule fulfils the task is worked out anew. The
same in the browser: `rules/rule_tasks.js`.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from specviz.errors import OptionError
from specviz.written_rules.language import RuleError, WrittenRule, parse
from specviz.written_rules.law import Law, World
from specviz.written_rules.values import Value, line_value, setting_of, total
from specviz.written_rules.verdict import ROUNDING, is_exact, is_exact_everywhere, mistakes_of, shipped

MARK = "specviz|1|rule-"
CODE = re.compile(rf"{re.escape(MARK)}[^\n]*")
MOST_BYTES, MOST_FILES = 1_000_000, 2_000
"""of a file that is read, and in a folder"""
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    title: str
    ask: str
    shape: Mapping[str, Any]
    """gamma, siblings and draw of its worlds"""
    start: str
    """the rule that a student begins with"""
    checks: Sequence[Mapping[str, str]]
    hint: str
    solution: str
    look: str
    """what to look at when it is solved"""
    plain: Mapping[str, str]
    """title, ask, hint and look in plain words, for the page"""

    def worlds(self) -> list[World]:
        return [World(probe["p"], probe["q"], **self.shape) for probe in shipped()["probes"]]


@cache
def tasks() -> Mapping[str, Task]:
    """All tasks by their id, in order."""
    return {given["id"]: Task(**given) for given in shipped()["tasks"]}


@dataclass(frozen=True, slots=True)
class Checked:
    """A rule against a task."""

    passed: bool
    missing: tuple[str, ...] = ()
    """what the task asks for and the rule does not do"""
    mistakes: tuple[str, ...] = ()
    """names of known mistakes that it behaves like"""


def _kept(rule: WrittenRule, world: World) -> float:
    return total(Law(rule, world).level().kept)


def _stopped(rule: WrittenRule, world: World) -> float:
    return Law(rule, world).level().stopped


def _line(rule: WrittenRule, name: str, world: World) -> float | None:
    """A rule's own line as a number; None where there is none, or it is a row."""
    values: dict[str, Value] = {"p": world.p, "q": world.q, "r": world.p, "Q": world.q, "rho": 1.0}
    values |= {"K": float(world.siblings), "gamma": float(world.gamma)}
    value = line_value(rule, name, setting_of(values, len(world.p), 0), [])
    return None if isinstance(value, list) else value


def _wanted(quantity: str, rule: WrittenRule, world: World) -> float:
    """`best`: the most that an exact rule keeps; `distance`: total variation between the first token's law and p."""
    if quantity == "best":
        return world.best
    return sum(abs(a - b) for a, b in zip(Law(rule, world).text(1), world.p, strict=True)) / 2


def _line_is_right(rule: WrittenRule, world: World, name: str, quantity: str) -> bool:
    value = _line(rule, name, world)
    return value is not None and abs(value - _wanted(quantity, rule, world)) < ROUNDING


def _holds(check: Mapping[str, str], rule: WrittenRule, worlds: Sequence[World]) -> bool:
    """Whether a check holds. Raises RuleError."""
    match check["is"]:
        case "exact":
            return all(is_exact(rule, world) for world in worlds)
        case "bent":
            return not all(is_exact(rule, world) for world in worlds)
        case "exact_without_stop":
            bare = rule.without("stop")
            return all(is_exact(bare, world) for world in worlds)
        case "keeps":
            other = parse(check["of"])
            return all(_kept(rule, world) > _kept(other, world) - ROUNDING for world in worlds)
        case "keeps_more":
            gains = [_kept(rule, world) - world.best for world in worlds]
            return min(gains) > -ROUNDING and max(gains) > ROUNDING
        case "stops":
            stops = [_stopped(rule, world) for world in worlds]
            return max(stops) > ROUNDING and min(stops) < 1 - ROUNDING
    return all(_line_is_right(rule, world, check["name"], check["equals"]) for world in worlds)


def _missed(check: Mapping[str, str]) -> str:
    """The sentence for where a check does not hold."""
    sentence: str = shipped()["missing"][check["is"]]["words"]
    return sentence.format(name=check.get("name", ""))


def check_task(task: Task, text: str) -> Checked:
    """Whether a rule fulfils a task; one that cannot be read fails with its sentence."""
    worlds = task.worlds()
    try:
        rule = parse(text)
        missing = tuple(_missed(check) for check in task.checks if not _holds(check, rule, worlds))
        exact = is_exact_everywhere(rule, worlds[0])
        wrong = mistakes_of(rule, worlds[0], exact) if missing else []
    except RuleError as error:
        return Checked(False, (str(error),))
    return Checked(not missing, missing, tuple(mistake.name for mistake in wrong))


# --- handing in ------------------------------------------------------------------------------------------------------


def hand_in_line(task: str, name: str, text: str) -> str:
    """The line that a student hands in."""
    packed = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    body = f"{MARK}{task}|{name}|{packed or '-'}"
    return f"{body}|{zlib.crc32(body.encode()):08x}"


def read_line(line: str) -> tuple[Task, str, str]:
    """Task, student's name (empty where none was written) and rule of a handed-in line. Raises OptionError where it is
    damaged or the task is not known."""
    body, _, check = line.rpartition("|")
    parts = body.removeprefix(MARK).split("|")
    whole = len(parts) == 3 and f"{zlib.crc32(body.encode()):08x}" == check
    try:
        packed = parts[2] if whole and parts[2] != "-" else ""
        text = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        whole = False
    if not whole:
        raise OptionError("the line is damaged: it was cut off or changed; have it copied anew.")
    if parts[0] not in tasks():
        raise OptionError(f"there is no task '{parts[0][:40]}'; choose of {', '.join(tasks())}.")
    return tasks()[parts[0]], parts[1], text


@dataclass(frozen=True, slots=True)
class HandIn:
    """One handed-in line."""

    student: str
    """the name in the line, or the file's"""
    task: str
    """empty where the line is damaged"""
    checked: Checked
    rule: str
    file: str


def hand_ins(folder: Path) -> Iterator[HandIn]:
    """Every code in the text files of a folder and the folders in it, file by file. Raises OptionError where there is
    no such folder, or it holds too much."""
    if not folder.is_dir():
        raise OptionError(f"there is no folder '{folder}'; give the one with the students' files.")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(files) > MOST_FILES:
        raise OptionError(f"'{folder}' holds {len(files)} files; grade {MOST_FILES} at most at a time.")
    for file in files:
        if file.stat().st_size <= MOST_BYTES:
            yield from _of_file(file, folder)


def _of_file(file: Path, folder: Path) -> Iterator[HandIn]:
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        for match in CODE.finditer(line):
            where = str(file.relative_to(folder))
            try:
                task, name, text = read_line(match[0].strip())
            except OptionError as error:
                yield HandIn(file.stem[:LONGEST_NAME], "", Checked(False, (str(error),)), "", where)
            else:
                student = (name or file.stem)[:LONGEST_NAME]
                yield HandIn(student, task.id, _checked_once(task.id, text), text, where)


@cache
def _checked_once(task: str, text: str) -> Checked:
    """Students hand in the same rules."""
    return check_task(tasks()[task], text)
