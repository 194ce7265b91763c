"""The bench's loop, with contestants whose clocks are written out."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

from specviz.bench.core.contest import ContestPlan, Measured, contest, interleaved
from specviz.bench.core.run import SourceContestant
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


def test_before_each_prompt_garbage_is_collected_and_what_stays_is_left_alone() -> None:
    turns = interleaved("ab", PROMPTS)
    for _ in PROMPTS:
        gc.unfreeze()
        circle, stays = Clockwork("A", 1.0), [[]]
        circle.log.append(circle)
        garbage = weakref.ref(circle)
        del circle
        next(turns)
        assert garbage() is None
        assert not any(each is stays for each in gc.get_objects()), "it is out of the collector's sight"
    gc.unfreeze()


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


def test_our_contestant_reads_prompt_pass_and_rounds_from_the_trace(fake_source: FakeSource) -> None:
    own_contestants = SourceContestant(
        "specviz", fake_source, RunRequest(prompt="", drafter=Choice("model", {"gamma": 1}))
    )
    measured = own_contestants.decode(PROMPTS[1], lambda: False)
    assert measured is not None
    assert (len(measured.output_ids), measured.counts.target_passes) == (8, 4)
    assert (measured.prefill_s, measured.engine_s) == (0.5, 4.0)
    assert (fake_source.requests[0].prompt, fake_source.requests[0].prompt_name) == ("b", "two")


def test_our_contestant_gives_nothing_when_cancelled(fake_source: FakeSource) -> None:
    own_contestants = SourceContestant("specviz", fake_source, RunRequest(prompt=""))
    assert own_contestants.decode(PROMPTS[0], lambda: True) is None
