"""What the Train tab says in words: how far it is, what a moment of it is, and three texts side by side.

Every number is read off the training; text is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from specviz.protocol.trainings import Stage, Training
from specviz.theory import metrics
from specviz.trace.events import Trace
from specviz.trace.gain import gain

UNTRAINED, TRAINED, SHIPPED = "untrained", "just trained", "shipped"


def sentence(training: Training) -> str:
    """Where the training stands: time, tokens, and what that did to acceptance on held-out text."""
    if not training.held_out:
        return "The target writes the text to learn from…"
    first, last = training.held_out[0], training.held_out[-1]
    said = f"{training.question.module}: {last.tokens:,} tokens in {last.seconds:.0f} s. "
    return said + (
        f"A first drafted token of held-out text is accepted with probability {last.acceptance[0]:.2f}; "
        f"untrained it was {first.acceptance[0]:.2f}."
    )


def moment(stage: Stage) -> str:
    """One stage in a line."""
    summary = stage.trace.summary
    when = "before any training" if not stage.tokens else f"after {stage.seconds:.0f} s, {stage.tokens:,} tokens"
    return (
        f"{when[:1].upper() + when[1:]}: {summary.num_output_tokens} tokens in {summary.num_target_passes} target "
        f"passes, {accepted(stage)}."
    )


def accepted(stage: Stage) -> str:
    """How much of the stage's drafts became text."""
    rounds = stage.trace.rounds
    kept, drafted = metrics.num_accepted_draft_tokens(rounds), metrics.num_draft_tokens(rounds)
    return f"{kept} of {drafted} drafted tokens accepted"


def compared(training: Training) -> list[tuple[str, Stage]]:
    """The untrained module, the trained one and the shipped one, as far as they are there."""
    found = [(UNTRAINED, training.stages[0])] if training.stages else []
    if len(training.stages) > 1:
        found.append((TRAINED, training.stages[-1]))
    return [*found, (SHIPPED, training.shipped)] if training.shipped else found


def texts(training: Training) -> str:
    """HTML: the same prompt's text by each, tokens that were drafted and accepted marked."""
    cards = "".join(_card(label, stage) for label, stage in compared(training))
    return f'<div class="sv-trained">{cards}</div>' if cards else ""


def _card(label: str, stage: Stage) -> str:
    summary, measured = stage.trace.summary, gain(stage.trace)
    speed = "" if measured is None else f", {measured:.2f}× plain decoding, measured"
    return (
        f'<section class="sv-trained-one"><h4>{escape(label)}</h4>'
        f"<p>{accepted(stage)}; "
        f"{summary.num_output_tokens} tokens in {summary.num_target_passes} target passes{escape(speed)}.</p>"
        f'<p class="sv-trained-text">{_marked(stage.trace)}</p></section>'
    )


def _marked(trace: Trace) -> str:
    return "".join(
        f'<mark title="drafted and accepted">{escape(text)}</mark>' if drafted else escape(text)
        for text, drafted in runs_of(trace)
    )


def runs_of(trace: Trace) -> Iterator[tuple[str, bool]]:
    """The output in stretches: text, and whether its tokens were drafted."""
    held, was = "", False
    for this in trace.rounds:
        for token in this.committed.tokens:
            piece, drafted = trace.vocab[str(token.token)].text, token.origin == "draft"
            if drafted != was and held:
                yield held, was
                held = ""
            held, was = held + piece, drafted
    if held:
        yield held, was


def stage_at(stages: Sequence[Stage], place: float) -> Stage:
    """The stage that a slider points at, whatever it says."""
    return stages[max(0, min(int(place), len(stages) - 1))]
