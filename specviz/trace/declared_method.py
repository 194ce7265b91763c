"""What a drafter, a tree policy and a stop policy say of their drafts, as plain data, and what the check reads of it.

Kept in `assets/methods.json`, which `make generate` writes from the methods' own files. A threshold that moves stands
here as well, because a stop policy moves by it while drafting and the check works it out again. A method that is not in
the file (another package's) is held to the general rules alone, and the check says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from specviz.resources import ROOT, without
from specviz.trace.header import MethodCard


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a trace shows of a drafter's candidates."""

    sources: tuple[str, ...] | None = None
    """what they are marked with; None: with the drafter's name"""
    found: tuple[str, ...] = ()
    """marks of point masses that were found somewhere and merged into what its model drafts"""
    most: str = ""
    """the option that bounds them per round"""
    deepest: str = ""
    """the option that bounds their depth"""
    slots: str = ""
    """the note with the levels that its one pass fills, however many are asked for"""
    reaches: bool = False
    """every path is as deep as that option says, or as there is room, or as a copy goes"""
    leaves: str = ""
    """the option that bounds the number of paths"""
    hybrid: bool = False
    """it has a model, and candidates of it, where its option `fallback` says `model`"""
    merged: bool = False
    """several models draft, one mark each, and their trees are merged: what hangs below a candidate may depend on a
    later sibling, and siblings may come from several distributions"""
    evenly: bool = False
    """each is drawn i.i.d. from the whole vocabulary, every token as likely as any other, at any temperature"""
    planned: str = ""
    """the option that, where it is set, bounds them per round and makes them point masses of a shape of the drafter's
    own, whatever `gamma` and `draw` say"""
    from_states: bool = False
    """its passes read the target's states and keep no rows of their own"""
    pairs: bool = False
    """a row of its cache belongs to a token and the target's state before it: the first token has none"""
    hands_over: bool = False
    """its passes go over every node of the tree, and the target's goes on from there"""
    own_tokens: bool = False
    """its model reads the text in tokens of its own: its cached rows are not the text's"""
    riding: str = ""
    """mark of the nodes that ride along in the target's pass and are no drafts"""
    shows: bool = False
    """every candidate that no model drafted is in a row of what it shows"""
    in_turn: str = ""
    """the option under which a drafter that works beside the target drafts between its passes instead"""
    beside: bool = False
    """its passes are made beside the target's: they stand on the lanes of its rounds, and not among their passes"""


@dataclass(frozen=True, slots=True)
class Trees:
    """What a trace shows of a tree policy's trees, beside what its options and `kinds` say."""

    even: bool = False
    """every node of a level gets as many children as `branching` says there; without that option one, down to `length`
    levels"""
    in_order: bool = False
    """the n-th candidate is the n-th draw of its round"""
    drops: bool = False
    """candidates below which the model was asked may be left out of the tree"""
    fan: str = ""
    """the option that bounds the children of one node, and the nodes of a level below which the model is asked"""
    beam: bool = False
    """a level has as many candidates as the option counted `per_level` says while anything is left to draw"""
    forks: bool = False
    """the first level is as wide as that option says, and a chain hangs below each of its candidates"""
    static: bool = False
    """the shape is the same in every round, as far as there is room"""
    best_first: str = ""
    """the budget goes to the places most probably reached, one after the other; where this option is above 0, to all
    that are reached so probably, level by level"""
    depth_first: bool = False
    """nodes are numbered subtree by subtree"""
    notes: tuple[str, ...] = ()
    """what it notes with every draft; `rules.draft` knows how they are worked out"""


@dataclass(frozen=True, slots=True)
class Stops:
    """What a trace shows of where a stop policy ends a draft: a score, and the threshold that it has to reach."""

    score: Literal["", "none", "prob", "bound", "target"] = ""
    """what decides whether candidates are drawn below a node: nothing (`none`), the probability that the drafter gave
    to it (`prob`), 1 - sqrt(scale H) with the entropy H of what the drafter says follows (`bound`), whether the target
    would choose it (`target`); empty: something that a trace does not hold"""
    threshold: str = ""
    """the option with what the score must reach"""
    noted: str = ""
    """the note with that of a round, where it moves with the acceptance rate (`MovingThreshold`)"""
    moves: str = ""
    """the option under which it moves; empty: it always does, if it is noted"""
    keeps: str = ""
    """the option under which a candidate goes by the score of its parent"""
    levels: str = ""
    """the note with the most levels of a round"""


@dataclass(slots=True)
class MovingThreshold:
    """A smoothed acceptance rate below the wanted one pulls the threshold up by a step, otherwise down, unless the last
    draft was never stopped; the threshold itself is smoothed too (2309.08168, §4.3)."""

    value: float
    wanted: float
    step: float
    memory: float
    """weight of the past in the acceptance rate"""
    inertia: float
    """weight of the old threshold in the new one"""
    stopped: bool = False
    """whether this round's draft was stopped; to be set by the policy"""
    rate: float = 0.0
    """the smoothed acceptance rate"""

    def learn(self, drafted: int, accepted: int) -> None:
        """How the last draft went, in levels."""
        stopped, self.stopped = self.stopped, False
        if drafted == 0:
            return
        self.rate = self.memory * self.rate + (1.0 - self.memory) * accepted / drafted
        pulled = self.value
        if self.rate < self.wanted:
            pulled += self.step
        elif stopped:
            pulled -= self.step
        self.value = min(1.0, max(0.0, self.inertia * self.value + (1.0 - self.inertia) * pulled))

    def after(self, stopped: bool, drafted: int, accepted: int) -> MovingThreshold:
        """The one that `learn` makes of it, if the draft was stopped or was not."""
        found = replace(self, stopped=stopped)
        found.learn(drafted, accepted)
        return found


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
    slots: str
    """the note with the levels that its one pass fills; empty: there is none"""
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
    declared: Mapping[str, Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    for kind in ("drafters", "tree_policies", "stop_policies"):
        for method in declared[kind].values():
            method.keys()
    return declared


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
    drafter = DRAFTERS.get(card.name)
    if drafter is not None and drafter.hybrid and card.options.get("fallback") == FALLBACK:
        return replace(drafter, sources=drafter.sources | {FALLBACK}, model=True, passes=True)
    if drafter is not None and drafter.planned and card.options.get(drafter.planned):
        return replace(drafter, draws=False, most=drafter.planned)
    return drafter
