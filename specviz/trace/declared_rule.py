"""What a verifier says of its rule, as plain data: read by the check, the player and the documentation.

A threshold is an expression such as `ratio(p, rho * q)` over p and Q of the trial, its terms and the verifier's
options. It is kept as nested lists in `assets/rules.json`, so that Python and JavaScript evaluate the same thing. A
verifier that is not in the file (another package's) is held to the general rules alone: its thresholds are not
recomputed, and the check says so.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from typing import Any, Literal

from specviz.errors import OptionError
from specviz.resources import ROOT, without
from specviz.trace.events import CandidateKind, Option, Order, Trial

Numbers = Literal["plain", "residual", "scaled"]
Expression = float | str | list[Any]
"""a number, a name, or [operation, argument, …]"""


@dataclass(frozen=True, slots=True)
class Rule:
    """One verifier's rule."""

    threshold: str
    """the acceptance probability in terms of `p`, `q`, the trial's terms and the verifier's options; see
    `OPERATIONS`"""
    words: str
    """the same for sentences"""
    order: Order = "top_down"
    numbers: Numbers = "plain"
    """what a trial's p and Q are: those of the node (`plain`), after rejected siblings (`residual`), or after rejected
    siblings with p scaled by the path's probability (`scaled`)"""
    subtracts: bool = True
    """a correction is drawn from what the rejected candidates leave; False: from the target's own distribution"""
    compares: bool = True
    """every trial has a uniform draw u, accepted means u < threshold; False: the verdict is settled without one"""
    draws: bool = True
    """the round's last token is drawn; False: it is the target's most probable"""
    races: bool = False
    """what is drawn, is by a time for every token instead of one number u for all"""
    lanes: str = ""
    """of a rule that races: an option that says in how many lanes the target runs; empty: in the first alone"""
    survivors: str = ""
    """a yes-or-no option under which the drafts that share an accepted token all stay candidates; empty: there is none,
    and the children of the accepted node follow"""
    one_by_one: bool = False
    """p and Q of the candidate and what its rejected siblings leave decide, so that a recorded round can be judged
    again under other settings"""
    terms: Mapping[str, str] = field(default_factory=dict)
    """name in a trial's `terms` → symbol"""
    formula: tuple[str, ...] = ()
    """the rule in symbols, a line each"""
    code: tuple[str, ...] = ()
    """the same as lines of Python"""
    rest: str = ""
    """what `residual_mass` is"""
    rest_formula: str = ""
    """the distribution a correction is drawn from"""


def _ratio(above: float, below: float) -> float:
    """min(1, a/b); with b = 0, whether a is anything."""
    return min(1.0, above / below) if below > 0 else float(above > 0)


def _end_here(left: float, reach: float) -> float:
    """s / (s + 1 - A); 0/0 is 1."""
    below = left + 1 - reach
    return left / below if below > 0 else 1.0


OPERATIONS: Mapping[str, Callable[..., float]] = {
    "times": lambda a, b: a * b,
    "minus": lambda a: -a,
    "least": min,
    "exp": exp,
    "above": lambda a, b: float(a > b),
    "reaches": lambda a, b: float(a >= b),
    "ratio": _ratio,
    "end_here": _end_here,
}
"""`where(name, a, b)`, which is a where the trial has this term and b elsewhere, is no function of numbers"""

_SIGNS: Mapping[type[ast.AST], str] = {ast.Mult: "times", ast.USub: "minus", ast.Gt: "above", ast.GtE: "reaches"}


def parse(text: str) -> Expression:
    """`ratio(p, rho * q)` → `["ratio", "p", ["times", "rho", "q"]]`. Raises OptionError where it is something else."""
    try:
        return _parsed(ast.parse(text, mode="eval").body)
    except (SyntaxError, KeyError, TypeError) as error:
        raise OptionError(
            f"'{text}' is no threshold ({error}); use p, q, terms, options, numbers, *, -, >, >=, where and "
            f"{', '.join(sorted(OPERATIONS))}."
        ) from error


