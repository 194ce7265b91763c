"""The Proof tab: a rule to write and its law, one decision line by line with a break-it switch, a sampling test, greedy
equality.

Redraws the exact proof, runs and stops a sampling test, compares greedy texts; an error becomes one sentence. Nothing
is computed before the tab is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gradio as gr

from specviz.app.components.framed import RuleEditor
from specviz.app.form.kept import Kept
from specviz.app.form.request import Limits
from specviz.app.job import Cancellable, Faults, idle, starts
from specviz.app.look import notices
from specviz.app.look.events import CHOSEN, QUIET, latest
from specviz.app.proof.ceiling import ceiling_part
from specviz.app.proof.grammar import grammar_part
from specviz.app.proof.view import (
    equality_badge,
    exact_summary,
    exact_table,
    exact_view,
    part_heading,
    sampled_summary,
    sampled_view,
)
from specviz.app.tab import Page, Tab
from specviz.errors import OptionError, SpecVizError
from specviz.protocol.choice import Choice
from specviz.protocol.proofs import BREAKS, DRAWS, MOST_CANDIDATES, SampleQuestion, Toy
from specviz.protocol.races import PLAIN, Equality, compare
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
    if draw not in DRAWS or candidates not in range(1, MOST_CANDIDATES + 1):
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

    def preset(self, name: str | None) -> Updates:
        """Both distributions of a preset; nothing where the choice was cleared."""
        if name not in PRESETS:
            return gr.skip(), gr.skip()
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
            for answer in self.source.prover().sample(question, stop.is_set):
                yield (
                    sampled_summary(sampled_view(answer))
                    if answer.runs
                    else notices.message("Stopped before any text.")
                )
            stop.check()

        yield from self._guarded(answers)

    def compare(self, drafter: str, prompt: str, tokens: float, visitor: gr.Request) -> Iterator[Updates]:
        """The badge as it grows, for (badge, Check, Cancel)."""
        stop = self.comparisons.armed(visitor)

        def answers() -> Iterator[str]:
            wanted = max(1, min(int(tokens), self.limits.max_new_tokens))
            request = RunRequest(self._prompt(prompt), drafter=Choice(drafter), max_new_tokens=wanted)
            for answer in compare(self.source, request, stop.is_set):
                yield badge(drafter, answer)
            stop.check()
            if not answer.finished:
                yield equality_badge("stopped", "plain", "A comparison that was stopped shows nothing.")

        yield from self._guarded(answers)

    def _prompt(self, name: str) -> str:
        for card in self.catalog.prompts:
            if card.id == name:
                return card.text
        raise OptionError("choose a prompt from the list.")

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


# --- the tab ---------------------------------------------------------------------------------------------------------


INTRO = (
    "Is the output really the target's? Three kinds of evidence, each labelled with what it is worth: an **exact** "
    "computation on three tokens, a **sampled** test, and a **measured** comparison of greedy texts. Break the method "
    "on purpose and watch the bias appear."
)
EXACT = "every way is added up; nothing is sampled"
WRITTEN = "every way is added up, in your browser"
SAMPLED = "counts of a limited number of runs: can show a difference, never prove equality"
MEASURED = "two real runs, made just now on this machine"
TOY_NAMES = ("p", "q", "verifier", "candidates", "draw", "broken")
"""of the toy's controls, in their order"""
WAITING = "The lines appear as soon as the engine is loaded."


