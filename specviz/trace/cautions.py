"""What a reader of a run must be told beside its numbers: which methods are lossy, and which context was full.

How far lossy methods were measured to take the text from the target stands in `assets/lossy_distances.json`, written by
`specviz prove lossy --write`. Read by badges, by the page's line about a run and by what a command prints under it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from specviz.resources import ROOT, without
from specviz.trace.events import Trace
from specviz.trace.header import MethodCard, ModelCard, Started

DISTANCES_FILE = "lossy_distances.json"


def methods_of(started: Started) -> list[MethodCard]:
    """Everything that takes part and could be lossy."""
    cards = (started.drafter, started.tree_policy, started.stop_policy, started.verifier)
    return [card for card in cards if card is not None]


def lossy_methods(started: Started) -> list[MethodCard]:
    """The lossy ones; empty for a run whose text follows the target's distribution."""
    return [card for card in methods_of(started) if not card.lossless]


@cache
def measured_distances() -> dict[str, Any]:
    """The shipped measurements; none where the file is damaged."""
    return without(ROOT / DISTANCES_FILE, _read, {"rows": []})


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if not all(isinstance(row["method"], str) for row in found["rows"]):
        raise ValueError("a row names no method")
    return found


def lossy_distance(card: MethodCard) -> str:
    """What was measured of a lossy method, as words with the conditions; that nothing was, where so."""
    for row in measured_distances()["rows"]:
        if row["method"] == card.name:
            options = "".join(f", {name} {_shown(value)}" for name, value in row["options"].items())
            conditions = f"{row['prompts']} prompts on the bundled pair (T={row['temperature']:g}{options})"
            return f"total variation {row['total_variation']:.3f} of {row['law_of']}, mean of {conditions}"
    return "distance not measured"


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def lossy_sentence(started: Started) -> str | None:
    """The whole notice; None for a lossless run."""
    method_cards = lossy_methods(started)
    if not method_cards:
        return None
    parts = [f"{card.name}: {lossy_distance(card)}" for card in method_cards]
    return f"lossy: the text does not follow the target's distribution; {'; '.join(parts)}"


DRAFTER_FULL = "drafter_context_full"
"""the drafter's note about a round in which its own context had no room for a draft"""


def full_contexts(trace: Trace) -> list[str]:
    """One sentence per model whose context ended something; none for most runs."""
    return [*_of_the_target(trace), *_of_the_drafter(trace)]


def _of_the_target(trace: Trace) -> Iterator[str]:
    started, finished = trace.started, trace.finished
    length = len(started.prompt_ids) + len(finished.output_ids)
    cut = len(finished.output_ids) < started.max_new_tokens and length >= started.target.context_length
    if finished.reason == "length" and cut:
        yield (
            f"The text fills {_room(started.target)}, so it ended before the {started.max_new_tokens} new tokens "
            "that were asked for."
        )


def _of_the_drafter(trace: Trace) -> Iterator[str]:
    silent = sum(this.drafted.note.get(DRAFTER_FULL) is True for this in trace.rounds)
    model = trace.started.drafter.model
    if silent and model is not None:
        rounds = (
            "nothing at all" if silent == len(trace.rounds) else f"nothing in {silent} of {len(trace.rounds)} rounds"
        )
        yield (
            f"The text is longer than {_room(model)}, which therefore drafted {rounds}; shorten the prompt or "
            "choose a drafter with a longer context."
        )


def _room(card: ModelCard) -> str:
    """`the context of drafter (256 tokens)`; a window is called one."""
    what = "sliding attention window" if card.window else "context"
    return f"the {what} of {card.name} ({card.context_length:,} tokens)"


def of_other_weights(started: Started) -> str:
    """What a drafter that learnt from other weights of the same target means, in a sentence; empty for all others."""
    if not started.drafter.learnt_from:
        return ""
    return (
        f"{started.drafter.name} learnt from {started.target.name} with the weights {started.drafter.learnt_from[:8]} "
        f"and drafts for {started.target.weights_sha256[:8]}, the same model in other numbers: the text stays the "
        "target's, but fewer tokens may be accepted"
    )
