"""From the steps of a run to the trace of it: events in order, one vocabulary table, the summary computed."""

from __future__ import annotations

from collections.abc import Iterable

from specviz.errors import TraceError
from specviz.trace.events import FORMAT, VERSION, Finished, Round, Trace, VocabEntry
from specviz.trace.header import Started
from specviz.trace.steps import Step
from specviz.trace.summary import summary as summarise


def assemble(steps: Iterable[Step]) -> Trace:
    """Started, rounds, Finished → Trace. Raises TraceError where the steps do not come in this order."""
    started: Started | None = None
    finished: Finished | None = None
    rounds: list[Round] = []
    vocab: dict[str, VocabEntry] = {}
    for step in steps:
        vocab.update(step.vocab)
        event = step.event
        if finished is not None or (started is None) != isinstance(event, Started):
            raise TraceError(f"the run gave {type(event).__name__} out of order; it gives Started, rounds, Finished.")
        if isinstance(event, Started):
            started = event
        elif isinstance(event, Round):
            rounds.append(event)
        else:
            finished = event
    if started is None or finished is None:
        raise TraceError(f"the run gave no {'Finished' if started else 'Started'}; a trace needs both.")
    vocab = {str(key): vocab[str(key)] for key in sorted(map(int, vocab))}
    summary = summarise(started, rounds, finished)
    return Trace(FORMAT, VERSION, started, vocab, rounds, finished, summary)
