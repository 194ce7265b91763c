"""What was timed beside a run: part of the waist, as `events`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PlainDecoding:
    """Plain decoding, timed in the same run of the program as the trace: same prompt, target, sampling and seed."""

    output_tokens: int
    decode_s: float
    """engine time without the pass over the prompt; of several runs the one with the median time per token"""
    runs: int
    """how often it ran, each time beside one run of the traced kind; the trace is the median of those"""
    same_text: bool
    """whether it wrote the same tokens: at temperature 0 a lossless run must, but for ties of rounding"""
    ratios: list[float] = field(default_factory=list)
    """tokens per second of the traced kind of run over those of plain decoding, one for each turn in which both ran one
    after the other; empty: their spread was not kept"""
