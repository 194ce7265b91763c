"""Whether a written rule is exact, and which known mistake it behaves like.

A mistake is known by what it does on fixed distributions (`assets/written_rules.json`), however it is written: its
lines are compared by how often they keep each candidate and what they draw, never by their text. The same in the
browser: `rules/rule_verdict.js`, which also puts the verdict in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from specviz.resources import ROOT, read_json, without
from specviz.written_rules.language import WrittenRule, parse
from specviz.written_rules.law import Law, World, bonus_of, pieces_of, stop_of, target_text
from specviz.written_rules.values import Row, Value, at_token, line_value, normalised, setting_of, total

FILE = "written_rules.json"
"""under assets: mistakes, tasks and the distributions on which they are looked at"""
ROUNDING = 1e-9


LISTS = ("probes", "situations", "later_siblings", "later_draws", "mistakes", "tasks")


@cache
def shipped() -> dict[str, Any]:
    """The shipped file. Raises SpecVizError where it is missing or damaged."""
    content: dict[str, Any] = read_json(ROOT / FILE)
    return content


def for_the_page() -> dict[str, Any]:
    """The same; without a mistake or a task where the file is missing or damaged."""
    empty: dict[str, Any] = {name: [] for name in LISTS}
    return without(ROOT / FILE, _read, {**empty, "built_in": {}, "broken": {}})


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_json(path)
    if not all(Mistake(**given) for given in content["mistakes"]) or not all(content[name] for name in LISTS):
        raise ValueError("no list of mistakes and tasks")
    return content


@dataclass(frozen=True, slots=True)
class Mistake:
    """One known mistake."""

    id: str
    line: str
    """of the rule, that makes it"""
    name: str
    why: str
    cure: str
    plain: Mapping[str, str]
    """name and why in plain words, for the page"""
    like: tuple[str, ...] = ()
    """expressions that make it"""
    test: str = ""
    """name of the test that knows it, where expressions cannot say it"""
    siblings: int = 1
    """it shows with so many candidates at least"""
    draw: str = ""
    """it shows where candidates are drawn so; empty: anywhere"""
    harmless: bool = False
    """it leaves the law alone"""


@cache
def mistakes() -> tuple[Mistake, ...]:
    """All that are known, the gravest first."""
    return tuple(Mistake(**{**given, "like": tuple(given.get("like", ()))}) for given in shipped()["mistakes"])


def is_exact(rule: WrittenRule, world: World) -> bool:
    """Whether the law of the first tokens is the target's. Raises RuleError."""
    target = target_text(world.p, world.length)
    law = Law(rule, world).text(world.length)
    return all(abs(a - b) < ROUNDING for a, b in zip(law, target, strict=True))


def is_exact_everywhere(rule: WrittenRule, world: World) -> bool:
    """The same, and on the probes too: a rule may be exact for some p and q by luck. Raises RuleError."""
    probes = [replace(world, p=probe["p"], q=probe["q"]) for probe in shipped()["probes"]]
    return all(is_exact(rule, tried) for tried in (world, *probes))


# --- what the lines do on fixed distributions ------------------------------------------------------------------------


Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fate:
    """Of one candidate."""

    values: Values
    token: int
    kept: float
    row: Row | None
    """what is drawn from where it is rejected; None where it never is"""


@dataclass(frozen=True, slots=True)
class Look:
    """A rule, where it is looked at, and what it does there."""

    rule: WrittenRule
    situations: Sequence[Values]
    fates: Sequence[Fate]


def _settled(situation: Mapping[str, Row]) -> Values:
    return {"r": situation["p"], "Q": situation["q"], "rho": 1.0, "K": 1.0, "gamma": 1.0, **situation}


def _situations(world: World) -> list[Values]:
    later = "later_draws" if world.draw == "without_replacement" else "later_siblings"
    more = shipped()[later] if world.siblings > 1 else []
    return [_settled(situation) for situation in (*shipped()["situations"], *more)]


def _fates(rule: WrittenRule, situations: Sequence[Values]) -> list[Fate]:
    """Of every candidate that can be drawn."""
    fates = []
    for values in situations:
        for token, chance in enumerate(values["Q"]):
            if chance > 0:
                pieces = list(pieces_of(rule, values, len(values["p"]), token))
                kept = total([share for share, row in pieces if row is None])
                fates.append(Fate(values, token, kept, next((row for _, row in pieces if row is not None), None)))
    return fates


def _near(left: float, right: float) -> bool:
    return abs(left - right) < ROUNDING


def _alike(left: Row, right: Row) -> bool:
    return all(map(_near, left, right))


def _same_drawn(mine: Sequence[Fate], theirs: Sequence[Fate]) -> bool:
    """Whether replacements are drawn alike wherever the rule draws one."""
    drawn = [(fate.row, other.row) for fate, other in zip(mine, theirs, strict=True) if fate.row is not None]
    return bool(drawn) and all(other is not None and _alike(normalised(row), normalised(other)) for row, other in drawn)


