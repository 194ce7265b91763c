"""The method map as data: systems, their facets, and the presets that choose their methods.

Place in the flow: reads `assets/method_map.toml` and the list of recordings; the view draws it, tests hold it against
the registry.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from specviz.app.step.filling import AUTO_VERIFIERS
from specviz.errors import OptionError
from specviz.protocol.links import pack
from specviz.protocol.runs import RunRequest
from specviz.resources import ROOT, without

FACETS = {"drafts": "what drafts", "shape": "what shape", "verifies": "what verifies", "needs": "what it needs"}
"""facet → its name on the page"""
RUNS, COMPARED, PLANNED = "runs here", "for comparison", "planned"
LEFT_OUT = {"name", "prompt", "prompt_name", "options", "top", "max_new_tokens"}
"""of a recording: what belongs to that recording and not to its methods"""


@dataclass(frozen=True, slots=True)
class Preset:
    label: str
    recording: str
    """of assets/traces, without its ending"""
    page: str
    """of docs/methods, without its ending"""


@dataclass(frozen=True, slots=True)
class System:
    """One row of the map."""

    number: int
    name: str
    arxiv: tuple[str, ...]
    drafts: str
    shape: str
    verifies: str
    needs: tuple[str, ...]
    presets: tuple[Preset, ...] = ()
    comparison: bool = False
    """it does not speculate, and stands here for what it shares with those that do"""
    commands: tuple[str, ...] = ()
    """what to type for it, where no choice in the Watch tab runs it"""
    shares: str = ""
    """of one that stands for comparison: what it has in common with those that speculate"""
    differs: str = ""
    """and why it is none of them"""

    @property
    def status(self) -> str:
        """`RUNS`, `COMPARED` or `PLANNED`."""
        if self.comparison:
            return COMPARED
        return RUNS if self.presets or self.commands else PLANNED

    def values(self, facet: str) -> tuple[str, ...]:
        found = getattr(self, facet)
        return found if isinstance(found, tuple) else (found,)


@cache
def systems() -> tuple[System, ...]:
    """All rows, in the order of the file; none where it is damaged, or a row lacks a facet."""
    return without(ROOT / "method_map.toml", read, ())


def read(path: Path) -> tuple[System, ...]:
    """Raises OptionError for a row that lacks a facet."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(_system(dict(row)) for row in content["system"])


def _system(row: dict[str, Any]) -> System:
    presets = tuple(Preset(**one) for one in row.pop("preset", []))
    try:
        commands = tuple(row.pop("commands", ()))
        arxiv, needs = tuple(row.pop("arxiv")), tuple(row.pop("needs"))
        return System(arxiv=arxiv, needs=needs, presets=presets, commands=commands, **row)
    except (KeyError, TypeError) as error:
        raise OptionError(f"assets/method_map.toml: system {row.get('number', '?')} is incomplete: {error}.") from None


@cache
def recordings() -> Mapping[str, Mapping[str, Any]]:
    """Name of a recording → its settings, as `specviz record` reads them; none where the list is damaged."""
    return without(ROOT / "traces" / "recordings.toml", _recordings, {})


def _recordings(path: Path) -> dict[str, dict[str, Any]]:
    return {str(one["name"]): dict(one) for one in tomllib.loads(path.read_text(encoding="utf-8"))["recording"]}


def methods_of(preset: Preset) -> dict[str, Any]:
    """The settings that a preset chooses, by the names of `RunRequest`. Raises OptionError where its recording is not
    in the list."""
    entry = recordings().get(preset.recording)
    if entry is None:
        raise OptionError(f"the map's preset '{preset.label}' names the recording '{preset.recording}', which is not "
                          "in assets/traces/recordings.toml.")  # fmt: skip
    standard = RunRequest(prompt="")
    chosen = {role: getattr(standard, role) for role in ("tree_policy", "stop_policy", "verifier", "temperature")}
    known = {field.name for field in fields(RunRequest)}
    chosen |= {name: value for name, value in entry.items() if name in known - LEFT_OUT}
    if chosen["verifier"] == standard.verifier:
        chosen["verifier"] = AUTO_VERIFIERS[chosen["temperature"] == 0]
    return {**chosen, "drafter_options": dict(entry.get("options", {}))}


def preset_link(preset: Preset) -> str:
    """The address that opens Step with the preset's methods chosen, and runs nothing."""
    return f"#tab=watch&choose={pack({'prompt': '', **methods_of(preset)})}"


def recording_link(preset: Preset) -> str:
    return f"#tab=watch&run={preset.recording}"


def page_link(preset: Preset) -> str:
    return f"#tab=map&doc={preset.page}"


def choices(facet: str) -> list[str]:
    """The values of a facet, in the order in which the rows bring them."""
    return list(dict.fromkeys(value for system in systems() for value in system.values(facet)))


def matching(chosen: Mapping[str, Sequence[str] | str | None]) -> tuple[System, ...]:
    """The systems that have one of the chosen values of every facet; a facet without a choice asks nothing."""
    asked = {facet: {values} if isinstance(values, str) else set(values or ()) for facet, values in chosen.items()}
    return tuple(
        system
        for system in systems()
        if all(not want or want & set(system.values(facet)) for facet, want in asked.items())
    )
