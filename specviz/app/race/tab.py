"""The Race tab: a race recorded first and replayed side by side, and the form for one of the visitor's own.

Lays out and wires; what the buttons do is in `actions`.
"""

from __future__ import annotations

from typing import Any, cast

import gradio as gr

from specviz.app.components.framed import RaceStage
from specviz.app.form.drafter_table import drafter_fold
from specviz.app.form.kept import Kept
from specviz.app.form.prompts import chip_label, families, own_prompts, wire_own_prompts
from specviz.app.job import starts
from specviz.app.look import notices
from specviz.app.look.events import QUIET
from specviz.app.race.actions import RaceActions
from specviz.app.race.form import LENGTH, NOBODY, drafters, first_choice, length_card, place_key
from specviz.app.tab import Page, Tab
from specviz.bench.race import MOST_DRAFTERS
from specviz.protocol.runs import RunRequest

INTRO = (
    "Plain decoding and up to three drafters on one prompt. Each runs by itself with clean timing; only when all are "
    "recorded are they **replayed** side by side. What is replayed is the engine's own time; the animation shows it "
    "slower where you like, and says so."
)
CHIPS_NOTE = "Each button fills the prompt with the next one of its family."
MOST_REPEATS = 5
FILLED = "This link fills in a race; Run race records it here."


def race_tab(actions: RaceActions, table: str) -> Kept:
    """Build the tab's content inside the current Blocks. `table`: of all drafters, as HTML.

    Returns what a link holds of the tab."""
    value, sentence, prompt = actions.opening()
    gr.Markdown(INTRO, elem_classes="sv-intro")
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button("Run race", variant="primary", min_width=110, elem_id="sv-race-run")
        stop = gr.Button("Stop", variant="stop", min_width=80, interactive=False, elem_id="sv-race-stop")
        message = gr.HTML(notices.message(sentence), elem_id="sv-race-message", scale=1, min_width=200)
    stage = RaceStage(value, elem_id="sv-race")
    fields = _form(actions, prompt)
    drafter_fold(table)
    armed = [message, run, stop]
    starts(run.click, actions, armed, actions.run(fields), set(fields.values()), [stage, *armed])
    stop.click(actions.stop, None, None, **QUIET)
    return Kept("race", fields, fill=actions.filled(fields), message=message, said=FILLED)


def _form(actions: RaceActions, prompt: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    with gr.Row(elem_classes="sv-actions"):
        chips = [
            (family, gr.Button(chip_label(family), size="sm", min_width=60, elem_classes="sv-chip"))
            for family in families(actions.catalog)
        ]
        note = gr.HTML(notices.message(CHIPS_NOTE), elem_id="sv-race-note", scale=1, min_width=200)
    with gr.Row(elem_classes="sv-form"):
        with gr.Column(scale=5, min_width=300):
            fields["prompt"] = gr.Textbox(
                prompt, label="prompt", lines=5, max_lines=9, elem_id="sv-race-prompt", elem_classes="sv-mono",
                info=f"at most {actions.limits.prompt_chars:,} characters",
            )  # fmt: skip
            wire_own_prompts(own_prompts("race-"), fields["prompt"], actions.limits)
            _settings(actions, fields)
        with gr.Column(scale=5, min_width=300):
            for index, name in enumerate(first_choice(actions.catalog)):
                _place(actions, fields, index, name)
    for family, chip in chips:
        chip.click(actions.chip(family), fields["prompt"], [fields["prompt"], note], **QUIET)
    return fields


def _place(actions: RaceActions, fields: dict[str, Any], place: int, name: str) -> None:
    """One of the places beside plain decoding: who, and how far ahead."""
    names = [(method.name, method.name) for method in drafters(actions.catalog)]
    card = length_card(actions.catalog, name)
    with gr.Row():
        who = gr.Dropdown(
            [("nobody", NOBODY), *names], value=name, label=f"drafter {place + 1} of {MOST_DRAFTERS}", scale=2,
            min_width=150, elem_id=f"sv-race-drafter-{place + 1}",
        )  # fmt: skip
        length = gr.Number(
            None if card is None else cast(int, card.default),  # a speculation length is a whole number
            label="speculation length γ", precision=0, scale=2, min_width=120,
            info=None if card is None else card.help, visible=card is not None,
        )  # fmt: skip
    fields[place_key(place, "drafter")], fields[place_key(place, LENGTH)] = who, length
    who.input(actions.another, [who, length], length, **QUIET)


def _settings(actions: RaceActions, fields: dict[str, Any]) -> None:
    """What holds for everyone."""
    defaults, most = RunRequest(prompt=""), actions.limits.max_new_tokens
    with gr.Row():
        fields["max_new_tokens"] = gr.Slider(
            1, most, value=min(defaults.max_new_tokens, most), step=1, label="new tokens", min_width=150
        )
        fields["repeats"] = gr.Slider(
            1, MOST_REPEATS, value=1, step=1, label="repeats", info="the median run is shown", min_width=150
        )
    with gr.Row():
        fields["temperature"] = gr.Slider(
            0.0, 2.0, value=defaults.temperature, step=0.05, label="temperature", min_width=150
        )
        fields["seed"] = gr.Number(defaults.seed, label="seed", precision=0, minimum=0, min_width=100)


def _build(page: Page, tab: gr.Tab, actions: RaceActions) -> None:
    page.kept.append(race_tab(actions, page.table))


TAB = Tab("race", "Race", "front", 3, lambda page: RaceActions(page.source, page.limits), _build)
