"""Plants one fault after the other into a copy of the tree and asks the tests that should see it.

    python -m tests.mutants                 all of them; exit status 1 where one is not found
    python -m tests.mutants nucleus kseq    those whose name or file contains one of these words
    python -m tests.mutants --list          what there is, without running anything

The tests of a fault must pass on the copy without it, or its death would say nothing. Tests that give no answer in
time have not found a fault, unless it is declared to hang: a machine may only be slow. Every run is a process of its
own, forked from one that has imported torch already.
"""

import argparse
import io
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path

from tests.mutants.faults import FAULTS
from tests.mutants.faults.fault import Fault

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 180.0
PASSED, FAILED, SILENT, ELSEWHERE, CRASHED = 0, 1, 97, 98, 99
"""the first two are what pytest returns; the last two are mistakes in the list of faults, or of this module"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only faults whose name or file contains one of these")
    parser.add_argument("--list", action="store_true", help="print the faults and leave")
    args = parser.parse_args()
    chosen = [one for one in FAULTS if not args.words or any(word in f"{one.name} {one.file}" for word in args.words)]
    if args.list:
        for one in chosen:
            say(f"{one.file}: {one.name}")
        return 0
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "transformers", "pytest"])
    with tempfile.TemporaryDirectory(prefix="specviz-mutants-") as folder:
        return plant(chosen, copied(Path(folder)), context)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def copied(folder: Path) -> Path:
    """The files that git knows of or would add, in `folder`."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def plant(chosen: Sequence[Fault], copy: Path, context: BaseContext, limit_s: float = LIMIT_S) -> int:
    """Print a line per fault; 0 where each was found."""
    began = time.perf_counter()
    tests = list(dict.fromkeys(test for fault in chosen for test in fault.tests))
    status, said = tested(context, copy, tests, None)
    if status != PASSED:
        say(f"the tests do not pass without any fault (pytest returned {status}):\n{said}")
        return 2
    say(f"{len(tests)} selections of tests pass without a fault, {time.perf_counter() - began:.0f} s")
    lists: dict[str, list[str]] = {}
    for fault in chosen:
        status, said = with_fault(context, copy, fault, limit_s)
        outcome = outcome_of(status, fault.hangs)
        say(f"{outcome:>10}  {fault.file}: {fault.name}")
        lists.setdefault(outcome, []).append(f"{outcome}: {fault.name}:\n{said}")
    for line in lists.get("NO ANSWER", []) + lists.get("NOT TESTED", []):
        say(line)
    killed, survived, silent = (len(lists.get(outcome, [])) for outcome in ("killed", "SURVIVED", "NO ANSWER"))
    say(
        f"{killed} of {len(chosen)} killed, {survived} survived, {silent} without an answer,"
        f" {time.perf_counter() - began:.0f} s"
    )
    return int(killed < len(chosen))


def outcome_of(status: int, hangs: bool) -> str:
    """What a status says of a fault, which may be declared to hang."""
    if status == FAILED or (status == SILENT and hangs):
        return "killed"
    return {PASSED: "SURVIVED", SILENT: "NO ANSWER"}.get(status, "NOT TESTED")


def with_fault(context: BaseContext, copy: Path, fault: Fault, limit_s: float) -> tuple[int, str]:
    """Plant a fault, run its tests, take it out again."""
    path = copy / fault.file
    before = path.read_text(encoding="utf-8")
    path.write_text(fault.planted(before), encoding="utf-8")
    try:
        return tested(context, copy, fault.tests, limit_s)
    finally:
        path.write_text(before, encoding="utf-8")


def tested(context: BaseContext, copy: Path, tests: Sequence[str], limit_s: float | None) -> tuple[int, str]:
    """What pytest returns for these selections in a process of its own, and what it said; SILENT after a limit."""
    here, there = context.Pipe()
    process = context.Process(target=run_pytest, args=(str(copy), tuple(tests), there))
    process.start()
    there.close()
    status, said = SILENT, f"no answer within {limit_s} s"
    if here.poll(limit_s):
        try:
            status, said = here.recv()
        except EOFError:
            status, said = CRASHED, "its process crashed"
    process.terminate()
    process.join()
    return status, said


def run_pytest(copy: str, tests: tuple[str, ...], answer: Connection) -> None:
    """In the new process: import SpecViz from the copy and from nowhere else."""
    import os

    sys.dont_write_bytecode = True  # a fault may leave a file's size and second as they were
    os.chdir(copy)
    sys.path[:] = [copy, *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT)]
    os.environ["PYTHONPATH"] = copy
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # plug-ins of other packages were imported with torch
    import pytest

    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        status = int(pytest.main(["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", *tests]))
        import specviz

    if not str(specviz.__file__).startswith(copy):
        status, said = ELSEWHERE, io.StringIO(f"SpecViz came from {specviz.__file__}, not from the copy")
    answer.send((status, said.getvalue()[-3000:]))
