"""A measured step-time curve as Markdown tables."""

from __future__ import annotations

from specviz.protocol.profiles import HardwareCurve
from specviz.theory.roofline import knee, overhead, passes, roofline, settings


def table(curve: HardwareCurve) -> str:
    """Markdown: the machine, then t(n) beside the roofline, one table for each context and batch."""
    model = curve.model
    lines = [
        f"{curve.name}: {model.name}, {model.parameters:,} parameters, {curve.machine.dtype}, {curve.machine.device}, "
        f"{'engine pass' if curve.way == 'engine' else 'bare pass'}{', CUDA graphs' if curve.cuda_graphs else ''}",
        f"reads {curve.reading.median / 1e9:.1f} GB/s ({curve.reading.how}), multiplies "
        f"{curve.arithmetic.median / 1e9:.1f} GFLOP/s ({curve.arithmetic.how})",
    ]
    for context, batch in settings(curve):
        measured = passes(curve, context, batch)
        bare = roofline(curve, context, batch)
        line = roofline(curve, context, batch, overhead(measured, bare))
        free = knee(measured)
        lines += ["", f"context {context}, batch {batch}: knee at n = {free.n}, ridge at n = {bare.ridge:.1f}", ""]
        lines += ["| n | ms, median [quartiles] | × t(1) | roofline, ms |", "|---:|---:|---:|---:|"]
        lines += [
            f"| {one.n} | {one.median_s * 1e3:.2f} [{one.low_s * 1e3:.2f}–{one.high_s * 1e3:.2f}] | "
            f"{one.median_s / measured[0].median_s:.2f} | {line.at(one.n) * 1e3:.2f} |"
            for one in measured
        ]
    return "\n".join(lines) + "\n"
