"""How many drafts K-SEQ accepts per round, where those that share the accepted token go on and where they do not.

Both ways run the same prompts with the same seeds, so the difference is the rule's. Knows nothing about models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from specviz.errors import BenchError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.trace.events import Finished, Round


@dataclass(frozen=True, slots=True)
class Accepted:
    """One way over all prompts and seeds."""

    survivors: bool
    rounds: int
    per_round: Estimate
    """accepted candidates per round, the round's last token not counted"""


def request(drafts: int, levels: int, temperature: float, max_new_tokens: int) -> RunRequest:
    """`drafts` independent chains of `levels` tokens; prompt and seed are filled in per run."""
    return RunRequest(
        prompt="",
        drafter="model",
        drafter_options={"branching": [drafts, *[1] * (levels - 1)], "draw": "iid"},
        verifier="kseq",
        temperature=temperature,
        max_new_tokens=max_new_tokens,
        record=False,
    )


def measure(
    source: TraceSource,
    asked: RunRequest,
    prompts: Sequence[PromptCard],
    seeds: Sequence[int],
    done: Callable[[], None] = lambda: None,
) -> list[Accepted]:
    """With survivors, then without. Raises BenchError where a run fails."""
    found = []
    for survivors in (True, False):
        rounds, parts = 0, []
        for prompt in prompts:
            counts = []
            for seed in seeds:
                options = {"survivors": survivors}
                counts += _accepted(source, replace(asked, prompt=prompt.text, seed=seed, verifier_options=options))
                done()
            parts.append((float(sum(counts)), float(len(counts))))
            rounds += len(counts)
        per_round = ratio_of_sums(parts)
        if per_round is None:
            raise BenchError("no round was run; give prompts that leave room for an answer.")
        found.append(Accepted(survivors, rounds, per_round))
    return found


def _accepted(source: TraceSource, asked: RunRequest) -> list[int]:
    """Accepted candidates of each round."""
    counts = []
    for step in source.run(asked, lambda: False):
        if isinstance(step.event, Round):
            counts.append(len(step.event.judged.path))
        elif isinstance(step.event, Finished) and step.event.reason == "failed":
            raise BenchError(f"a run of 'kseq' failed: {step.event.message}")
    return counts
