"""The small language in which a student writes a rule: lines `name = expression` over rows and numbers.

Text in, lines out, or one sentence that names the place. There are no loops, so every rule comes to its end; what
stands in a rule is data and never runs. The same in the browser: `rules/rule_language.js`, held by tests over the same
cases. Place in the flow: text → here → `values` → `law` → `verdict` → `tasks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from specviz.errors import SpecVizError

MOST_CHARACTERS, MOST_LINES, DEEPEST = 1000, 40, 40
GIVEN = ("p", "q", "r", "Q", "x", "u", "K", "gamma", "rejected", "rho")
FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "min": (1, 9),
    "max": (1, 9),
    "sum": (1, 1),
    "normalise": (1, 1),
    "before": (1, 1),
    "if": (3, 3),
    "exp": (1, 1),
    "log": (1, 1),
}
"""name → the fewest and the most arguments"""
WORDS = ("and", "or", "not", "else", "if")
SIGNS = {"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!="}
COMPARING = ("<", "<=", ">", ">=", "==", "!=")
TOKEN = re.compile(
    r"[ \t]*(?:([0-9]+(?:\.[0-9]+)?|\.[0-9]+)|([A-Za-z_][A-Za-z_0-9]*)|(<=|>=|==|!=|[-+*/()<>=,[\]−–×·÷≤≥≠])|([^ \t]))"
)
START = re.compile(r"[ \t]*([A-Za-z_][A-Za-z_0-9]*)[ \t]*=(?!=)")
DEEP = "this is nested too deeply; give a part a name in a line above."


class RuleError(SpecVizError):
    """Something is wrong at a place of a rule; `line` and `column` are counted from 1."""

    def __init__(self, line: int, at: int, sentence: str) -> None:
        super().__init__(f"line {line}, column {at + 1}: {sentence}")
        self.line, self.column = line, at + 1


@dataclass(frozen=True, slots=True)
class Number:
    value: float
    at: int


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function, an operation, or `pick`, which is [x]."""

    name: str
    parts: tuple[Node, ...]
    at: int


Node: TypeAlias = Number | Name | Call


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    node: Node
    number: int
    """from 1"""


@dataclass(frozen=True, slots=True)
class WrittenRule:
    lines: Mapping[str, Line]

    def looks_at(self, name: str, word: str) -> bool:
        """Whether a line, or one that it names, looks at `word`."""
        seen = set[str]()

        def holds(node: Node) -> bool:
            if isinstance(node, Call):
                return any(map(holds, node.parts))
            if not isinstance(node, Name) or node.name in seen:
                return False
            if node.name == word:
                return True
            if node.name not in self.lines:
                return False
            seen.add(node.name)
            return holds(self.lines[node.name].node)

        return name in self.lines and holds(self.lines[name].node)

    def without(self, name: str) -> WrittenRule:
        """The rule less one of its lines."""
        return WrittenRule({other: line for other, line in self.lines.items() if other != name})


@dataclass(frozen=True, slots=True)
class Token:
    sort: str
    """`number`, `name`, `sign` or `end`"""
    text: str
    at: int


def parse(text: str) -> WrittenRule:
    """The lines of a rule. Raises RuleError with the place of what cannot be read."""
    if len(text) > MOST_CHARACTERS:
        raise RuleError(1, 0, f"a rule has at most {MOST_CHARACTERS} characters; this has {len(text)}.")
    rows = re.split(r"\r\n|\n|\r", text)
    if len(rows) > MOST_LINES:
        raise RuleError(MOST_LINES, 0, f"a rule has at most {MOST_LINES} lines; this has {len(rows)}.")
    lines: dict[str, Line] = {}
    for number, row in enumerate(rows, 1):
        bare = row.partition("#")[0]
        if bare.strip():
            line = _line(bare, number, lines)
            lines[line.name] = line
    for name, example in (("accept", "min(1, p / q)"), ("replacement", "max(0, p - q)")):
        if name not in lines:
            raise RuleError(len(rows), 0, f"there is no line '{name}'; write {name} = {example}.")
    return WrittenRule(lines)


def _line(text: str, number: int, above: Collection[str]) -> Line:
    start = START.match(text)
    if start is None:
        at = len(text) - len(text.lstrip())
        raise RuleError(number, at, "begin with a name and =, as in accept = min(1, p / q).")
    name, at = start[1], start.start(1)
    if name in GIVEN or name in FUNCTIONS or name in WORDS:
        raise RuleError(number, at, f"'{name}' has a meaning already; choose another name for this line.")
    if name in above:
        raise RuleError(number, at, f"there are two lines called '{name}'; keep one of them.")
    node = Reader(_tokens(text, number, start.end()), number, {*GIVEN, *above}).whole()
    _check_u(node, number)
    return Line(name, node, number)


def _tokens(text: str, number: int, start: int) -> list[Token]:
    tokens = []
    while match := TOKEN.match(text, start):
        sort = ("number", "name", "sign", "other")[match.lastindex - 1 if match.lastindex else 3]
        shown, start = match[match.lastindex or 0], match.end()
        at = start - len(shown)
        if sort == "other":
            raise RuleError(number, at, f"'{shown}' means nothing here; write with + - * / ( ) [ ] < > and names.")
        tokens.append(Token(sort, SIGNS.get(shown, shown), at))
    return [*tokens, Token("end", "", len(text.rstrip()))]


