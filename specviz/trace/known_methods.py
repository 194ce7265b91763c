"""What the trace format knows of drafters, tree policies and stop policies, from their own declarations.

They stand in `assets/methods.json`. A method that is not in the file (another package's) is held to the general rules
alone, and the check says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from specviz.resources import ROOT, without
from specviz.trace.header import MethodCard

METHODS_FILE = "methods.json"
"""under assets; `make generate` writes it"""
FROM_TARGET = "target"
"""source of the candidates that a tree policy takes from the target's own last pass"""
FALLBACK = "model"
"""value of a hybrid's option `fallback`, and source of the candidates that come of it"""


KnownT = TypeVar("KnownT", "KnownDrafter", "KnownTreePolicy", "KnownStopPolicy")


@dataclass(frozen=True, slots=True)
class KnownDrafter:
    """One drafter, as a trace shows it."""

    lossless: bool
    sources: frozenset[str]
    """what its candidates are marked with, `found` included"""
    found: frozenset[str]
    """those of them that are point masses which were found somewhere, beside what a model drafts"""
    draws: bool
    """above temperature 0 its candidates are drawn from a model (`draw`, `branching` and `gamma` say how); False:
    they are point masses"""
    evenly: bool
    """they are drawn i.i.d. from the whole vocabulary at any temperature, every token as likely as any other"""
    passes: bool
    """it makes passes of its own"""
    model: bool
    """it has a language model of its own, which the header names"""
    most: str
    """the option that bounds its candidates per round; empty: none does"""
    deepest: str
    """the option that bounds their depth; empty: none does"""
    reaches: bool
    """every path is as deep as that option says, or as there is room"""
    leaves: str
    """the option that bounds the number of its paths; empty: none does"""
    pass_reads: str
    """which weights `read` of its passes counts, in words"""
    hybrid: bool
    """it has a model, and candidates of it, where its option `fallback` says `model`"""
    planned: str
    """the option that, where it is set, bounds its candidates and makes point masses of them, in a shape of its own"""
    from_states: bool
    """its passes read the target's states and keep no rows of their own"""
    pairs: bool
    """a row of its cache belongs to a token and the target's state before it: the first token has none"""
    hands_over: bool
    """its passes go over every node of the tree, and the target's goes on from there"""
    own_tokens: bool
    """its model reads the text in tokens of its own: its cached rows are not the text's"""
    riding: str
    """source of the nodes that ride along in the target's pass and are no drafts; empty: none do"""
    merged: bool
    """several models draft, one mark each, and their trees are merged into one"""
    shows: bool
    """every candidate that no model drafted is in a row of what it shows"""
    in_turn: str
    """the option under which it drafts between the target's passes instead of beside them"""
    beside: bool
    """its passes are made beside the target's: they stand on lanes"""


@dataclass(frozen=True, slots=True)
class KnownTreePolicy:
    """One tree policy, as a trace shows it; see `declared_method.Trees`."""

    lossless: bool
    opens: bool
    """its first level may come from the target"""
    even: bool
    in_order: bool
    drops: bool
    greedy_kind: str
    """how candidates are drawn at temperature 0; empty: its option `draw` says"""
    sampled_kind: str
    """the same above it"""
    widest: str
    """the option that bounds the candidates of a level; empty: none does"""
    deepest: str
    """the option that bounds the depth; empty: none does"""
    stretches: bool
    """a budget makes the tree go on below that depth"""
    fan: str
    beam: bool
    forks: bool
    static: bool
    best_first: str
    depth_first: bool
    notes: frozenset[str]


@dataclass(frozen=True, slots=True)
class KnownStopPolicy:
    """One stop policy, as a trace shows it; see `declared_method.Stops`."""

    lossless: bool
    deployable: bool
    score: str
    threshold: str
    noted: str
    moves: str
    keeps: str
    levels: str


EMPTY: Mapping[str, Any] = {"bool": False, "str": "", "frozenset[str]": frozenset()}


def known(kind: type[KnownT], declared: Mapping[str, Any]) -> KnownT:
    """One method from the file. A file that another release wrote lacks fields, or has others: so it can still be read
    by the command that writes it anew, and that it is current is for a test to say."""
    values: dict[str, Any] = {}
    for field in fields(kind):
        value = declared.get(field.name, EMPTY[str(field.type)])
        values[field.name] = frozenset(value) if isinstance(value, list) else value
    return kind(**values)


def _read(path: Path) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    for kind in ("drafters", "tree_policies", "stop_policies"):
        for one in found[kind].values():
            one.keys()
    return found


_NOTHING: Mapping[str, Mapping[str, Any]] = {"drafters": {}, "tree_policies": {}, "stop_policies": {}}
_DECLARED = without(ROOT / METHODS_FILE, _read, _NOTHING)
DRAFTERS: Mapping[str, KnownDrafter] = {name: known(KnownDrafter, one) for name, one in _DECLARED["drafters"].items()}
TREE_POLICIES: Mapping[str, KnownTreePolicy] = {
    name: known(KnownTreePolicy, one) for name, one in _DECLARED["tree_policies"].items()
}
STOP_POLICIES: Mapping[str, KnownStopPolicy] = {
    name: known(KnownStopPolicy, one) for name, one in _DECLARED["stop_policies"].items()
}


def known_drafter(card: MethodCard) -> KnownDrafter | None:
    """What is known of a header's drafter with its options; None of one that is not in the table."""
    found = DRAFTERS.get(card.name)
    if found is not None and found.hybrid and card.options.get("fallback") == FALLBACK:
        return replace(found, sources=found.sources | {FALLBACK}, model=True, passes=True)
    if found is not None and found.planned and card.options.get(found.planned):
        return replace(found, draws=False, most=found.planned)
    return found
