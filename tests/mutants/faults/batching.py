"""Faults of batches and of drafting beside the target: who sees whom, who is answered with what, who leaves."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

PASSES = "tests/lm/test_llama_batch.py"
TEXTS = "tests/batch/test_together.py"
BUDGET = "tests/batch/test_budget.py"
BESIDE = "tests/asynchronous/test_simulation.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "batch: the mask does not end where the text does",
        "specviz/lm/llama/batch.py",
        "visible[lane, 0, :rows, : placement.stop] = placement.mask()",
        "visible[lane, 0, :rows] = True",
        (PASSES,),
    ),
    Fault(
        "batch: who moves into a free lane leaves its rows behind",
        "specviz/lm/llama/batch.py",
        "self.storage[:, :, own.lane, : last.length] = self.storage[:, :, last.lane, : last.length]",
        "pass",
        (PASSES, TEXTS),
    ),
    Fault(
        "batch: a masked row may be anything, NaN too",
        "specviz/lm/llama/batch.py",
        "return Storage(torch.zeros(size,",
        "return Storage(torch.full(size, float('nan'),",
        (PASSES,),
    ),
    Fault(
        "batch: the target reads before all drafts are made",
        "specviz/batch/together.py",
        "turn = min(member.run.asked.turn for member in waiting)",
        "turn = max(member.run.asked.turn for member in waiting)",
        (TEXTS,),
    ),
    Fault(
        "batch: who is over still stands in it",
        "specviz/batch/together.py",
        "                member.leave()\n",
        "",
        (TEXTS,),
    ),
    Fault(
        "budget: the queue is left where it loses first",
        "specviz/batch/budget.py",
        "int(seconds.argmin())",
        "int((np.diff(seconds, append=np.inf) >= 0.0).argmax())",
        (BUDGET,),
    ),
    Fault(
        "budget: a pass of the drafter that was made is paid again",
        "specviz/batch/budget.py",
        "np.where(level, 1.0, first)",
        "np.ones(len(queue))",
        (BUDGET,),
    ),
    Fault(
        "budget: what the drafter missed is read for nothing",
        "specviz/batch/budget.py",
        "1.0 + (self._unread - 1) / rounds",
        "1.0",
        (BUDGET,),
    ),
    Fault(
        "budget: a token is worth as much to whoever is ahead",
        "specviz/batch/budget.py",
        "chances * worth(left, paces)[asks]",
        "chances",
        (BUDGET,),
    ),
    Fault(
        "budget: what a round has granted takes no row",
        "specviz/batch/budget.py",
        "self.settled.rows += 1",
        "pass",
        (BUDGET,),
    ),
    Fault(
        "batch: every text draws with the first one's seed",
        "specviz/studies/batches/measure.py",
        "SeededRandom(plan.seed + number)",
        "SeededRandom(plan.seed)",
        ("tests/studies/test_batches_measured.py",),
    ),
    Fault(
        "batch: a round that drafts nothing is a draft",
        "specviz/batch/together.py",
        "written.drafts += bool(candidates)",
        "written.drafts += 1",
        (TEXTS,),
    ),
    Fault(
        "batch: a round in which all nodes ride along is a draft",
        "specviz/batch/together.py",
        "written.drafts += bool(candidates)",
        "written.drafts += bool(record.proposal.tree.drafted)",
        (TEXTS,),
    ),
    Fault(
        "batch: what rode along counts as accepted",
        "specviz/batch/together.py",
        "len(candidates.intersection(record.verdict.path))",
        "len(record.verdict.path)",
        (TEXTS,),
    ),
    Fault(
        "batch: what was drafted counts as accepted",
        "specviz/batch/together.py",
        "len(candidates.intersection(record.verdict.path))",
        "len(candidates)",
        (TEXTS,),
    ),
    Fault(
        "amusd: a drafter may be as far ahead as the text is long",
        "specviz/asynchronous/machines.py",
        "min(len(text) + ahead, reach.draft)",
        "reach.draft",
        (BESIDE,),
    ),
    Fault(
        "amusd: the text's last token is drafted",
        "specviz/asynchronous/machines.py",
        "min(len(text) + ahead, reach.draft)",
        "len(text) + ahead",
        (BESIDE,),
    ),
    Fault(
        "amusd: a draft of another text is verified",
        "specviz/asynchronous/machines.py",
        " or board.draft(0, len(text)) != list(text):",
        ":",
        (BESIDE,),
    ),
    Fault(
        "amusd: of a draft only the last token before its tail is compared",
        "specviz/asynchronous/machines.py",
        "board.draft(0, len(text)) != list(text)",
        "board.draft(len(text) - 1, len(text)) != list(text)[-1:]",
        (BESIDE,),
    ),
    Fault(
        "amusd: a wholly right draft is taken back",
        "specviz/asynchronous/machines.py",
        "if accepted < len(tail):",
        "if accepted <= len(tail):",
        (BESIDE,),
    ),
    Fault(
        "amusd: all of a draft is thrown away that differs at its end",
        "specviz/asynchronous/machines.py",
        "dropped = len(draft) - same",
        "dropped = len(draft)",
        (BESIDE,),
    ),
)
