"""The one door to the analysis: traces in, a table of tables per drafter out, or two traces of a prompt side by side.

    name, trace ─► facts_of ─► analysis_of ─► Analysis (plain data: dataclasses, tuples, strings and numbers)
                            └► compare ─► Comparison

Reads traces alone, any number of them; a page, the command line and a notebook show the same result. As CSV, which
`specviz analyse --csv` writes, it is one file per table of flat columns; text that a spreadsheet would run as a formula
gets a leading apostrophe there, and `specviz.read(…).tables()` gives the text as it is.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from specviz.protocol.sweeps.store import cell
from specviz.theory.analysis.facts import CLASSES, Candidate, RoundFacts, RunFacts, facts_of
from specviz.theory.analysis.failures import Failure, Pair, failures, rejected_pairs
from specviz.theory.analysis.rates import (
    BITS,
    POSITIONS,
    RANKS,
    Calibration,
    Distances,
    Rate,
    Row,
    accepted,
    calibration,
    distances,
    rate,
    rows,
)
from specviz.trace.characters import display_pieces, token_bytes
from specviz.trace.events import Agreement, Trace

Named = tuple[str, Trace]
"""a trace and the name that examples give it"""


@dataclass(frozen=True, slots=True)
class Analysis:
    """One drafter over all its traces. Rates are accepted ÷ tested candidates; unreached ones are in none of them."""

    drafter: str
    runs: tuple[str, ...]
    """names of its traces"""
    rounds: int
    drafted: int
    unreached: int
    acceptance: Rate
    by_depth: tuple[Row, ...]
    by_draft_rank: tuple[Row, ...]
    """by the place that the candidate had among what the drafter thought likely"""
    agreement: tuple[Row, ...]
    """by the same: how often the candidate was the target's own favourite, tested or not"""
    by_target_rank: tuple[Row, ...]
    """by the place that the candidate has in the target"""
    by_target_entropy: tuple[Row, ...]
    by_token_class: tuple[Row, ...]
    by_copied: tuple[Row, ...]
    by_position: tuple[Row, ...]
    calibration: Calibration | None
    distances: Distances | None
    pairs: tuple[Pair, ...]
    failures: tuple[Failure, ...]
    """all kinds, the most frequent first"""
    patterns: tuple[Row, ...]
    """of all rounds, how many are of each pattern"""
    missing: tuple[str, ...]
    """what these traces do not show and why, as sentences"""


def analyse(traces: Iterable[Named]) -> list[Analysis]:
    """One analysis per drafter, in the order of their names; traces are read one after the other and not kept."""
    return analyses([facts_of(name, trace) for name, trace in traces])


def analyses(runs: Sequence[RunFacts]) -> list[Analysis]:
    """The same from facts that are there already."""
    groups: dict[str, list[RunFacts]] = {}
    for run in runs:
        groups.setdefault(run.drafter, []).append(run)
    return [analysis_of(name, groups[name]) for name in sorted(groups)]


def analysis_of(drafter: str, runs: Sequence[RunFacts]) -> Analysis:
    """Everything that is counted of one drafter."""
    drafted = [candidate for run in runs for candidate in run.candidates]
    tested = [candidate for candidate in drafted if candidate.tested]
    ranked = [candidate for candidate in drafted if candidate.in_text and candidate.rank is not None]
    rounds = [this for run in runs for this in run.rounds]
    hits = sum(candidate.accepted for candidate in tested)
    return Analysis(
        drafter=drafter,
        runs=tuple(run.name for run in runs),
        rounds=len(rounds),
        drafted=len(drafted),
        unreached=len(drafted) - len(tested),
        acceptance=rate(hits, len(tested)),
        by_depth=rows(
            sorted(tested, key=lambda candidate: candidate.depth), lambda candidate: str(candidate.depth), accepted
        ),
        by_draft_rank=rows(tested, lambda candidate: RANKS.label(candidate.draft_rank), accepted, RANKS.labels),
        agreement=rows(
            ranked,
            lambda candidate: RANKS.label(candidate.draft_rank),
            lambda candidate: candidate.rank == 1,
            RANKS.labels,
        ),
        by_target_rank=rows(tested, lambda candidate: RANKS.label(candidate.rank), accepted, RANKS.labels),
        by_target_entropy=rows(tested, _target_entropy, accepted, BITS.labels),
        by_token_class=rows(tested, lambda candidate: candidate.token_class, accepted, CLASSES),
        by_copied=rows(tested, lambda candidate: "copied" if candidate.copied else "new", accepted, ("copied", "new")),
        by_position=rows(tested, lambda candidate: POSITIONS.label(candidate.position), accepted, POSITIONS.labels),
        calibration=calibration(drafted),
        distances=distances(drafted),
        pairs=rejected_pairs(tested),
        failures=failures(runs),
        patterns=tuple(Row(name, rate(len(matching(rounds, name)), len(rounds))) for name in PATTERNS),
        missing=tuple(_missing(runs, drafted)),
    )


