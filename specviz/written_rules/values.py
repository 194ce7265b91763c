"""What a written rule's expressions come to: numbers, and rows with a number per token, worked out token by token.

The same in the browser: `rules/rule_values.js`. Knows the language and nothing of candidates or texts.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from specviz.written_rules.language import COMPARING, Call, Name, Node, Number, RuleError, WrittenRule, is_u

Row: TypeAlias = list[float]
Value: TypeAlias = float | Row
TINY = 1e-12
"""what a row must add up to at least to be drawn from"""


@dataclass(slots=True)
class Setting:
    """What a line may look at."""

    values: Mapping[str, Value]
    token: int | None = None
    """the drafted one; None where there is none"""
    u: float | None = None
    cuts: list[float] | None = None
    """gathers the values of u at which a comparison changes its answer"""
    memo: dict[str, Value] = field(default_factory=dict)


def setting_of(
    values: Mapping[str, Value], size: int, token: int | None, u: float | None = None, cuts: list[float] | None = None
) -> Setting:
    """With x, the row of the drafted token [size], where there is one."""
    given = dict(values)
    if token is not None:
        given["x"] = [float(other == token) for other in range(size)]
    return Setting(given, token, u, cuts)


def row_of(value: Value, size: int) -> Row:
    """A row [size], from a row or from a number that stands for every token."""
    return value if isinstance(value, list) else [value] * size


def at_token(value: Value, token: int) -> float:
    return value[token] if isinstance(value, list) else value


def total(row: Sequence[float]) -> float:
    """Added from left to right, as the browser does."""
    result = 0.0
    for value in row:
        result += value
    return result


def normalised(row: Row) -> Row:
    """Weights made to add up to 1; a row that adds up to nothing stays as it is."""
    mass = total(row)
    return [value / mass for value in row] if mass > TINY else row


def before(row: Row) -> Row:
    """Where each token's part begins, the parts of a row laid side by side."""
    starts, mass = [], 0.0
    for value in row:
        starts.append(mass)
        mass += value
    return starts


def _divided(above: float, below: float) -> float:
    if below == 0:
        return 0.0 if above == 0 else above * math.inf
    return above / below


def _times(left: float, right: float) -> float:
    return 0.0 if left == 0 or right == 0 else left * right  # 0 · ∞ too: p · log(p) at p = 0


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


def _log(value: float) -> float:
    return math.nan if value < 0 else math.log(value) if value > 0 else -math.inf


EACH: Mapping[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": _times,
    "/": _divided,
    "<": lambda left, right: float(left < right),
    "<=": lambda left, right: float(left <= right),
    ">": lambda left, right: float(left > right),
    ">=": lambda left, right: float(left >= right),
    "==": lambda left, right: float(left == right),
    "!=": lambda left, right: float(left != right),
    "and": lambda left, right: float(left != 0 and right != 0),
    "or": lambda left, right: float(left != 0 or right != 0),
    "not": lambda value: float(value == 0),
    "negative": operator.neg,
    "exp": _exp,
    "log": _log,
    "if": lambda condition, there, elsewhere: there if condition != 0 else elsewhere,
    "min": min,
    "max": max,
}
WHOLE: Mapping[str, Callable[[Row], Value]] = {
    "min": min,
    "max": max,
    "sum": total,
    "normalise": normalised,
    "before": before,
}


def line_value(rule: WrittenRule, name: str, setting: Setting, otherwise: Value) -> Value:
    """What a line comes to; `otherwise` where the rule has no such line. Raises RuleError."""
    line = rule.lines.get(name)
    return otherwise if line is None else evaluate(rule, line.node, setting, line.number)


def evaluate(rule: WrittenRule, node: Node, setting: Setting, line: int) -> Value:
    """What an expression comes to. Raises RuleError with its place."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Name):
        return _named(rule, node, setting, line)
    if node.name in COMPARING and any(map(is_u, node.parts)):
        return _compared_with_u(rule, node, setting, line)
    values = [evaluate(rule, part, setting, line) for part in node.parts]
    if node.name == "pick":
        if setting.token is None:
            sentence = "there is no drafted token here; x and [x] belong to accept, replacement and stop."
            raise RuleError(line, node.at, sentence)
        return at_token(values[0], setting.token)
    if len(values) == 1 and node.name in WHOLE:
        return WHOLE[node.name](values[0]) if isinstance(values[0], list) else values[0]
    value = _elementwise(EACH[node.name], values)
    if any(map(math.isnan, value)) if isinstance(value, list) else math.isnan(value):
        sentence = "this is no number for some token; it divides by 0, or takes the log of less than 0."
        raise RuleError(line, node.at, sentence)
    return value


def _elementwise(operation: Callable[..., float], values: Sequence[Value]) -> Value:
    size = next((len(value) for value in values if isinstance(value, list)), None)
    if size is None:
        return operation(*values)
    return [operation(*(at_token(value, token) for value in values)) for token in range(size)]


def _named(rule: WrittenRule, node: Name, setting: Setting, line: int) -> Value:
    if node.name in setting.values:
        return setting.values[node.name]
    if node.name not in rule.lines:
        sentence = f"there is no {node.name} here; docs/write_the_rule.md says which line knows what."
        raise RuleError(line, node.at, sentence)
    if node.name not in setting.memo:
        wanted = rule.lines[node.name]
        setting.memo[node.name] = evaluate(rule, wanted.node, setting, wanted.number)
    return setting.memo[node.name]


def _compared_with_u(rule: WrittenRule, node: Call, setting: Setting, line: int) -> Value:
    """A comparison with u; the values of u at which its answer changes go to `cuts`."""
    if setting.u is None:
        raise RuleError(line, node.at, "there is no u here; it belongs to accept and replacement.")
    values = [setting.u if is_u(part) else evaluate(rule, part, setting, line) for part in node.parts]
    other = values[1 if is_u(node.parts[0]) else 0]
    if setting.cuts is not None:
        setting.cuts += other if isinstance(other, list) else [other]
    return _elementwise(EACH[node.name], values)
