"""Engine efficiency on a clock that only models move: rounds and their passes in turn, and a bound that can fail."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch

from specviz.bench.core.run import SourceContestant, collect
from specviz.bench.speed.efficiency import PassReplay, Sample, efficiencies, samples
from specviz.bench.speed.table import BenchRow, _efficiency
from specviz.core.draws import Chooser
from specviz.lm.base import Chain
from specviz.lm.table import TableModel
from specviz.protocol.choice import Choice
from specviz.protocol.runs import Resume, RunRequest
from specviz.trace.events import Drafted, Pass, Round, Scored, Step
from tests.fake_source import FakeSource, make_round


@dataclass
class Clock:
    """Moves when it is told to."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


class TickingModel(TableModel):
    """A pass takes 10 s, 1 s a row, and a thousandth of a second for each cached row; branching adds 5 s."""

    def __init__(self, clock: Clock, seed: int = 1) -> None:
        super().__init__(16, seed=seed, context_length=256)
        self.clock = clock
        self.calls: list[tuple[int, int, Sequence[int] | None, bool]] = []

    def forward(self, tokens: Any, cache: Any, parents: Any = None, last_only: bool = False) -> Any:
        self.calls.append((len(tokens), cache.length, parents, last_only))
        self.clock.seconds += seconds_of(len(tokens), cache.length, parents is not None)
        return super().forward(tokens, cache, parents, last_only)


def seconds_of(rows: int, cached_rows: int, branches: bool = False) -> float:
    return 10.0 + rows + cached_rows / 1000 + (5.0 if branches else 0.0)


def round_of(index: int, cached_rows: int, drafts: Sequence[Pass] = (), tree: bool = False) -> Round:
    """Three candidates, one accepted; in a tree the last two are siblings."""
    one = make_round(index, 3, 1, 1.0)
    nodes = [*one.nodes[:3], replace(one.nodes[3], parent=1)] if tree else one.nodes
    target_pass = Pass(4, cached_rows, 1.0)
    return replace(one, nodes=nodes, drafted=Drafted(list(drafts), 1.0), scored=Scored(target_pass, 1.0))


