"""llama.cpp as a yardstick: plain decoding of the same GGUF file there and here, on one thread and on two.

No contestant of equal numbers. llama.cpp multiplies the blocks of 4 or 8 bits as they lie in the file, while SpecViz
unpacks them when it loads: it reads two to eight times as many bytes in every pass, and the two round differently. What
the table shows is how far plain decoding is from what a program made for this file reaches on this machine.

Place in the flow: `specviz bench --llama-cpp FILE.gguf` runs it after the bench, in rows of its own. It needs the
package llama-cpp-python, which is imported where the first prompt is decoded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from specviz.bench.core.contest import Contestant, Measured
from specviz.bench.core.run import SourceContestant
from specviz.bench.speed.plan import YARDSTICK
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE
from specviz.theory.rows import RunCounts

THREADS = (1, 2)
CONTEXT = 1024
"""tokens that llama.cpp makes room for: any prompt of the bench and its continuation"""


@dataclass(frozen=True, slots=True)
class OnThreads:
    """One of our contestants with so many torch threads; whoever comes next finds as many as before."""

    name: str
    contestant: Contestant
    threads: int

    def decode(self, prompt: PromptCard, cancelled: Callable[[], bool], repeat: int = 0) -> Measured | None:
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            return self.contestant.decode(prompt, cancelled, repeat)
        finally:
            torch.set_num_threads(before)


@dataclass(slots=True)
class LlamaCpp:
    """Greedy decoding by llama.cpp, timed from token ids to token ids."""

    name: str
    path: Path
    threads: int
    max_new_tokens: int
    _model: Any = field(default=None, init=False)

    def decode(self, prompt: PromptCard, cancelled: Callable[[], bool], repeat: int = 0) -> Measured | None:
        """The file is read at the first call, which is the contest's warm-up. None where it was cancelled."""
        if self._model is None:
            from llama_cpp import Llama

            self._model = Llama(
                str(self.path), n_ctx=CONTEXT, n_threads=self.threads, n_threads_batch=self.threads, verbose=False
            )
        ids = self._model.tokenize(prompt.text.encode(), add_bos=False, special=True)
        output, first_at = list[int](), 0.0
        began = time.perf_counter()
        self._model.reset()
        for token in self._model.generate(ids, temp=0.0, repeat_penalty=1.0):
            first_at = first_at or time.perf_counter()
            output.append(int(token))
            if token == self._model.token_eos() or len(output) == self.max_new_tokens:
                break
            if cancelled():
                return None
        ended = time.perf_counter()
        counts = RunCounts(len(output), len(output))
        return Measured(output, ended - began, first_at - began, counts, prefill_tokens=1)


def contestants(source: TraceSource, template: RunRequest, path: Path) -> Sequence[Contestant]:
    """Plain decoding of the file here and there, on each number of threads; the first is the baseline."""
    request = RunRequest(
        "", str(path), max_new_tokens=template.max_new_tokens, record=False, dtype=template.dtype, device="cpu"
    ).with_drafter(BASELINE)  # fmt: skip
    own = SourceContestant(YARDSTICK, source, request)
    names = [(threads, f"{threads} thread{'s' * (threads > 1)}") for threads in THREADS]
    return [
        *(OnThreads(f"{YARDSTICK}, {words}", own, threads) for threads, words in names),
        *(LlamaCpp(f"llama.cpp, {words}", path, threads, template.max_new_tokens) for threads, words in names),
    ]
