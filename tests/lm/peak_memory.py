"""Loads a checkpoint and prints by how many bytes the process grew meanwhile at most: `python -m tests.lm.peak_memory
FOLDER ADAPTER DTYPE`. Linux only."""

from __future__ import annotations

import sys
from pathlib import Path

PEAK, NOW = "VmHWM", "VmRSS"


def resident(what: str) -> int:
    """Bytes, files that are mapped into memory included."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def main(folder: str, adapter: str, dtype: str) -> None:
    import torch

    if adapter == "transformers":
        import transformers.models.llama.modeling_llama  # noqa: F401 - the libraries' own memory is not the model's

    from specviz.lm import kernels  # and what `load` imports: the adapters
    from specviz.lm.load import load
    from specviz.lm.text import TextCodec

    torch.set_num_threads(1)
    TextCodec.from_folder(Path(folder), "warm-up")
    kernels.ONE_COPY_BYTES = 0  # as for a large model: no second layout, which a small one gets on purpose
    kernels.CALIBRATION_BYTES = kernels.LEAST_BYTES = 1 << 20  # what is timed is copied; for a large model a trifle
    kernels._choose = lambda times, names, most: dict.fromkeys(kernels.ROW_COUNTS, "transposed")  # not the clock
    before = resident(NOW)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak begins anew
    model = load(folder, adapter=adapter, dtype=dtype).model
    model.forward([1, 2, 3], model.new_cache())
    sys.stdout.write(f"{resident(PEAK) - before}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
