"""Which processes a test has started and left running."""

import re

import psutil

from specviz.asynchronous.process import end_waiting

STAYING = {"resource_tracker", "forkserver"}


def children() -> list[psutil.Process]:
    """Those of this process that still run, but not those that stay for the next: the tracker of shared memory, and
    the one that drafters' processes begin as copies of."""
    own = psutil.Process()
    running = [one for one in own.children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]
    return [one for one in running if one.ppid() != own.pid or not STAYING & set(re.findall(r"\w+", _command(one)))]


def left_over(before: list[psutil.Process]) -> list[psutil.Process]:
    """Those that were not there `before`, once the one that waits for another run has ended."""
    end_waiting()
    return [one for one in children() if one not in before]


def _command(process: psutil.Process) -> str:
    return " ".join(process.cmdline())
