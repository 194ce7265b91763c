"""Recorded runs named by what they show: found in the traces themselves, each time they are recorded anew.

Place in the flow: gallery → here → `index.json` → the page's list of examples. An example that no trace shows is not
offered; of several traces the one that shows it best is taken, the easiest to read first. *The drafter cannot add*
rests on sums that a text works out, and on whether they are right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from specviz.theory.speedup import sure_gain
from specviz.trace.events import Round, Trace
from specviz.trace.summary import branches

PAYS = 1.05
"""measured gains above this pay; below its inverse, a run is slower than plain decoding"""
FEW_NODES = 16
"""a draft of so many nodes is still read at a glance"""


@dataclass(frozen=True, slots=True)
class Example:
    """One recorded run at one of its rounds."""

    title: str
    file: str
    round: int
    """counted from 0; the run is opened at its first beat"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trace shows it, and how well: of several places the greatest `worth` is taken."""

    round: int
    worth: float


Finder = Callable[[Trace], Place | None]


def found(traces: Mapping[str, Trace]) -> tuple[Example, ...]:
    """Every example that some trace shows, in the order of `FINDERS`; `traces` by file name."""
    examples = []
    for title, finder in FINDERS.items():
        places = [
            (place.worth + _ease(trace), file, place)
            for file, trace in sorted(traces.items())
            if trace.started.verifier.lossless and (place := finder(trace)) is not None
        ]
        if places:
            _, file, place = max(places, key=lambda one: one[0])
            examples.append(Example(title, file, place.round))
    return tuple(examples)


def _ease(trace: Trace) -> float:
    """0 to 2: plain prose and a short run are read more easily than code and a long one."""
    text = trace.started.prompt_text + trace.finished.text
    letters = sum(character.isalpha() or character in " .,!?'" for character in text) / max(1, len(text))
    return letters + 1 / (1 + len(trace.rounds) / 10)


# --- what a round shows ----------------------------------------------------------------------------------------------


def _best(trace: Trace, worth: Callable[[Round], float | None]) -> Place | None:
    """The round of the greatest worth, the first of equals; None where no round shows it."""
    places = [Place(this.index, value) for this in trace.rounds if (value := worth(this)) is not None]
    return max(places, key=lambda place: (place.worth, -place.round), default=None)


def _chain(this: Round) -> bool:
    """A draft of three tokens or more, one after the other."""
    return len(this.nodes) > 3 and all(node.parent == node.id - 1 for node in this.nodes[1:])


def _by_model(trace: Trace) -> bool:
    return trace.started.drafter.model is not None


def _all_accepted(trace: Trace) -> Place | None:
    def worth(this: Round) -> float | None:
        whole = _chain(this) and len(this.judged.path) == len(this.nodes) - 1
        return 1.0 if whole and this.judged.origin == "bonus" and not this.committed.trimmed else None

    return _best(trace, worth) if _by_model(trace) else None


def _rejected_at_once(trace: Trace) -> Place | None:
    def worth(this: Round) -> float | None:
        return 1.0 if _chain(this) and this.judged.origin == "correction" and not this.judged.path else None

    return _best(trace, worth) if _by_model(trace) else None


def _corrected(trace: Trace) -> Place | None:
    """Some kept, then one replaced from the residual."""

    def worth(this: Round) -> float | None:
        if not (_chain(this) and this.judged.origin == "correction" and this.judged.path):
            return None
        return 1.0 + (this.judged.residual is not None)

    return _best(trace, worth) if _by_model(trace) else None


def _saved_by_a_sibling(trace: Trace) -> Place | None:
    def worth(this: Round) -> float | None:
        if this.judged.order != "top_down":
            return None
        parents = {node.id: node.parent for node in this.nodes}
        rejected: set[int] = set()
        for trial in this.judged.trials:
            parent = parents[trial.node]
            if trial.accepted and parent in rejected:
                return 1.0 + (len(this.nodes) <= FEW_NODES)
            if not trial.accepted:
                rejected.add(parent)
        return None

    return _best(trace, worth)


# --- what a whole run shows ------------------------------------------------------------------------------------------


def _tree_that_pays(trace: Trace) -> Place | None:
    ratio = sure_gain(trace)
    if ratio is None or ratio < PAYS or not (_by_model(trace) and any(branches(this) for this in trace.rounds)):
        return None
    return _best(trace, lambda this: len(this.judged.path) + ratio if branches(this) else None)


