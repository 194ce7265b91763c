"""The traces of a sweep's runs, kept where a visitor asks for them: one zip, which the Analysis tab opens.

Place in the flow: the sweep hands each finished run over; the zip lies in the visitor's own folder and goes with it.
"""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from specviz.app.analysis.library import MOST_TRACES
from specviz.bench.sweep.runner import Keep
from specviz.bench.sweep.traces import trace_name
from specviz.errors import OptionError
from specviz.protocol.sweeps.points import SweepPoint
from specviz.trace import codec
from specviz.trace.events import Trace

ZIP = "traces.zip"


def check_count(runs: int) -> None:
    """Raises OptionError where a sweep makes more runs than the Analysis tab reads."""
    if runs > MOST_TRACES:
        raise OptionError(
            f"the sweep makes {runs} runs, but the traces of at most {MOST_TRACES} are kept; leave some runs out, or "
            "keep no traces."
        )


def zip_keeper(path: Path) -> Keep:
    """Adds each run to the zip at `path`; nothing once its folder is gone, because the visitor has left."""

    def keep(point: SweepPoint, trace: Trace) -> None:
        if path.parent.is_dir():
            with ZipFile(path, "a", ZIP_DEFLATED) as archive:
                archive.writestr(trace_name(point).removesuffix(".gz"), codec.dumps(trace))

    return keep
