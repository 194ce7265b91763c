"""The lab's charts, read off the files beside this one: each file with a `CHART` is a chart.

Place in the flow: read by the When-it-pays tab and by whoever exports pictures. Adding a chart is one file with
`figure`, `rows` and a `CHART`, and nothing else to edit.
"""

from __future__ import annotations

import importlib
import pkgutil

from specviz.app import lab
from specviz.app.lab.chart import LabChart


def _found() -> tuple[LabChart, ...]:
    names = (info.name for info in pkgutil.iter_modules(lab.__path__) if info.name not in ("charts", "choice"))
    modules = (importlib.import_module(f"{lab.__name__}.{name}") for name in names)
    charts = [module.CHART for module in modules if hasattr(module, "CHART")]
    return tuple(sorted(charts, key=lambda one: one.place))


CHARTS = _found()
"""by their `place`"""


def chart(name: str) -> LabChart:
    """The chart of that name; the first one for a name that is none, such as one from an old link."""
    return next((one for one in CHARTS if one.name == name), CHARTS[0])