def _factor(fates: Sequence[Fate]) -> float | None:
    """On r/Q wherever a candidate passes neither never nor always, inside min(1, ·) or before it; None where there is
    no single one."""

    def ratio(fate: Fate) -> float:
        return float(fate.values["r"][fate.token] / fate.values["Q"][fate.token])

    chance = next((fate for fate in fates if ROUNDING < fate.kept < 1 - ROUNDING), None)
    if chance is None:
        return None
    inside, ahead = chance.kept / ratio(chance), chance.kept / min(1.0, ratio(chance))
    if all(_near(fate.kept, min(1.0, inside * ratio(fate))) for fate in fates):
        return inside
    fits = all(_near(fate.kept, min(1.0, ahead * min(1.0, ratio(fate)))) for fate in fates)
    return ahead if fits else None


def _sums_wrong(look: Look) -> bool:
    """The row drawn from is what r leaves of Q, and does not add up to 1."""
    drawn = [(fate.row, fate.values) for fate in look.fates if fate.row is not None]
    right = all(
        _alike(normalised(row), normalised([max(0.0, a - b) for a, b in zip(values["r"], values["Q"], strict=True)]))
        for row, values in drawn
    )
    return bool(drawn) and right and any(not _near(total(row), 1.0) for row, _ in drawn)


def _passes_at_the_edge(look: Look) -> bool:
    """A token that the target rules out passes where u is 0, and nowhere else."""
    if not look.rule.looks_at("accept", "u"):
        return False
    values, ruled_out = _settled({"p": [0.6, 0.0, 0.4], "q": [0.3, 0.5, 0.2]}), 1
    at_zero: Value = line_value(look.rule, "accept", setting_of(values, 3, ruled_out, 0.0), 0.0)
    elsewhere = any(row is None for _, row in pieces_of(look.rule, values, 3, ruled_out))
    return at_token(at_zero, ruled_out) != 0 and not elsewhere


def _stop_varies(look: Look) -> bool:
    """The same rows stop the draft at one token and not at another."""

    def stops(values: Values) -> list[float]:
        return [stop_of(look.rule, values["p"], values["q"], 1, token) for token in range(len(values["p"]))]

    return any(not _near(max(row), min(row)) for row in map(stops, look.situations))


def _scaled(test: Callable[[float], bool]) -> Callable[[Look], bool]:
    def holds(look: Look) -> bool:
        factor = _factor(look.fates)
        return factor is not None and test(factor)

    return holds


TESTS: Mapping[str, Callable[[Look], bool]] = {
    "lenient": _scaled(lambda factor: factor > 1 + ROUNDING),
    "strict": _scaled(lambda factor: factor < 1 - ROUNDING),
    "edge": _passes_at_the_edge,
    "negative": lambda look: any(fate.row is not None and min(fate.row) < -ROUNDING for fate in look.fates),
    "wrong_sum": _sums_wrong,
    "varies": _stop_varies,
}


def _bonus_rows(rule: WrittenRule, situations: Sequence[Values]) -> list[Row]:
    rows = []
    for values in situations:
        for rejected in (False, True):
            row = bonus_of(rule, 1, values["p"], values["q"], rejected)
            rows.append([0.0] * len(values["p"]) if row is None else row)
    return rows


@cache
def _example(line: str, expression: str) -> WrittenRule:
    """A rule whose line is this expression; the lines that it is not about never decide."""
    lines = {"accept": "0" if line == "replacement" else "1", "replacement": "p", line: expression}
    return parse("\n".join(f"{name} = {given}" for name, given in lines.items()))


def _behaves_like(mistake: Mistake, look: Look) -> bool:
    if mistake.test:
        return TESTS[mistake.test](look)
    for expression in mistake.like:
        other = _example(mistake.line, expression)
        if mistake.line == "bonus":
            same = all(map(_alike, _bonus_rows(look.rule, look.situations), _bonus_rows(other, look.situations)))
        else:
            theirs = _fates(other, look.situations)
            if mistake.line == "accept":
                same = all(_near(fate.kept, their.kept) for fate, their in zip(look.fates, theirs, strict=True))
            else:
                same = _same_drawn(look.fates, theirs)
        if same:
            return True
    return False


def mistakes_of(rule: WrittenRule, world: World, exact: bool) -> list[Mistake]:
    """Known mistakes that a rule behaves like, the gravest first; where the law is exact, those that bend nothing.
    Raises RuleError."""
    situations = _situations(world)
    look = Look(rule, situations, _fates(rule, situations))
    return [
        mistake
        for mistake in mistakes()
        if (mistake.harmless or not exact)
        and mistake.siblings <= world.siblings
        and mistake.draw in ("", world.draw)
        and (mistake.line in rule.lines or mistake.draw == "shared")
        and _behaves_like(mistake, look)
    ]
