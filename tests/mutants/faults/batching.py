"""Faults of batches: who sees whom, who is answered with what, who leaves."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

PASSES = "tests/lm/test_llama_batch.py"
TEXTS = "tests/batch/test_together.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "batch: the mask does not end where the text does",
        "specviz/lm/llama_batch.py",
        "visible[lane, 0, :rows, : one.stop] = seen",
        "visible[lane, 0, :rows] = True",
        (PASSES,),
    ),
    Fault(
        "batch: who moves into a free lane leaves its rows behind",
        "specviz/lm/llama_batch.py",
        "self.storage[:, own.lane, :, : last.length] = self.storage[:, last.lane, :, : last.length]",
        "pass",
        (PASSES, TEXTS),
    ),
    Fault(
        "batch: a masked row may be anything, NaN too",
        "specviz/lm/llama_batch.py",
        "self.storage = torch.zeros(size,",
        "self.storage = torch.full(size, float('nan'),",
        (PASSES,),
    ),
    Fault(
        "batch: the target reads before all drafts are made",
        "specviz/batch/together.py",
        "turn = min(one.run.asked.turn for one in waiting)",
        "turn = max(one.run.asked.turn for one in waiting)",
        (TEXTS,),
    ),
    Fault(
        "batch: who is over still stands in it",
        "specviz/batch/together.py",
        "                one.leave()\n",
        "",
        (TEXTS,),
    ),
    Fault(
        "batch: every text draws with the first one's seed",
        "specviz/bench/batch/run.py",
        "SeededRandom(plan.seed + number)",
        "SeededRandom(plan.seed)",
        ("tests/bench/batch/test_batch.py",),
    ),
)
