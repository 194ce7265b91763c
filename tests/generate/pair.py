"""The bundled pair in two sentences, from the figures that lie beside the weights."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from specviz.corpus.prompt_set import ENGLISH, PYTHON, Family
from specviz.resources import ROOT

SECTION = "pair in short"


def section(models: Path = ROOT / "models") -> str:
    """Two sentences."""
    found = _read(models, "target", "figures")

    def share(name: str) -> str:
        return f"{found[name]:.0%}"

    drafter, weaker = (_read(models, name, "acceptance") for name in ("drafter", "drafter-weak"))
    assert drafter["draft_length"] == weaker["draft_length"]
    return (
        f"On held-out documents {share('facts')} of the target's facts are right in phrasings that training never had, "
        f"{share('sums_two_digits_steps')} of the two-digit and {share('sums_three_digits_steps')} of the three-digit "
        f"sums that it works out step by step, and {share('sums_two_digits_bare')} and "
        f"{share('sums_three_digits_bare')} of the bare ones (`34 + 28 =`).\n"
        f"Greedily and at speculation length {drafter['draft_length']} it accepts {_range(drafter, ENGLISH)} of what "
        f"the drafter proposes in the families of plain English and {_range(drafter, PYTHON)} in those of Python, of "
        f"the weaker drafter's {_range(weaker, ENGLISH)} and {_range(weaker, PYTHON)}."
    )


def _read(models: Path, name: str, what: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((models / name / f"{what}.json").read_text(encoding="utf-8"))
    return data


def _range(acceptance: dict[str, Any], families: Sequence[Family]) -> str:
    rates = [acceptance["families"][one.name]["rate"] for one in families]
    return f"{min(rates):.2f} to {max(rates):.2f}"