def _parsed(node: ast.AST) -> Expression:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left, op=sign, right=right):
            return [_SIGNS[type(sign)], _parsed(left), _parsed(right)]
        case ast.UnaryOp(op=sign, operand=operand):
            return [_SIGNS[type(sign)], _parsed(operand)]
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            return [_SIGNS[type(sign)], _parsed(left), _parsed(right)]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name == "where" or name in OPERATIONS:
            return [name, *map(_parsed, arguments)]
    raise TypeError(type(node).__name__)


def evaluate(expression: Expression, values: Mapping[str, float]) -> float:
    """The number an expression comes to. Raises KeyError for a name that has no value, OverflowError beyond floats."""
    if isinstance(expression, str):
        return values[expression]
    if not isinstance(expression, list):
        return float(expression)
    name, *arguments = expression
    if name == "where":
        condition, there, elsewhere = arguments
        return evaluate(there if condition in values else elsewhere, values)
    return OPERATIONS[name](*(evaluate(argument, values) for argument in arguments))


RULES_FILE = "rules.json"
"""under assets; `make generate` writes it"""
Options = Mapping[str, Option]


@dataclass(frozen=True, slots=True)
class KnownRule:
    """One verifier, as a trace shows it; see `declared_rule.Rule` for what its file declares."""

    order: Order
    words: str
    """the equation, for sentences"""
    expression: Expression
    numbers: Numbers
    lossless: bool
    subtracts: bool
    compares: bool
    draws: bool
    races: bool
    lanes: str
    survivors: str
    judges: frozenset[CandidateKind]
    """candidate kinds for which the rule is what it claims to be"""
    chains: bool
    """no siblings"""
    greedy: bool
    """temperature 0 only"""

    def threshold(self, trial: Trial, options: Options) -> float:
        """The acceptance probability by the rule's own equation. Raises KeyError where the trial lacks one of its
        terms, and OverflowError where the numbers lead beyond floats."""
        numbers = {name: float(value) for name, value in options.items() if isinstance(value, (int, float))}
        return evaluate(self.expression, numbers | trial.terms | {"p": trial.target_prob, "q": trial.draft_prob})

    def keeps_survivors(self, options: Options) -> bool:
        """Whether the drafts that share an accepted token all stay candidates; runs older than the option did not."""
        return bool(self.survivors) and options.get(self.survivors) is True


def declarations() -> dict[str, dict[str, Any]]:
    """The shipped file: name of the verifier → what it declares. Nothing where it is damaged: no rule is known then,
    and nothing is recomputed by one."""
    return without(ROOT / RULES_FILE, _declared, {})


def _declared(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    for declared in found.values():
        _known(declared)
    return found


def _known(declared: Mapping[str, Any]) -> KnownRule:
    names = (
        "order",
        "words",
        "numbers",
        "lossless",
        "subtracts",
        "compares",
        "draws",
        "races",
        "lanes",
        "survivors",
        "chains",
        "greedy",
    )
    judges = frozenset(declared["judges"])
    return KnownRule(expression=declared["threshold"], judges=judges, **{name: declared[name] for name in names})


KNOWN: Mapping[str, KnownRule] = {name: _known(declared) for name, declared in declarations().items()}


def ratio(p: float, q: float) -> float:
    """min(1, p/q); with q = 0, whether p has anything."""
    return evaluate(["ratio", "p", "q"], {"p": p, "q": q})


def first_reach(trial: Trial) -> float:
    """min(1, A p/Q): the probability of the path to a node before any of its children was rejected."""
    return ratio(trial.terms["parent_reach"] * trial.target_prob, trial.draft_prob)


def keeps_survivors(rule: str, options: Options) -> bool:
    """The same for a rule by name; False for one that is not known."""
    return rule in KNOWN and KNOWN[rule].keeps_survivors(options)
