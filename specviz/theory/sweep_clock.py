"""A recorded sweep on another machine's clock. All *modelled*: but for a few tokens nothing is run again.

    bare passes there ─► a round's target pass ─┐ corrected by real rounds there
    a step of the drafter's model ─► drafting  ─┼─► of the same way of drafting, ─► every recorded run, in seconds there
    plain decoding ─► everything else ──────────┘ or of one like it

Its runs keep their rounds, their rows and their accepted tokens, which no machine changes. Replaced are all seconds, by
what the same things take there (`MachineClock`). Place in the flow: the page and `specviz predict` ask it what must be
timed, and hand in what was. A single run: `reclock`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from statistics import fmean, linear_regression, median

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
CHAIN, TREE = (True, True), (True, False)
"""how a model's case drafts (`_shape`)"""


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
    models = [asked.drafter_model, *(entry.drafter_model for entry in asked.drafters)]
    widths = {round(point.cost.target_rows / point.rounds) for point in result.points if point.rounds}
    rows = sorted(widths | {1}) if len(widths) < MOST_WIDTHS else sorted({*WIDTHS, max(widths)})
    return ClockRequest(
        target=asked.target,
        drafter_models=tuple(dict.fromkeys(filter(None, models))),
        rows=tuple(rows),
        cached_rows=asked.max_new_tokens // 2 + 16,
        tried={case_of(point): _request(result, point) for point in _tried(result)},
        prompt_id=_usual_prompt(result),
        dtype=asked.dtype,
    )


def _tried(result: SweepResult) -> list[SweepPoint]:
    """A run of each way of drafting that is decoded for a few rounds: by the sweep's own drafter model under each
    policy, and by the first drafter that asks no model and has a length. Of each the shortest and the longest drafts.
    """
    model, cards = result.definition.drafter_model, result.provenance.drafters
    ways: dict[str, list[SweepPoint]] = {}
    copying = ""
    for point in points_of(result):
        card = cards.get(title(point))
        if card is None and point.drafted and not point.cost.draft_passes and point.gamma is not None:
            copying = copying or title(point)
        has_model = card is not None and card.name == model and point.drafter == STANDARD["drafter"].name
        if has_model or title(point) == copying:
            ways.setdefault(title(point), []).append(point)
    ends = [end(points, key=lambda point: point.gamma or 0) for points in ways.values() for end in (min, max)]
    return list({case_of(point): point for point in ends}.values())


