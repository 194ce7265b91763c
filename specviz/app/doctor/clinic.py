"""The losslessness clinic of the Doctor tab: two answers to one prompt, and what the target says where they part.

    two answers, a prompt, a trace if there is one ─► Question ─► the live source ─► a table and the verdict

Where nobody can be asked it says so, and where the answers part all the same. Answers, traces and names come from
strangers: everything is escaped. Reading and verdicts are `specviz.doctor`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import gradio as gr

from specviz.app.form.fields import model_choices
from specviz.app.form.request import Limits, check_models, models_of_run
from specviz.app.job import Cancellable, Faults, idle, starts
from specviz.app.look import notices
from specviz.app.look.events import QUIET, Answer, by_name
from specviz.doctor.answers import Written, loads
from specviz.doctor.consultation import (
    FORMATS,
    NOBODY,
    Consults,
    Cost,
    Diagnosis,
    Place,
    Question,
    check_answers,
    without_target,
)
from specviz.errors import ModelError, OptionError, PromptError, TraceError
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.resources import asset_path, read_text
from specviz.trace import codec
from specviz.trace.files import UPLOAD

INTRO = (
    "Temperature 0, yet the text differs: is that a bug? Paste both answers, as text, as a list of token ids, or as "
    "the engine's response. The target reads them, in float32 and in the engine's format, and says what each token "
    "costs. With the trace of the run it also says which rule was broken."
)
IDLE = "No answers are compared yet."
EXAMPLE = ("doctor", "clinic.json")
"""two answers of the bundled target: its greedy one, and one with a token in it that the target would not choose"""
BAD = ("bug", "not this target's")
"""words of verdicts that are not harmless"""
HEADS = (
    "place",
    "answer",
    "writes",
    "the target's choice",
    "nats below it, float32",
    "the same in the engine's format",
)


@dataclass(slots=True)
class ClinicParts:
    """The clinic's controls."""

    target: gr.Dropdown
    format: gr.Dropdown
    prompt: gr.Textbox
    answers: tuple[gr.Textbox, gr.Textbox]
    trace: gr.File
    run: gr.Button
    stop: gr.Button
    example: gr.Button
    shown: gr.HTML


class ClinicActions(Cancellable):
    """What the clinic's buttons do, over one source."""

    def __init__(self, source: TraceSource, limits: Limits) -> None:
        super().__init__()
        self.source = source
        self.limits = limits

    def compare(
        self, target: str, format: str, prompt: str, a: str, b: str, trace: str | None, visitor: gr.Request
    ) -> Iterator[Answer]:
        """The table and the verdict, or one sentence."""
        question, said, stop = None, "", self.armed(visitor)
        with Faults("clinic") as faults:
            question = self._question(target, format, prompt, a, b, trace)
            if not isinstance(self.source, Consults):
                raise ModelError(NOBODY)
            check_models(self._models(question), self.source.catalog(), self.limits)
            yield {"shown": notices.message("The target reads both answers…", "busy")}
            for diagnosis in self.source.consult(question, stop.is_set):
                said = diagnosis_view(diagnosis)
            stop.check()
        if faults.sentence:
            parted = "" if question is None else notices.message(without_target(question))
            said = parted + notices.message(faults.sentence, "error")
        run, cancel = idle()
        yield {"shown": said or notices.message("Stopped before the target had answered."), "run": run, "stop": cancel}

    def _question(self, target: str, format: str, prompt: str, a: str, b: str, trace: str | None) -> Question:
        if not target:
            raise OptionError("no target is chosen; choose the model that both answered with.")
        if format not in FORMATS:
            raise OptionError(f"the format is '{str(format)[:40]}', but must be one of {', '.join(FORMATS)}.")
        answers = (_answer("A", a), _answer("B", b))
        read = None if trace is None else codec.read(trace, UPLOAD)
        given, known = prompt if prompt and prompt.strip() else None, None
        if given is None and read is not None:
            known = tuple(read.started.prompt_ids)
        if given is None and known is None and not any(answer.prompt_ids for answer in answers):
            raise PromptError("neither answer names its prompt; write what both answer.")
        places = {} if read is None else {read.started.target.name: target}
        question = Question(target, format, answers, prompt=given, prompt_ids=known, trace=read, places=places)
        check_answers(question)
        return question

    def _models(self, question: Question) -> list[str]:
        return [question.target, *(models_of_run(question.trace.started) if question.trace is not None else [])]


def _answer(name: str, text: str | None) -> Written:
    """Raises PromptError for one that is empty or that is JSON without an answer."""
    if not text or not text.strip():
        raise PromptError(f"answer {name} is empty, so there is nothing to compare; paste what the engine wrote.")
    try:
        return loads(text.encode(), UPLOAD)
    except TraceError as error:
        raise PromptError(f"answer {name}: {error}") from None


# --- what is shown ---------------------------------------------------------------------------------------------------


