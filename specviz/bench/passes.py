"""How near the engine's passes are to what the machine can do: memory beneath them, rounds around them.

    weights' bytes ÷ read rate ─► t(1) ─► t(2) … t(16) ─► a drafter's step alone, and in a round ─► a recorded run

Everything is timed in turn in one process. Of passes, on the clock of their thread where there is one, the fastest
repeat counts: other programs only add time. Of rounds medians do, for what they find in the processor's cache varies.
Place in the flow: `specviz bench passes` asks, and prints the two tables.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import torch
from torch import Tensor

from specviz.bench.core.passes import pass_clock
from specviz.bench.core.report import markdown_table
from specviz.bench.core.run import Collected, collect
from specviz.core.clock import seconds_of
from specviz.errors import BenchError
from specviz.lm.base import LanguageModel
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.load import LoadedModel
from specviz.lm.pages import LargePages
from specviz.lm.step_time import CACHED_ROWS, Clock, chain_s, filled_cache, pass_s, written_s
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.trace.events import Pass, Round

ROWS = (1, 2, 5, 8, 16)
"""what speculation asks for: one row, and γ + 1 for usual γ"""
ROUND_COLUMNS = (
    "format",
    "temperature",
    "drafting ÷ its steps alone",
    "÷ its steps after a target's pass",
    "tracing",
    "formed later",
)
RUNS = 24
"""each behind the one before with its passes alone; of a round the median counts"""
COLUMNS = 4096
READ_BYTES = 4
"""of a number in the memory that is read: torch adds up float32 faster than shorter formats"""


@dataclass(frozen=True, slots=True)
class PassTable:
    """One model in one format: seconds of the fastest repeat."""

    model: str
    dtype: str
    weight_bytes: int
    """that one pass reads"""
    reading_s: float
    """of reading as much memory"""
    pass_s: dict[int, float]
    """by rows"""

    @property
    def bytes_ratio(self) -> float:
        """t(1) over what reading the weights takes."""
        return self.pass_s[1] / self.reading_s


def time_passes(loaded: LoadedModel, repeats: int, rows: Sequence[int] = ROWS) -> PassTable:
    """Reading and passes in turn. Raises BenchError where nobody knows what a pass reads."""
    model = loaded.model
    if not model.info.read_per_pass or 1 not in rows:
        raise BenchError(f"what a pass of {model.info.name} reads is not known; choose a model of another adapter.")
    weight_bytes = model.info.read_per_pass * _number_bytes(model)
    memory = LargePages(SOURCE).joined([torch.ones(1, weight_bytes // READ_BYTES, device=model.device)])[0]
    clock, _ = pass_clock(model.device)
    cache = filled_cache(model, min(CACHED_ROWS, model.info.context_length // 2))
    timed: dict[int, list[float]] = {n: [] for n in (0, *rows)}
    for repeat in range(repeats + 1):  # the first one sets up kernels and buffers
        for n in in_another_order(rows, repeat):
            took = _reading_s(memory, clock, repeat) if n == 0 else pass_s(model, cache, n, clock)
            timed[n] += [took] if repeat else []
    fastest = {n: min(seconds) for n, seconds in timed.items()}
    return PassTable(model.info.name, model.info.dtype, weight_bytes, fastest.pop(0), fastest)


def in_another_order(rows: Sequence[int], repeat: int) -> list[int]:
    """Passes over these rows and, as 0, reading. What was read just before is still in the processor's caches, so no
    pass always follows the same one, and reading always follows a pass, which read something else."""
    draws = random.Random(repeat)
    order = draws.sample(rows, len(rows))
    order.insert(1 + draws.randrange(len(rows)), 0)
    return order


def _number_bytes(model: LanguageModel) -> int:
    """Of a weight, as a pass over a few rows reads it."""
    dtype: torch.dtype = getattr(torch, model.info.read_dtype or model.info.dtype)
    return dtype.itemsize


@torch.inference_mode()
def _reading_s(memory: Tensor, clock: Clock, repeat: int) -> float:
    """Seconds of reading `memory` once, in turn as a sum and as a product with a vector: once, for what was read a
    moment ago is partly in the processor's caches."""
    matrix = memory[: len(memory) // COLUMNS * COLUMNS].view(-1, COLUMNS)
    vector = torch.ones(COLUMNS, device=memory.device)
    read = memory.sum if repeat % 2 else lambda: torch.mv(matrix, vector)
    return seconds_of(read, memory.device, clock)


@dataclass(frozen=True, slots=True)
class RoundTable:
    """Runs with a drafter model at one temperature."""

    dtype: str
    temperature: float
    step_ratio: float
    """what rounds spend on drafting over the same steps alone in a loop, which finds its weights in the cache"""
    after_target_ratio: float
    """the same over those steps each time right after a target's pass, which leaves the cache as a round does"""
    tracing: float
    """seconds of writing the trace over all others of the run"""
    forming: float
    """seconds of forming the nodes and vocabulary that writing left to the first reader, over the same"""


class Passes:
    """The passes of a run's rounds with nothing around them, in their order: as many rows over as many cached ones.

    One cache for each model, as a run has: what a processor still holds depends on what was read several rounds ago."""

    def __init__(self, target: LanguageModel, drafter: LanguageModel, rounds: Sequence[Round]) -> None:
        self._target, self._drafter = target, drafter
        rows = max(this.scored.target_pass.cached_rows + this.scored.target_pass.rows for this in rounds)
        self._judged, self._drafted = filled_cache(target, rows), filled_cache(drafter, rows)

    def steps_s(self, rounds: Sequence[Round], judged: bool) -> list[float]:
        """Seconds of each round's drafter steps, 0 without any; behind the target's pass of the round before, or in a
        loop without it."""
        return [self._round_s(this.drafted.passes, this.scored.target_pass if judged else None) for this in rounds]

    def _round_s(self, steps: Sequence[Pass], judging: Pass | None) -> float:
        """As in the round, rows follow one another; of a step the last is read out, of the target's pass all are."""
        seconds = self._drafted_s(steps) if steps else 0.0
        if judging:
            self._judged.truncate(judging.cached_rows)
            chain_s(self._target, self._judged, judging.rows)
        return seconds

    def _drafted_s(self, steps: Sequence[Pass]) -> float:
        """By one call where the round made one: what Python does around a pass would else count for each of them."""
        model, rows, counts = self._drafter, self._drafted, [step.rows for step in steps]
        rows.truncate(steps[0].cached_rows)
        written = written_s(model, rows, counts)
        return written[0] if written else sum(chain_s(model, rows, n, last_only=True) for n in counts)


def time_rounds(
    source: TraceSource,
    request: RunRequest,
    target: LanguageModel,
    drafter: LanguageModel,
    temperatures: Sequence[float],
    runs: int = RUNS,
) -> Iterator[RoundTable]:
    """`runs` runs per temperature, in turns with their passes alone. Raises BenchError where nothing was drafted."""
    for temperature in temperatures:
        asked = replace(request, temperature=temperature)
        first = _collected(source, asked)
        passes = Passes(target, drafter, first.rounds)
        _forming_s(first)  # a token's entry is formed once for a tokenizer, however many runs mention it
        took, shares = list[list[tuple[float, float, float]]](), list[tuple[float, float]]()
        for _ in range(runs):
            run = _collected(source, asked)
            traced, forming_s = run.finished, _forming_s(run)
            untraced_s = traced.prefill_s + traced.decode_s
            shares.append((traced.record_s / untraced_s, forming_s / untraced_s))
            after = passes.steps_s(run.rounds, judged=True)  # the run has left the processor's cache as its rounds do
            alone = [passes.steps_s(run.rounds, judged=False) for _ in range(2)][1]  # and a loop leaves it as loops do
            took.append(list(zip([this.drafted.seconds for this in run.rounds], alone, after, strict=True)))
        rounds = [[median(seconds) for seconds in zip(*each, strict=True)] for each in zip(*took, strict=True)]
        if not (counted := [seconds for seconds in rounds[1:] if seconds[1]]):
            raise BenchError(f"no round of the run at temperature {temperature:g} drafted; take another drafter.")
        drafted_s, alone_s, after_s = (sum(seconds) for seconds in zip(*counted, strict=True))
        tracing, forming = (median(share) for share in zip(*shares, strict=True))
        dtype = run.started.machine.dtype
        yield RoundTable(dtype, temperature, drafted_s / alone_s, drafted_s / after_s, tracing, forming)


def _forming_s(run: Collected) -> float:
    """Of all nodes and entries of a run that nobody has looked at."""
    began = time.perf_counter()
    for step in run.steps:
        assert not isinstance(step.event, Round) or step.event.nodes, "a round has its root at least."
        dict(step.vocab)
    return time.perf_counter() - began


def _collected(source: TraceSource, request: RunRequest) -> Collected:
    run = collect(source, request)
    if run is None:
        raise BenchError("the run was cancelled; let it end.")
    return run


def tables(passes: Sequence[PassTable], rounds: Sequence[RoundTable]) -> str:
    """Markdown."""
    counts = sorted({n for table in passes for n in table.pass_s})
    head = ["model", "format", "MB", "GB/s", "reading, ms", "t(1), ms", "t(1) ÷ reading"]
    head += [f"t({n}) ÷ t(1)" for n in counts if n > 1]
    body = [_line(table, [n for n in counts if n > 1]) for table in passes]
    around = [[row.dtype, f"{row.temperature:g}", *_shares(row)] for row in rounds]
    shown = [markdown_table(head, body, words=2)]
    if around:
        shown.append(markdown_table(ROUND_COLUMNS, around))
    return "\n\n".join(shown)


def _shares(row: RoundTable) -> list[str]:
    return [f"{row.step_ratio:.2f}", f"{row.after_target_ratio:.2f}", f"{row.tracing:.1%}", f"{row.forming:.1%}"]


def _line(table: PassTable, rows: Sequence[int]) -> list[str]:
    rate, reading, first = table.weight_bytes / table.reading_s / 1e9, table.reading_s * 1e3, table.pass_s[1]
    line = [table.model, table.dtype, f"{table.weight_bytes / 1e6:.1f}", f"{rate:.1f}", f"{reading:.2f}"]
    line += [f"{first * 1e3:.2f}", f"{table.bytes_ratio:.2f}"]
    return line + [f"{table.pass_s[n] / first:.2f}" for n in rows]
