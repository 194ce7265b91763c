"""Rules about passes and the clock: which passes a draft takes, what they read, and that times fit into each other.

Passes fit into phases, rounds follow each other without a gap, and all add up. What a drafter did beside the target's
passes, it did one thing at a time, on the run's clock, and in time. The bytes of weights that passes read, from which
MBSU follows, are counted for all of them or for none. Called by `check` on a structurally sound trace.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.errors import shown
from specviz.trace.declared_method import TREE_POLICIES, KnownDrafter, known_drafter
from specviz.trace.events import BESIDE, IN_TURN, LaneSpan, Pass, Round, Trace
from specviz.trace.header import ModelCard, bytes_per_pass
from specviz.trace.rules.scene import EXACT, Producer, Scene, producer_of
from specviz.trace.structure import Problem
from specviz.trace.summary import drafts

CLOCKS_APART_S = 1e-6
"""two processes read a lane's clock, and one may read it before it hears that the other has stopped it"""


def passes(scene: Scene) -> Iterator[Problem]:
    """There where the drafter makes them, one behind the other in its cache, with a row for every node asked about."""
    drafter = known_drafter(scene.started.drafter)
    yield from _there(scene, drafter)
    yield from _in_cache(scene, drafter)
    if drafter is not None:
        yield from _levels(scene, drafter)
        if drafter.hands_over and scene.round.drafted.passes:
            yield from _handed_over(scene)


def _there(scene: Scene, drafter: KnownDrafter | None) -> Iterator[Problem]:
    made, name, where = scene.round.drafted.passes, scene.started.drafter.name, f"{scene.place}.drafted.passes"
    if drafter is None:
        return
    if made and not drafter.passes:
        yield Problem(where, f"are {len(made)}, but '{name}' has no model to pass through")
    if made and drafter.beside:
        stated = f"are {len(made)}, but '{name}' makes its passes beside the target's, on its lane"
        yield Problem(where, stated)
    drawn_sources = drafter.sources - drafter.found if drafter.draws else frozenset[str]()
    if not made and any(node.source in drawn_sources for node in scene.round.nodes):
        yield Problem(where, "are missing, but the candidates come from a model")


def _in_cache(scene: Scene, drafter: KnownDrafter | None) -> Iterator[Problem]:
    this, made = scene.round, scene.round.drafted.passes
    if drafter is None and not any(pass_.cached_rows for pass_ in made):
        return  # another engine's, over the target's states: it keeps no rows
    unpaired = 0 if drafter is None else int(drafter.pairs)
    due = {this.base_length - unpaired}
    if drafter is None:
        due.add(this.base_length - 1)  # it may pair each token with the state before it
    own_tokens = drafter is not None and drafter.own_tokens
    for index, pass_ in enumerate(made):
        at = f"{scene.place}.drafted.passes[{index}]"
        first = _is_first(drafter, index, pass_)
        before = None if first else made[index - 1].cached_rows + made[index - 1].rows
        if drafter is not None and drafter.from_states:
            if pass_.cached_rows:
                stated = f"is {pass_.cached_rows}, but '{scene.started.drafter.name}' keeps none"
                yield Problem(f"{at}.cached_rows", stated)
        elif unpaired and pass_.depth is None:  # rows of placeholders stand behind those of the text
            if pass_.cached_rows + pass_.rows < this.base_length - 1:
                stated = (
                    f"makes {pass_.cached_rows + pass_.rows} cached rows, but the text has {this.base_length} tokens"
                )
                yield Problem(at, stated)
        elif before is None and not own_tokens and pass_.cached_rows + pass_.rows not in due:
            stated = f"make {pass_.cached_rows + pass_.rows} cached rows, but the text has {this.base_length} tokens"
            yield Problem(at, stated)
        elif before is not None and pass_.cached_rows != before:
            yield Problem(f"{at}.cached_rows", f"is {pass_.cached_rows}, but the pass before left {before}")
        if first and pass_.depth not in (1, None):
            yield Problem(f"{at}.depth", f"is {pass_.depth}, but the round's first pass makes depth 1 possible")


