"""What must stand beside a run for its numbers to be understood: where it came from, what ran, whether it is lossless.

Reads the run header.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from specviz.trace import cautions
from specviz.trace.events import Option
from specviz.trace.header import MethodCard, Started

Tone = Literal["live", "recorded", "simulated", "plain", "lossless", "lossy"]


@dataclass(frozen=True, slots=True)
class Badge:
    text: str
    tone: Tone
    explanation: str


SOURCES: dict[str, str] = {
    "live": "computed on this machine just now",
    "recorded": "a real run, computed earlier and replayed",
    "simulated": "made by a simulator or by hand: no model ran",
}


def _clock(started: Started) -> list[Badge]:
    """A simulated run's times look like any other's in the player: here it is said that no clock made them."""
    if started.source != "simulated":
        return []
    return [Badge("times modelled", "simulated", f"no pass was timed: {started.machine.processor}")]


def _brought(started: Started) -> list[Badge]:
    """What the drafter knew before the run began, if anything: its rounds are then no cold start."""
    memory = started.memory
    if memory is None:
        return []
    runs = f"{memory.runs} run{'' if memory.runs == 1 else 's'}"
    size = f"{memory.size_bytes / 1024:,.0f} KiB" if memory.size_bytes >= 1024 else f"{memory.size_bytes} B"
    explanation = f"the drafter began with what it learnt in {runs} ({memory.origin}; sha256 {memory.sha256[:12]}…)"
    return [Badge(f"warm start: {runs}, {size}", "plain", explanation)]


def badges(started: Started) -> list[Badge]:
    """Source, pair and sampling of a run, each method that took part, and whether all of them are lossless.

    A simulated run has no target whose distribution its text could follow.
    """
    pair = started.target.name
    if started.drafter.model is not None:
        pair = f"{started.drafter.model.name} → {pair}"
    temperature = "greedy" if started.sampling.temperature == 0 else f"T {started.sampling.temperature:g}"
    found = [
        Badge(started.source, started.source, f"{SOURCES[started.source]} ({started.created})"),
        *_clock(started),
        Badge(pair, "plain", f"drafter and target weights; device {started.machine.device}, {started.machine.dtype}"),
        *_brought(started),
        Badge(f"{temperature} · seed {started.seed}", "plain", "sampling and seed"),
    ]
    methods = _methods(started)
    found += [_method(kind, card) for kind, card in methods]
    if started.source != "simulated" and all(card.lossless for _, card in methods):
        found.append(Badge("✓ lossless", "lossless", "the output follows the target's distribution exactly"))
    return found


def _methods(started: Started) -> list[tuple[str, MethodCard]]:
    """What each method that took part is called, and its card; policies only where they were chosen."""
    cards = {
        "drafter": started.drafter,
        "tree policy": started.growth,
        "stop policy": started.stopping,
        "verifier": started.verifier,
    }
    return [(kind, card) for kind, card in cards.items() if card is not None]


def _method(kind: str, card: MethodCard) -> Badge:
    options = ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in card.options.items())
    text = f"{kind} {card.name}"
    if not card.deployable:
        why = "it asked the target where to stop before the draft was judged; its times are no speed"
        return Badge(f"{text}: upper bound, not deployable", "simulated", why)
    if card.lossless:
        return Badge(text, "plain", options or "no options")
    told = f"the output does not follow the target's distribution; {cautions.lossy_distance(card)}; {options}"
    return Badge(f"{text} ✕ lossy", "lossy", told)


def _value(value: Option) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
