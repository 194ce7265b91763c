"""Rules about where drafts end: a stop policy's score of a node against its threshold, and how deep a draft may be.

What the stop policies declare stands in `declared_method`. Scores of candidates follow from recorded heads, as ranges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, sqrt

from specviz.trace.declared_method import FROM_TARGET, STOP_POLICIES, KnownStopPolicy, MovingThreshold, known_drafter
from specviz.trace.events import Node
from specviz.trace.rules.distributions import ROUNDING, drawn_by, entropy, sharpened
from specviz.trace.rules.scene import ANYTHING, EXACT, SINGLE, Bounds, Range, Scene, recorded
from specviz.trace.structure import Problem

LONGEST = 32
"""levels of a draft, whatever a policy asks for"""


def policy_of(scene: Scene) -> KnownStopPolicy | None:
    """None: the run has none, or one that is not known."""
    card = scene.started.stop_policy
    return None if card is None else STOP_POLICIES.get(card.name)


def asks(scene: Scene) -> bool:
    """Whether a stop policy may end the draft below single nodes."""
    policy = policy_of(scene)
    return scene.started.stop_policy is not None and (policy is None or policy.score != "none")


def levels(scene: Scene, drafted: Sequence[Node] = ()) -> int | None:
    """How many levels the stop policy allows in this round; None: as many as the shape has. `drafted`: of one of
    several models, whose notes begin with its mark for all but the first."""
    card, policy = scene.started.stop_policy, policy_of(scene)
    if card is None or policy is None:
        return None
    longest = card.options.get("longest")
    most = longest if isinstance(longest, int) and longest > 0 else None
    note = scene.round.drafted.note
    own = next((name for node in drafted if (name := f"{node.source}_{policy.levels}") in note), policy.levels)
    noted = note.get(own)
    return min(noted, most or LONGEST) if isinstance(noted, int) else most


def deepest(scene: Scene) -> int:
    """How deep a draft may be: in the text that was asked for, in the contexts, for the heads, by the stop policy."""
    started, length = scene.started, scene.round.base_length
    drafter = known_drafter(started.drafter)
    rooms = [room_below(scene)]
    if drafter is not None and (drafter.from_states or drafter.pairs):
        if length == 1:
            return 0  # the target has left no state yet
        heads = started.drafter.options.get(drafter.deepest)
        rooms += [heads] if isinstance(heads, int) else []
        filled = scene.round.drafted.note.get(drafter.slots)
        rooms += [filled] if isinstance(filled, int) else []
    if started.drafter.model is not None:
        rooms.append(started.drafter.model.context_length - length + 1)
    if (most := levels(scene)) is not None:
        rooms.append(most)
    return min(rooms)


def room_below(scene: Scene) -> int:
    """How deep a draft may be in the text: the round's last token is committed too."""
    from_text = scene.started.target.context_length - scene.round.base_length
    asked = len(scene.started.prompt_ids) + scene.started.max_new_tokens - scene.round.base_length
    return min(from_text, asked) - 1


def prob(scene: Scene, node: Node) -> Range:
    """What the drafter gave to a candidate, after temperature, top-k and nucleus; at temperature 0 by its softmax."""
    if node.kind != "point_mass":
        return ANYTHING if node.draft_prob is None else recorded(node.draft_prob)
    raw, started = scene.round.nodes[node.parent].draft_raw, scene.started
    if raw is None or not raw.tokens:
        return ANYTHING
    if scene.greedy:
        return Bounds.of_head(raw)[node.token]
    known = sharpened(raw, started.sampling, started.target.vocab_size)
    return known.get(node.token, Range(0.0, min((one.high for one in known.values()), default=1.0)))


def _bound(scene: Scene, node: Node) -> Range:
    """1 - sqrt(c H), H in nats."""
    said = node.agreement_raw if scene.greedy else node.agreement
    plain = (scene.started.sampling.temperature, scene.started.sampling.top_k, scene.started.sampling.top_p)
    if (said is None or said.draft_bits is None) and plain == (1.0, 0, 1.0):
        said = node.agreement_raw
    scale = scene.started.stop_policy.options.get("scale") if scene.started.stop_policy is not None else None
    if not isinstance(scale, (int, float)):
        return Range(-1e9, 1.0)
    if said is not None and said.draft_bits is not None:
        bits = Range(max(0.0, said.draft_bits - ROUNDING), said.draft_bits + ROUNDING)
    else:  # not recorded before format 1.1
        drawn = drawn_by(scene, node.id) not in (None, FROM_TARGET)
        head = node.draft_raw if scene.greedy else node.draft if drawn else None
        bits = entropy(head, scene.started.target.vocab_size)
    return Range(1 - sqrt(scale * bits.high * log(2)), 1 - sqrt(scale * max(0.0, bits.low) * log(2)))