@dataclass
class TickingSource(FakeSource):
    """Rounds over a growing text; each takes what its pass takes, and the engine's own seconds on top."""

    clock: Clock = field(default_factory=Clock)
    own_s: float = 1.0
    rounds: int = 5

    def run(
        self, request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        first, *_, last = super().run(replace(request, drafter=Choice(request.drafter.name)))
        self.clock.seconds += 1000.0  # the prompt's pass
        yield first
        for index in range(self.rounds):
            cached = 100 + 2 * index
            self.clock.seconds += seconds_of(4, cached) + self.own_s
            yield Step(round_of(index, cached), {})
        yield last


def contestant(source: TickingSource) -> SourceContestant:
    return SourceContestant("specviz: plain", source, RunRequest(prompt="", drafter=Choice("none")))


def test_a_chain_is_replayed_at_its_own_length_and_width() -> None:
    clock = Clock()
    target = TickingModel(clock)
    replay = PassReplay(target, clock=clock)
    assert replay.replay(round_of(0, 100)) == pytest.approx(10 + 4 + 0.1)
    assert target.calls == [(100, 0, None, True), (4, 100, None, False)]
    target.calls.clear()
    assert replay.replay(round_of(1, 102)) == pytest.approx(10 + 4 + 0.102)
    assert target.calls == [(4, 102, None, False)], "of the four rows two stay, as in the run"


def test_a_tree_branches_where_it_did() -> None:
    clock = Clock()
    target = TickingModel(clock)
    assert PassReplay(target, clock=clock).replay(round_of(0, 100, tree=True)) == pytest.approx(10 + 4 + 0.1 + 5)
    assert target.calls[-1] == (4, 100, [99, 100, 101, 101], False)


def test_the_drafter_s_passes_are_counted_with_the_target_s() -> None:
    """Catching up by two rows, a step, and a level of two siblings; filling a cache is not counted."""
    clock = Clock()
    target, drafter = TickingModel(clock), TickingModel(clock, seed=2)
    passes = [Pass(2, 99, 9.0), Pass(1, 101, 9.0), Pass(2, 102, 9.0)]
    replay = PassReplay(target, drafter, clock)
    expected = seconds_of(2, 99) + seconds_of(1, 101) + seconds_of(2, 102, True) + seconds_of(4, 100)
    assert replay.replay(round_of(0, 100, passes)) == pytest.approx(expected)
    timed = [(2, 99, None, True), (1, 101, None, False), (2, 102, [101, 101], False)]
    assert drafter.calls == [(99, 0, None, True), *timed]
    assert replay.medians()["drafter"] == pytest.approx({1: 11.101, 2: (12.099 + 17.102) / 2})


class ChainWriter(TickingModel):
    """Writes a chain by one call: its passes, without what each takes for being called."""

    def write_chain(self, tokens: Any, cache: Any, chooser: Any) -> Chain:
        steps, began = chooser.steps, self.clock.seconds
        for step in range(steps):
            super().forward(tokens if step == 0 else [step], cache)
        self.calls.append((len(tokens), steps, None, True))
        self.clock.seconds = began + 7.0
        return Chain(list(range(steps)), torch.zeros(steps, 16), [3.0] * steps)


@pytest.mark.skipif(Chooser.of(1) is None, reason="there is no compiler here")
def test_a_chain_that_its_model_writes_by_one_call_is_replayed_by_that_call() -> None:
    clock = Clock()
    target, drafter = TickingModel(clock), ChainWriter(clock, seed=2)
    replay = PassReplay(target, drafter, clock)
    passes = [Pass(2, 99, 9.0), Pass(1, 101, 9.0), Pass(1, 102, 9.0)]
    assert replay.replay(round_of(0, 100, passes)) == pytest.approx(7 + seconds_of(4, 100))
    assert drafter.calls[-1] == (2, 3, None, True)
    assert replay.medians()["drafter"] == {1: 3.0, 2: 3.0}
    level = [Pass(2, 101, 9.0), Pass(2, 103, 9.0)]
    expected = seconds_of(2, 101) + seconds_of(2, 103, True) + seconds_of(4, 102)
    assert replay.replay(round_of(1, 102, level)) == pytest.approx(expected), "a level of two is no chain"


def test_rounds_and_their_passes_take_turns_and_the_prompt_s_pass_counts_for_neither() -> None:
    """Each round of 14.1 s and a little is followed by its pass at once."""
    source = TickingSource()
    target = TickingModel(source.clock)
    run = collect(source, contestant(source).request, replay=PassReplay(target, clock=source.clock))
    assert run is not None
    expected = [(14 + cached / 1000, 15 + cached / 1000) for cached in (100, 102, 104, 106, 108)]
    assert [one for pair in run.replayed for one in pair] == pytest.approx([one for pair in expected for one in pair])
    assert run.wall_s == pytest.approx(1000 + sum(15 + cached / 1000 for cached in (100, 102, 104, 106, 108)))


@pytest.mark.parametrize(("own_s", "share"), [(0.0, 1.0), (14.105, 0.5)])
def test_efficiency_is_what_the_passes_explain_of_the_rounds(own_s: float, share: float) -> None:
    source = TickingSource(own_s=own_s)
    replay = PassReplay(TickingModel(source.clock), clock=source.clock)
    found = efficiencies(list(samples([contestant(source)], source.prompts, replay)))["specviz: plain"]
    assert found.share.median == pytest.approx(share, abs=1e-3)
    assert (found.runs, found.failed) == (2, False)


def test_a_slow_machine_slows_both_and_leaves_the_share() -> None:
    """Between the first and the second run the machine gets three times as slow: passes and rounds alike."""
    found = efficiencies([Sample("a", 9.0, 10.0), Sample("a", 27.0, 30.0)])["a"]
    assert tuple(found.share) == pytest.approx((0.9, 0.9, 0.9))


def test_passes_that_take_longer_than_their_rounds_are_a_failed_measurement_and_no_number() -> None:
    good = efficiencies([Sample("a", 9.0, 10.0)])["a"]
    bad = efficiencies([Sample("b", 10.3, 10.0)])["b"]
    assert (good.failed, str(good)) == (False, "0.90 [0.90–0.90]")
    assert (bad.failed, str(bad)) == (True, "failed: 1.03 [1.03–1.03]")
    assert not efficiencies([Sample("c", 10.2, 10.0)])["c"].failed, "1.02 is what clocks and caches explain"
    lines = _efficiency([row("a", good), row("b", bad)])
    assert lines[0] == "- engine efficiency (aim ≥ 0.90): lowest 0.90 [0.90–0.90] (a)"
    assert lines[1].startswith("- engine efficiency was not measured for b: passes alone took longer than the rounds")
    assert len(_efficiency([row("b", bad)])) == 1


def row(name: str, found: Any) -> BenchRow:
    blank: Any = None
    return BenchRow(name, 0.0, blank, blank, {}, found, blank)


def test_a_stop_keeps_the_runs_that_are_done() -> None:
    source = TickingSource()
    replay = PassReplay(TickingModel(source.clock), clock=source.clock)
    loop = samples([contestant(source)], source.prompts, replay, lambda: len(source.requests) >= 1)
    assert [one.contestant for one in loop] == ["specviz: plain"]
