"""Ten thousand damaged files, forms and options through every door: `python -m tests.fuzz`.

Each mutation has a number; `--only NUMBER` hands it in again through its doors and shows where it came out.
"""

import argparse
import logging
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.doors import FaultError, Kind, World, kinds, through
from tests.fuzz.events import everything


def mutation(number: int, seed: int, all_kinds: dict[str, Kind]) -> tuple[str, Kind, bytes]:
    """The number decides everything."""
    rng = random.Random(f"{seed} {number}")
    name = rng.choices(list(all_kinds), [kind.share for kind in all_kinds.values()])[0]
    kind = all_kinds[name]
    return name, kind, rng.choice(list(kind.mutators))(rng)


def outcomes(
    numbers: Iterator[int] | range, seed: int, world: World
) -> Iterator[tuple[int, str, str, str | FaultError]]:
    """(number, kind, door, what happened) of every mutation, at the first door of its kind and at one of the others."""
    all_kinds = kinds(world)
    for number in numbers:
        name, kind, content = mutation(number, seed, all_kinds)
        first, *others = kind.doors
        for door in [first, *random.Random(number).sample(others, min(1, len(others)))]:
            try:
                yield number, name, door, through(world, kind, kind.doors[door], content)
            except FaultError as fault:
                yield number, name, door, fault


def through_events(times: int, seed: int) -> int:
    """Every fault of what is posted to the page's events."""
    logging.getLogger("specviz").propagate = False
    posted = faults = 0
    with tempfile.TemporaryDirectory(prefix="specviz-fuzz-") as folder:
        for event, wrong in everything(Path(folder), times, seed):
            posted += 1
            if wrong:
                faults += 1
                print(f"{event}\n    {wrong}", flush=True)
    print(f"{posted} posted, {faults} faults")
    return 1 if faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--count", type=int, default=10_000, metavar="N", help="mutations (default %(default)s)")
    parser.add_argument("--seed", type=int, default=7, metavar="S", help="of all of them (default %(default)s)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this mutation alone, with its traceback")
    parser.add_argument("--events", type=int, metavar="N", help="post N times to every event of the page instead")
    args = parser.parse_args()
    # the page logs what it hides; here it is found by its sentence
    logging.getLogger("specviz").setLevel(logging.CRITICAL if not args.events else logging.WARNING)
    if args.events:
        return through_events(args.events, args.seed)
    numbers = range(args.count) if args.only is None else range(args.only, args.only + 1)
    counts: Counter[tuple[str, str, str]] = Counter()
    faults: Counter[str] = Counter()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="specviz-fuzz-") as folder:
        for number, kind, door, outcome in outcomes(numbers, args.seed, World(Path(folder))):
            said = outcome if isinstance(outcome, str) else "fault"
            counts[kind, door, said] += 1
            if isinstance(outcome, FaultError):
                faults[str(outcome)[:120]] += 1
                if faults[str(outcome)[:120]] <= 2 or args.only is not None:
                    print(f"{number}: {kind}, {door}: {outcome}", flush=True)
                if args.only is not None:
                    traceback.print_exception(outcome)
            if number and number % 500 == 0 and door == next(iter(counts))[1]:
                print(f"… {number} after {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    print("| handed in | door | taken | refused in a sentence | faults |\n|---|---|---:|---:|---:|")
    for kind, door in dict.fromkeys((kind, door) for kind, door, _ in sorted(counts)):
        numbers_of = [str(counts[kind, door, one]) for one in ("taken", "refused", "fault")]
        print(f"| {kind} | {door} | {' | '.join(numbers_of)} |")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
