"""What a run could not do because the context of one of its models was full, in sentences for a screen.

Place in the flow: read by the page's line about a run and by the lines that a command prints under it.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Trace
from specviz.trace.header import ModelCard

DRAFTER_FULL = "drafter_context_full"
"""the drafter's note about a round in which its own context had no room for a draft"""


def full_contexts(trace: Trace) -> list[str]:
    """One sentence per model whose context ended something; none for most runs."""
    return [*_of_the_target(trace), *_of_the_drafter(trace)]


def _of_the_target(trace: Trace) -> Iterator[str]:
    started, finished = trace.started, trace.finished
    length = len(started.prompt_ids) + len(finished.output_ids)
    cut = len(finished.output_ids) < started.max_new_tokens and length >= started.target.context_length
    if finished.reason == "length" and cut:
        yield (
            f"The text fills {_context(started.target)}, so it ended before the {started.max_new_tokens} new tokens "
            "that were asked for."
        )


def _of_the_drafter(trace: Trace) -> Iterator[str]:
    silent = sum(this.drafted.note.get(DRAFTER_FULL) is True for this in trace.rounds)
    model = trace.started.drafter.model
    if silent and model is not None:
        rounds = (
            "nothing at all" if silent == len(trace.rounds) else f"nothing in {silent} of {len(trace.rounds)} rounds"
        )
        yield (
            f"The text is longer than {_context(model)}, which therefore drafted {rounds}; shorten the prompt or "
            "choose a drafter with a longer context."
        )


def _context(card: ModelCard) -> str:
    """`the context of drafter (256 tokens)`; a window is called one."""
    what = "sliding attention window" if card.window else "context"
    return f"the {what} of {card.name} ({card.context_length:,} tokens)"
