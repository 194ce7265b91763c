"""A run as the page shows, keeps and gets it back: its player, badges and panels; packed for later; and an uploaded
file or the text that the player holds, which may hold anything and are read with the limits for strangers.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from specviz.app.look import notices
from specviz.app.look.notices import badges
from specviz.app.runs.gallery import as_recorded
from specviz.app.runs.iterations import heat_map, iterations
from specviz.app.runs.live_run import ending
from specviz.app.runs.matrix import matrix_of, matrix_table
from specviz.app.runs.whole_run import acceptance_by_depth, accepted_lengths, bar_panels
from specviz.errors import OptionError, TraceError
from specviz.protocol.runs import Resume
from specviz.trace import codec
from specviz.trace.check import read_checked
from specviz.trace.events import Trace
from specviz.trace.header import Started
from specviz.trace.limits import UPLOAD


def imported(path: str | None, most_bytes: int) -> Trace:
    """An uploaded trace, from now on a recorded one. Raises TraceError with one sentence."""
    if path is None:
        raise TraceError("no file arrived; choose a .json or .json.gz trace.")
    if Path(path).stat().st_size > most_bytes:
        raise TraceError(f"the file is larger than the {most_bytes / 1e6:g} MB this machine takes.")
    return as_recorded(read_checked(path, UPLOAD))


def resume_at(player: str, place: tuple[int, int | None] | None) -> Resume:
    """Where to continue, from the run the page shows. Raises TraceError or OptionError."""
    if place is None:
        raise OptionError("no place to continue from is chosen; pick a token in the player first.")
    return Resume(codec.loads(player or "", UPLOAD), place[0], place[1])


def token_text(player: str, token: int) -> str:
    """How the shown run writes a token; its number where the run does not know it."""
    try:
        entry = codec.loads(player, UPLOAD).vocab.get(str(token))
    except TraceError:
        entry = None
    return str(token) if entry is None else entry.text.replace(" ", "␣").replace("\n", "⏎")


def pack(text: str) -> bytes:
    """In a few milliseconds; what was packed is equal where the text is."""
    return zlib.compress(text.encode("utf-8"), 1)


def unpack(packed: bytes) -> str:
    """The text again."""
    return zlib.decompress(packed).decode("utf-8")


def badges_of(started: Started) -> str:
    return notices.badge_row(badges(started))


def panels_of(trace: Trace) -> str:
    """The run as a whole: how much was accepted, and where the drafter shows such things, how it converged and what
    its matrix holds."""
    bars = bar_panels([acceptance_by_depth(trace.rounds), accepted_lengths(trace.rounds)])
    return bars + heat_map(iterations(trace)) + matrix_table(matrix_of(trace), trace.vocab)


def stage_of(trace: Trace, message: str = "") -> tuple[str, str, str, str]:
    """What shows a whole run: player, badges, panels and message, which by default says what it is."""
    return codec.dumps(trace), badges_of(trace.started), panels_of(trace), notices.message(message or shown_as(trace))


def shown_as(trace: Trace, comment: str = "") -> str:
    """`comment`: what a recorded run's text is to be read with."""
    said = f"Showing a {trace.started.source} run: {ending(trace)}"
    return f"{said} Read its text with care: {comment}." if comment else said
