"""Runs the jobs of `tests.gpu.jobs` one after the other and writes all that they say into one folder.

    python -m tests.gpu                          on the CUDA device; what is done in gpu/ already is not done again
    python -m tests.gpu --out here --only bench  only jobs whose name contains one of these words
    python -m tests.gpu --device cpu --small     a little of each, to see that it runs
    python -m tests.gpu --list                   what there is, without running anything

`summary.md` says how each job ended, with its own words below; `results.json` holds the same for programs, and
`everything.zip` all files in one. Exit status 1 where a job failed, 3 where time was up before all were done.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from tests.gpu.jobs import BUDGET_S, RECORDINGS, Job, jobs

ROOT = Path(__file__).resolve().parents[2]
NEEDS = {
    "torch": "torch", "transformers": "transformers", "tokenizers": "tokenizers", "safetensors": "safetensors",
    "numpy": "numpy", "scipy": "scipy", "networkx": "networkx", "pydantic": "pydantic", "tqdm": "tqdm",
    "psutil": "psutil", "greenlet": "greenlet", "tomli_w": "tomli-w", "pytest": "pytest",
}  # fmt: skip
"""module → package"""
DONE, FAILED, LATE = "done", "failed", "out of time"
TIMED_OUT = 124


@dataclass(frozen=True, slots=True)
class Result:
    """How a job ended."""

    job: str
    tells: str
    command: str
    state: str
    seconds: float
    exit_status: int


def main(words: Sequence[str] | None = None) -> int:
    args = _arguments(words)
    out: Path = args.out.resolve()
    wanted = [
        job
        for job in jobs(out, args.device, args.small)
        if not args.only or any(word in job.name for word in args.only)
    ]
    if not wanted:
        say(f"No job's name contains {' or '.join(args.only)}; --list shows them, and words are parted by spaces.")
        return 2
    if args.list:
        for job in wanted:
            say(f"{job.name:24} {job.tells}")
        return 0
    if missing := [package for module, package in NEEDS.items() if find_spec(module) is None]:
        names = " ".join(missing)
        say(f"This Python lacks {names}: pip install {names}; without a network see docs/gpu.md.")
        return 2
    if args.device.startswith("cuda") and not _cuda():
        say("torch sees no CUDA device here; try `make gpu GPU_ARGS='--device cpu --small'` to see what would be run.")
        return 2
    (out / "traces").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / RECORDINGS, out / "traces")
    results = run(wanted, out, args.budget)
    say(f"wrote {out / 'summary.md'}")
    states = [results[job.name].state for job in wanted]
    return 1 if FAILED in states else 3 if LATE in states else 0


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=Path("gpu"), help="the folder for all that is written (default gpu)"
    )
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu (default cuda)")
    parser.add_argument("--small", action="store_true", help="a little of each")
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds of all together (default %(default)s)")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="jobs whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="print the jobs and leave")
    return parser.parse_args(words)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(wanted: Sequence[Job], out: Path, budget_s: float) -> dict[str, Result]:
    """Do what is not done; after every job everything known is on disk."""
    known = _known(out)
    ends = time.monotonic() + budget_s
    for job in wanted:
        command = " ".join(("python", *job.words))
        before = known.get(job.name)
        if before is not None and (before.state, before.command) == (DONE, command):
            say(f"{job.name}: done before")
            continue
        left = ends - time.monotonic()
        if left <= 0.0:
            known[job.name] = Result(job.name, job.tells, command, LATE, 0.0, TIMED_OUT)
        else:
            say(f"{job.name}: {job.tells}…")
            known[job.name] = _carried_out(job, command, out, min(job.limit_s, left))
            say(f"{job.name}: {known[job.name].state} after {known[job.name].seconds:.0f} s")
        _write(known, out)
    _write(known, out)
    _packed(out)
    return known


def _carried_out(job: Job, command: str, out: Path, limit_s: float) -> Result:
    began = time.monotonic()
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    with (out / f"{job.name}.log").open("w", encoding="utf-8") as log:
        try:
            status = subprocess.run(
                [sys.executable, *job.words], cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT,
                timeout=limit_s, check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            status = TIMED_OUT
            log.write(f"\nstopped after {limit_s:.0f} s\n")
    state = DONE if status == 0 else LATE if status == TIMED_OUT else FAILED
    return Result(job.name, job.tells, command, state, time.monotonic() - began, status)


def _known(out: Path) -> dict[str, Result]:
    path = out / "results.json"
    if not path.is_file():
        return {}
    return {one["job"]: Result(**one) for one in json.loads(path.read_text(encoding="utf-8"))["jobs"]}


def _write(known: Mapping[str, Result], out: Path) -> None:
    data = {"machine": _machine(), "jobs": [asdict(result) for result in known.values()]}
    (out / "results.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (out / "summary.md").write_text(summary(known, out), encoding="utf-8")


def summary(known: Mapping[str, Result], out: Path) -> str:
    """How everything ended, then what each job said."""
    lines = ["# What this machine says", "", *(f"- {name}: {value}" for name, value in _machine().items()), ""]
    lines += ["| job | tells | ended | s |", "|---|---|---|---:|"]
    lines += [f"| {one.job} | {one.tells} | {one.state} | {one.seconds:.0f} |" for one in known.values()]
    for one in known.values():
        log = out / f"{one.job}.log"
        if log.is_file():
            said = log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").replace("```", "'''")
            lines += ["", f"## {one.job}", "", f"    {one.command}", "", "```", *_told(said), "```"]
    return "\n".join(lines) + "\n"


MOST_LINES = 120


def _told(said: str) -> list[str]:
    """The last lines, without the many states of a progress bar."""
    lines = [line.rstrip() for line in said.splitlines() if line.strip() and "%|" not in line]
    return lines[-MOST_LINES:]


def _machine() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("torch", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    found["device"] = _cuda() or platform.processor() or platform.machine()
    return found


def _cuda() -> str:
    """The name of the CUDA device; empty where there is none."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else ""


def _packed(out: Path) -> None:
    """Everything in one file, for a machine that gives back few."""
    (out / "everything.zip").unlink(missing_ok=True)
    packed = shutil.make_archive(str(out.parent / f".{out.name}"), "zip", out)
    shutil.move(packed, out / "everything.zip")


if __name__ == "__main__":
    sys.exit(main())
