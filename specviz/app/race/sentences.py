"""What is said about a race: how fast, whether the outputs agree and why they may not, where and how it was run.

Sentences from headers and outputs alone; texts are untrusted and are escaped where they are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specviz.trace.events import Trace
from specviz.trace.header import MethodCard, Started, in_role


def verdict(baseline: bool, ratio: float | None, spread: tuple[float, float] | None, repeats: int) -> str:
    """How fast, in words; a slower one is called slower."""
    if baseline:
        return "the baseline"
    if ratio is None:
        return "no ratio: these times are not measured"
    slower = ", slower" if ratio < 1 else ""
    over = f" ({repeats} repeats: {spread[0]:.2f} to {spread[1]:.2f})" if spread else ""
    return f"{ratio:.2f}× plain decoding, engine time{slower}{over}"


def formula(trace: Trace, plain: Trace) -> str:
    """The division behind the ratio: tokens per second of the two runs shown."""

    def rate(one: Trace) -> str:
        return f"{one.summary.num_output_tokens} tokens / {one.finished.decode_s:.4f} s"

    return f"({rate(trace)}) / ({rate(plain)}); decoding alone, the reading of the prompt not in it"


def output(trace: Trace, plain: Trace, differs_at: int | None) -> str:
    """Whether it wrote what plain decoding wrote; if not, from which token on and why that may be."""
    if differs_at is None:
        return f"same output, {len(plain.finished.output_ids)} tokens"
    return f"differs from plain decoding from token {differs_at + 1} on: {_why_different(trace, plain, differs_at)}"


def _why_different(trace: Trace, plain: Trace, differs_at: int) -> str:
    started = trace.started
    if found := lossy(started):
        return f"{found[0]} is lossy and may change the text."
    if started.sampling.temperature > 0:
        return (
            "texts are sampled, and drafts use random numbers in another way than plain decoding does; both follow the "
            "target's distribution."
        )
    if differs_at == min(len(trace.finished.output_ids), len(plain.finished.output_ids)):
        return "one of the two ended earlier, which should not happen with a lossless method; please report it."
    if started.machine.dtype != "float32":
        return (
            f"in {started.machine.dtype} a pass over several tokens rounds otherwise than one over a single token, and "
            "a near tie can fall the other way; float32 shows whether it is more than that."
        )
    return (
        "at temperature 0 in float32 only a tie within rounding excuses that; if it comes again, please report it with "
        "the prompt."
    )


def equality(tokens: int, drafters: Sequence[tuple[str, str, bool]]) -> str:
    """One sentence: `tokens` of plain decoding; of each drafter its label, its `output` and whether it agrees."""
    if not drafters:
        return "Plain decoding ran alone; there is nothing to compare."
    different = [f"{label} {said}" for label, said, same in drafters if not same]
    if not different:
        who = "Both outputs" if len(drafters) == 1 else f"All {len(drafters) + 1} outputs"
        return f"{who} are the same, token for token: {tokens} tokens."
    agree = len(drafters) - len(different)
    return f"{agree} of {len(drafters)} drafters gave plain decoding's output. {' '.join(different)}"


def lossy(started: Started) -> list[str]:
    """Its methods that may change the target's distribution."""
    return [card.name for card in _cards(started) if not card.lossless]


def _cards(started: Started) -> Iterator[MethodCard]:
    for card in (started.drafter, started.tree_policy, started.stop_policy, started.verifier):
        if card is not None:
            yield card


def methods(started: Started) -> list[str]:
    """Every method of a run with its options."""
    return [
        " ".join([card.name, *(f"{key}={value}" for key, value in card.options.items())]) for card in _cards(started)
    ]


def provenance(started: Started, repeats: int) -> str:
    """When, on which machine and with which settings; the same for every runner."""
    machine, sampling = started.machine, started.sampling
    threads = f"{machine.threads} thread{'' if machine.threads == 1 else 's'}"
    runs = f"median of {repeats} runs each" if repeats > 1 else "one run each"
    return " · ".join([
        started.created[:10],
        f"{machine.processor or machine.device}, {threads}, {machine.dtype}",
        in_role("target", started.target.name),
        f"prompt {started.prompt_name or 'of your own'}",
        f"temperature {sampling.temperature:g}, seed {started.seed}",
        runs,
    ])  # fmt: skip