def _is_first(drafter: KnownDrafter | None, index: int, pass_: Pass) -> bool:
    """Of several models each has a first one."""
    return index == 0 or (drafter is not None and drafter.merged and pass_.depth == 1)


def _handed_over(scene: Scene) -> Iterator[Problem]:
    """The drafter's rows are those of the text and of the whole tree; more where candidates were dropped again."""
    last = scene.round.drafted.passes[-1]
    reached, due = last.cached_rows + last.rows, scene.round.base_length + len(set(scene.rows)) - 1
    if reached < due or (reached > due and not _drops(scene)):
        yield Problem(f"{scene.place}.drafted.passes", f"end at {reached} rows, but the text and the tree have {due}")


def _drops(scene: Scene) -> bool:
    card = scene.started.tree_policy
    return card is not None and (card.name not in TREE_POLICIES or TREE_POLICIES[card.name].drops)


def _levels(scene: Scene, drafter: KnownDrafter) -> Iterator[Problem]:
    """A pass for depth d has a row for every node of the level above that was asked about; nodes of the same text may
    share one. Where candidates are dropped again, or several models draft, there may be more rows than such nodes."""
    made, nodes = scene.round.drafted.passes, scene.round.nodes
    dropping, deepest = _drops(scene), max(node.depth for node in nodes)
    if not made or all(pass_.depth is None for pass_ in made):
        return
    for index, pass_ in enumerate(made):
        if pass_.depth is not None and pass_.depth > deepest + 1 and not dropping:
            stated = f"is {pass_.depth}, but the tree reaches depth {deepest}"
            yield Problem(f"{scene.place}.drafted.passes[{index}].depth", stated)
    for depth in range(2, deepest + 2):
        rows = sum(pass_.rows for pass_ in made if pass_.depth == depth)
        level = [node for node in nodes if node.depth == depth - 1]
        asked = len({scene.rows[node.id] for node in level if _asked(scene, drafter, node.id)})
        where = f"{scene.place}.drafted.passes"
        if rows < asked:
            yield Problem(where, f"for depth {depth} have {rows} rows, but {asked} nodes above it were asked about")
        elif rows > len(level) and not dropping and not drafter.merged:
            yield Problem(where, f"for depth {depth} have {rows} rows, but only {len(level)} nodes stand above it")


def _asked(scene: Scene, drafter: KnownDrafter, node: int) -> bool:
    """Whether a model of the drafter's said what follows a node: it is recorded, or drafted from."""
    drawn_sources = drafter.sources - drafter.found
    drawn = any(child.source in drawn_sources for child in scene.children(node))
    return drawn or scene.round.nodes[node].draft_raw is not None


def reads(trace: Trace) -> Iterator[Problem]:
    """Counted for every pass or for none, said in the drafter's words, as much as its model has, and the same every
    time."""
    card, drafter = trace.started.drafter, known_drafter(trace.started.drafter)
    passes = [pass_ for this in trace.rounds for pass_ in this.drafted.passes]
    counted = sum(pass_.read is not None for pass_ in passes)
    if 0 < counted < len(passes):
        yield Problem(
            "rounds", f"say what {counted} of {len(passes)} passes of the drafter read, but all do or none does"
        )
    if drafter is None:
        return
    if card.pass_reads not in ("", drafter.pass_reads) and not drafter.hybrid:
        stated = f"is {card.pass_reads!a}, but passes of '{card.name}' read {drafter.pass_reads or 'nothing'!a}"
        yield Problem("started.drafter.pass_reads", stated)
    if passes and counted and not card.pass_reads:
        yield Problem("started.drafter.pass_reads", "is empty, but passes say how much they read")
    if counted and card.pass_reads and not any(pass_.read for pass_ in passes):
        yield Problem("rounds", f"say that no pass of the drafter reads anything, but they read {card.pass_reads!a}")
    if passes and card.pass_reads and not counted and _sized(trace, drafter):
        yield Problem("rounds", "do not say how much the drafter's passes read, though the header says what")
    yield from _amounts(trace, drafter)


def _models(trace: Trace) -> list[ModelCard]:
    card = trace.started.drafter
    return [further_model for further_model in (card.model, *card.further_models) if further_model is not None]


