"""Proofs in words and numbers, ready to be drawn: the lines of an exact one, the counts of a sampled one.

Reads the plain data of `specviz.protocol.proofs`. Every sentence claims what its kind of evidence allows and no more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specviz.protocol.proofs import BREAKS, NAMES, Break, Lines, ProofLine, Sampled, Trial

FEW = 5.0
"""expected counts below this make a p-value rough"""
CLEAR, ODD = 1e-4, 0.05
"""p-values below which counts are called different, and unusual"""
KNOWN: Mapping[str, Break] = {one.name: one for one in BREAKS}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two bars for one token or text: what the target's law says, and what came out."""

    label: str
    law: float
    found: float
    law_text: str
    found_text: str
    explanation: str
    """formula, numerator, denominator"""

    @property
    def biased(self) -> float:
        """Signed difference."""
        return self.found - self.law


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the exact proof."""

    drafted: str
    trials: str
    token: str
    product: str
    prob: str


@dataclass(frozen=True, slots=True)
class Total:
    """What a token's lines add up to."""

    token: str
    output: str
    target: str
    difference: str
    biased: bool


@dataclass(frozen=True, slots=True)
class ExactView:
    verdict: str
    tone: str
    """`good`, `bad`, or `plain` where a bug changes nothing"""
    why: str
    """about the bug that is planted; empty: none is"""
    rows: tuple[Row, ...]
    totals: tuple[Total, ...]
    bars: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class SampledView:
    verdict: str
    tone: str
    distance: str
    bars: tuple[Pair, ...]


def exact_view(lines: Lines) -> ExactView:
    """Everything the exact part shows."""
    verdict, tone = _verdict(lines)
    return ExactView(
        verdict,
        tone,
        _why(lines),
        tuple(map(_row, lines.lines)),
        tuple(_total(lines, token) for token in range(len(NAMES))),
        tuple(_bar(lines, token) for token in range(len(NAMES))),
    )


def _verdict(found: Lines) -> tuple[str, str]:
    lines = f"{len(found.lines)} lines"
    if found.exact:
        word = "The bug changes nothing here" if found.toy.broken else "Equal to the target"
        tone = "plain" if found.toy.broken else "good"
        off = f"the largest difference between a sum and p is {found.error:.1e}, which is rounding"
        return f"{word}: {lines}, and {off}.", tone
    changes = ", ".join(
        f"{name} {output - p:+.4f}" for name, output, p in zip(NAMES, found.output, found.target, strict=True)
    )
    word = "Biased" if found.toy.broken else "Lossy by design" if not found.lossless else "Not the target's law"
    return f"{word}: {changes} against p; total variation {found.total_variation:.4f}.", "bad"


def _why(lines: Lines) -> str:
    planted = KNOWN.get(lines.toy.broken)
    if planted is None:
        return ""
    return f"{planted.does[:1].upper()}{planted.does[1:]}. {planted.harmless if lines.exact else planted.why}"


def _row(line: ProofLine) -> Row:
    factors = [
        *(one.prob for one in line.drafted),
        *(trial.prob for trial in line.trials),
        line.token_prob,
    ]
    shown = " · ".join(_short(factor) for factor in factors if factor != 1.0)
    return Row(
        ", ".join(f"{NAMES[one.token]} ({_short(one.prob)})" for one in line.drafted) or "nothing",
        "; ".join(map(_trial, line.trials)) or "no trial",
        f"{NAMES[line.token]}, {_origin(line)}",
        shown or "1",
        f"{line.prob:.6f}",
    )


def _trial(trial: Trial) -> str:
    word = "accepted" if trial.accepted else "rejected"
    return (
        f"{NAMES[trial.token]} {word}: u in [{_short(trial.low)}, {_short(trial.high)}), "
        f"threshold {_short(trial.threshold)} ({_short(trial.prob)})"
    )


def _origin(line: ProofLine) -> str:
    prob = f" ({_short(line.token_prob)})"
    if line.source == "accepted":
        return "the candidate" if line.token_prob == 1.0 else f"the target's draw{prob}, which was drafted"
    return f"from the residual{prob}" if line.source == "residual" else f"from the target{prob}"


def _short(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def _total(lines: Lines, token: int) -> Total:
    output, p = lines.output[token], lines.target[token]
    off = abs(output - p) >= 1e-12
    return Total(
        NAMES[token], f"{output:.6f}", f"{p:.6f}", f"{output - p:+.6f}" if off else f"{abs(output - p):.1g}", off
    )


def _bar(lines: Lines, token: int) -> Pair:
    output, p = lines.output[token], lines.target[token]
    parts = [line.prob for line in lines.lines if line.token == token]
    summed = " + ".join(f"{part:.4f}" for part in parts[:6]) + (" + …" if len(parts) > 6 else "")
    explanation = f"output({NAMES[token]}) = {summed or '0'} = {output:.6f}, over {len(parts)} lines; p = {p:.6f}"
    return Pair(NAMES[token], p, output, _short(p), _short(output), explanation)


def sampled_view(sampled: Sampled) -> SampledView:
    """Everything the sampling part shows, finished or on the way."""
    verdict, tone = _judged(sampled)
    distance = (
        f"Total variation {sampled.total_variation:.4f}. Noise floor: as many exact samples of the target would show "
        f"{sampled.noise:.4f} on average; √(K / 2πN), the rule of thumb for K = {len(sampled.cells)} equal cells and "
        f"N = {sampled.runs}, gives {sampled.noise_bound:.4f}."
    )
    return SampledView(verdict, tone, distance, tuple(_counts(sampled)))


def _judged(sampled: Sampled) -> tuple[str, str]:
    if sampled.runs < sampled.wanted and sampled.p_value >= CLEAR:
        return f"{sampled.runs} of {sampled.wanted} texts counted; the test comes at the end.", "plain"
    test = f"G = {sampled.statistic:.2f} at {sampled.freedom} degrees of freedom, p = {sampled.p_value:.2g}"
    rough = "" if sampled.smallest >= FEW else f" The rarest cell is expected {sampled.smallest:.1f} times: p is rough."
    if math.isinf(sampled.statistic):
        return "A text came up that the target never writes: the law is another, beyond doubt.", "bad"
    if not sampled.freedom:
        return "All texts fall into one cell: nothing to test. Take more texts or another prompt.", "plain"
    if sampled.p_value < CLEAR:
        return f"{test}: the target's law would hardly ever give such counts; the output follows another.{rough}", "bad"
    if sampled.p_value < ODD:
        odd = "unusual for the target's law, but chance alone does this in one run of twenty. Try another seed"
        return f"{test}: {odd} or more texts.{rough}", "plain"
    fine = f"{sampled.runs} texts cannot tell the output from the target's law. That is no proof; the exact part is"
    return f"{test}: {fine}.{rough}", "good"


def _counts(sampled: Sampled) -> Sequence[Pair]:
    ordered = sorted(sampled.cells, key=lambda cell: -cell.prob)
    return [
        Pair(
            cell.label,
            cell.prob,
            cell.count / max(1, sampled.runs),
            f"{cell.prob * sampled.runs:.1f}",
            str(cell.count),
            f"counted {cell.count} of {sampled.runs}; expected p · N = {cell.prob:.4f} · {sampled.runs} = "
            f"{cell.prob * sampled.runs:.1f}",
        )
        for cell in ordered
    ]