def threshold(scene: Scene, policy: KnownStopPolicy) -> float | None:
    """What a score of this round had to reach."""
    card = scene.started.stop_policy
    assert card is not None, "a run without a stop policy has no threshold."
    if policy.score == "target":
        return 0.5  # of what is 0 or 1
    stated = scene.round.drafted.note.get(policy.noted) if moves(scene, policy) else None
    stated = card.options.get(policy.threshold) if stated is None else stated
    return float(stated) if isinstance(stated, (int, float)) else None


def moves(scene: Scene, policy: KnownStopPolicy) -> bool:
    card = scene.started.stop_policy
    return card is not None and bool(policy.noted) and (not policy.moves or card.options.get(policy.moves) is True)


def goes_on(scene: Scene, node: int) -> bool | None:
    """Whether the stop policy lets candidates be drawn below a node; None where the trace does not say."""
    card, policy = scene.started.stop_policy, policy_of(scene)
    if card is None:
        return True
    if policy is None:
        return None
    if policy.score == "none" or (node == 0 and not _at_root(scene, policy)):
        return True
    scored, bar = score(scene, policy, node), threshold(scene, policy)
    if scored is None or bar is None:
        return None
    slack = SINGLE * (1 + abs(bar))
    return True if scored.low >= bar + slack else False if scored.high < bar - slack else None


def _at_root(scene: Scene, policy: KnownStopPolicy) -> bool:
    """Whether the draft may end before its first candidate."""
    return policy.score == "bound" and not _keeps(scene, policy)


def _keeps(scene: Scene, policy: KnownStopPolicy) -> bool:
    card = scene.started.stop_policy
    return card is not None and bool(policy.keeps) and card.options.get(policy.keeps) is True


def score(scene: Scene, policy: KnownStopPolicy, node: int) -> Range | None:
    """By what it is decided whether candidates are drawn below a node; None where a trace does not hold it."""
    here = scene.round.nodes[node]
    if policy.score == "bound":
        return _bound(scene, scene.round.nodes[here.parent] if _keeps(scene, policy) else here)
    if policy.score == "target":
        head = scene.round.nodes[here.parent].target
        said = float(bool(head.tokens) and here.token == head.tokens[0])
        return Range(said, said) if head.tokens else None
    return prob(scene, here) if policy.score == "prob" else None


def stopped(scene: Scene) -> Iterator[Problem]:
    """Nothing is drafted below a node where the stop policy ends the draft, and each round notes what it goes by."""
    card, policy = scene.started.stop_policy, policy_of(scene)
    if card is None or policy is None:
        return
    note = scene.round.drafted.note
    wanted = [policy.levels] if policy.levels else []
    wanted += [policy.noted] if moves(scene, policy) else []
    for name in wanted:
        if name not in note and len(scene.round.nodes) > 1:
            yield Problem(f"{scene.place}.drafted.note", f"lacks {name}, which '{card.name}' notes with every draft")
    for node in scene.round.nodes:
        below = [child for child in scene.children(node.id) if child.source != FROM_TARGET]
        if below and goes_on(scene, node.id) is False:
            stated = f"has {len(below)} children, but '{card.name}' with these options drafts nothing below it"
            yield Problem(f"{scene.place}.nodes[{node.id}]", stated)


def unsettled(rounds: Sequence[Scene]) -> Iterator[str]:
    """What of a stop policy left no trace in this run, in words."""
    card, policy = (rounds[0].started.stop_policy, policy_of(rounds[0])) if rounds else (None, None)
    if card is None or policy is None or policy.score == "none":
        return
    if not policy.score:
        yield f"where drafts end: what the stop policy '{card.name}' goes by is not in a trace"
        return
    scenes = [scene for scene in rounds if scene.round.judged.origin != "forced"]
    decided = [
        (goes_on(scene, node.id), score(scene, policy, node.id))
        for scene in scenes
        for node in scene.round.nodes
        if node.depth < deepest(scene) and (node.id or _at_root(scene, policy))
    ]
    if all(verdict for verdict, _ in decided):
        yield f"whether the stop policy '{card.name}' was there at all: it ended no draft"
    if policy.score != "target" and not moves(rounds[0], policy):
        low = max((found.low for verdict, found in decided if verdict is False and found), default=0.0)
        high = min((found.high for verdict, found in decided if verdict and found), default=1.0)
        yield f"the {policy.threshold} of '{card.name}': any from {max(0.0, low):.3f} to {high:.3f} makes these drafts"


