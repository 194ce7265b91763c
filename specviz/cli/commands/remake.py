"""`specviz remake`: make everything anew that rests on the bundled weights or a real model's, in order, as far as it is
outdated.

Place in the flow: after new weights are in assets/models. Each step is a command of its own, run in a process of its
own; what it made is asked which weights it was made with, before and after.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from specviz.cli.experiment import at_least_one
from specviz.cli.named_weights import bundled, fetched
from specviz.cli.remake import REAL_WEIGHTS, Step, reasons, steps
from specviz.cli.terminal import err, out
from specviz.errors import OptionError
from specviz.resources import INSTALLED, ROOT

BY_HAND = (
    "Afterwards `make generate`; and by hand, because sentences rest on the numbers: README.md and docs/training.md "
    "around their tables."
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--list", action="store_true", help="show each step with its command, its outputs and whether it is outdated")
    add("--only", nargs="+", action="extend", default=[], metavar="STEP", help="these steps alone")
    add("--from", dest="first", metavar="STEP", help="this step and those after it")
    add("--force", action="store_true", help="run steps that are not outdated too")
    add(
        "--at-once",
        type=int,
        default=1,
        metavar="N",
        help="how many of the steps that train on one thread run at the same time; measuring steps run alone "
        "(default %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    if INSTALLED:
        raise OptionError("remake writes assets and documentation, so it works in a clone of the repository alone.")
    at_least_one(args, ("at_once",))
    root = ROOT.parent
    wanted = chosen(steps(), args.only, args.first)
    weights = bundled(ROOT / "models") | fetched()
    if args.list:
        show(wanted, root, weights)
        return 0
    return remake(wanted, root, weights, args.force, args.at_once)


def chosen(known: Sequence[Step], only: Sequence[str], first: str | None) -> list[Step]:
    """The steps that are asked for, in their order. Raises OptionError for a name that none has."""
    names = [step.name for step in known]
    now = {old: step.name for step in known for old in step.formerly}
    only, first = [now.get(name, name) for name in only], now.get(first, first) if first else None
    unknown = [name for name in (*only, *([first] if first else [])) if name not in names]
    if unknown:
        raise OptionError(f"there is no step '{unknown[0]}'; known: {', '.join(names)}.")
    later = known[names.index(first) :] if first else known
    return [step for step in later if not only or step.name in only]


def show(wanted: Sequence[Step], root: Path, weights: Mapping[str, str]) -> None:
    """Each step: current, outdated and why, or impossible here and why."""
    left = 0.0
    for step in wanted:
        why, cannot = reasons(step, root, weights), step.impossible()
        state = "current" if not why else f"not here: {cannot}" if cannot else "outdated"
        left += step.minutes if why and not cannot else 0.0
        out().line(f"{step.name:<18} {state}, about {step.minutes:g} min: {step.makes}")
        out().line(f"{'':<18} $ {step}")
        out().line(f"{'':<18} → {', '.join(map(str, step.outputs))}")
        for sentence in why:
            out().line(f"{'':<18} {sentence}")
    out().line(f"outdated steps take about {left:g} minutes on two idle cores. {BY_HAND}")


def remake(wanted: Sequence[Step], root: Path, weights: Mapping[str, str], force: bool, at_once: int = 1) -> int:
    """Runs what is outdated; 1 where a step fails or leaves its outputs outdated: those that run with it end, no other
    begins."""
    going_on = True

    def made(step: Step) -> None:
        nonlocal going_on
        if going_on and not _is_made(step, root, weights, force):
            going_on = False

    for several in neighbours(wanted):
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(made, several))
    if going_on:
        err().line(BY_HAND)
    return 0 if going_on else 1


def neighbours(wanted: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps that follow each other and may run at the same time; every other one by itself."""
    for shares, found in groupby(wanted, key=lambda one: one.shares):
        several = list(found)
        yield from [several] if shares else ([one] for one in several)


def _is_made(step: Step, root: Path, weights: Mapping[str, str], force: bool) -> bool:
    """Runs a step where there is a reason; whether nothing of it is outdated then."""
    why, cannot = reasons(step, root, weights), step.impossible()
    if cannot:
        err().line(f"{step.name}: left out, because {cannot}.")
        return True
    if not why and not force:
        err().line(f"{step.name}: current.")
        return True
    err().line(f"{step.name}: {step} (about {step.minutes:g} min)…")
    began = time.monotonic()
    from specviz.lm.place import AUTO  # brings torch

    # What is made with our own models does not depend on what `auto` would take here.
    environment = os.environ | ({} if step.rests_on == REAL_WEIGHTS else {AUTO: "float32"})
    code = subprocess.run([sys.executable, "-m", *step.command], cwd=root, env=environment, check=False).returncode
    still = reasons(step, root, weights) if code == 0 else []
    if code or still:
        said = f"ended with exit code {code}" if code else f"ran, but {'; '.join(still)}"
        err().line(f"specviz: step '{step.name}' {said}. Mend it, then `specviz remake --from {step.name}` goes on.")
        return False
    err().line(f"{step.name}: done after {(time.monotonic() - began) / 60:.1f} min.")
    return True