def _sized(trace: Trace, drafter: KnownDrafter) -> bool:
    """Whether what a pass reads could be counted: the sizes of the models are known."""
    return all(model.read_per_pass for model in _models(trace) or [trace.started.target])


def _amounts(trace: Trace, drafter: KnownDrafter) -> Iterator[Problem]:
    models = _models(trace)
    due = {bytes_per_pass(model) for model in models}
    before: dict[tuple[bool, int | None], int] = {}
    for this in trace.rounds:
        for index, pass_ in enumerate(this.drafted.passes):
            where = f"rounds[{this.index}].drafted.passes[{index}].read"
            if pass_.read is None:
                continue
            if models and pass_.read not in due:
                stated = " or ".join(f"{count:,}" for count in sorted(due))
                yield Problem(where, f"is {pass_.read:,}, but a pass of its model reads {stated} bytes")
                return
            if not models and pass_.read != (first := before.setdefault(_kind(index, pass_), pass_.read)):
                yield Problem(where, f"is {pass_.read:,}, but the same pass of another round reads {first:,}")
                return


def _kind(index: int, pass_: Pass) -> tuple[bool, int | None]:
    """The round's first pass may read more than those behind it, one for another depth another head."""
    return (index == 0, pass_.depth)


def times(trace: Trace) -> Iterator[Problem]:
    """Phases, rounds and the whole run; what an engine's clock leaves between rounds is no more than `record_s`."""
    producer, clock, gaps = producer_of(trace.started), 0.0, 0.0
    for index, this in enumerate(trace.rounds):
        where = f"rounds[{index}]"
        yield from _phases(where, this, producer)
        slack = EXACT * (1 + clock)
        if this.start_s < clock - slack:
            stated = "before the run began" if index == 0 else "inside the round before it"
            yield Problem(f"{where}.start_s", f"is {this.start_s:.9g}, which lies {stated}")
        elif this.start_s > clock + slack and producer != "other":
            yield Problem(f"{where}.start_s", f"is {this.start_s:.9g}, but the rounds before it took {clock:.9g}")
        gaps += max(0.0, this.start_s - clock)
        clock = this.start_s + this.seconds
    yield from _steps(trace)
    if gaps > trace.finished.record_s + EXACT * (1 + clock):
        stated = f"is {trace.finished.record_s:.6g}, but {gaps:.6g} seconds lie between the rounds"
        yield Problem("finished.record_s", stated)
    total = sum(this.seconds for this in trace.rounds)
    if abs(trace.finished.decode_s - total) > EXACT * (1 + total):
        yield Problem("finished.decode_s", f"is {trace.finished.decode_s:.9g}, but the rounds add up to {total:.9g}")
    yield from _plain(trace)


def _plain(trace: Trace) -> Iterator[Problem]:
    """What stands beside the run may not contradict it; how long it took, no file can show."""
    plain, tokens = trace.finished.plain, len(trace.finished.output_ids)
    if plain is None:
        return
    if plain.same_text and plain.output_tokens != tokens:
        yield Problem(
            "finished.plain.output_tokens", f"is {plain.output_tokens}, but the same text has {tokens} tokens"
        )
    elif plain.output_tokens > trace.started.max_new_tokens:
        stated = f"is {plain.output_tokens}, but at most {trace.started.max_new_tokens} were to be written"
        yield Problem("finished.plain.output_tokens", stated)
    if plain.ratios and len(plain.ratios) != plain.runs:
        yield Problem("finished.plain.ratios", f"has {len(plain.ratios)} turns, but {plain.runs} are said to have run")
    if trace.started.drafter.name == "none":
        yield Problem("finished.plain", "stands beside a run that is plain decoding itself")


def _phases(where: str, this: Round, producer: Producer) -> Iterator[Problem]:
    drafting, scoring = this.drafted.seconds, this.scored.seconds
    if sum(pass_.seconds for pass_ in this.drafted.passes) > drafting + EXACT * (1 + drafting):
        yield Problem(f"{where}.drafted.seconds", "is less than its passes took")
    within = this.scored.target_pass.seconds
    if within > scoring + EXACT * (1 + scoring):
        yield Problem(f"{where}.scored.seconds", "is less than its pass took")
    elif producer != "other" and within < scoring - EXACT * (1 + scoring):
        yield Problem(f"{where}.scored.target_pass.seconds", f"is {within:.9g}, but scoring took {scoring:.9g}")