def _check_u(node: Node, number: int) -> None:
    """u may only be compared, with something that does not hold u itself."""
    if isinstance(node, Name) and node.name == "u":
        raise RuleError(number, node.at, "u is only compared, as in u < p / q; what you compute with is p and q.")
    if not isinstance(node, Call):
        return
    compares = node.name in COMPARING
    sides = [part for part in node.parts if not (compares and is_u(part))]
    if not sides:
        raise RuleError(number, node.at, "u is compared with itself here.")
    for part in sides:
        _check_u(part, number)


def is_u(node: Node) -> bool:
    return isinstance(node, Name) and node.name == "u"


class Reader:
    """Reads one expression; `known`: the names that may stand in it."""

    def __init__(self, tokens: list[Token], line: int, known: Collection[str]) -> None:
        self.tokens, self.line, self.known = tokens, line, known
        self.next = self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    def is_at(self, text: str) -> bool:
        return self.token.sort in ("name", "sign") and self.token.text == text

    def take(self, text: str) -> bool:
        if not self.is_at(text):
            return False
        self.next += 1
        return True

    def fault(self, sentence: str, at: int | None = None) -> RuleError:
        return RuleError(self.line, self.token.at if at is None else at, sentence)

    def want(self, text: str, after: str) -> None:
        if not self.take(text):
            raise self.fault(f"write '{text}' {after}.")

    def deeper(self, read: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fault(DEEP)
        node = read()
        self.depth -= 1
        return node

    def whole(self) -> Node:
        """All of the line."""
        node = self.choice()
        if self.is_at("="):
            raise self.fault("'=' gives a name to a line; to compare, write '=='.")
        if self.token.sort != "end":
            text = self.token.text
            raise self.fault(f"'{text}' cannot stand here; write + - * / or a comparison before it.")
        return node

    def choice(self) -> Node:
        """`a if c else b`, or what is smaller."""
        return self.deeper(self._choice)

    def _choice(self) -> Node:
        there, at = self.either(), self.token.at
        if not self.take("if"):
            return there
        condition = self.either()
        self.want("else", "and what it is otherwise, as in `1 if p > q else p / q`")
        return Call("if", (condition, there, self.choice()), at)

    def either(self) -> Node:
        return self.joined(("or",), lambda: self.joined(("and",), self.turned))

    def added(self) -> Node:
        return self.joined(("+", "-"), lambda: self.joined(("*", "/"), self.signed))

    def joined(self, words: tuple[str, ...], smaller: Callable[[], Node]) -> Node:
        node = smaller()
        while self.token.sort in ("name", "sign") and self.token.text in words:
            word = self.token
            self.next += 1
            node = Call(word.text, (node, smaller()), word.at)
        return node

    def turned(self) -> Node:
        at = self.token.at
        return Call("not", (self.deeper(self.turned),), at) if self.take("not") else self.compared()

    def compared(self) -> Node:
        left, sign = self.added(), self.token
        if sign.text not in COMPARING:
            return left
        self.next += 1
        node = Call(sign.text, (left, self.added()), sign.at)
        if self.token.text in COMPARING:
            raise self.fault("compare two at a time and join them with `and`.")
        return node

    def signed(self) -> Node:
        at = self.token.at
        return Call("negative", (self.deeper(self.signed),), at) if self.take("-") else self.indexed()

    def indexed(self) -> Node:
        node, at = self.atom(), self.token.at
        if not self.take("["):
            return node
        if not self.take("x"):
            raise self.fault("only the drafted token can be picked; write [x], as in p[x].")
        self.want("]", "after x")
        return Call("pick", (node,), at)

    def atom(self) -> Node:
        token = self.token
        self.next += token.sort != "end"
        if token.sort == "number":
            return Number(float(token.text), token.at)
        if token.sort == "name" and self.is_at("("):
            return self.called(token.text, token.at)
        if token.sort == "name" and token.text not in WORDS:
            return self.named(token.text, token.at)
        if token.text != "(":
            ended = token.sort == "end"
            what = "something is missing at the end" if ended else f"'{token.text}' cannot stand here"
            raise self.fault(f"{what}; write a number, a name such as p, or a bracket.", token.at)
        node = self.choice()
        self.want(")", "to close the bracket")
        return node

    def named(self, name: str, at: int) -> Node:
        if name in FUNCTIONS:
            raise self.fault(f"write brackets after {name}, as in {name}(p).", at)
        if name not in self.known:
            raise self.fault(
                f"'{name}' is not known here; use p, q, r, Q, u, x, or give it a value in a line above.", at
            )
        return Name(name, at)

    def called(self, given: str, at: int) -> Node:
        name = "normalise" if given == "normalize" else given
        if name not in FUNCTIONS:
            cure = f"{name}[x], or an operation after {name}" if name in self.known else ", ".join(FUNCTIONS)
            raise self.fault(f"there is no function '{name}'; write {cure}.", at)
        self.want("(", "to open the bracket")
        parts = [self.choice()]
        while self.take(","):
            parts.append(self.choice())
        self.want(")", f"to close {name}(")
        least, most = FUNCTIONS[name]
        if not least <= len(parts) <= most:
            many = str(least) if least == most else f"{least} to {most}"
            raise self.fault(f"{name} takes {many} of them, not {len(parts)}.", at)
        return Call(name, tuple(parts), at)