def _target_entropy(candidate: Candidate) -> str | None:
    return BITS.label(candidate.belief.target_bits if candidate.belief else None)


def _missing(runs: Sequence[RunFacts], drafted: Sequence[Candidate]) -> Iterable[str]:
    old = [run.name for run in runs if any(candidate.rank is None for candidate in run.candidates)]
    if old:
        yield f"{_traces(old, len(runs))} no ranks, entropies, KL and overlap (format 1.1); record anew to have them."
    if drafted and all(candidate.draft_prob is None for candidate in drafted):
        yield "Nothing was drawn from a distribution of the drafter, so there is no calibration, KL or overlap."
    if not drafted:
        yield "Nothing was drafted at all."


def _traces(names: Sequence[str], of: int) -> str:
    some = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    if of == 1:
        return f"The trace ({some}) has"
    return f"{len(names)} of {of} traces ({some}) {'has' if len(names) == 1 else 'have'}"


SURPRISING = 6.0
"""bits: the drafter gave the token less than 1 in 64"""

Pattern = Callable[[RoundFacts, float], bool]

PATTERNS: Mapping[str, tuple[str, Pattern]] = {
    "rejected at depth 1": (
        "the first place already failed",
        lambda this, bits: this.failed_at == 1,
    ),
    "saved by a sibling": (
        "a candidate was rejected and a sibling of it accepted",
        lambda this, bits: this.saved_by_sibling,
    ),
    "surprise": (
        "the drafter gave the token that ended the round less than 1 in 2^bits",
        lambda this, bits: this.surprise_bits is not None and this.surprise_bits > bits,
    ),
    "all accepted": (
        "a whole path was accepted",
        lambda this, bits: this.drafted > 0 and this.accepted > 0 and this.accepted == this.deepest,
    ),
    "nothing accepted": (
        "candidates were drafted and none was accepted",
        lambda this, bits: this.drafted > 0 and this.accepted == 0,
    ),
    "nothing drafted": (
        "the drafter had nothing to propose",
        lambda this, bits: this.drafted == 0 and this.origin == "target",
    ),
}
"""name → (what it finds, whether a round is such a one); the second argument is the bits of `surprise` alone"""


def matching(rounds: Iterable[RoundFacts], pattern: str, bits: float = SURPRISING) -> list[RoundFacts]:
    """The rounds of a pattern, in order. Raises KeyError for a pattern that is not in PATTERNS."""
    _, fits = PATTERNS[pattern]
    return [this for this in rounds if fits(this, bits)]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first output token in which two texts differ."""

    position: int
    before: str
    """the end of what both wrote"""
    first: str
    """the first text's token there; empty where it ended"""
    second: str


@dataclass(frozen=True, slots=True)
class Aligned:
    """A position of the output at which a round of either run begins."""

    position: int
    first: RoundFacts | None
    second: RoundFacts | None
    """None: this run has no round that begins here"""
    same_text: bool
    """both wrote the same up to here"""


@dataclass(frozen=True, slots=True)
class Comparison:
    first: str
    second: str
    same_prompt: bool
    difference: Difference | None
    """None: the outputs are equal"""
    rows: tuple[Aligned, ...]


def compare(first: Named, second: Named) -> Comparison:
    """Side by side; of different prompts positions mean nothing together, and `same_prompt` says so."""
    (name, trace), (other_name, other) = first, second
    difference = _difference(first, second)
    rounds = [{this.position: this for this in facts_of(*named).rounds} for named in (first, second)]
    same_until = float("inf") if difference is None else difference.position
    rows = [
        Aligned(position, rounds[0].get(position), rounds[1].get(position), position <= same_until)
        for position in sorted({*rounds[0], *rounds[1]})
    ]
    same_prompt = trace.started.prompt_ids == other.started.prompt_ids
    return Comparison(name, other_name, same_prompt, difference, tuple(rows))