def proof_tab(actions: ProofActions, tab: gr.Tab) -> Kept:
    """Build the tab's content inside the current Blocks. Returns what a link holds of it."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    gr.HTML(part_heading("Write the rule", "exact", WRITTEN))
    RuleEditor()
    chosen = _exact(actions, tab)
    ceiling_part(lambda asked: actions.source.prover().lines(asked), actions.verifiers(), toy, chosen)
    grammar = grammar_part(tab)
    sampled, greedy = _sampled(actions, chosen), _greedy(actions)
    return Kept("proof", {**dict(zip(TOY_NAMES, chosen, strict=True)), **grammar, **sampled, **greedy})


def _exact(actions: ProofActions, tab: gr.Tab) -> list[Any]:
    """The toy's controls, in the order of `actions.toy`'s parameters."""
    gr.HTML(part_heading("Every way one decision can go", "exact", EXACT))
    usual, names = Toy(), actions.verifiers()
    with gr.Row():
        preset = gr.Dropdown(
            list(PRESETS), value=next(iter(PRESETS)), label="p and q", min_width=150, elem_id="sv-proof-preset"
        )
        p = gr.Textbox(
            shown(usual.target), label="target p of a, b, c", max_lines=1, min_width=150, elem_id="sv-proof-p"
        )
        q = gr.Textbox(
            shown(usual.draft), label="drafter q of a, b, c", max_lines=1, min_width=150, elem_id="sv-proof-q"
        )
    with gr.Row():
        verifier = gr.Dropdown(
            names,
            value=usual.verifier if usual.verifier in names else next(iter(names), None),
            label="verifier",
            min_width=150,
            elem_id="sv-proof-verifier",
        )
        candidates = gr.Radio(
            list(range(1, MOST_CANDIDATES + 1)),
            value=usual.candidates,
            label="candidates",
            min_width=150,
            elem_id="sv-proof-candidates",
        )
        draw = gr.Dropdown(list(DRAWS), value=usual.draw, label="how they are drawn", min_width=150)
    broken = gr.Radio(
        [(INTACT, INTACT), *((control.label, control.name) for control in BREAKS)],
        value=INTACT,
        label="break it",
        elem_id="sv-proof-break",
    )
    summary = gr.HTML(notices.message(WAITING, "busy"), elem_id="sv-proof-summary")
    table = gr.HTML(elem_id="sv-proof-table")
    toy: list[Any] = [p, q, verifier, candidates, draw, broken]
    preset.input(actions.preset, preset, [p, q], **CHOSEN)
    gr.on([tab.select, *(control.change for control in toy)], actions.exact, toy, [summary, table], **latest())
    return toy


def _sampled(actions: ProofActions, toy: Sequence[Any]) -> dict[str, Any]:
    """Returns its controls by name."""
    gr.HTML(part_heading("Run it many times and count", "sampled", SAMPLED))
    gr.Markdown(
        "With the verifier, the candidates and the bug chosen above. The pair continues the last 16 tokens of a "
        "prompt; its first two tokens are counted.",
        elem_classes="sv-intro",
    )
    prompts = actions.prompts()
    with gr.Row():
        where = gr.Radio([TOY, PAIR], value=TOY, label="what runs", min_width=220, elem_id="sv-proof-where")
        prompt = gr.Dropdown(prompts, value=_first(prompts), label="prompt of the pair", min_width=180)
        temperature = gr.Slider(0.1, 2.0, value=1.0, step=0.1, label="its temperature", min_width=150)
    with gr.Row():
        runs = gr.Slider(
            100,
            5000,
            value=500,
            step=100,
            label="texts (the pair: 500 at most)",
            min_width=200,
            elem_id="sv-proof-runs",
        )
        seed = gr.Number(1, label="seed", precision=0, minimum=0, min_width=100)
    run, cancel = _buttons("Run the test", "sv-proof-sample")
    counted = gr.HTML(notices.message("Nothing counted yet."), elem_id="sv-proof-sampled")
    outputs = [counted, run, cancel]
    cancel.click(actions.samplings.stop, None, None, **QUIET)
    asked = [where, prompt, runs, seed, temperature, *toy]
    starts(run.click, actions.samplings, outputs, actions.sample, asked, outputs)
    return {"where": where, "prompt": prompt, "runs": runs, "seed": seed, "temperature": temperature}


def _greedy(actions: ProofActions) -> dict[str, Any]:
    """Returns its controls by name."""
    gr.HTML(part_heading("Greedy text, token for token", "measured", MEASURED))
    prompts, drafters, most = actions.prompts(), actions.drafters(), actions.limits.max_new_tokens
    with gr.Row():
        drafter = gr.Dropdown(
            drafters, value=_usual(drafters), label="drafter", min_width=150, elem_id="sv-proof-drafter"
        )
        prompt = gr.Dropdown(prompts, value=_first(prompts), label="prompt", min_width=180)
        tokens = gr.Slider(1, most, value=min(64, most), step=1, label="tokens", min_width=150)
    run, cancel = _buttons("Compare", "sv-proof-greedy")
    compared = gr.HTML(notices.message("Nothing compared yet."), elem_id="sv-proof-equality")
    outputs = [compared, run, cancel]
    cancel.click(actions.comparisons.stop, None, None, **QUIET)
    starts(run.click, actions.comparisons, outputs, actions.compare, [drafter, prompt, tokens], outputs)
    return {"greedy.drafter": drafter, "greedy.prompt": prompt, "greedy.tokens": tokens}


def _buttons(label: str, name: str) -> tuple[gr.Button, gr.Button]:
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button(label, variant="primary", min_width=140, elem_id=name)
        cancel = gr.Button("Cancel", variant="stop", min_width=100, interactive=False, elem_id=f"{name}-cancel")
    return run, cancel


def _usual(drafters: Sequence[str]) -> str | None:
    """The drafter that runs use where none is named, if it is there."""
    usual = RunRequest("").drafter.name
    return usual if usual in drafters else next(iter(drafters), None)


def _first(prompts: Sequence[tuple[str, str]]) -> str | None:
    return prompts[0][1] if prompts else None


def _build(page: Page, tab: gr.Tab, actions: ProofActions) -> None:
    page.kept.append(proof_tab(actions, tab))


TAB = Tab("proof", "Proof", "lab", 6, lambda page: ProofActions(page.source, page.limits), _build)
