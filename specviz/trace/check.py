"""Is a trace true to itself? Every invariant of the format, from its tree to its summary.

`loads` only makes a trace safe to walk; this says whether its parts agree. The rules are in `rules/`, one file per
concern; docs/trace_format.md lists them in words. What no rule can find out is in `unchecked`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from specviz.errors import TraceError
from specviz.trace.codec import read
from specviz.trace.events import FORMAT, Trace
from specviz.trace.limits import STANDARD, Limits
from specviz.trace.problems import Problem
from specviz.trace.rules import (
    agreement,
    bottom_up,
    commit,
    distributions,
    draft,
    ending,
    exhibits,
    header,
    lanes,
    last_token,
    noise,
    passes,
    reads,
    residuals,
    run,
    stops_learned,
    thresholds,
    times,
    transform,
    verdicts,
    wholeness,
)
from specviz.trace.rules.scene import scenes_of
from specviz.trace.structure import structure

__all__ = ["Problem", "check", "errors", "read_checked"]

_ROUND_RULES = (
    distributions.tree,
    transform.transformed,
    agreement.ranks,
    agreement.agreements,
    draft.candidates,
    passes.passes,
    exhibits.exhibits,
    verdicts.verdicts,
    thresholds.thresholds,
    thresholds.reaches,
    noise.needed,
    noise.uniforms,
    noise.candidates,
    noise.followed,
    residuals.adjusted,
    residuals.residual,
    bottom_up.scaled_residuals,
    thresholds.kseq_residual,
    last_token.last_token,
    noise.last_drawn,
    commit.committed,
)
_RULES_OVER_ROUNDS = (
    wholeness.alike,
    exhibits.matrices,
    stops_learned.learned,
)
_RUN_RULES = (
    header.header,
    ending.prompt,
    run.vocabulary,
    run.chain,
    times.times,
    lanes.lanes,
    reads.reads,
    ending.output,
    run.summary,
)


def check(trace: Trace) -> list[Problem]:
    """Every broken rule; empty for a sound trace. Where indices or ids are broken, only those are reported."""
    broken = list(_identity(trace)) + list(structure(trace))
    if broken:
        return broken
    scenes = list(scenes_of(trace))
    in_rounds = chain.from_iterable(rule(scene) for scene in scenes for rule in _ROUND_RULES)
    over_rounds = chain.from_iterable(rule(scenes) for rule in _RULES_OVER_ROUNDS)
    in_run = chain.from_iterable(rule(trace) for rule in _RUN_RULES)
    return [*in_rounds, *over_rounds, *in_run]


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
