"""The analysis of recorded runs as a section of the documentation: each drafter's most frequent kinds of failure.

Place in the flow: `specviz analyse FOLDER --write` and `make generate` put it between the marks of docs/analysis.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from specviz.cli.parts.analysis_report import interval
from specviz.cli.parts.trace_files import readable, trace_files
from specviz.errors import TraceError
from specviz.theory.analysis.analyse import Analysis, analyses
from specviz.theory.analysis.failures import Failure
from specviz.theory.analysis.gather import facts_of
from specviz.theory.analysis.pairs import Example
from specviz.trace.events import Trace
from specviz.trace.exports.markdown import code

SECTION = "failures"
KINDS = 3
"""shown of each drafter"""
EXAMPLES = 2
CONTEXT = 24
"""characters of text before an example"""


def section(folder: Path) -> str:
    """The section of all traces in a folder. Raises TraceError where one of them cannot be read."""
    refused: list[str] = []
    traces = list(readable(trace_files([folder]), refused))
    if refused:
        raise TraceError(refused[0])
    found = analyses([facts_of(name, trace) for name, trace in traces])
    parts = [_provenance([trace for _, trace in traces]), *(line for one in found for line in _drafter(one))]
    return "\n".join(parts)


def _provenance(traces: Sequence[Trace]) -> str:
    models = {
        card.name: card.weights_sha256
        for trace in traces
        for card in (trace.started.target, trace.started.drafter.model, *trace.started.drafter.further_models)
        if card is not None
    }
    weights = ", ".join(f"{name} sha256 {models[name][:12]}" for name in sorted(models))
    return (
        f"Counted by `specviz analyse assets/traces --write` over {len(traces)} recorded runs ({weights}). Few texts "
        "stand behind most of these shares: read them with their intervals, and the examples before the shares.\n"
    )


def _drafter(one: Analysis) -> Iterator[str]:
    if not one.failures:
        return
    runs = code(one.runs[0]) if len(one.runs) == 1 else f"{len(one.runs)} runs"
    tested = one.drafted - one.unreached
    yield f"**{one.drafter}** ({runs}; {interval(one.acceptance)} of {tested} tested candidates accepted)\n"
    for failure in one.failures[:KINDS]:
        yield _kind(failure)
    yield ""


def _kind(one: Failure) -> str:
    share = f"{100 * (one.share.value or 0):.0f} % ({one.share.hits} of {one.share.of})"
    lines = [f"- {share} *{one.kind}*: {one.words}", *map(_example, one.examples[:EXAMPLES])]
    return "\n".join(lines)


def _example(one: Example) -> str:
    """The place as the page's address takes it, and what stood there."""
    place = f"`#run={one.run}&round={one.round + 1}`"
    drafted = f"drafted {code(one.drafted)}, " if one.drafted else ""
    return f"  - {place} … {code(one.context[-CONTEXT:])}: {drafted}wanted {code(one.wanted)}"
