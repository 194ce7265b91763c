"""Is a trace true to itself? Every invariant of the format, from its tree to its summary.

`loads` only makes a trace safe to walk; this says whether its parts agree. The rules are in `rules_tree`,
`rules_verdict`, `rules_round` and `rules_run`; docs/trace_format.md lists them in words. Knows nothing about files or
engines.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from specviz.errors import TraceError
from specviz.trace import rules_round, rules_run, rules_tree, rules_verdict
from specviz.trace.codec import read
from specviz.trace.events import FORMAT, Trace
from specviz.trace.limits import STANDARD, Limits
from specviz.trace.problems import Problem
from specviz.trace.structure import structure

__all__ = ["Problem", "check", "errors", "read_checked"]

_ROUND_RULES = (
    rules_tree.tree,
    rules_verdict.verdicts,
    rules_round.adjusted,
    rules_round.last_token,
    rules_round.committed,
)
_RUN_RULES = (rules_run.vocabulary, rules_run.chain, rules_run.times, rules_run.output, rules_run.summary)


def check(trace: Trace) -> list[Problem]:
    """Every broken rule; empty for a sound trace. Where indices or ids are broken, only those are reported."""
    broken = list(_identity(trace)) + list(structure(trace))
    if broken:
        return broken
    scenes = [rules_tree.Scene(f"rounds[{i}]", trace.started, this) for i, this in enumerate(trace.rounds)]
    in_rounds = chain.from_iterable(rule(scene) for scene in scenes for rule in _ROUND_RULES)
    in_run = chain.from_iterable(rule(trace) for rule in _RUN_RULES)
    return [*in_rounds, *in_run]


def errors(problems: list[Problem]) -> list[Problem]:
    """Contradictions only, warnings left out."""
    return [problem for problem in problems if problem.severity == "error"]


def read_checked(path: str | Path, limits: Limits = STANDARD) -> Trace:
    """Read a file and refuse it where it contradicts itself. Raises TraceError naming file and place."""
    trace = read(path, limits)
    for problem in errors(check(trace)):
        raise TraceError(f"{Path(path).name}: {problem}")
    return trace


def _identity(trace: Trace) -> Iterator[Problem]:
    if trace.format != FORMAT:
        yield Problem("format", f"is {trace.format!a}, but a trace says '{FORMAT}'")
