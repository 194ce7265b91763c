"""What the trace format knows of each verifier: the order of its trials, and the equation behind each threshold.

A table, so that a reader of the checks sees at a glance what is held against which rule. A verifier that is not in it
(another package's) is held to the general rules alone, and the check says so. Knows nothing about the code of any
verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp
from typing import Literal

from specviz.trace.events import CandidateKind, Option, Order, Trial

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
    lossless: bool = True
    subtracts: bool = True
    """a correction is drawn from what the refused candidates leave; False: from the target's own distribution"""
    compares: bool = True
    """every trial has a uniform draw u, accepted means u < threshold; False: the verdict is settled without one"""
    draws: bool = True
    """the round's last token is drawn; False: it is the target's most probable"""
    judges: frozenset[CandidateKind] = frozenset(["iid", "without_replacement", "point_mass"])
    """candidate kinds for which the rule is what it claims to be"""
    chains: bool = False
    """no siblings"""
    greedy: bool = False
    """temperature 0 only"""


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


def _itself(trial: Trial, options: Options) -> float:
    return trial.target_prob


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


_BY_RATIO = "min(1, p/q)"
_BY_REACH = "the chance of its path"

_IID: frozenset[CandidateKind] = frozenset(["iid"])

KNOWN: Mapping[str, KnownRule] = {
    "greedy": KnownRule("top_down", "p", _itself, subtracts=False, compares=False, draws=False, greedy=True),
    "naive": KnownRule("top_down", "p", _itself, subtracts=False, compares=False),
    "sequential": KnownRule("top_down", _BY_RATIO, _plain, "residual"),
    "specinfer": KnownRule("top_down", _BY_RATIO, _plain, "residual", judges=_IID),
    "lenience": KnownRule(
        "top_down", "min(1, p/(l q)) (at temperature 0: p >= l max p)", _lenient, "residual", lossless=False
    ),
    "kseq": KnownRule("top_down", "min(1, p/(rho q))", _kseq, judges=_IID),
    "block": KnownRule("bottom_up", _BY_REACH, _reach, chains=True),
    "traversal": KnownRule("bottom_up", _BY_REACH, _reach, "scaled"),
    "longest_path": KnownRule("longest", _BY_RATIO, _unless_given, lossless=False, subtracts=False),
    "typical": KnownRule(
        "longest",
        "p > min(epsilon, delta exp(-H))",
        _typical,
        lossless=False,
        subtracts=False,
        compares=False,
        draws=False,
    ),
}
