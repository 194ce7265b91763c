"""The table of two kinds of machine in `docs/bench_sweep.md`."""

from collections.abc import Sequence

from specviz.app.runs.gallery import recorded
from specviz.bench.core.report import markdown_table
from specviz.resources import ROOT
from specviz.theory.machines import MachineSweep, beside, kept, table, why

SECTION = "machines"


def sweeps() -> Sequence[MachineSweep]:
    """The shipped sweep's machine first."""
    sweep = recorded(ROOT / "sweeps")
    return beside(sweep.result, kept())


def section() -> str:
    """Markdown: a column for each machine, and which commit the kept ones are of."""
    there = sweeps()
    machine = there[0].machine
    commits = [f"{sweep.machine.processor}: commit {sweep.commit}" for sweep in there if sweep.commit]
    threads = f"{machine.threads} thread{'s' * (machine.threads != 1)}"
    note = f"Speedup over plain decoding [95 % interval], {threads}, {machine.dtype}"
    return f"{markdown_table(*table(there), words=2)}\n\n{'; '.join([note, *commits])}. {why(there)}".rstrip()
