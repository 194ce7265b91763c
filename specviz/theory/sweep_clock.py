"""A recorded sweep on another machine's clock. All *modelled*: but for a few tokens nothing is run again.

    bare passes there ─► a round's target pass ─┐ by real rounds there of the same
    recorded drafting ─► drafting ──────────────┼─► way of drafting, or of one like it ─► every recorded run, in
    recorded rest ─► everything else ───────────┘ with the same model                     seconds there

Its runs keep their rounds, their rows and their accepted tokens, which no machine changes. Replaced are all seconds, by
what the same things take there (`MachineClock`). Place in the flow: the page and `specviz predict` ask it what must be
timed, and hand in what was. A single run: `reclock`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from statistics import fmean, linear_regression, median
from typing import NamedTuple

from specviz.errors import OptionError
from specviz.protocol.choice import STANDARD
from specviz.protocol.clocks import PLAIN, WIDTHS, Case, ClockRequest, MachineClock, TriedRounds
from specviz.protocol.runs import RunRequest
from specviz.protocol.sweeps.points import BASELINE, RunCost, SweepPoint, title
from specviz.protocol.sweeps.result import SweepResult, points_of
from specviz.theory.formulas import StepTimes
from specviz.theory.rows import varied
from specviz.theory.speedup import times_as_fast

MOST_WIDTHS = 24
"""of target passes that are timed for one sweep"""


class _Kind(NamedTuple):
    """How a case drafts. Those of one kind are priced by each other's rounds."""

    model: str | None
    """sha256 of its drafter's own model"""
    has_passes: bool
    is_chain: bool
    """passes at some length: trees have none"""

    @property
    def is_tree(self) -> bool:
        return self.has_passes and not self.is_chain


@dataclass(frozen=True, slots=True)
class Predicted:
    """A sweep as its runs would be timed on another machine."""

    points: tuple[SweepPoint, ...]
    left_out: tuple[str, ...]
    """cases, by title, whose drafting was not timed there: their drafters work while the target's passes run, so that
    they would draft other tokens, or make passes of something else than a model that was timed"""


def question(result: SweepResult) -> ClockRequest:
    """What must be timed to predict this sweep: its models in its number format, the widths of its passes, and some of
    its ways of drafting (`_tried`)."""
    asked = result.definition
    widths = {round(point.cost.target_rows / point.rounds) for point in result.points if point.rounds}
    rows = sorted(widths | {1}) if len(widths) < MOST_WIDTHS else sorted({*WIDTHS, max(widths)})
    return ClockRequest(
        target=asked.target,
        drafter_models=_models(result),
        rows=tuple(rows),
        cached_rows=asked.max_new_tokens // 2 + 16,
        tried={case_of(point): _request(result, point) for point in _tried(result)},
        prompt_id=_usual_prompt(result),
        dtype=asked.dtype,
    )


def _models(result: SweepResult) -> tuple[str, ...]:
    """The sweep's own drafter model and those of single drafters, by name."""
    asked = result.definition
    names = (asked.drafter_model, *(entry.drafter_model for entry in asked.drafters))
    return tuple(dict.fromkeys(filter(None, names)))


def _tried(result: SweepResult) -> list[SweepPoint]:
    """A run of each way of drafting that is decoded for a few rounds: all ways of the usual drafter, with each of its
    models, and of the others the first that is like none of them. Of each the shortest and the longest drafts."""
    points = [point for point in points_of(result) if _is_tried(result, point)]
    points.sort(key=lambda point: point.drafter != STANDARD["drafter"].name)
    models = _weights(result)
    ways: dict[str, list[SweepPoint]] = {}
    kinds: dict[_Kind, str] = {}
    for point in points:
        first = kinds.setdefault(_kind(models, point), title(point))
        if point.drafter == STANDARD["drafter"].name or title(point) == first:
            ways.setdefault(title(point), []).append(point)
    ends = [end(points, key=lambda point: point.gamma or 0) for points in ways.values() for end in (min, max)]
    return list({case_of(point): point for point in ends}.values())


def _is_tried(result: SweepResult, point: SweepPoint) -> bool:
    """Whether its drafter makes passes of a model that can be named in a request, or has a length and none."""
    card = result.provenance.drafters.get(title(point))
    if point.cost.draft_passes:
        return card is not None and card.name in _models(result)
    return card is None and bool(point.drafted) and point.gamma is not None


