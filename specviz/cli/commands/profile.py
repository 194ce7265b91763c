"""`specviz profile`: measure how long a target pass over n rows takes on this machine, for the Machine page.

Place in the flow: flags → `TraceSource`'s models → `bench.profile` → the curve's file, and a table.
"""

from __future__ import annotations

import argparse
import re
import threading
from collections.abc import Sequence
from pathlib import Path

from specviz.bench.profile.measure import table
from specviz.cli.experiment import at_least_one, numbers
from specviz.cli.terminal import bar, err, out, printable, stop_on_interrupt
from specviz.errors import BenchError, OptionError
from specviz.protocol.profiles import HardwareCurve, ProfileRequest, dumps


def configure(parser: argparse.ArgumentParser) -> None:
    add, default = parser.add_argument, ProfileRequest()
    add("--target", default=default.target, metavar="NAME", help="bundled name, folder or hub id (default %(default)s)")
    add(
        "--shape",
        default="",
        metavar="S",
        help="135m, 0.5b, 1.5b, 7b, 14b or 32b: such a model with random weights instead",
    )
    add("--rows", default=_text(default.rows), metavar="N,N,…", help="widths of a pass (default %(default)s)")
    add("--contexts", default=_text(default.contexts), metavar="N,N,…", help="cached rows (default %(default)s)")
    add("--batch", default=_text(default.batches), metavar="N,N,…", help="sequences at once (default %(default)s)")
    add("--repeats", type=int, default=default.repeats, metavar="N", help="times of each (default %(default)s)")
    add("--bare", action="store_true", help="time passes of fixed sizes with nothing around them, not the engine's own")
    add("--threads", type=int, default=1, metavar="N", help="torch threads (default %(default)s)")
    add("--device", default=default.device, metavar="DEV", help="auto, cpu, cuda or mps")
    add("--dtype", default=default.dtype, metavar="D", help="auto, float32, bfloat16 or float16")
    add("--name", default="", metavar="TEXT", help="of the machine; without it, made from its processor")
    add("--out", type=Path, metavar="FILE", help="where to write the curve (default: a name made of machine and model)")
    add("--json", action="store_true", help="print the curve instead of a table")


def run(args: argparse.Namespace) -> int:
    request = read_request(args)
    if args.out is not None and not args.out.parent.is_dir():
        raise OptionError(f"the folder of '{args.out}' does not exist; make it first or choose another --out.")
    from specviz.lm.step_time import use_threads

    use_threads(args.threads)
    curve = measure(request)
    path = args.out or Path(f"{slug(curve.name)}--{slug(curve.model.name)}.json")
    text = dumps(curve)
    path.write_text(text, encoding="utf-8")
    out().write(text if args.json else printable(table(curve)))
    err().line(printable(f"{'wrote' if curve.complete else 'stopped early; wrote'} {path}", keep=""))
    return 0 if curve.complete else 1


def read_request(args: argparse.Namespace) -> ProfileRequest:
    """Raises OptionError for lists that hold no whole numbers, and counts below one."""
    at_least_one(args, ("repeats", "threads"))
    rows, contexts, batches = (numbers(args, name, int, "1,2,8") for name in ("rows", "contexts", "batch"))
    return ProfileRequest(
        target=args.target, shape=args.shape, rows=rows, contexts=contexts, batches=batches, repeats=args.repeats,
        device=args.device, dtype=args.dtype, bare=args.bare, name=args.name,
    )  # fmt: skip


def measure(request: ProfileRequest) -> HardwareCurve:
    """With a bar that tells the time left; Ctrl-C keeps what is done. Raises BenchError where that is too little."""
    from specviz.bench.profile.measure import FEWEST, profile
    from specviz.lm.load import load

    stopped, begun = threading.Event(), threading.Event()
    curve: HardwareCurve | None = None
    with stop_on_interrupt(begun, stopped), bar(1, "profile") as shown:
        for step in profile(request, load, stopped.is_set):
            begun.set()
            shown.total = step.total
            shown.update(step.done - shown.n)
            curve = step.curve or curve
    if curve is None:
        raise BenchError(f"stopped before every width was timed {FEWEST} times, so nothing was written; let it run on.")
    return curve


def slug(text: str) -> str:
    """Lower-case words with hyphens, at most 60 characters."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")[:60] or "unnamed"


def _text(values: Sequence[int]) -> str:
    return ",".join(map(str, values))
