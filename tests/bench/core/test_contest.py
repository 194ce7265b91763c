"""The bench's loop and its rows, with contestants whose clocks are written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from specviz.bench.core.contest import ContestPlan, ContestRun, Measured, contest, interleaved
from specviz.bench.core.run import SourceContestant
from specviz.bench.speed.table import BenchRow, overhead, part
from specviz.errors import SpecVizError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import PromptCard, RunRequest
from specviz.theory.rows import RunCounts
from tests.fake_source import FakeSource

PROMPTS = (PromptCard("one", "code", "", "", "a"), PromptCard("two", "prose", "", "", "b"))


def test_each_way_goes_first_in_its_turn() -> None:
    begun = list[int]()
    turns = [
        (repeat, prompt.id, "".join(order)) for repeat, prompt, order in interleaved("abc", PROMPTS, 2, begun.append)
    ]
    assert turns == [(0, "one", "abc"), (0, "two", "bca"), (1, "one", "bca"), (1, "two", "cab")]
    assert begun == [0, 1]


@dataclass
class Clockwork:
    """Always 8 tokens: `seconds` in all, of which `prefill`."""

    name: str
    seconds: float
    prefill: float = 0.0
    log: list[str] = field(default_factory=list)
    output: tuple[int, ...] = tuple(range(8))

    def decode(self, prompt: PromptCard, cancelled: Callable[[], bool], repeat: int = 0) -> Measured | None:
        self.log.append(f"{self.name}{prompt.id}")
        return Measured(list(self.output), self.seconds, self.prefill, RunCounts(len(self.output), 4))


def test_every_contestant_warms_up_once_and_then_the_order_rotates() -> None:
    log: list[str] = []
    contestants = [Clockwork(name, 1.0, log=log) for name in "ABC"]
    outcomes = list(contest(ContestPlan(contestants, PROMPTS, repeats=2)))
    assert log[:3] == ["Aone", "Bone", "Cone"]
    assert "".join(entry[0] for entry in log[3:]) == "ABCBCABCACAB"
    assert len(outcomes) == 12, "warm-up runs are not reported"


def test_cancelling_keeps_what_is_done() -> None:
    log: list[str] = []
    plan = ContestPlan([Clockwork("A", 1.0, log=log), Clockwork("B", 1.0, log=log)], PROMPTS, repeats=1)
    assert [one.contestant for one in contest(plan, cancelled=lambda: len(log) >= 5)] == ["A", "B", "B"]


def outcome(name: str, seconds: float, prompt: str = "one", prefill: float = 0.0, output: int = 1) -> ContestRun:
    return ContestRun(
        name, prompt, "code", 0, Measured(list(range(output, output + 8)), seconds, prefill, RunCounts(8, 4))
    )


def rows(outcomes: list[ContestRun], baseline: str) -> Sequence[BenchRow]:
    return part(0.0, outcomes, baseline).rows


def test_ratios_are_per_prompt_and_summarised_by_quartiles() -> None:
    """Plain takes 8 s on one prompt and 4 s on the other; the contestant takes 2 s on both: ratios 4 and 2."""
    found = rows([outcome("P", 8.0), outcome("P", 4.0, "two"), outcome("C", 2.0), outcome("C", 2.0, "two")], "P")
    assert found[0].ratio == (1.0, 1.0, 1.0)
    assert found[1].ratio == (2.5, 3.0, 3.5)
    assert found[1].statistics.tokens_per_pass == (2.0, 2.0, 2.0)


def test_decoding_ratio_leaves_each_side_s_prompt_pass_out() -> None:
    """Whole call: 8/8 s against 8/4 s, a ratio of 2. Without 2 s of prompt on both sides: 6 s against 2 s."""
    found = rows([outcome("P", 8.0, prefill=2.0), outcome("C", 4.0, prefill=2.0)], "P")
    assert found[1].ratio.median == 2.0
    assert found[1].decode_ratio.median == 3.0


def test_tokens_that_came_with_the_prompt_s_pass_are_not_counted_as_decoding() -> None:
    """8 tokens, 2 of them with a prompt's pass of 2 s: 6 in the 3 s after it, against 1 a second."""
    theirs = ContestRun("C", "one", "code", 0, Measured(list(range(8)), 5.0, 2.0, RunCounts(8, 4), prefill_tokens=2))
    assert rows([outcome("P", 8.0), theirs], "P")[1].decode_ratio.median == 2.0


def test_outputs_that_differ_are_counted_not_hidden() -> None:
    found = rows([outcome("P", 8.0), outcome("C", 4.0, output=2)], "P")
    assert (found[0].statistics.same_output, found[1].statistics.same_output) == (1, 0)


def test_outcomes_without_their_plain_run_are_left_out() -> None:
    found = rows([outcome("P", 8.0), outcome("C", 4.0), outcome("C", 1.0, "two")], "P")
    assert found[1].statistics.runs == 1
    with pytest.raises(SpecVizError, match="not a single plain run"):
        rows([outcome("C", 4.0)], "P")


def test_tracing_overhead_is_the_extra_share_of_the_same_decode() -> None:
    """One second of five went into the trace: a quarter on top of the four it would have taken."""
    traced = ContestRun("C, recorded", "one", "code", 0, Measured([1], 5.0, 0.0, RunCounts(1, 1), record_s=1.0))
    assert overhead([outcome("C", 4.0), traced], "C, recorded") == (0.25, 0.25, 0.25)
    assert overhead([outcome("C", 4.0)], "C, recorded") is None


def test_our_contestant_reads_prompt_pass_and_rounds_from_the_trace(fake_source: FakeSource) -> None:
    own_contestants = SourceContestant(
        "specviz", fake_source, RunRequest(prompt="", drafter=Choice("model", {"gamma": 1}))
    )
    measured = own_contestants.decode(PROMPTS[1], lambda: False)
    assert measured is not None
    assert (len(measured.output_ids), measured.counts.target_passes, measured.prefill_s, measured.engine_s) == (
        8,
        4,
        0.5,
        4.0,
    )
    assert (fake_source.requests[0].prompt, fake_source.requests[0].prompt_name) == ("b", "two")


def test_our_contestant_gives_nothing_when_cancelled(fake_source: FakeSource) -> None:
    own_contestants = SourceContestant("specviz", fake_source, RunRequest(prompt=""))
    assert own_contestants.decode(PROMPTS[0], lambda: True) is None