def diagnosis_view(diagnosis: Diagnosis) -> str:
    """The verdict, the places in a table, and the sentences that explain it."""
    verdict, (first, second) = diagnosis.verdict, diagnosis.answers
    tone = "error" if verdict.word in BAD else "good"
    head = notices.message(f"Verdict: {verdict.word}, confidence {verdict.confidence}.", tone)
    asked = (
        f"{diagnosis.target} in float32 against {diagnosis.format}: answer {first.name} has {len(first.steps)} tokens, "
        f"{second.name} {len(second.steps)}, the prompt {diagnosis.prompt_tokens}."
    )
    anew = (
        f"Split into tokens anew, for they came as text: {', '.join(diagnosis.anew)}."
        if diagnosis.anew and verdict.word in BAD
        else ""
    )
    sentences = [verdict.why, _settled(verdict.settle), anew, diagnosis.rule, asked]
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence)
    return f'<section class="sv-clinic">{head}{_table(diagnosis)}{told}</section>'


def _settled(evidence: str) -> str:
    return f"What would settle it: {evidence}" if evidence else ""


def _table(diagnosis: Diagnosis) -> str:
    rows = [_row(words, spot, cost) for words, spot in _places(diagnosis) for cost in spot.costs]
    return notices.blocks_table(HEADS, rows) if rows else ""


def _places(diagnosis: Diagnosis) -> list[tuple[str, Place]]:
    named = (("they part at token", diagnosis.parting), ("the worst token is number", diagnosis.worst))
    return [(words, spot) for words, spot in named if spot is not None]


def _row(words: str, spot: Place, cost: Cost) -> list[str]:
    """Cells as HTML."""
    where = f"<span>{escape(words)} {spot.index}, behind {_token(spot.before)}</span>"
    losses = ["–", "–"] if cost.is_choice else [f"{cost.loss:.4g}", f"{cost.loss_there:.4g}"]
    best = "the same" if cost.is_choice else _token(cost.best)
    return [where, escape(cost.name), _token(cost.written), best, *losses]


def _token(text: str) -> str:
    return f'<code class="sv-formula">{escape(json.dumps(text, ensure_ascii=False))}</code>'


# --- the controls ----------------------------------------------------------------------------------------------------


def clinic_parts(actions: ClinicActions) -> ClinicParts:
    """Lay the clinic out inside the current Blocks."""
    offered, usual = model_choices(actions.source.catalog().models, "target"), RunRequest("").target
    gr.Markdown(f"### The losslessness clinic\n\n{INTRO}", elem_classes="sv-intro")
    with gr.Row():
        target = gr.Dropdown(
            offered,
            value=usual if any(name == usual for _, name in offered) else None,
            label="target that both answered with",
            allow_custom_value=actions.limits.any_model,
            min_width=240,
            elem_id="sv-clinic-target",
        )
        format = gr.Dropdown(
            list(FORMATS), value=FORMATS[0], label="the engine's format", min_width=160, elem_id="sv-clinic-format"
        )
    prompt = gr.Textbox(
        label="prompt",
        lines=2,
        max_lines=8,
        max_length=actions.limits.prompt_chars,
        info="may stay empty where an answer or the trace names its prompt's tokens",
        elem_id="sv-clinic-prompt",
    )
    with gr.Row():
        a, b = (
            gr.Textbox(
                label=f"answer {name}", lines=5, max_lines=12, min_width=260, elem_id=f"sv-clinic-{name.lower()}"
            )
            for name in ("A", "B")
        )
    trace = gr.File(
        label="trace of the run (optional)",
        file_types=[".json", ".gz"],
        type="filepath",
        height=110,
        elem_id="sv-clinic-trace",
    )
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button("Ask the target", variant="primary", min_width=140, elem_id="sv-clinic-run")
        stop = gr.Button("Cancel", variant="stop", min_width=100, interactive=False, elem_id="sv-clinic-stop")
        example = gr.Button("Try an example", min_width=120, elem_id="sv-clinic-example")
    shown = gr.HTML(notices.message(IDLE), elem_id="sv-clinic-shown")
    return ClinicParts(target, format, prompt, (a, b), trace, run, stop, example, shown)


def wire_clinic(actions: ClinicActions, parts: ClinicParts) -> None:
    by = {"shown": parts.shown, "run": parts.run, "stop": parts.stop}
    given = [parts.target, parts.format, parts.prompt, *parts.answers, parts.trace]
    starts(parts.run.click, actions, list(by.values()), by_name(actions.compare, by), given, list(by.values()))
    parts.stop.click(actions.stop, None, None, **QUIET)
    parts.example.click(example_fields, None, [parts.target, parts.prompt, *parts.answers], **QUIET)


def example_fields() -> tuple[str, str, str, str]:
    """Target, prompt and both answers of the example."""
    data = json.loads(read_text(asset_path(*EXAMPLE)))
    return data["target"], data["prompt"], json.dumps(data["a"]), json.dumps(data["b"])
