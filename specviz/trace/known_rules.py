"""What the trace format knows of each verifier, from the verifiers' own declarations in `assets/rules.json`.

A verifier that is not in the file (another package's) is held to the general rules alone: its thresholds are not
recomputed, and the check says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.resources import ROOT, without
from specviz.trace.declared_rule import Expression, Numbers, evaluate
from specviz.trace.events import CandidateKind, Option, Order, Trial

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
    names = ("order", "words", "numbers", "lossless", "subtracts", "compares", "draws", "survivors", "chains", "greedy")
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
