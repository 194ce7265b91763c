"""What `specviz analyse` prints, and the same as sections of docs/analysis.md: each drafter's most frequent failures.

The reasons come first, then the tables, a line per number. `specviz analyse FOLDER --write`, `specviz bench sweep FILE
--write-failures` and `make generate` write the sections. Token text is hostile and goes through `visible`.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from specviz.cli.sources import readable, trace_files
from specviz.cli.terminal import printable, visible
from specviz.errors import TraceError
from specviz.protocol.links import pack_request, text_hash
from specviz.protocol.runs import request_of
from specviz.theory.analysis.analyse import Analysis, Comparison, analyses
from specviz.theory.analysis.facts import RoundFacts, facts_of
from specviz.theory.analysis.failures import Example, Failure
from specviz.theory.analysis.rates import Calibration, Distances, Rate, Row
from specviz.theory.rows import MOST, repeats, repetition
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.exports.markdown import code

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


def report(analysis: Analysis) -> Iterator[str]:
    """One drafter."""
    traces = f"{len(analysis.runs)} traces" if len(analysis.runs) != 1 else printable(analysis.runs[0], keep="")
    yield printable(f"{analysis.drafter} · {traces}", keep="")
    tested = analysis.drafted - analysis.unreached
    yield f"  {analysis.rounds} rounds, {analysis.drafted} candidates: {tested} tested, {analysis.unreached} unreached"
    yield f"  accepted {interval(analysis.acceptance)} of the tested"
    for sentence in analysis.missing:
        yield f"  {printable(sentence, keep='')}"
    if analysis.failures:
        yield "  why drafts failed, the most frequent first"
        for failure in analysis.failures:
            yield from _failure(failure)
    if analysis.pairs:
        yield "  drafted → wanted, rejected candidates"
        for pair in analysis.pairs[:PAIRS]:
            places = ", ".join(f"{example.run} {example.round}" for example in pair.examples)
            where = printable(places, keep="")
            yield f"    {pair.count:4} {visible(pair.drafted)} → {visible(pair.wanted)}   round: {where}"
        if len(analysis.pairs) > PAIRS:
            yield f"         … and {len(analysis.pairs) - PAIRS} more pairs"
    for title, name in TABLES:
        yield from _table(title, getattr(analysis, name))
    if analysis.calibration is not None:
        yield from _calibration(analysis.calibration)
    if analysis.distances is not None:
        yield from _distances(analysis.distances)


def interval(rate: Rate) -> str:
    """`0.68 [0.66–0.71]`; `–` without cases."""
    return "–" if rate.value is None else f"{rate.value:.2f} [{rate.low:.2f}–{rate.high:.2f}]"


def _failure(failure: Failure) -> Iterator[str]:
    yield f"    {100 * (failure.share.value or 0.0):3.0f} % {failure.share.hits:4}  {failure.kind}: {failure.words}"
    for example in failure.examples:
        yield f"                {_example(example)}"


def _example(example: Example) -> str:
    where = printable(f"{example.run} round {example.round}", keep="")
    drafted = f"drafted {visible(example.drafted)}, " if example.drafted else ""
    return f"{where}: …{visible(example.context[-24:])} | {drafted}wanted {visible(example.wanted)}"


def _table(title: str, rows: Sequence[Row]) -> Iterator[str]:
    if rows:
        yield f"  {title}"
        width = max(len(row.label) for row in rows)
        for row in rows:
            bar = "█" * round(BAR * (row.rate.value or 0.0))
            yield f"    {row.label:<{width}}  {interval(row.rate)}  {bar:<{BAR}}  {row.rate.hits} of {row.rate.of}"


def _calibration(calibration: Calibration) -> Iterator[str]:
    over = f"{calibration.error:.3f} over {calibration.candidates} candidates"
    yield f"  is the draft as sure as it is right? mean distance {over}"
    yield "    q          mean q  mean p  candidates"
    for one in calibration.bins:
        yield f"    {one.label:<9}  {one.mean_draft:6.2f}  {one.mean_target:6.2f}  {one.count}"


def _distances(distances: Distances) -> Iterator[str]:
    kl = "infinite everywhere" if distances.kl_bits is None else f"{distances.kl_bits:.2f} bits"
    infinite = (
        f" (infinite at {distances.infinite} more)" if distances.infinite and distances.kl_bits is not None else ""
    )
    yield f"  target against draft over {distances.places} places, by what both believe at temperature 1"
    yield (
        f"    KL(target‖draft) {kl}{infinite} · total variation {distances.total_variation:.3f} · "
        f"Σ min(p, q) {distances.overlap:.3f} · entropy {distances.target_bits:.2f} and {distances.draft_bits:.2f} bits"
    )
    if distances.expected is not None:
        measured = interval(distances.measured)
        yield f"    first candidates drawn from q: Σ min(p, q) promises {distances.expected:.3f}, accepted {measured}"
    yield from _table("acceptance of the first candidate by Σ min(p, q) at its place", distances.by_overlap)


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


DOCUMENT = Path("docs") / "analysis.md"
PRESET = 9
"""of LZMA: a text's traces lie further apart than what the usual one remembers"""
SECTION, SWEEP_SECTION = "failures", "sweep failures"
"""between whose marks the recorded runs and those of a sweep stand"""
KINDS = 3
"""shown of each drafter"""
CONTEXT = 24
"""characters of text before an example"""
PAGE = "http://127.0.0.1:7860/"
"""where `specviz app` serves"""
MADE = "`specviz analyse assets/traces --write`"