def _steps(trace: Trace) -> Iterator[Problem]:
    for index, step_time in enumerate(trace.started.step_times):
        if not step_time.low_s <= step_time.median_s <= step_time.high_s:
            stated = f"has a median of {step_time.median_s:.6g} outside {step_time.low_s:.6g} to {step_time.high_s:.6g}"
            yield Problem(f"started.step_times[{index}]", stated)


def lanes(trace: Trace) -> Iterator[Problem]:
    """Spans of a lane follow one another and end before their round is reported; a candidate was drafted before the
    target's pass that reads it."""
    drafter = known_drafter(trace.started.drafter)
    free = dict[str, float]()
    drafted = list[LaneSpan]()
    proposed = 0
    for this in trace.rounds:
        where, spans = f"rounds[{this.index}].drafted.lanes", this.drafted.lanes
        if spans and drafter is not None and not drafter.beside:
            stated = f"hold {len(spans)} spans, but '{trace.started.drafter.name}' drafts before the target's pass"
            yield Problem(where, stated)
        yield from _in_order(where, this, free)
        if drafter is not None and drafter.beside:
            yield from _named(trace, where, this, drafter.in_turn)
        drafted += [span for span in spans if span.what == "draft"]
        proposed += len(drafts(this))
        if drafted if drafter is None else drafter.beside:
            yield from _in_time(where, this, drafted, proposed)


def _in_order(where: str, this: Round, free: dict[str, float]) -> Iterator[Problem]:
    """`free`: when each lane ended what it did last."""
    over = this.start_s + this.seconds
    slack = EXACT * (1 + over)
    for number, lane in enumerate(this.drafted.lanes):
        at, before = f"{where}[{number}]", free.get(lane.lane, 0.0)
        if lane.start_s < before - slack - CLOCKS_APART_S:
            stated = f"is {lane.start_s:.9g}, but this lane was busy until {before:.9g}"
            yield Problem(f"{at}.start_s", stated)
        if lane.end_s < lane.start_s:
            yield Problem(f"{at}.end_s", f"is {lane.end_s:.9g}, but it began at {lane.start_s:.9g}")
        elif lane.what == "roll back" and lane.end_s > lane.start_s:
            yield Problem(f"{at}.end_s", f"is {lane.end_s:.9g}, but a roll back at {lane.start_s:.9g} takes no time")
        if lane.end_s > over + slack:
            yield Problem(f"{at}.end_s", f"is {lane.end_s:.9g}, but the round was over at {over:.9g}")
        free[lane.lane] = max(before, lane.end_s)


def _in_time(where: str, this: Round, drafted: list[LaneSpan], proposed: int) -> Iterator[Problem]:
    """No drafted token is proposed twice: one that was judged is text, or was thrown away."""
    reading = this.start_s + this.drafted.seconds
    there = sum(lane_span.tokens for lane_span in drafted if lane_span.end_s <= reading + EXACT * (1 + reading))
    if there < proposed:
        stated = (
            f"hold {there} tokens drafted before the target's pass, but {proposed} candidates were proposed by then"
        )
        yield Problem(where, stated)


def _named(trace: Trace, where: str, this: Round, option: str) -> Iterator[Problem]:
    """The lane is the one that the options say; in turn nothing is drafted while the target's pass runs."""
    in_turn = bool(trace.started.drafter.options.get(option))
    due, reading = IN_TURN if in_turn else BESIDE, this.start_s + this.drafted.seconds
    scored = reading + this.scored.seconds
    for number, lane in enumerate(this.drafted.lanes):
        if lane.lane != due:
            stated = (
                f"is {shown(lane.lane)}, but with {option} {trace.started.drafter.options.get(option)} it is '{due}'"
            )
            yield Problem(f"{where}[{number}].lane", stated)
        elif in_turn and lane.what == "draft" and reading + EXACT < lane.end_s and lane.start_s < scored - EXACT:
            yield Problem(f"{where}[{number}]", "lies in the target's pass, but this lane drafts between its passes")
