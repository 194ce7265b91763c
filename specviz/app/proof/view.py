"""Proofs in words, numbers and pictures: the lines of an exact one, the counts of a sampled one; as HTML, pairs of bars
with the bias marked, the table of lines, the equality badge.

Reads the plain data of `specviz.protocol.proofs`. Every sentence claims what its kind of evidence allows and no more.
Small enough to be redrawn at every touch of a control, and readable in light and dark: colours come from CSS classes.
Texts of models are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

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


def _verdict(proof: Lines) -> tuple[str, str]:
    lines = f"{len(proof.lines)} lines"
    if proof.exact:
        word = "The bug changes nothing here" if proof.toy.broken else "Equal to the target"
        tone = "plain" if proof.toy.broken else "good"
        off = f"the largest difference between a sum and p is {proof.error:.1e}, which is rounding"
        return f"{word}: {lines}, and {off}.", tone
    changes = ", ".join(
        f"{name} {output - p:+.4f}" for name, output, p in zip(NAMES, proof.output, proof.target, strict=True)
    )
    word = "Biased" if proof.toy.broken else "Lossy by design" if not proof.lossless else "Not the target's law"
    return f"{word}: {changes} against p; total variation {proof.total_variation:.4f}.", "bad"


def _why(lines: Lines) -> str:
    planted = KNOWN.get(lines.toy.broken)
    if planted is None:
        return ""
    return f"{planted.does[:1].upper()}{planted.does[1:]}. {planted.harmless if lines.exact else planted.why}"


def _row(line: ProofLine) -> Row:
    factors = [
        *(candidate.prob for candidate in line.drafted),
        *(trial.prob for trial in line.trials),
        line.token_prob,
    ]
    shown = " · ".join(_short(factor) for factor in factors if factor != 1.0)
    return Row(
        ", ".join(f"{NAMES[candidate.token]} ({_short(candidate.prob)})" for candidate in line.drafted) or "nothing",
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
        return "A text came up that the target never writes: the output follows another law.", "bad"
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


# --- drawn -----------------------------------------------------------------------------------------------------------


HEAD = (
    ("line", "its number"),
    ("drafted", "candidates in the order they were drawn, with the probability of each given those before it"),
    ("trials", "accepted where u falls below the threshold; in brackets the probability of the outcome"),
    ("token", "what is committed and where it comes from, with the probability of that draw"),
    ("product", "the factors that are not 1"),
    ("probability", "of the whole line"),
)


def part_heading(title: str, kind: str, meaning: str) -> str:
    """The head of one part with the label of its evidence: exact, sampled or measured."""
    badge = f'<span class="sv-badge sv-badge-live" title="{escape(meaning, quote=True)}">{escape(kind)}</span>'
    return f'<h3 class="sv-part">{escape(title)} {badge}</h3>'


def exact_summary(view: ExactView) -> str:
    """Verdict, reason and bars."""
    why = f'<p class="sv-proof-why">{escape(view.why)}</p>' if view.why else ""
    return verdict_line(view.verdict, view.tone) + why + bars(view.bars, "p", "output", view.tone == "bad")


def exact_table(view: ExactView) -> str:
    """The lines, and below them what they add up to; scrolls inside its own box."""
    head = "".join(f'<th scope="col" title="{escape(why, quote=True)}">{escape(name)}</th>' for name, why in HEAD)
    body = "".join(_table_row(number, row) for number, row in enumerate(view.rows, 1))
    foot = "".join(map(_sum_row, view.totals))
    caption = "<caption>Exact: every way the decision can go, and per token the sum of its lines against p.</caption>"
    table = f'<table class="sv-table">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    sums = f'<table class="sv-table sv-proof-sums"><tbody>{foot}</tbody></table>'
    box = '<div class="sv-table-scroll sv-proof-lines" tabindex="0" role="region" aria-label="lines of the proof">'
    return f"{box}{table}</div>{sums}"


def sampled_summary(view: SampledView) -> str:
    """Verdict, distance and bars."""
    distance = f'<p class="sv-proof-why">{escape(view.distance)}</p>'
    return verdict_line(view.verdict, view.tone) + distance + bars(view.bars, "expected", "counted", view.tone == "bad")


def equality_badge(text: str, tone: str, note: str) -> str:
    """How many greedy tokens are equal. Tones: good, bad, plain."""
    return (
        f'<p class="sv-equality sv-proof-{tone}" role="status" aria-live="polite">{escape(text)}</p>'
        f'<p class="sv-proof-why">{escape(note)}</p>'
    )


def bars(pairs: Sequence[Pair], law: str, outcome: str, marked: bool) -> str:
    """Two bars per token; where `marked`, what the lower one has too much or too little is drawn in alarm colour."""
    most = max([0.01, *(max(pair.law, pair.found) for pair in pairs)])
    body = "".join(_pair(pair, (law, outcome), most, marked) for pair in pairs)
    return f'<div class="sv-pairs">{body}</div>'


def _pair(pair: Pair, names: tuple[str, str], most: float, marked: bool) -> str:
    title = escape(pair.explanation, quote=True)
    bias = ""
    if marked and abs(pair.biased) > 1e-9:
        sign = "more" if pair.biased > 0 else "less"
        left, width = 100 * min(pair.law, pair.found) / most, 100 * abs(pair.biased) / most
        bias = f'<i class="sv-bias sv-bias-{sign}" style="left:{left:.2f}%;width:{width:.2f}%"></i>'
    difference = f' <b class="sv-bias-text">{pair.biased:+.3f}</b>' if bias else ""
    return (
        f'<div class="sv-pair" title="{title}"><code>{escape(pair.label)}</code>'
        f"{_track('law', names[0], pair.law / most, pair.law_text, '')}"
        f"{_track('found', names[1], pair.found / most, pair.found_text, bias, difference)}</div>"
    )


def _track(kind: str, name: str, share: float, text: str, extra: str, after: str = "") -> str:
    fill = f'<i class="sv-pair-{kind}" style="width:{100 * share:.2f}%"></i>'
    return (
        f'<span class="sv-pair-name">{escape(name)}</span><span class="sv-pair-track">{fill}{extra}</span>'
        f'<span class="sv-pair-value">{escape(text)}{after}</span>'
    )


def verdict_line(text: str, tone: str) -> str:
    """One sentence in the colour of its tone."""
    return f'<p class="sv-proof-verdict sv-proof-{tone}" role="status" aria-live="polite">{escape(text)}</p>'


def _table_row(number: int, row: Row) -> str:
    cells = (str(number), row.drafted, row.trials, row.token, row.product, row.prob)
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _sum_row(total: Total) -> str:
    mark = ' class="sv-biased"' if total.biased else ""
    cells = (f"sum of {total.token}", total.output, f"p = {total.target}", f"difference {total.difference}")
    return f"<tr{mark}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