def _slower_than_plain(trace: Trace) -> Place | None:
    ratio = sure_gain(trace)
    return None if ratio is None or ratio > 1 / PAYS else Place(0, 1 - ratio)


def _copying_wins(trace: Trace) -> Place | None:
    """A drafter that only looks the continuation up in the text, and gains by it."""
    ratio = sure_gain(trace)
    if ratio is None or ratio < PAYS or _by_model(trace) or trace.started.datastore is not None:
        return None
    copied = [node.kind == "point_mass" for this in trace.rounds for node in this.nodes[1:]]
    if not copied or not all(copied):
        return None
    return _best(trace, lambda this: 3 * ratio + len(this.judged.path) / 100)


def _cannot_add(trace: Trace) -> Place | None:
    """A sum that the target works out right, all of it, and a digit of a result that the drafter had wrong; better an
    addition than a subtraction."""
    asked, prompt = asked_sum(trace.started.prompt_text), trace.started.prompt_text
    sums = worked_sums(prompt + trace.finished.text)
    if asked is None or not _by_model(trace) or not all(added.right for added in sums):
        return None
    if all(added.terms != asked for added in sums):
        return None
    places: dict[int, int] = {}
    at = len(prompt)
    for this in trace.rounds:
        *before, last = [_text(trace, token.token) for token in this.committed.tokens]
        at += sum(map(len, before))
        places[this.index] = at + len(last) - len(last.lstrip())
        at += len(last)

    def worth(this: Round) -> float | None:
        refused = [trial for trial in this.judged.trials if not trial.accepted]
        if this.judged.origin != "correction" or not refused or this.committed.trimmed:
            return None
        drafted = _text(trace, this.nodes[refused[-1].node].token).strip()
        written = _text(trace, this.judged.token).strip()
        there = any(added.start <= places[this.index] < added.end for added in sums)
        return 1.0 + (asked[1] > 0) if drafted.isdigit() and written.isdigit() and there else None

    return _best(trace, worth)


def _text(trace: Trace, token: int) -> str:
    return trace.vocab[str(token)].text


FINDERS: Mapping[str, Finder] = {
    "all accepted": _all_accepted,
    "rejected at once": _rejected_at_once,
    "corrected": _corrected,
    "saved by a sibling": _saved_by_a_sibling,
    "a tree that pays": _tree_that_pays,
    "slower than plain": _slower_than_plain,
    "copying wins": _copying_wins,
    "the drafter cannot add": _cannot_add,
}
"""title → where a trace shows it"""


SIGNS = {"+": 1, "plus": 1, "-": -1, "minus": -1}
SIGN = r"\s*(\+|-|plus|minus)\s*"
NUMBER = r"(\d{1,6})"
ASKED = re.compile(rf"\b{NUMBER}{SIGN}{NUMBER}\b")
WORKED = re.compile(rf"\b{NUMBER}{SIGN}{NUMBER}(?:{SIGN}{NUMBER})?\s*(?:=|is)\s*{NUMBER}(?!\d)")
"""`61 - 35 = 26`, and with a carry `6 + 5 + 1 = 12`"""


@dataclass(frozen=True, slots=True)
class Sum:
    """One sum of a text, with its result where the text gives one."""

    terms: tuple[int, ...]
    """signed: 61 - 35 is (61, -35)"""
    result: int
    start: int
    """where the result's digits begin in the text"""
    end: int

    @property
    def right(self) -> bool:
        return sum(self.terms) == self.result


def asked_sum(text: str) -> tuple[int, ...] | None:
    """The signed terms of the last sum in a prompt; None: it asks for none."""
    sums = list(ASKED.finditer(text))
    return (int(sums[-1][1]), SIGNS[sums[-1][2]] * int(sums[-1][3])) if sums else None


def worked_sums(text: str) -> list[Sum]:
    """Every sum with a result in the text, in its order."""
    sums = []
    for match in WORKED.finditer(text):
        terms = [int(match[1]), SIGNS[match[2]] * int(match[3])]
        terms += [SIGNS[match[4]] * int(match[5])] if match[4] else []
        sums.append(Sum(tuple(terms), int(match[6]), *match.span(6)))
    return sums
