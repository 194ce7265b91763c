"""The analysis of recorded runs as a section of the documentation: each drafter's most frequent kinds of failure.

Place in the flow: `specviz analyse FOLDER --write`, `specviz bench sweep FILE --write-failures` and `make generate` put
it between the marks of docs/analysis.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

from specviz.cli.parts.analysis_report import interval
from specviz.cli.parts.trace_files import readable, trace_files
from specviz.errors import TraceError
from specviz.protocol.links import pack_request, text_hash
from specviz.protocol.runs import request_of
from specviz.theory.analysis.analyse import Analysis, analyses
from specviz.theory.analysis.failures import Failure
from specviz.theory.analysis.gather import facts_of
from specviz.theory.analysis.pairs import Example
from specviz.theory.repetition import MOST, repeats, repetition
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.exports.markdown import code

DOCUMENT = Path("docs") / "analysis.md"
SECTION, SWEEP_SECTION = "failures", "sweep failures"
"""between whose marks the recorded runs and those of a sweep stand"""
KINDS = 3
"""shown of each drafter"""
CONTEXT = 24
"""characters of text before an example"""
PAGE = "http://127.0.0.1:7860/"
"""where `specviz app` serves"""
MADE = "`specviz analyse assets/traces --write`"


def section(folder: Path, made: str = MADE) -> str:
    """The section of all traces in a folder whose texts do not repeat themselves; `made`: the command that makes it
    again. Raises TraceError where one of them cannot be read."""
    every = _every(folder)
    traces = [(name, trace) for name, trace in every if not _repeats(trace)]
    found = analyses([facts_of(name, trace) for name, trace in traces])
    links = {name: _link(name, trace) for name, trace in traces}
    parts = [
        _provenance([trace for _, trace in traces], len(every), made),
        *(line for one in found for line in _drafter(one, links)),
    ]
    return "\n".join(parts)


def pack(folder: Path, archive: Path) -> int:
    """The traces that `section` counts, as one zip, for the Analysis tab to offer: by LZMA, which takes a fifth less
    than what every program opens. Returns how many they are.

    Raises TraceError where one of them cannot be read, OSError where the zip cannot be written."""
    counted = [(name, trace) for name, trace in _every(folder) if not _repeats(trace)]
    with ZipFile(archive, "w") as file:
        for name, trace in counted:
            member = ZipInfo(f"{name}.json")  # without the moment of writing
            file.writestr(member, codec.dumps(trace), ZIP_LZMA)
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


def _drafter(one: Analysis, links: Mapping[str, str]) -> Iterator[str]:
    if not one.failures:
        return
    runs = code(one.runs[0]) if len(one.runs) == 1 else f"{len(one.runs)} runs"
    tested = one.drafted - one.unreached
    yield f"**{one.drafter}** ({runs}; {interval(one.acceptance)} of {tested} tested candidates accepted)\n"
    for failure in one.failures[:KINDS]:
        yield _kind(failure, links)
    yield ""


def _kind(one: Failure, links: Mapping[str, str]) -> str:
    """Two examples of recorded runs, one of others, whose addresses are long."""
    examples = one.examples[: 2 if "#run=" in links[one.examples[0].run] else 1]
    share = f"{100 * (one.share.value or 0):.0f} % ({one.share.hits} of {one.share.of})"
    lines = [f"- {share} *{one.kind}*: {one.words}", *(_example(example, links[example.run]) for example in examples)]
    return "\n".join(lines)


def _example(one: Example, link: str) -> str:
    """A link to the round, and what stood there."""
    place = f"[{one.run}, round {one.round + 1}]({link}&round={one.round + 1})"
    drafted = f"drafted {code(one.drafted)}, " if one.drafted else ""
    return f"  - {place} … {code(one.context[-CONTEXT:])}: {drafted}wanted {code(one.wanted)}"
