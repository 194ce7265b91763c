"""Which versions of the format are read, and how older ones become the current one.

Same major: read, unknown fields ignored. Newer major: refused with the release to get. Older major: carried forward by
pure functions on the JSON data, one per step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from specviz.errors import TraceError, TraceVersionError, shown
from specviz.trace.events import FORMAT, VERSION

Migration = Callable[[dict[str, Any]], dict[str, Any]]

MIGRATIONS: dict[int, Migration] = {}
"""major m → the function that makes data of major m + 1 out of it; none yet, 1 is the first"""

_CURRENT_MAJOR = int(VERSION.split(".")[0])
_VERSION = re.compile(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})")


def to_current(data: dict[str, Any], migrations: Mapping[int, Migration] = MIGRATIONS) -> tuple[dict[str, Any], bool]:
    """Data of any readable version → data of the current major, and whether it was changed.

    Raises TraceError where the file is no trace, TraceVersionError where this release does not read its version.
    """
    if data.get("format") != FORMAT:
        raise TraceError(
            f"format is {shown(data.get('format'))}, but a trace says '{FORMAT}'; this file is something else."
        )
    version = data.get("version")
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if match is None:
        raise TraceError(f"version is {shown(version)}, but must read like '{VERSION}'.")
    major = int(match[1])
    if major > _CURRENT_MAJOR:
        raise TraceVersionError(
            f"version is {version}, but this release reads up to {_CURRENT_MAJOR}.x; "
            f"read it with a SpecViz release whose trace format is {major}.x or newer."
        )
    changed = False
    while major < _CURRENT_MAJOR:
        if major not in migrations:
            raise TraceVersionError(f"version is {version}, which no release has ever written; the oldest is 1.0.")
        data, major, changed = migrations[major](data), major + 1, True
    return data, changed
