"""Ray, where it is installed: joined for one command, its errors said in our words, work spread item by item.

Place in the flow: under every command with `--ray`. An optional extra, imported only when something is spread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from specviz.errors import BenchError, SpecVizError

LOCAL = "local"
"""the address of a Ray that is started here, for this command alone"""
CLIENT = "ray://"
MOST_LOST = 3
"""workers over one item: then another is no cure"""
T = TypeVar("T")
R = TypeVar("R")


class WorkerLostError(Exception):
    """Its process, or its machine, is gone."""


@contextmanager
def joined(address: str, cores: int = 1) -> Iterator[Any]:
    """Ray, connected; left at the end. `cores`: that a LOCAL one has at least. Raises BenchError where Ray is not
    installed, or no cluster answers."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when a cluster is started: no telemetry
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise BenchError("Ray is not installed here; `pip install 'specviz[ray]'`, on every machine.") from None
    if address.startswith(CLIENT):
        raise BenchError(
            f"--ray is '{address[:80]}', but results cannot come back one by one through Ray's client; run the "
            "command on a machine of the cluster, with --ray auto."
        )
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address == LOCAL:
            ray.init(num_cpus=max(os.cpu_count() or 1, cores), include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise BenchError(
            f"no Ray cluster answers at '{address[:80]}' ({first_line(error)[:200]}); start one with `ray "
            f"start --head`, or give --ray {LOCAL}."
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def result_of(ray: Any, reference: Any) -> Any:
    """What a worker made. Raises BenchError where it failed, WorkerLostError where it is gone."""
    errors = ray.exceptions
    try:
        return ray.get(reference)
    except errors.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, SpecVizError):
            raise BenchError(str(cause)) from None
        raise BenchError(f"a worker failed with {type(cause).__name__}: {first_line(cause)}") from error
    except errors.RayError as error:
        raise WorkerLostError(first_line(error)) from None


def each(address: str, work: Callable[[T], R], items: Sequence[T], alone: bool = False) -> Iterator[R]:
    """`work` of every item, in their order, on the workers of a cluster. An item whose worker is lost goes to another.
    `alone`: with all cores of a machine, because it is timed. Raises BenchError as `joined`, where `work` fails, and
    where three workers are lost over one item."""
    with joined(address) as ray:
        cores = min(node["Resources"].get("CPU", 1.0) for node in ray.nodes() if node["Alive"]) if alone else 1
        task = ray.remote(work).options(num_cpus=cores, max_retries=MOST_LOST - 1, scheduling_strategy="SPREAD")
        for number, reference in enumerate([task.remote(item) for item in items], 1):
            try:
                yield result_of(ray, reference)
            except WorkerLostError as error:
                raise BenchError(
                    f"{MOST_LOST} workers were lost over item {number} of {len(items)} ({error}); look at their "
                    "machine's memory."
                ) from None


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