def _difference(first: Named, second: Named) -> Difference | None:
    tokens, other = first[1].finished.output_ids, second[1].finished.output_ids
    shared = next(
        (i for i, (a, b) in enumerate(zip(tokens, other, strict=False)) if a != b), min(len(tokens), len(other))
    )
    if len(tokens) == len(other) == shared:
        return None
    before = "".join(display_pieces(token_bytes(first[1], token) for token in tokens[max(0, shared - 8) : shared]))
    words = [
        trace.vocab[str(trace.finished.output_ids[shared])].text if shared < len(trace.finished.output_ids) else ""
        for _, trace in (first, second)
    ]
    return Difference(shared, before, *words)


NUMBERS = [field.name for field in fields(Agreement)]
PLAIN = [field.name for field in fields(Candidate) if field.name not in ("belief", "judged")]
TABLES = (
    "by_depth",
    "by_draft_rank",
    "agreement",
    "by_target_rank",
    "by_target_entropy",
    "by_token_class",
    "by_copied",
    "by_position",
    "patterns",
)
"""fields of an `Analysis` that are rows of rates"""


def csv_files(runs: Sequence[RunFacts], analyses: Sequence[Analysis]) -> Mapping[str, str]:
    """File name → content."""
    return {
        "candidates.csv": _table(
            ["drafter", *PLAIN, *(f"belief_{name}" for name in NUMBERS), *(f"judged_{name}" for name in NUMBERS)],
            _candidates(runs),
        ),
        "rounds.csv": _table(
            ["drafter", *(field.name for field in fields(RoundFacts))],
            ([run.drafter, *_values(this)] for run in runs for this in run.rounds),
        ),
        "rates.csv": _table(["drafter", "table", "case", "hits", "of", "value", "low", "high"], _rates(analyses)),
        "pairs.csv": _table(
            ["drafter", "drafted", "wanted", "drafted_token", "wanted_token", "count", "example_run", "example_round"],
            _pairs(analyses),
        ),
        "failures.csv": _table(
            ["drafter", "kind", "words", "hits", "of", "value", "low", "high", "run", "round", "drafted", "wanted"],
            _failures(analyses),
        ),
        "calibration.csv": _table(
            ["drafter", "draft_probability", "count", "mean_draft", "mean_target", "accepted", "tested"],
            _calibration(analyses),
        ),
    }


def _table(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(list(map(cell, line)) for line in lines)
    return text.getvalue()


def _values(record: object) -> list[object]:
    return [getattr(record, field.name) for field in fields(record)]  # type: ignore[arg-type]


def _candidates(runs: Sequence[RunFacts]) -> Iterator[list[object]]:
    for run in runs:
        for candidate in run.candidates:
            numbers = [getattr(side, name, None) for side in (candidate.belief, candidate.judged) for name in NUMBERS]
            yield [run.drafter, *(getattr(candidate, name) for name in PLAIN), *numbers]


def _rates(analyses: Sequence[Analysis]) -> Iterator[list[object]]:
    for analysis in analyses:
        yield [analysis.drafter, "acceptance", "all", *_numbers(analysis.acceptance)]
        for name in TABLES:
            rows: tuple[Row, ...] = getattr(analysis, name)
            for row in rows:
                yield [analysis.drafter, name, row.label, *_numbers(row.rate)]


def _numbers(rate: Rate) -> list[object]:
    return [rate.hits, rate.of, rate.value, rate.low, rate.high]


def _pairs(analyses: Sequence[Analysis]) -> Iterator[list[object]]:
    for analysis in analyses:
        for pair in analysis.pairs:
            first = pair.examples[0]
            yield [
                analysis.drafter,
                pair.drafted,
                pair.wanted,
                pair.drafted_token,
                pair.wanted_token,
                pair.count,
                first.run,
                first.round,
            ]


def _failures(analyses: Sequence[Analysis]) -> Iterator[list[object]]:
    for analysis in analyses:
        for failure in analysis.failures:
            first = failure.examples[0]
            where = [first.run, first.round, first.drafted, first.wanted]
            yield [analysis.drafter, failure.kind, failure.words, *_numbers(failure.share), *where]


def _calibration(analyses: Sequence[Analysis]) -> Iterator[list[object]]:
    for analysis in analyses:
        for some in analysis.calibration.bins if analysis.calibration else ():
            yield [
                analysis.drafter,
                some.label,
                some.count,
                some.mean_draft,
                some.mean_target,
                some.accepted.hits,
                some.accepted.of,
            ]
