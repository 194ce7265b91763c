"""What the trace format knows of each verifier: the order of its trials, and the equation behind each threshold.

A table, so that a reader of the checks sees at a glance what is held against which rule. A verifier that is not in it
(another package's) is held to the general rules alone. Knows nothing about the code of any verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp
from typing import Literal

from specviz.trace.events import Option, Order, Trial

Options = Mapping[str, Option]
Equation = Callable[[Trial, Options], float]
Numbers = Literal["plain", "residual", "scaled"]


@dataclass(frozen=True, slots=True)
class KnownRule:
    """One verifier, as a trace shows it."""

    order: Order
    words: str
    """the equation, for sentences"""
    threshold: Equation
    """raises KeyError where the trial lacks one of `terms`"""
    numbers: Numbers = "plain"
    """what a trial's p and Q are: those of the node (`plain`), after refused siblings (`residual`), or after refused
    siblings with p scaled by the path's chance (`scaled`)"""


def ratio(p: float, q: float) -> float:
    """min(1, p/q); with q = 0, whether p has anything."""
    return min(1.0, p / q) if q > 0 else float(p > 0)


def _number(options: Options, name: str) -> float:
    value = options[name]
    if not isinstance(value, (int, float)):
        raise KeyError(name)
    return float(value)


def _plain(trial: Trial, options: Options) -> float:
    return ratio(trial.target_prob, trial.draft_prob)


def _unless_given(trial: Trial, options: Options) -> float:
    return 1.0 if trial.terms.get("given") else _plain(trial, options)


def _lenient(trial: Trial, options: Options) -> float:
    lenience = _number(options, "lenience")
    if "share" in trial.terms:
        return float(trial.terms["share"] >= lenience)
    return ratio(trial.target_prob, lenience * trial.draft_prob)


def _kseq(trial: Trial, options: Options) -> float:
    return ratio(trial.target_prob, trial.terms["rho"] * trial.draft_prob)


def _typical(trial: Trial, options: Options) -> float:
    bar = min(_number(options, "epsilon"), _number(options, "delta") * exp(-trial.terms["entropy"]))
    return float(trial.target_prob > bar)


def first_reach(trial: Trial) -> float:
    """min(1, A p/Q): the chance of the path to a node before any of its children was refused."""
    return ratio(trial.terms["parent_reach"] * trial.target_prob, trial.draft_prob)


def _reach(trial: Trial, options: Options) -> float:
    if "left" not in trial.terms:
        return first_reach(trial)
    left = trial.terms["left"]
    below = left + 1 - trial.terms["reach"]
    return left / below if below > 0 else 1.0


def keeps_survivors(rule: str, options: Options) -> bool:
    """Whether the drafts that share an accepted token all go on, tried or not; runs without the option did not."""
    return rule == "kseq" and options.get("survivors") is True


_BY_RATIO = "min(1, p/q)"
_BY_REACH = "the chance of its path"

KNOWN: Mapping[str, KnownRule] = {
    "sequential": KnownRule("top_down", _BY_RATIO, _plain, "residual"),
    "specinfer": KnownRule("top_down", _BY_RATIO, _plain, "residual"),
    "lenience": KnownRule("top_down", "min(1, p/(l q)) (at temperature 0: p >= l max p)", _lenient, "residual"),
    "kseq": KnownRule("top_down", "min(1, p/(rho q))", _kseq),
    "block": KnownRule("bottom_up", _BY_REACH, _reach),
    "traversal": KnownRule("bottom_up", _BY_REACH, _reach, "scaled"),
    "longest_path": KnownRule("longest", _BY_RATIO, _unless_given),
    "typical": KnownRule("longest", "p > min(epsilon, delta exp(-H))", _typical),
}
