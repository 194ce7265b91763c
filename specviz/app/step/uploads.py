"""Runs that come back from a visitor: an uploaded file, or the text the player holds.

Both may hold anything, so both are read with the limits for strangers.
"""

from __future__ import annotations

from pathlib import Path

from specviz.app.runs.gallery import as_recorded
from specviz.errors import OptionError, TraceError
from specviz.protocol.runs import Resume
from specviz.trace import codec
from specviz.trace.check import read_checked
from specviz.trace.events import Trace
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
