"""Two processes that draft and verify at the same time, outside the engine: the target here, the drafter in a child.

A run of the engine does the same with the drafters `amusd` and `pearl`, and writes a trace; this is for measuring one
text after another with one child.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specviz.asynchronous.board import Size
from specviz.asynchronous.machines import Machine, Reach, Verify, after, judged, pearl, verifier
from specviz.asynchronous.process import DraftingProcess
from specviz.asynchronous.reader import Draws, Speaker
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.lm.base import LanguageModel
from specviz.lm.place import Origin
from specviz.protocol.lanes import TARGET, Lanes, Span

Ends = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class Job:
    """One text."""

    method: str
    prompt: tuple[int, ...]
    length: int
    """of the text, prompt included, at most"""
    sampling: Sampling
    seed: int
    ahead: int = 8
    """tokens an asynchronous drafter may be ahead"""
    widest: int = 7
    """tokens a verification takes at most"""
    gamma: int = 4
    """tokens PEARL drafts a round"""


class AsyncPair:
    """The target in this process and a drafter in another; texts one after the other. Use as a context manager."""

    def __init__(self, target: LanguageModel, drafting: Origin, slowdown_s: float = 0.0) -> None:
        """`slowdown_s`: so much longer does each drafter pass take, to show where asynchrony pays.

        Raises ModelError where the child cannot load its model."""
        self.target = target
        self.child = DraftingProcess(drafting, slowdown_s=slowdown_s)

    def __enter__(self) -> AsyncPair:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        self.child.close()

    def amusd(self, job: Job, ends: Ends) -> Lanes:
        """AMUSD on two processes. The text is the target's own, whatever becomes of the child."""
        return self._decode(
            job, ends, lambda reach, alive: verifier(self.child.board, reach, job.ahead, job.widest, ends, alive)
        )

    def pearl(self, job: Job, ends: Ends) -> Lanes:
        """PEARL on two processes: drafts of γ."""
        return self._decode(job, ends, lambda reach, alive: pearl(self.child.board, reach, job.gamma, ends, alive))

    def _decode(self, job: Job, ends: Ends, make: Callable[[Reach, Callable[[], bool]], Machine]) -> Lanes:
        """Raises ModelError where the child had ended before."""
        child, spans = self.child, list[Span]()
        draws = Draws(job.sampling, SeededRandom(job.seed))
        speaker = Speaker(self.target, draws)
        child.begin(job.prompt, Size(job.length + job.ahead + job.gamma + 1))
        try:
            speaker.answers(job.prompt, [])
            machine = make(Reach.of(job.length), lambda: child.is_drafting)
            child.go(draws)
            child.clock.run(0.0)
            want, answer = after(machine, None), list[int]()
            while want is not None:
                child.tell()
                if isinstance(want, Verify):
                    start = child.clock.now()
                    answer = speaker.answers(want.text, want.tail)
                    spans.append(_verified(want, answer, ends, start, child.clock.now()))
                else:
                    child.wait()
                want = after(machine, answer if isinstance(want, Verify) else None)
            seconds = child.clock.now()
            text = child.board.verified(0, child.board.verified_length())
        finally:
            spans += child.leave()
        return Lanes(job.method, text, seconds, spans)


def _verified(want: Verify, said: Sequence[int], ends: Ends, start_s: float, end_s: float) -> Span:
    accepted, new = judged(want.tail, said, ends)
    return Span(TARGET, "verify", start_s, end_s, len(want.tail), len(new), min(accepted, len(new)))
