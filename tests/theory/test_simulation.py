"""Simulated runs: true to the format, labelled, and in the mean what the formulas say."""

from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest

from specviz.app.look.notices import badges
from specviz.errors import OptionError
from specviz.theory import metrics, simulation, what_if
from specviz.theory.formulas import StepTimes
from specviz.theory.reclock import measured_overhead, on_its_curve, reclock
from specviz.theory.simulation import BONUS, FIX, GUESS, PLAIN, Simulation, simulate
from specviz.theory.what_if import Clock, Shape
from specviz.trace.check import check
from specviz.trace.codec import dumps, loads, read
from specviz.trace.events import Trace

TIMES = StepTimes((1, 4, 16), (10.0, 12.0, 24.0))
SAMPLE = Path(__file__).parents[1] / "golden" / "trace-1.0-sample.json"


def run(alphas: tuple[float, ...], *branching: int, rounds: int = 40, seed: int = 7) -> Trace:
    return simulate(Simulation(alphas, Shape(branching), Clock(TIMES, 1.0), "a test's", rounds, seed))


@pytest.mark.parametrize("branching", [(), (1, 1, 1, 1), (3, 2, 1)])
@pytest.mark.parametrize("alphas", [(0.0,), (0.7,), (1.0,), (0.9, 0.3)])
def test_a_simulated_run_keeps_every_rule_of_the_format(branching: tuple[int, ...], alphas: tuple[float, ...]) -> None:
    trace = run(alphas, *branching)
    assert check(trace) == []
    assert loads(dumps(trace).encode()) == trace


def test_a_simulated_run_can_be_taken_for_nothing_else() -> None:
    trace = run((0.6,), 1, 1)
    started = trace.started
    assert (started.source, trace.summary.tokens_per_second) == ("simulated", None)
    assert (started.target.name, started.target.parameters, started.machine.device) == ("no model", 0, "none")
    assert started.prompt_text.startswith("[simulated: no model")
    assert {entry.text[0] for entry in trace.vocab.values()} == {"["}, "every token says that it stands for one"
    shown = badges(started)
    assert [badge.text for badge in shown[:2]] == ["simulated", "times modelled"]
    assert "modelled clock: a test's" in shown[1].explanation
    assert all("lossless" not in badge.text for badge in shown), "there is no target to be true to"


def test_alpha_one_accepts_everything_and_alpha_zero_nothing() -> None:
    everything, nothing = run((1.0,), 1, 1, rounds=2), run((0.0,), 2, 1, rounds=1)
    assert everything.finished.output_ids == [GUESS, GUESS, BONUS] * 2
    assert nothing.finished.output_ids == [FIX]
    assert [node.fate for node in nothing.rounds[0].nodes] == ["root", "rejected", "rejected", "unreached", "unreached"]
    assert run((0.5,), rounds=3).finished.output_ids == [PLAIN] * 3


def test_siblings_share_the_target_so_that_each_has_alpha_once_its_turn_comes() -> None:
    """Two siblings at 0.5: p is 0.5 and 0.25, a correction keeps the rest."""
    first = run((0.5,), 2, rounds=1).rounds[0]
    assert [node.target_prob for node in first.nodes] == [None, 0.5, 0.25]
    assert dict(zip(first.nodes[0].target.tokens, first.nodes[0].target.probs, strict=True))[FIX] == 0.25


def test_times_are_the_clock_s() -> None:
    """Two levels, 5 rows: 12 + 12/12 = 13 for the target, 2 for the drafter; plain decoding takes 10 a token."""
    trace = run((1.0,), 2, 1, rounds=2)
    assert [this.seconds for this in trace.rounds] == [15.0, 15.0]
    assert [(one.rows, one.depth) for one in trace.rounds[0].drafted.passes] == [(1, 1), (2, 2)]
    assert trace.rounds[1].start_s == 15.0
    assert simulation.modelled_speedup(trace) == 6 * 10 / 30


