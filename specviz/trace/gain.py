"""What a run gained over plain decoding, where both were timed in the same run of the program.

Reads a trace. A run without such a measurement has no gain: passes can be counted, time cannot be guessed.
"""

from __future__ import annotations

from specviz.trace.events import Trace
from specviz.trace.summary import deployable


def gain(trace: Trace) -> float | None:
    """Tokens per second of the run over those of plain decoding beside it; below 1: slower. None where nothing was
    timed beside it, or where its own times say nothing (simulated, an oracle)."""
    plain, finished = trace.finished.plain, trace.finished
    if plain is None or trace.started.source == "simulated" or not deployable(trace.started):
        return None
    traced, plainly = len(finished.output_ids) * plain.decode_s, plain.output_tokens * finished.decode_s
    return traced / plainly if plainly > 0 else None
