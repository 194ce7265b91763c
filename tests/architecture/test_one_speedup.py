"""A speedup is divided in one place: `theory/speedup.py` what was measured, `theory/formulas.py` what is modelled."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = {"specviz/theory/speedup.py", "specviz/theory/formulas.py"}
TIME = re.compile(r"(_s|seconds|speed)$")
PLAIN = re.compile("plain|base")


def names(node: ast.AST) -> set[str]:
    """Every name and attribute in an expression."""
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute)
    }


def divided_speedups(code: str) -> Iterator[int]:
    """Lines in which a time or a speed is divided by one, either of them plain decoding's; a drafter's pass in target
    passes is a cost and no speedup."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = names(node.left), names(node.right)
            timed = any(map(TIME.search, left)) and any(map(TIME.search, right))
            if timed and any(map(PLAIN.search, left | right)) and not any("draft" in name for name in left):
                yield node.lineno


def test_nobody_else_divides_for_a_speedup() -> None:
    modules = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "specviz").rglob("*.py")}
    lines = {name: list(divided_speedups(path.read_text(encoding="utf-8"))) for name, path in modules.items()}
    assert {name: found for name, found in lines.items() if found and name not in HOME} == {}
    assert lines["specviz/theory/speedup.py"], "the rule sees where it is divided"


@pytest.mark.parametrize(
    "code",
    [
        "run.tokens_per_s / base.tokens_per_s",
        "(own.tokens / own.decode_s) / (plain.tokens / plain.decode_s)",
        "plain_s * tokens / finished.decode_s",
        "speed / base.seconds",
    ],
)
def test_a_planted_division_is_seen(code: str) -> None:
    assert list(divided_speedups(f"ratio = {code}")) == [1]


@pytest.mark.parametrize("code", ["tokens / plain.decode_s", "draft_step_s / plain_s", "passes_s / rounds_s"])
def test_a_speed_a_cost_and_a_share_are_no_speedups(code: str) -> None:
    assert list(divided_speedups(f"ratio = {code}")) == []
