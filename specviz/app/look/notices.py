"""Small pieces of page text as HTML: messages, status, progress, tables, and the badges that must stand beside a run
for its numbers to be understood: where it came from, what ran, whether it is lossless.

Everything that reaches these functions may be hostile (model names, error texts): all of it goes through `html.escape`.
Colours come from CSS classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from specviz.trace import cautions
from specviz.trace.events import Option
from specviz.trace.header import MethodCard, Started

NO_CHOICE = ""
"""value of the first choice of a list that is for choosing from, not for standing in: the choice says so"""


def badge_row(badges: Sequence[Badge]) -> str:
    return f'<div class="sv-badges">{"".join(map(_badge, badges))}</div>'


def _badge(badge: Badge) -> str:
    title = escape(badge.explanation, quote=True)
    return f'<span class="sv-badge sv-badge-{badge.tone}" title="{title}">{escape(badge.text)}</span>'


def message(text: str, tone: str = "plain") -> str:
    """One sentence beside a button, with a capital unless it begins with a name. Tones: plain, busy, good, error."""
    if text.split(" ", 1)[0].isalpha():
        text = text[:1].upper() + text[1:]
    return f'<p class="sv-message sv-message-{tone}" role="status" aria-live="polite">{escape(text)}</p>'


def is_error(said: str) -> bool:
    """Whether it is a `message` about something that went wrong."""
    return said.startswith('<p class="sv-message sv-message-error"')


def too_large(most_bytes: int) -> str:
    """The sentence on a file that is not read for its size; a name may go before it."""
    return f"the file is larger than the {most_bytes / 1e6:g} MB this machine takes."


def status(text: str, tone: str) -> str:
    """The line about the models in the header. Tones: busy, ready, failed."""
    return f'<p class="sv-status sv-status-{tone}" role="status" aria-live="polite">{escape(text)}</p>'


def note(text: str, lossless: bool | None = None) -> str:
    """A quiet line under a control, led by the mark of the method it is about; None: no mark."""
    mark = {None: "", True: _mark(True, "lossless"), False: _mark(False, "lossy")}[lossless]
    return f'<p class="sv-note">{mark}{escape(text)}</p>'


def _mark(lossless: bool, text: str) -> str:
    sign, tone = ("✓", "lossless") if lossless else ("✕", "lossy")
    return f'<span class="sv-mark-{tone}"><span aria-hidden="true">{sign}</span> {escape(text)}</span> '


def lossless_mark(lossless: bool, text: str) -> str:
    return f'<p class="sv-mark">{_mark(lossless, text)}</p>'


def progress(done: int, total: int, left_s: float | None, what: str = "runs") -> str:
    """A bar with a sentence: what is done, how long the rest will take."""
    left = "" if left_s is None or done >= total else f", about {_duration(left_s)} left"
    text = escape(f"{done} of {total} {what}{left}")
    bar = f'<progress max="{total}" value="{done}" aria-label="progress"></progress>'
    return f'<div class="sv-progress">{bar}<span>{text}</span></div>'


def _duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 90 else f"{whole / 60:.0f} min"


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


def _other_weights(started: Started) -> list[Badge]:
    warning = cautions.of_other_weights(started)
    return [Badge("⚠ weights of another file", "plain", warning)] if warning else []


def _cheaper(started: Started) -> list[Badge]:
    """A target in eight bits is another one than the checkpoint's own: the run's law is its law."""
    if started.target.dtype != "int8":
        return []
    explanation = "weights and what they multiply are whole numbers with a scale: its text may differ from float32's"
    return [Badge("target in int8", "plain", explanation)]


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
        Badge(pair, "plain", f"drafter and target weights; device {started.machine.device}, {_number_format(started)}"),
        *_cheaper(started),
        *_brought(started),
        *_other_weights(started),
        Badge(f"{temperature} · seed {started.seed}", "plain", "sampling and seed"),
    ]
    methods = _methods(started)
    found += [_method(kind, card) for kind, card in methods]
    if started.source != "simulated" and all(card.lossless for _, card in methods):
        found.append(Badge("✓ lossless", "lossless", "the output follows the target's distribution exactly"))
    return found


def _number_format(started: Started) -> str:
    """The target's, and why it was chosen where nobody asked for it."""
    why = started.target.dtype_why
    return f"{started.machine.dtype}: {why}" if why else started.machine.dtype


def _methods(started: Started) -> list[tuple[str, MethodCard]]:
    """What each method that took part is called, and its card; policies only where they were chosen."""
    cards = {
        "drafter": started.drafter,
        "tree policy": started.tree_policy,
        "stop policy": started.stop_policy,
        "verifier": started.verifier,
    }
    return [(kind, card) for kind, card in cards.items() if card is not None]


def _method(kind: str, card: MethodCard) -> Badge:
    options = ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in card.options.items())
    text = f"{kind} {card.name}"
    if not card.deployable:
        why = "it asked the target where to stop before the draft was judged, so its times say nothing about speed"
        return Badge(f"{text}: upper bound, not deployable", "simulated", why)
    if card.lossless:
        return Badge(text, "plain", options or "no options")
    told = f"the output does not follow the target's distribution; {cautions.lossy_distance(card)}; {options}"
    return Badge(f"{text} ✕ lossy", "lossy", told)


def _value(value: Option) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def blocks_table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Heads and caption are text; cells are HTML, escaped by whoever wrote them."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' if head else "<td></td>" for head in heads)
    body = "".join(f"<tr>{_cells(heads, row)}</tr>" for row in rows)
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    inner = f"{told}<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="sv-table-scroll" tabindex="0"><table class="sv-table sv-blocks">{inner}</table></div>'


def _cells(heads: Sequence[str], row: Sequence[str]) -> str:
    return "".join(
        f'<td data-column="{escape(head, quote=True)}">{cell}</td>' for head, cell in zip(heads, row, strict=True)
    )
