"""What to expect of each family of prompts, from a sweep's points: a sentence beside the one that was written by hand.

Place in the flow: `specviz bench sweep FILE --write-families` puts the sentences into the prompt set of the sweep's
target, where the page reads them. No number of a page's families is typed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from specviz.errors import BenchError
from specviz.protocol.sweeps.points import BASELINE, SweepPoint
from specviz.resources import ROOT
from specviz.theory.rows import SweepRow, repeats_itself, summarise, varied

SHOWN = 2
"""drafters of a family that are named, the fastest first"""


def measured_lines(points: Sequence[SweepPoint]) -> dict[str, str]:
    """Family → its sentence, at the lowest temperature; families of which no draft was measured are left out. Texts
    that repeat themselves are in none, unless a family has no others, which its sentence then says."""
    coldest = min((point.temperature for point in points), default=0.0)
    families: dict[str, list[SweepPoint]] = {}
    for point in points:
        if point.temperature == coldest:
            families.setdefault(point.family, []).append(point)
    lines = {family: _line(group, coldest) for family, group in families.items()}
    return {family: line for family, line in lines.items() if line}


def _line(points: Sequence[SweepPoint], temperature: float) -> str:
    counted = varied(points) or points
    fastest: dict[str, SweepRow] = {}
    for row in sorted(summarise(counted), key=lambda row: -row.ratio.value):
        if row.drafter != BASELINE:
            fastest.setdefault(row.drafter, row)
    named = [f"{_name(row)} {row.ratio.value:.2f} × plain" for row in fastest.values()][:SHOWN]
    prompts = len({point.prompt for point in counted})
    asked = f"Measured on {prompts} prompt{'' if prompts == 1 else 's'} at temperature {temperature:g}"
    asked += ", all of whose texts repeat themselves" if any(map(repeats_itself, counted)) else ""
    return f"{asked}: {', '.join(named)}." if named else ""


def _name(row: SweepRow) -> str:
    return row.label if row.gamma is None else f"{row.label} (γ = {row.gamma})"


def prompt_file(target: str) -> Path:
    """Of a real model's prompts. Raises BenchError where the target has none of its own."""
    path = ROOT / "prompts" / f"{target}.json"
    if not path.is_file():
        raise BenchError(f"there is no set of prompts for '{target[:80]}', so there are no families to write to.")
    return path


def write_families(path: Path, lines: Mapping[str, str], weights_sha256: str) -> None:
    """Put the sentences beside those of the file, and the hash of the target that they were measured with; a family
    that was not measured keeps what it has."""
    content = json.loads(path.read_text(encoding="utf-8"))
    content["weights_sha256"] = weights_sha256
    for family in content["families"]:
        if family["name"] in lines:
            family["measured"] = lines[family["name"]]
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
