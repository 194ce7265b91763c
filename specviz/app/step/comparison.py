"""Two runs side by side: the one shown and the one before it, with what was changed between them and both totals.

Reads traces; every number is in them. Every text goes through `html.escape`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from specviz.app.runs.stage import pack
from specviz.theory.speedup import gain, is_noisy
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.header import MethodCard, Started

BAR, GAP, TALL = 5, 2, 22
MOST_ROUNDS = 64
"""rounds drawn"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A run that was on the stage."""

    settings: Mapping[str, str]
    """what was asked for, by the name it has in a sentence"""
    total: str
    """`1.37×` where plain decoding was timed beside it and the ratio is no noise, tokens per pass otherwise"""
    lengths: tuple[int, ...]
    """tokens of each round"""
    run: bytes
    """the trace as JSON text, packed, to show it again"""


@dataclass(frozen=True, slots=True)
class Pair:
    """The run on the stage and the one before it."""

    now: Shown | None = None
    before: Shown | None = None

    def then(self, shown: Shown) -> Pair:
        """After a new run; the same run again changes nothing."""
        return self if self.now is not None and self.now.run == shown.run else Pair(shown, self.now)

    def swapped(self) -> Pair:
        return Pair(self.before, self.now)


def shown(trace: Trace) -> Shown:
    """What is kept of a run."""
    ratio, summary = gain(trace), trace.summary
    per_pass = summary.num_output_tokens / max(1, summary.num_target_passes)
    total = f"{per_pass:.2f} tokens per pass" if ratio is None or is_noisy(trace) else f"{ratio:.2f}×"
    lengths = tuple(len(this.committed.tokens) for this in trace.rounds)
    return Shown(settings_of(trace.started), total, lengths, pack(codec.dumps(trace)))


def settings_of(started: Started) -> dict[str, str]:
    """The settings a visitor changes, in the order in which a sentence names them."""
    options = started.drafter.options
    shape = options.get("branching")
    tree = f"tree {','.join(map(str, shape))}" if isinstance(shape, list) and shape else ""
    told = {
        "drafter": started.drafter.name,
        "γ": tree or str(options.get("gamma", "–")),
        "tree policy": _method(started.tree_policy),
        "stop policy": _method(started.stop_policy),
        "verifier": _method(started.verifier),
        "drafter's model": "–" if started.drafter.model is None else started.drafter.model.name,
        "target": started.target.name,
        "temperature": f"{started.sampling.temperature:g}",
        "top-k": str(started.sampling.top_k),
        "top-p": f"{started.sampling.top_p:g}",
        "seed": str(started.seed),
        "new tokens": str(started.max_new_tokens),
        "prompt": _quoted(started.prompt_text),
    }
    others = {name: str(value) for name, value in options.items() if name not in ("gamma", "branching")}
    return {**told, **{f"{started.drafter.name} {name.replace('_', ' ')}": value for name, value in others.items()}}


def _method(card: MethodCard | None) -> str:
    if card is None:
        return "–"
    options = ", ".join(f"{name} {value}" for name, value in card.options.items() if value is not None)
    return f"{card.name} ({options})" if options else card.name


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line[:28]}…”" if len(line) > 29 else f"“{line}”"


def changed(before: Shown, now: Shown) -> tuple[str, str]:
    """What differs between two runs, as each had it: `γ 2` and `γ 8`. The verifier goes unnamed where it follows the
    temperature."""
    names = [name for name in {**before.settings, **now.settings} if _of(before, name) != _of(now, name)]
    if "temperature" in names and "verifier" in names:
        names.remove("verifier")
    if "drafter" in names:
        names = [name for name in names if name in ("drafter", "temperature", "prompt", "target")]
    if not names:
        return "before", "the same again"
    return _told(before, names), _told(now, names)


def _of(one: Shown, name: str) -> str:
    return one.settings.get(name, "–")


def _told(one: Shown, names: list[str]) -> str:
    return ", ".join(_of(one, name) if name in ("drafter", "prompt") else f"{name} {_of(one, name)}" for name in names)


def comparison(pair: Pair) -> str:
    """Both runs as HTML, the earlier one greyed; nothing where there is no earlier one."""
    if pair.now is None or pair.before is None:
        return ""
    was, is_now = changed(pair.before, pair.now)
    rows = (("sv-was", "before", was, pair.before), ("sv-is", "now", is_now, pair.now))
    tallest = max(1, *pair.before.lengths, *pair.now.lengths)
    return (
        '<div class="sv-compared">'
        + '<span class="sv-arrow" aria-hidden="true">→</span>'.join(
            f'<span class="{kind}"><span class="sv-when">{when}</span> {escape(told)}: <b>{escape(one.total)}</b> '
            f"{_strip(one, tallest)}</span>"
            for kind, when, told, one in rows
        )
        + "</div>"
    )


def _strip(one: Shown, tallest: int) -> str:
    """Tokens of each round as small columns."""
    drawn = one.lengths[:MOST_ROUNDS]
    width = (BAR + GAP) * len(drawn)
    told = f"{sum(one.lengths)} tokens in {len(one.lengths)} passes; one column per round, as tall as its tokens"
    columns = "".join(
        f'<rect x="{at * (BAR + GAP)}" y="{TALL - TALL * tokens / tallest:.1f}" width="{BAR}" '
        f'height="{TALL * tokens / tallest:.1f}"/>'
        for at, tokens in enumerate(drawn)
    )
    return (
        f'<svg class="sv-strip" role="img" aria-label="{told}" width="{width}" height="{TALL}" '
        f'viewBox="0 0 {width} {TALL}"><title>{told}</title>{columns}</svg>'
    )
