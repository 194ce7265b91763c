"""Rules about what a stop policy learns: its threshold, or how many levels it allows, from round to round.

Called by `check` on all rounds of a structurally sound trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specviz.trace.known_methods import KnownStopPolicy
from specviz.trace.moving_threshold import MovingThreshold
from specviz.trace.problems import Problem
from specviz.trace.rules import stops
from specviz.trace.rules.scene import EXACT, Scene


@dataclass
class _Draft:
    """The last round in which the drafter was asked."""

    drafted: int
    accepted: int


def learned(rounds: Sequence[Scene]) -> Iterator[Problem]:
    """What a stop policy goes by moves from round to round as it says, from its first value on."""
    drafts = [scene for scene in rounds if scene.round.judged.origin != "forced"]
    policy = stops.policy_of(drafts[0]) if drafts else None
    if policy is None:
        return
    if policy.levels:
        yield from _levels_learned(drafts, policy)
    if stops.moves(drafts[0], policy):
        yield from _threshold_learned(drafts, policy)


def _outcome(scene: Scene) -> _Draft:
    drafted = max(node.depth for node in scene.round.nodes)
    open_ = scene.round.committed.trimmed == "open"
    accepted = len(scene.round.committed.tokens) - (0 if open_ else 1)
    return _Draft(drafted, min(drafted, max(0, accepted)))


def _levels_learned(drafts: Sequence[Scene], policy: KnownStopPolicy) -> Iterator[Problem]:
    """So many more after a wholly accepted draft, so many less after another, never below one."""
    card = drafts[0].started.stopping
    assert card is not None, "there is a policy."
    due, longer, shorter = (card.options.get(name) for name in ("start_levels", "longer", "shorter"))
    if not (isinstance(due, int) and isinstance(longer, int) and isinstance(shorter, int)):
        return
    for scene in drafts:
        told = scene.round.drafted.note.get(policy.levels)
        if told is not None and told != due:
            yield Problem(
                f"{scene.place}.drafted.note", f"has {policy.levels} {told}, but the rounds before make it {due}"
            )
            return
        last = _outcome(scene)
        if last.drafted:
            wholly = last.accepted >= last.drafted
            due = min(due, last.drafted) + longer if wholly else max(1, due - shorter)


def _threshold_learned(drafts: Sequence[Scene], policy: KnownStopPolicy) -> Iterator[Problem]:
    """Where it cannot be known whether a draft was stopped, both ways are right."""
    card = drafts[0].started.stopping
    assert card is not None, "there is a policy."
    names = (policy.threshold, "wanted", "step", "memory", "inertia")
    given = [float(value) for name in names if isinstance(value := card.options.get(name), (int, float))]
    if len(given) != len(names):
        return
    states = [MovingThreshold(given[0], given[1], given[2], given[3], given[4])]
    for scene in drafts:
        told = scene.round.drafted.note.get(policy.noted)
        if isinstance(told, (int, float)):
            states = [one for one in states if abs(one.value - told) <= EXACT]
            if not states:
                said = f"has {policy.noted} {told:.9g}, which does not follow from the rounds before"
                yield Problem(f"{scene.place}.drafted.note", said)
                return
        last = _outcome(scene)
        states = [one.after(stop, last.drafted, last.accepted) for one in states for stop in _may_have_stopped(scene)]
        states = list({(one.value, one.rate): one for one in states}.values())


def _may_have_stopped(scene: Scene) -> tuple[bool, ...]:
    """Whether a node that was asked about did not reach the threshold."""
    asked = [node for node in scene.round.nodes if node.depth < stops.deepest(scene)]
    verdicts = [stops.goes_on(scene, node.id) for node in asked]
    if all(verdict is True for verdict in verdicts):
        return (False,)
    return (True, False)