def _usual_prompt(result: SweepResult) -> str:
    """At the lowest temperature, of the longer half of the texts that do not repeat themselves, one on which rounds
    with the drafter model write as much as on most. A text of a few tokens is over before its rounds cost what others
    do."""
    points = varied([point for point in points_of(result) if point.drafter == STANDARD["drafter"].name])
    by_prompt: dict[str, list[SweepPoint]] = {}
    for point in points:
        if point.temperature == min(point.temperature for point in points):
            by_prompt.setdefault(point.prompt, []).append(point)
    lengths = {prompt: median(point.output_tokens for point in runs) for prompt, runs in by_prompt.items()}
    order = sorted(
        (prompt for prompt in by_prompt if lengths[prompt] >= median(lengths.values())),
        key=lambda prompt: median(point.output_tokens / point.rounds for point in by_prompt[prompt]),
    )
    return order[len(order) // 2] if order else ""


def _request(result: SweepResult, point: SweepPoint) -> RunRequest:
    card = result.provenance.drafters.get(title(point))
    model = result.definition.drafter_model if card is None else card.name
    request = RunRequest("", drafter_model=model).with_drafter(point.drafter, point.options)
    return replace(request, tree_policy=point.policies.tree_policy, stop_policy=point.policies.stop_policy)


def case_of(point: SweepPoint) -> Case:
    """By which a way of drafting is named."""
    return title(point), point.gamma


def predict(result: SweepResult, clock: MachineClock) -> Predicted:
    """Every run of the sweep with the seconds of the other machine, each beside plain decoding predicted alike.

    A round's target pass takes t(rows) of the other machine, behind drafting where its drafter makes passes, corrected
    by real rounds there of the same way of drafting, or of one like it; drafting and everything else take what they
    took in those rounds. Raises OptionError where another target was timed than the sweep ran.
    """
    if clock.target_sha256 != result.provenance.target.weights_sha256:
        raise OptionError(
            f"the sweep ran the target {result.provenance.target.name} with other weights than were timed here; "
            "choose a sweep of this target."
        )
    points = points_of(result)
    paces = _Paces.of(result, points, clock)
    plain = {_when(point): paces.on(point) for point in points if point.drafter == BASELINE}
    untimed = {title(point) for point in points if not paces.are_known(point)}
    kept = [point for point in points if title(point) not in untimed and _when(point) in plain]
    made = tuple(_beside_plain(paces.on(point), plain[_when(point)]) for point in kept)
    return Predicted(made, tuple(dict.fromkeys(title(point) for point in points if title(point) in untimed)))


@dataclass(frozen=True, slots=True)
class _Pace:
    """What rounds of one case take there."""

    rows: float
    """of the target's pass in a recorded round"""
    target: float
    """the target's passes, against the bare ones that were timed there"""
    draft: float
    """seconds of drafting in a round; where a model drafts at some length, against those of a chain there"""
    rest: float
    """seconds of a round beside drafting and the target's pass"""
    draft_ratio: float
    """drafting, against the recorded rounds"""
    rest_ratio: float
    """the rest, against the recorded rounds"""

    def towards(self, other: _Pace, rows: float) -> _Pace:
        """Of rounds with so many rows, between this and the other one, or that of the nearer."""
        apart = other.rows - self.rows
        way = min(max((rows - self.rows) / apart, 0.0), 1.0) if apart else 0.0
        between = [(1 - way) * mine + way * others for mine, others in zip(astuple(self), astuple(other), strict=True)]
        return _Pace(*between)


@dataclass(frozen=True, slots=True)
class _ChainCost:
    """Seconds of a round's drafting there, by candidates, with one model: on a line through its shortest and longest
    chain."""

    first_s: float
    each_s: float

    @classmethod
    def of(cls, chains: Sequence[TriedRounds]) -> _ChainCost:
        ends = sorted(chains, key=lambda rounds: rounds.candidates)
        if len(ends) < 2 or ends[0].candidates == ends[-1].candidates:
            return cls(1.0, 0.0)
        each_s = max((ends[-1].draft_s - ends[0].draft_s) / (ends[-1].candidates - ends[0].candidates), 0.0)
        return cls(max(ends[0].draft_s - each_s * ends[0].candidates, 0.0), each_s)

    def at(self, candidates: float) -> float:
        return self.first_s + self.each_s * candidates


@dataclass(frozen=True, slots=True)
class _Paces:
    """How many times longer things take there than they took in the recorded sweep."""

    clock: MachineClock
    times: StepTimes
    behind: StepTimes
    """behind a drafter's steps"""
    models: dict[str, str]
    """title of a case → sha256 of its drafter's own model"""
    chains: dict[str | None, _ChainCost]
    """sha256 of a drafter's model → its chains there"""
    tried: dict[str, list[_Pace]]
    """title of a case that was decoded there → its rounds, those with fewest rows first; plain decoding is there"""
    alike: dict[_Kind, str]
    """→ the first title that was decoded there and drafts so"""

    @classmethod
    def of(cls, result: SweepResult, points: Sequence[SweepPoint], clock: MachineClock) -> _Paces:
        plain = [point for point in points if point.drafter == BASELINE]
        if not plain:
            raise OptionError("the sweep has no run of plain decoding, which every speedup is taken against.")
        lowest = min(point.temperature for point in plain)
        models = _weights(result)
        recorded: dict[Case, list[SweepPoint]] = {}
        for point in points:
            if point.temperature == lowest:
                recorded.setdefault(case_of(point), []).append(point)
        tried = [rounds for rounds in clock.tried if rounds.case in recorded]
        paces = cls(
            clock=clock,
            times=StepTimes.of(clock.step_times),
            behind=StepTimes.of(clock.round_times),
            models=models,
            chains=_chains(models, tried),
            tried={},
            alike={},
        )
        for rounds in tried:
            same = recorded[rounds.case]
            paces.tried.setdefault(title(same[0]), []).append(paces.against(rounds, same))
            if rounds.case != PLAIN:
                paces.alike.setdefault(paces.kind(same[0]), title(same[0]))
        for ends in paces.tried.values():
            ends.sort(key=lambda pace: pace.rows)
        return paces

    def against(self, rounds: TriedRounds, recorded: Sequence[SweepPoint]) -> _Pace:
        """Real rounds there, against the recorded ones and the bare passes there."""
        times = self.times_of(recorded[0])
        draft = rounds.draft_s / self.chain_s(recorded[0], rounds.candidates)
        was_s = self.recorded_s(rounds, recorded)
        was_rest_s = median(_rest_s(point.cost) / point.rounds for point in recorded)
        return _Pace(
            rows=median(1 + _candidates(point) for point in recorded),
            target=rounds.target_pass_s / fmean(times.at(rows) for rows in rounds.rows),
            draft=draft,
            rest=rounds.rest_s,
            draft_ratio=draft / was_s if was_s > 0 else 1.0,
            rest_ratio=rounds.rest_s / was_rest_s if was_rest_s > 0 else 1.0,
        )

    def recorded_s(self, rounds: TriedRounds, recorded: Sequence[SweepPoint]) -> float:
        """What drafting such rounds took in the sweep. A tree that grows as its text goes asks its model 2 times in
        some rounds and 15 times in others, so those that asked as often count."""
        seconds = [_draft_s(point) / self.chain_s(point, _candidates(point)) for point in recorded]
        passes = [point.cost.draft_passes / point.rounds for point in recorded]
        if not self.kind(recorded[0]).is_tree or len(set(passes)) < 2:
            return median(seconds)
        each_s, first_s = linear_regression(passes, seconds)
        return first_s + each_s * min(max(rounds.draft_passes, min(passes)), max(passes))

    def chain_s(self, point: SweepPoint, candidates: float) -> float:
        """Seconds of drafting so many candidates as a chain there; 1 for drafts that do not grow like one."""
        chain = self.chains.get(self.models.get(title(point)))
        return chain.at(candidates) if chain and self.kind(point).is_chain else 1.0

    def draft_and_rest(self, point: SweepPoint, pace: _Pace) -> tuple[float, float]:
        """Seconds of drafting, and of all that is neither drafting nor a target pass: as real rounds there took, or as
        recorded and so many times longer as those of a case that is like it."""
        was, tried = point.cost, title(point) in self.tried
        rest_s = point.rounds * pace.rest if tried else _rest_s(was) * pace.rest_ratio
        if tried and not self.kind(point).is_tree:
            return point.rounds * pace.draft * self.chain_s(point, _candidates(point)), rest_s
        return was.draft_s * pace.draft_ratio, rest_s

    def like(self, point: SweepPoint) -> _Pace:
        """Between the shortest and the longest drafts of the same title, or else of one that drafts alike with the same
        model; where none was decoded, of plain decoding."""
        name = title(point) if title(point) in self.tried else self.alike.get(self.kind(point))
        if name is None:
            plain = self.tried[BASELINE][0]
            return replace(plain, draft_ratio=plain.rest_ratio)
        paces = self.tried[name]
        return paces[0].towards(paces[-1], 1 + _candidates(point))

    def kind(self, point: SweepPoint) -> _Kind:
        return _kind(self.models, point)

    def times_of(self, point: SweepPoint) -> StepTimes:
        """Of the target's bare passes."""
        return self.behind if point.cost.draft_passes else self.times

    def are_known(self, point: SweepPoint) -> bool:
        """Whether its drafting can be priced: by rounds there in which the same model drafted alike, or without passes
        of any model. A drafter with a model and no passes drafted outside the rounds' drafting."""
        kind = self.kind(point)
        if point.cost.draft_passes:
            return kind in self.alike
        return kind.model is None or not point.drafted

    def on(self, point: SweepPoint) -> SweepPoint:
        """The run with the other machine's seconds; its ratio is not touched."""
        was, pace = point.cost, self.like(point)
        draft_s, rest_s = self.draft_and_rest(point, pace)
        draft, rest = (
            now / before if before else 1.0 for now, before in ((draft_s, was.draft_s), (rest_s, _rest_s(was)))
        )
        target_s = sum(count * self.times_of(point).at(rows) for rows, count in _passes(point)) * pace.target
        cost = replace(
            was,
            draft_s=draft_s,
            target_s=target_s + (was.target_s - was.target_pass_s) * rest,
            judge_s=was.judge_s * rest,
            commit_s=was.commit_s * rest,
            draft_pass_s=was.draft_pass_s * draft,
            target_pass_s=target_s,
        )
        seconds = cost.draft_s + cost.target_s + cost.judge_s + cost.commit_s
        return replace(
            point,
            cost=cost,
            decode_s=seconds,
            tokens_per_s=point.output_tokens / seconds,
            step_times=self.clock.step_times,
            draft_step_s=self.clock.draft_steps.get(self.models.get(title(point), ""), point.draft_step_s),
        )


def _chains(models: Mapping[str, str], tried: Sequence[TriedRounds]) -> dict[str | None, _ChainCost]:
    """Of each model the chains of the title whose lengths lie farthest apart."""
    titles: dict[str, list[TriedRounds]] = {}
    for rounds in tried:
        if rounds.case[1] is not None:
            titles.setdefault(rounds.case[0], []).append(rounds)
    far = sorted(titles, key=lambda name: _spread(titles[name]))
    return {models.get(name): _ChainCost.of(titles[name]) for name in far}


def _spread(chains: Sequence[TriedRounds]) -> float:
    candidates = [rounds.candidates for rounds in chains]
    return max(candidates) - min(candidates)


def _rest_s(cost: RunCost) -> float:
    """Seconds beside drafting and the target's passes."""
    return cost.target_s - cost.target_pass_s + cost.judge_s + cost.commit_s


def _draft_s(point: SweepPoint) -> float:
    """Of a round."""
    return point.cost.draft_s / point.rounds


def _candidates(point: SweepPoint) -> float:
    """Of a round, in the mean."""
    return point.cost.target_rows / point.rounds - 1


def _passes(point: SweepPoint) -> tuple[tuple[float, int], tuple[float, int]]:
    """(rows, how many) of the target's passes: of rounds that drafted, in the mean, and of those that did not."""
    drafted = sum(point.accepted_lengths)
    rows = (point.cost.target_rows - (point.rounds - drafted)) / drafted if drafted else 1.0
    return (rows, drafted), (1.0, point.rounds - drafted)


def _kind(models: Mapping[str, str], point: SweepPoint) -> _Kind:
    has_passes = bool(point.cost.draft_passes)
    return _Kind(models.get(title(point)), has_passes, has_passes and point.gamma is not None)


def _weights(result: SweepResult) -> dict[str, str]:
    """Title of a case → sha256 of its drafter's own model."""
    return {name: card.weights_sha256 for name, card in result.provenance.drafters.items()}


def _when(point: SweepPoint) -> tuple[str, int, float]:
    """Which run of plain decoding stands beside it."""
    return point.prompt, point.repeat, point.temperature


def _beside_plain(point: SweepPoint, plain: SweepPoint) -> SweepPoint:
    ratio = times_as_fast(point.tokens_per_s, plain.tokens_per_s)
    return replace(point, baseline_tokens_per_s=plain.tokens_per_s, ratio=ratio)