def section(folder: Path, made: str = MADE, messages: bool = True) -> str:
    """The section of all traces in a folder whose texts do not repeat themselves; `made`: the command that makes it
    again. Without `messages` those of models that answer messages are left out: a drafter fails otherwise beside
    another target. Raises TraceError where one of them cannot be read."""
    every = [(name, trace) for name, trace in _every(folder) if messages or trace.started.chat_message is None]
    traces = [(name, trace) for name, trace in every if not _repeats(trace)]
    found = analyses([facts_of(name, trace) for name, trace in traces])
    links = {name: _link(name, trace) for name, trace in traces}
    parts = [
        _provenance([trace for _, trace in traces], len(every), made),
        *(line for analysis in found for line in _drafter(analysis, links)),
    ]
    return "\n".join(parts)


def pack(folder: Path, archive: Path) -> int:
    """The traces that `section` counts, as one zip packed by LZMA, for the Analysis tab to offer: packed as a whole,
    since they are of the same texts and repeat each other, they take half of what they do one by one. Returns how many.

    Raises TraceError where one of them cannot be read, OSError where the zip cannot be written."""
    counted = [(name, trace) for name, trace in _every(folder) if not _repeats(trace)]
    with lzma.open(archive, "wb", preset=PRESET) as packed, ZipFile(packed, "w") as file:
        for name, trace in counted:
            member = ZipInfo(f"{name}.json")  # without the moment of writing
            file.writestr(member, codec.dumps(trace))
    return len(counted)


def _every(folder: Path) -> list[tuple[str, Trace]]:
    refused: list[str] = []
    every = list(readable(trace_files([folder]), refused))
    if refused:
        raise TraceError(refused[0])
    return every


def _repeats(trace: Trace) -> bool:
    return repeats(repetition(trace.finished.output_ids))


def _link(name: str, trace: Trace) -> str:
    """The address of a run on the page, without its round: a shipped one by its name, any other by its request, from
    which it is run again."""
    if trace.started.source == "recorded":
        return f"{PAGE}#run={name}"
    return f"{PAGE}#ask={pack_request(request_of(trace.started))}&text={text_hash(trace.finished.text)}"


def _provenance(traces: Sequence[Trace], every: int, made: str) -> str:
    models = {
        card.name: card.weights_sha256
        for trace in traces
        for card in (trace.started.target, trace.started.drafter.model, *trace.started.drafter.further_models)
        if card is not None
    }
    weights = ", ".join(f"{name} sha256 {models[name][:12]}" for name in sorted(models))
    return (
        f"Counted by {made} over {len(traces)} of {every} runs ({weights}); the others repeat more than {MOST:.0%} of "
        "their 4-grams and are left out. Few texts stand behind most of these shares: read the counts beside them, and "
        "the examples first.\n"
    )


def _drafter(analysis: Analysis, links: Mapping[str, str]) -> Iterator[str]:
    if not analysis.failures:
        return
    runs = code(analysis.runs[0]) if len(analysis.runs) == 1 else f"{len(analysis.runs)} runs"
    tested = analysis.drafted - analysis.unreached
    yield f"**{analysis.drafter}** ({runs}; {interval(analysis.acceptance)} of {tested} tested candidates accepted)\n"
    for failure in analysis.failures[:KINDS]:
        yield _kind(failure, links)
    yield ""


def _kind(failure: Failure, links: Mapping[str, str]) -> str:
    """Two examples of recorded runs, one of others, whose addresses are long."""
    examples = failure.examples[: 2 if "#run=" in links[failure.examples[0].run] else 1]
    share = f"{100 * (failure.share.value or 0):.0f} % ({failure.share.hits} of {failure.share.of})"
    lines = [
        f"- {share} *{failure.kind}*: {failure.words}",
        *(_example_in_docs(example, links[example.run]) for example in examples),
    ]
    return "\n".join(lines)


def _example_in_docs(example: Example, link: str) -> str:
    """A link to the round, and what stood there."""
    where = f"[{example.run}, round {example.round + 1}]({link}&round={example.round + 1})"
    drafted = f"drafted {code(example.drafted)}, " if example.drafted else ""
    return f"  - {where} … {code(example.context[-CONTEXT:])}: {drafted}wanted {code(example.wanted)}"
