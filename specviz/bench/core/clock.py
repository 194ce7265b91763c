"""The clock by which passes are timed."""

from __future__ import annotations

import time
from typing import Literal

import torch

from specviz.core.clock import now
from specviz.lm.step_time import Clock


def pass_clock(device: torch.device) -> tuple[Clock, Literal["wall", "thread"]]:
    """On one thread of a processor the time it really worked, so that other programs disturb less; else wall time."""
    if device.type == "cpu" and torch.get_num_threads() == 1:
        return time.thread_time, "thread"
    return time.perf_counter, "wall"


def work_clock(device: torch.device) -> tuple[Clock, Literal["wall", "process"]]:
    """The same for work that is spread over threads of this process of which one runs at a time."""
    if device.type == "cpu" and torch.get_num_threads() == 1:
        return time.process_time, "process"
    return (lambda: now(device)), "wall"