@dataclass
class _Draft:
    """The last round in which the drafter was asked."""

    drafted: int
    accepted: int


def learned(rounds: Sequence[Scene]) -> Iterator[Problem]:
    """What a stop policy goes by moves from round to round as it says, from its first value on."""
    drafts = [scene for scene in rounds if scene.round.judged.origin != "forced"]
    policy = policy_of(drafts[0]) if drafts else None
    if policy is None:
        return
    if policy.levels:
        yield from _levels_learned(drafts, policy)
    if moves(drafts[0], policy):
        yield from _threshold_learned(drafts, policy)


def _outcome(scene: Scene) -> _Draft:
    """Levels, and how many of them the text went down: of a model's own draft, where others drafted beside it."""
    nodes, drafter = scene.round.nodes, known_drafter(scene.started.drafter)
    if drafter is not None and (drafter.found or drafter.merged):
        first = min(drafter.sources - drafter.found)
        nodes = [node for node in nodes if node.id == 0 or node.source == first]
    open_ = scene.round.committed.trimmed == "open"
    committed = [one.token for one in scene.round.committed.tokens]
    reached, accepted = {0}, 0
    for token in committed if open_ else committed[:-1]:
        reached = {node.id for node in nodes if node.parent in reached and node.token == token}
        accepted += bool(reached)
    return _Draft(max(node.depth for node in nodes), accepted)


def _levels_learned(drafts: Sequence[Scene], policy: KnownStopPolicy) -> Iterator[Problem]:
    """So many more after a wholly accepted draft, so many less after another, never below one."""
    card = drafts[0].started.stop_policy
    assert card is not None, "there is a policy."
    due, longer, shorter = (card.options.get(name) for name in ("start_levels", "longer", "shorter"))
    if not (isinstance(due, int) and isinstance(longer, int) and isinstance(shorter, int)):
        return
    for scene in drafts:
        stated = scene.round.drafted.note.get(policy.levels)
        if stated is not None and stated != due:
            yield Problem(
                f"{scene.place}.drafted.note", f"has {policy.levels} {stated}, but the rounds before make it {due}"
            )
            return
        last = _outcome(scene)
        if last.drafted:
            wholly = last.accepted >= last.drafted
            due = min(due, last.drafted) + longer if wholly else max(1, due - shorter)


def _threshold_learned(drafts: Sequence[Scene], policy: KnownStopPolicy) -> Iterator[Problem]:
    """Where it cannot be known whether a draft was stopped, both ways are right."""
    card = drafts[0].started.stop_policy
    assert card is not None, "there is a policy."
    names = (policy.threshold, "wanted", "step", "memory", "inertia")
    given = [float(value) for name in names if isinstance(value := card.options.get(name), (int, float))]
    if len(given) != len(names):
        return
    states = [MovingThreshold(given[0], given[1], given[2], given[3], given[4])]
    for scene in drafts:
        stated = scene.round.drafted.note.get(policy.noted)
        if isinstance(stated, (int, float)):
            states = [state for state in states if abs(state.value - stated) <= EXACT]
            if not states:
                said = f"has {policy.noted} {stated:.9g}, which does not follow from the rounds before"
                yield Problem(f"{scene.place}.drafted.note", said)
                return
        last = _outcome(scene)
        states = [
            state.after(stop, last.drafted, last.accepted) for state in states for stop in _may_have_stopped(scene)
        ]
        states = list({(state.value, state.rate): state for state in states}.values())


def _may_have_stopped(scene: Scene) -> tuple[bool, ...]:
    """Whether a node that was asked about did not reach the threshold."""
    asked = [node for node in scene.round.nodes if node.depth < deepest(scene)]
    verdicts = [goes_on(scene, node.id) for node in asked]
    if all(verdict is True for verdict in verdicts):
        return (False,)
    return (True, False)
