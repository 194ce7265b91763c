"""Loads a checkpoint in several ways and prints by how many bytes a process grew at most with each: `python -m
tests.lm.peak_memory FOLDER ADAPTER:DTYPE …`. Linux only. The libraries are imported once, and each way is a fork."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEAK, NOW = "VmHWM", "VmRSS"


def resident(what: str) -> int:
    """Bytes, files that are mapped into memory included."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def main(folder: str, *ways: str) -> None:
    import torch
    import transformers.models.llama.modeling_llama  # noqa: F401 - the libraries' own memory is not the model's

    from specviz.lm import kernels  # and what `load` imports: the adapters
    from specviz.lm.load import load
    from specviz.lm.text import TextCodec

    torch.set_num_threads(1)
    TextCodec.from_folder(Path(folder), "warm-up")
    kernels.ONE_COPY_BYTES = 0  # as for a large model: no second layout, which a small one gets on purpose
    kernels.CALIBRATION_BYTES = kernels.LEAST_BYTES = 1 << 20  # what is timed is copied; for a large model a trifle
    kernels._choose = lambda times, names, most: dict.fromkeys(kernels.ROW_COUNTS, "transposed")  # not the clock
    for way in ways:
        child = os.fork()
        if child == 0:
            measure(load, folder, *way.split(":"))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, way


def measure(load: Callable[..., Any], folder: str, adapter: str, dtype: str) -> None:
    before = resident(NOW)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak begins anew
    model = load(folder, adapter=adapter, dtype=dtype).model
    model.forward([1, 2, 3], model.new_cache())
    sys.stdout.write(f"{resident(PEAK) - before}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