def test_the_same_seed_gives_the_same_run() -> None:
    one, other = run((0.5,), 1, 1, 1), run((0.5,), 1, 1, 1)
    assert (one.rounds, one.started.run_id) == (other.rounds, other.started.run_id)
    assert run((0.5,), 1, 1, 1, seed=8).rounds != one.rounds


@pytest.mark.parametrize(
    ("alphas", "branching"),
    [((0.7,), (1,) * 5), ((0.9, 0.6, 0.3), (1, 1, 1)), ((0.4,), (3, 2, 1)), ((0.5, 0.3), (2, 2))],
)
def test_formulas_agree_with_monte_carlo(alphas: tuple[float, ...], branching: tuple[int, ...]) -> None:
    """1,500 rounds; the mean may miss by four standard errors, which chance exceeds once in 16,000 seeds."""
    trace = run(alphas, *branching, rounds=1500)
    lengths = [1 + len(this.judged.path) for this in trace.rounds]
    error = stdev(lengths) / len(lengths) ** 0.5
    assert abs(fmean(lengths) - what_if.tokens_per_round(alphas, Shape(branching))) < 4 * error < 0.25
    modelled = what_if.outcome(alphas, Shape(branching), Clock(TIMES, 1.0)).speedup
    assert simulation.modelled_speedup(trace) == pytest.approx(modelled, rel=4 * error / fmean(lengths))


def test_a_run_s_own_rates_can_be_simulated_with() -> None:
    """Of 7 first candidates at depth 1, four passed; in two trees a later sibling did. The last of depth 3 lies behind
    the end of the text."""
    recorded = read(SAMPLE)
    assert simulation.rates_of(recorded) == (4 / 7, 4 / 6, 2 / 3, 1 / 1)
    whole = [replace(this, judged=replace(this.judged, order="longest")) for this in recorded.rounds]
    with pytest.raises(OptionError, match="or whole branches"):
        simulation.rates_of(replace(recorded, rounds=whole))
    assert metrics.levels_by_depth(run((1.0, 0.0), 1, 1, rounds=3).rounds) == ((3, 3), (3, 0))
    with pytest.raises(OptionError, match="has no acceptance rates per depth"):
        simulation.rates_of(run((0.5,)))


def test_more_rounds_than_a_trace_holds_are_refused() -> None:
    with pytest.raises(OptionError, match="1 to 5,000 of this shape"):
        run((0.5,), 1, rounds=5001)


def test_a_run_on_another_clock_keeps_its_rounds() -> None:
    """Two rounds of 3 rows, both passed whole: on a clock of t(1) = 1, t(3) = 2, drafter pass 0.1."""
    trace = run((1.0,), 1, 1, rounds=2)
    other = reclock(trace, StepTimes((1, 3), (1.0, 2.0)))
    assert (other.tokens, other.rounds, other.target_s, other.plain_s) == (6, 2, 4.0, 6.0)
    assert other.draft_s == pytest.approx(4 * 0.1)
    assert other.speedup == pytest.approx(6 / 4.4)
    dear = reclock(trace, StepTimes((1, 3), (1.0, 2.0)), cost_ratio=0.5)
    assert (dear.draft_s, dear.speedup) == (2.0, 1.0)


def test_a_run_on_its_own_clock_is_what_it_was() -> None:
    trace = run((0.6,), 1, 1, 1)
    assert on_its_curve(trace).speedup == pytest.approx(simulation.modelled_speedup(trace))  # type: ignore[union-attr]
    assert measured_overhead(trace) is None


def test_a_header_without_step_times_asks_for_the_cost_of_a_drafter_pass() -> None:
    recorded = read(SAMPLE)
    assert on_its_curve(recorded) is None
    with pytest.raises(OptionError, match="say what a drafter pass costs"):
        reclock(recorded, TIMES)
    assert reclock(recorded, TIMES, cost_ratio=0.0).draft_s == 0
    with pytest.raises(OptionError, match="has no round"):
        reclock(replace(recorded, rounds=[]), TIMES)
