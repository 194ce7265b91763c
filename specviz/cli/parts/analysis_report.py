"""What `specviz analyse` prints: the reasons first, then the tables, a line per number.

Place in the flow: analysis → printable lines. Token text is hostile and goes through `visible`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specviz.cli.parts.terminal import printable, visible
from specviz.theory.analysis.analyse import Analysis
from specviz.theory.analysis.compare import Comparison
from specviz.theory.analysis.distances import Calibration, Distances
from specviz.theory.analysis.facts import RoundFacts
from specviz.theory.analysis.failures import Failure
from specviz.theory.analysis.pairs import Example
from specviz.theory.analysis.rates import Rate, Row

PAIRS = 10
"""lines of the table of rejected pairs; `--json` and `--csv` have all"""
BAR = 20
TABLES = (
    ("by depth", "by_depth"),
    ("by place in the draft's own order of likelihood", "by_draft_rank"),
    ("how often a draft's choice is the target's favourite, by that place", "agreement"),
    ("by rank of the drafted token in the target", "by_target_rank"),
    ("by entropy of the target", "by_target_entropy"),
    ("by class of the drafted token", "by_token_class"),
    ("copied from the text or new", "by_copied"),
    ("by position in the output", "by_position"),
    ("share of all rounds", "patterns"),
)


def report(one: Analysis) -> Iterator[str]:
    """One drafter."""
    traces = f"{len(one.runs)} traces" if len(one.runs) != 1 else printable(one.runs[0], keep="")
    yield printable(f"{one.drafter} · {traces}", keep="")
    tested = one.drafted - one.unreached
    yield f"  {one.rounds} rounds, {one.drafted} candidates: {tested} tested, {one.unreached} unreached"
    yield f"  accepted {interval(one.acceptance)} of the tested"
    for sentence in one.missing:
        yield f"  {printable(sentence, keep='')}"
    if one.failures:
        yield "  why drafts failed, the most frequent first"
        for failure in one.failures:
            yield from _failure(failure)
    if one.pairs:
        yield "  drafted → wanted, rejected candidates"
        for pair in one.pairs[:PAIRS]:
            places = ", ".join(f"{example.run} {example.round}" for example in pair.examples)
            where = printable(places, keep="")
            yield f"    {pair.count:4} {visible(pair.drafted)} → {visible(pair.wanted)}   round: {where}"
        if len(one.pairs) > PAIRS:
            yield f"         … and {len(one.pairs) - PAIRS} more pairs"
    for title, name in TABLES:
        yield from _table(title, getattr(one, name))
    if one.calibration is not None:
        yield from _calibration(one.calibration)
    if one.distances is not None:
        yield from _distances(one.distances)


def interval(rate: Rate) -> str:
    """`0.68 [0.66–0.71]`; `–` without cases."""
    return "–" if rate.value is None else f"{rate.value:.2f} [{rate.low:.2f}–{rate.high:.2f}]"


def _failure(one: Failure) -> Iterator[str]:
    yield f"    {100 * (one.share.value or 0.0):3.0f} % {one.share.hits:4}  {one.kind}: {one.words}"
    for example in one.examples:
        yield f"                {_example(example)}"


def _example(one: Example) -> str:
    place = printable(f"{one.run} round {one.round}", keep="")
    drafted = f"drafted {visible(one.drafted)}, " if one.drafted else ""
    return f"{place}: …{visible(one.context[-24:])} | {drafted}wanted {visible(one.wanted)}"


def _table(title: str, rows: Sequence[Row]) -> Iterator[str]:
    if rows:
        yield f"  {title}"
        width = max(len(row.label) for row in rows)
        for row in rows:
            bar = "█" * round(BAR * (row.rate.value or 0.0))
            yield f"    {row.label:<{width}}  {interval(row.rate)}  {bar:<{BAR}}  {row.rate.hits} of {row.rate.of}"


def _calibration(found: Calibration) -> Iterator[str]:
    yield f"  is the draft as sure as it is right? mean distance {found.error:.3f} over {found.candidates} candidates"
    yield "    q          mean q  mean p  candidates"
    for one in found.bins:
        yield f"    {one.label:<9}  {one.mean_draft:6.2f}  {one.mean_target:6.2f}  {one.count}"


def _distances(found: Distances) -> Iterator[str]:
    kl = "infinite everywhere" if found.kl_bits is None else f"{found.kl_bits:.2f} bits"
    infinite = f" (infinite at {found.infinite} more)" if found.infinite and found.kl_bits is not None else ""
    yield f"  target against draft over {found.places} places, by what both believe at temperature 1"
    yield (
        f"    KL(target‖draft) {kl}{infinite} · total variation {found.total_variation:.3f} · "
        f"Σ min(p, q) {found.overlap:.3f} · entropy {found.target_bits:.2f} and {found.draft_bits:.2f} bits"
    )
    if found.expected is not None:
        measured = interval(found.measured)
        yield f"    first candidates drawn from q: Σ min(p, q) promises {found.expected:.3f}, accepted {measured}"
    yield from _table("acceptance of the first candidate by Σ min(p, q) at its place", found.by_overlap)


def comparison(both: Comparison) -> Iterator[str]:
    """Two traces: the first difference, then their rounds by the position at which they begin."""
    yield printable(f"{both.first} | {both.second}", keep="")
    if not both.same_prompt:
        yield "  these are of different prompts: their positions mean nothing together"
    difference = both.difference
    if difference is None:
        yield "  the outputs are equal"
    else:
        yield (
            f"  the outputs part at position {difference.position}: …{visible(difference.before)} | "
            f"{visible(difference.first) or 'nothing'} | {visible(difference.second) or 'nothing'}"
        )
    yield "  position   accepted of drafted"
    marked = False
    for row in both.rows:
        if not row.same_text and not marked:
            marked = True
            yield "  -- from here on the texts differ"
        yield f"  {row.position:8}   {_round(row.first)} | {_round(row.second)}"


def _round(this: RoundFacts | None) -> str:
    cell = "" if this is None else f"round {this.index}: {this.accepted} of {this.drafted}, {this.origin}"
    return f"{cell:<34}"
