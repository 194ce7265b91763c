"""How settings name their choices of methods: as they do now, and as earlier releases did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.trace import header

FORMER_NAMES = {
    **{
        f"{former}{end}": f"{name}{end}"
        for name, former in header.FORMER_NAMES.items()
        for end in ("", "_options", "_weights")
    },
    "growths": "tree_policies",
    "stoppings": "stop_policies",
}
"""what requests, sweeps and links of earlier releases called a setting → what it is called now"""


def renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a link, a sweep or a list of recordings, those of earlier releases by the names of now."""
    return {FORMER_NAMES.get(name, name): value for name, value in settings.items()}