def _usual_prompt(result: SweepResult) -> str:
    """One whose text does not repeat itself, and on which rounds with the drafter model write as much as on most."""
    points = varied([point for point in points_of(result) if point.drafter == STANDARD["drafter"].name])
    by_prompt: dict[str, list[float]] = {}
    for point in points:
        by_prompt.setdefault(point.prompt, []).append(point.output_tokens / point.rounds)
    order = sorted(by_prompt, key=lambda prompt: median(by_prompt[prompt]))
    return order[len(order) // 2] if order else ""


def _request(result: SweepResult, point: SweepPoint) -> RunRequest:
    request = RunRequest("", drafter_model=result.definition.drafter_model).with_drafter(point.drafter, point.options)
    return replace(request, tree_policy=point.policies.tree_policy, stop_policy=point.policies.stop_policy)


def case_of(point: SweepPoint) -> Case:
    """By which a way of drafting is named."""
    return title(point), point.gamma


def predict(result: SweepResult, clock: MachineClock) -> Predicted:
    """Every run of the sweep with the seconds of the other machine, each beside plain decoding predicted alike.

    A round's target pass takes t(rows) of the other machine, behind drafting where its drafter makes passes; drafting
    is as many times longer as a step of its drafter's model, where it has one. Both and everything else are corrected
    by real rounds there of the same way of drafting, or of one like it. Raises OptionError where another target was
    timed than the sweep ran.
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
    """drafting, against the recorded rounds and beyond what a step of its model says"""
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
    """Seconds of a round's drafting there, by candidates: on a line through the shortest and the longest chain."""

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
    steps: dict[str, float]
    """sha256 of a drafter's model → its step there over its recorded step"""
    chain: _ChainCost
    tried: dict[str, list[_Pace]]
    """title of a case that was decoded there → its rounds, those with fewest rows first; plain decoding is there"""
    alike: dict[tuple[bool, bool], str]
    """how a case drafts (`_shape`) → the first title that was decoded there and drafts so"""

    @classmethod
    def of(cls, result: SweepResult, points: Sequence[SweepPoint], clock: MachineClock) -> _Paces:
        plain = [point for point in points if point.drafter == BASELINE]
        if not plain:
            raise OptionError("the sweep has no run of plain decoding, which every speedup is taken against.")
        lowest = min(point.temperature for point in plain)
        models = {name: card.weights_sha256 for name, card in result.provenance.drafters.items()}
        recorded: dict[str, float] = {}
        for point in points:
            model = models.get(title(point))
            if model is not None and point.draft_step_s:
                recorded.setdefault(model, point.draft_step_s)
        paces = cls(
            clock=clock,
            times=StepTimes.of(clock.step_times),
            behind=StepTimes.of(clock.round_times),
            models=models,
            steps={model: clock.draft_steps[model] / recorded[model] for model in recorded.keys() & clock.draft_steps},
            chain=_ChainCost.of([rounds for rounds in clock.tried if rounds.case[0] == STANDARD["drafter"].name]),
            tried={},
            alike={},
        )
        for rounds in clock.tried:
            same = [point for point in points if case_of(point) == rounds.case and point.temperature == lowest]
            if same:
                paces.tried.setdefault(title(same[0]), []).append(paces.against(rounds, same))
                if rounds.case != PLAIN:
                    paces.alike.setdefault(_shape(same[0]), title(same[0]))
        for tried in paces.tried.values():
            tried.sort(key=lambda pace: pace.rows)
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
            draft_ratio=draft / was_s / self.step(recorded[0]) if was_s > 0 else 1.0,
            rest_ratio=rounds.rest_s / was_rest_s if was_rest_s > 0 else 1.0,
        )

    def recorded_s(self, rounds: TriedRounds, recorded: Sequence[SweepPoint]) -> float:
        """What drafting such rounds took in the sweep. A tree that grows as its text goes asks its model 2 times in
        some rounds and 15 times in others, so those that asked as often count."""
        seconds = [_draft_s(point) / self.chain_s(point, _candidates(point)) for point in recorded]
        passes = [point.cost.draft_passes / point.rounds for point in recorded]
        if _shape(recorded[0]) != TREE or len(set(passes)) < 2:
            return median(seconds)
        each_s, first_s = linear_regression(passes, seconds)
        return first_s + each_s * rounds.draft_passes

    def chain_s(self, point: SweepPoint, candidates: float) -> float:
        """Seconds of drafting so many candidates as a chain there; 1 for drafts that do not grow like one."""
        return self.chain.at(candidates) if _shape(point) == CHAIN else 1.0

    def draft_and_rest(self, point: SweepPoint, pace: _Pace) -> tuple[float, float]:
        """Seconds of drafting, and of all that is neither drafting nor a target pass: as real rounds there took, or as
        recorded and so many times longer as those of a case that is like it."""
        was = point.cost
        tried, shape, usual = title(point) in self.tried, _shape(point), STANDARD["drafter"].name
        rest_s = point.rounds * pace.rest if tried else _rest_s(was) * pace.rest_ratio
        if (tried and shape != TREE) or (shape == CHAIN and point.drafter == usual and usual in self.tried):
            round_s = pace.draft * self.chain_s(point, _candidates(point)) * self.against_usual(point)
            return point.rounds * round_s, rest_s
        return was.draft_s * self.step(point) * pace.draft_ratio, rest_s

    def against_usual(self, point: SweepPoint) -> float:
        """A step of its drafter's model there, over that of the model whose chains were decoded there."""
        names = (title(point), STANDARD["drafter"].name)
        its, usual = (self.clock.draft_steps.get(self.models.get(name, "")) for name in names)
        return its / usual if its and usual else 1.0

    def like(self, point: SweepPoint) -> _Pace:
        """Between the shortest and the longest drafts of the same title, or else of one that drafts alike; where none
        was decoded, of plain decoding."""
        name = title(point) if title(point) in self.tried else self.alike.get(_shape(point))
        if name is None:
            plain = self.tried[BASELINE][0]
            return replace(plain, draft_ratio=1.0 if point.cost.draft_passes else plain.rest_ratio)
        paces = self.tried[name]
        return paces[0].towards(paces[-1], 1 + _candidates(point))

    def step(self, point: SweepPoint) -> float:
        """Of its drafter's model, against the recorded one; 1 where it has none."""
        return self.steps.get(self.models.get(title(point), ""), 1.0)

    def times_of(self, point: SweepPoint) -> StepTimes:
        """Of the target's bare passes."""
        return self.behind if point.cost.draft_passes else self.times

    def are_known(self, point: SweepPoint) -> bool:
        """Whether its drafting can be priced: by passes of a model that was timed, or without passes of any model. A
        drafter with a model and no passes drafted outside the rounds' drafting."""
        model = self.models.get(title(point))
        if point.cost.draft_passes:
            return model in self.steps
        return model is None or not point.drafted

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
            draft_step_s=None if point.draft_step_s is None else point.draft_step_s * self.step(point),
        )


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


def _shape(point: SweepPoint) -> tuple[bool, bool]:
    """Whether a model drafts, and whether it does so at some length: trees have none."""
    has_passes = bool(point.cost.draft_passes)
    return has_passes, has_passes and point.gamma is not None


def _when(point: SweepPoint) -> tuple[str, int, float]:
    """Which run of plain decoding stands beside it."""
    return point.prompt, point.repeat, point.temperature


def _beside_plain(point: SweepPoint, plain: SweepPoint) -> SweepPoint:
    ratio = times_as_fast(point.tokens_per_s, plain.tokens_per_s)
    return replace(point, baseline_tokens_per_s=plain.tokens_per_s, ratio=ratio)
