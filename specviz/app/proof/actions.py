"""What the Proof tab's controls do: redraw the exact proof, run and stop a sampling test, compare greedy texts.

Every action returns what the page should show; an error becomes one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from specviz.app.form.request import Limits
from specviz.app.job import Cancellable, Faults, idle
from specviz.app.look import notices
from specviz.app.proof.figure import equality_badge, exact_summary, exact_table, sampled_summary
from specviz.app.proof.view import exact_view, sampled_view
from specviz.errors import OptionError, SpecVizError
from specviz.protocol.equality import PLAIN, Equality, compare
from specviz.protocol.proofs import DRAWS, MOST_CANDIDATES, SampleQuestion, Toy
from specviz.protocol.runs import Catalog, RunRequest, TraceSource

Updates = tuple[object, ...]
PRESETS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "apart": ((0.5, 0.3, 0.2), (0.2, 0.45, 0.35)),
    "close": ((0.5, 0.3, 0.2), (0.45, 0.35, 0.2)),
    "equal": ((0.5, 0.3, 0.2), (0.5, 0.3, 0.2)),
    "drafter misses c": ((0.3, 0.3, 0.4), (0.7, 0.3, 0.0)),
    "target rules out c": ((0.6, 0.4, 0.0), (0.2, 0.3, 0.5)),
}
"""name → (p, q)"""
INTACT = "intact"
TOY, PAIR = "the toy above", "the bundled pair"
MOST_PAIR_RUNS = 500
"""each reads a prompt anew, with two models"""


def numbers(text: str, what: str) -> tuple[float, ...]:
    """`0.5, 0.3, 0.2` → (0.5, 0.3, 0.2). Raises OptionError."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise OptionError(
            f"{what} is '{text[:40]}', but must be three numbers with commas, as 0.5, 0.3, 0.2."
        ) from error


def shown(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def toy(p: str, q: str, verifier: str, candidates: int, draw: str, broken: str) -> Toy:
    """The controls of the exact part. Raises OptionError."""
    if draw not in DRAWS or not 1 <= int(candidates) <= MOST_CANDIDATES:
        raise OptionError("choose a way of drawing and a number of candidates from the lists.")
    return Toy(numbers(p, "p"), numbers(q, "q"), verifier, int(candidates), draw, "" if broken == INTACT else broken)


class ProofActions:
    """The tab's actions over one source; of a visitor their cancellation switches are kept."""

    def __init__(self, source: TraceSource, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.catalog: Catalog = source.catalog()
        self.samplings, self.comparisons = Cancellable(), Cancellable()

    def verifiers(self) -> list[str]:
        """Those that work above temperature 0."""
        return [
            method_description.name
            for method_description in self.catalog.verifiers
            if method_description.temperatures == "any"
        ]

    def drafters(self) -> list[str]:
        """Lossless ones that draft."""
        return [drafter.name for drafter in self.catalog.drafters if drafter.lossless and drafter.name != PLAIN]

    def prompts(self) -> list[tuple[str, str]]:
        """(label, id) of the prompt set."""
        return [(f"{card.family}: {card.title}", card.id) for card in self.catalog.prompts]

    # --- exact ---------------------------------------------------------------------------------------------------

    def preset(self, name: str) -> Updates:
        p, q = PRESETS[name]
        return shown(p), shown(q)

    def exact(self, *given: Any) -> Updates:
        """Summary and table for the controls of the exact part, in the order of `toy`'s parameters."""
        try:
            view = exact_view(self.source.prover().lines(toy(*given)))
        except SpecVizError as error:
            return notices.message(str(error), "error"), ""
        return exact_summary(view), exact_table(view)

    # --- sampled and measured ------------------------------------------------------------------------------------

    def leave(self, visitor: gr.Request) -> None:
        """The visitor closed the page."""
        for activity in (self.samplings, self.comparisons):
            activity.leave(visitor)

    def sample(
        self,
        where: str,
        prompt: str,
        runs: float,
        seed: float,
        temperature: float,
        p: str,
        q: str,
        verifier: str,
        candidates: int,
        draw: str,
        broken: str,
        visitor: gr.Request,
    ) -> Iterator[Updates]:
        """Counts as they come, for (summary, Run, Cancel)."""
        stop = self.samplings.armed(visitor)

        def answers() -> Iterator[str]:
            text = self._prompt(prompt) if where == PAIR else ""
            count = min(int(runs), MOST_PAIR_RUNS) if text else int(runs)
            asked = toy(p, q, verifier, candidates, draw, broken)
            question = SampleQuestion(asked, text, float(temperature), count, int(seed))
            for found in self.source.prover().sample(question, stop.is_set):
                yield (
                    sampled_summary(sampled_view(found)) if found.runs else notices.message("Stopped before any text.")
                )
            stop.check()

        yield from self._guarded(answers)

    def compare(self, drafter: str, prompt: str, tokens: float, visitor: gr.Request) -> Iterator[Updates]:
        """The badge as it grows, for (badge, Check, Cancel)."""
        stop = self.comparisons.armed(visitor)

        def answers() -> Iterator[str]:
            wanted = max(1, min(int(tokens), self.limits.max_new_tokens))
            request = RunRequest(self._prompt(prompt), drafter=drafter, max_new_tokens=wanted)
            for found in compare(self.source, request, stop.is_set):
                yield badge(drafter, found)
            stop.check()
            if not found.finished:
                yield equality_badge("stopped", "plain", "Nothing is claimed of a comparison that was stopped.")

        yield from self._guarded(answers)

    def _prompt(self, name: str) -> str:
        for card in self.catalog.prompts:
            if card.id == name:
                return card.text
        raise OptionError("choose a prompt of the list.")

    def _guarded(self, answers: Callable[[], Iterator[str]]) -> Iterator[Updates]:
        """Every answer, and the buttons back at the end; an error becomes its sentence."""
        with Faults("proof") as faults:
            for answer in answers():
                yield answer, gr.skip(), gr.skip()
        yield notices.message(faults.sentence, "error") if faults.sentence else gr.skip(), *idle()


def badge(drafter: str, equality: Equality) -> str:
    """The badge of a comparison, on the way or done."""
    if not equality.finished:
        done = len(equality.plain) + len(equality.drafted)
        return equality_badge(f"{done} tokens decoded…", "plain", "Plain decoding first, then the drafter.")
    whole = max(len(equality.plain), len(equality.drafted))
    text = f"{equality.equal} of {whole} tokens equal"
    drafted = f"{len(equality.drafted)} tokens in {equality.passes} target passes"
    passes = f"{drafter}: {drafted}; plain decoding: one pass a token."
    if equality.holds:
        return equality_badge(f"✓ {text}", "good", f"{passes} Both greedy, in float32, just now.")
    place = (equality.first_difference or 0) + 1
    return equality_badge(f"✕ {text}", "bad", f"{passes} The first difference is at token {place}.")
