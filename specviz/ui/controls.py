"""The form: every control of a run, drawn from the catalog, and which of them belong to the chosen methods.

One group of option controls per method, made from its option cards; choosing a method shows its group and hides the
others. Knows no method by name and nothing about running.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.trace.source import Catalog, MethodDescription, ModelDescription, OptionCard, RunRequest
from specviz.ui.request import AUTO, Limits, option_key

SLIDER_SPAN = 256
"""wider ranges get a number box instead of a slider"""


@dataclass(slots=True)
class Controls:
    """The form's components by the name of their value, and the groups that appear and vanish."""

    fields: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, dict[str, gr.Group]] = field(default_factory=dict)
    """`drafter` or `verifier` → method → its option group; methods without options have none"""
    drafter_note: Any = None
    verifier_note: Any = None

    def inputs(self) -> set[Component]:
        return set(self.fields.values())

    def values(self, given: Mapping[Component, object]) -> dict[str, object]:
        """What an event handler received, by value name."""
        return {name: given[component] for name, component in self.fields.items()}


def method_choices(methods: Sequence[MethodDescription]) -> list[tuple[str, str]]:
    return [(method.name, method.name) for method in methods]


def model_choices(models: Sequence[ModelDescription], role: str) -> list[tuple[str, str]]:
    """Models of a role first, the others after them: any pair with one vocabulary is legal."""
    ordered = sorted(models, key=lambda model: (model.role != role, not model.available))
    return [(_model_label(model), model.name) for model in ordered]


def _model_label(model: ModelDescription) -> str:
    size = f"{model.parameters / 1e6:.1f} M" if model.parameters else "size unknown"
    return f"{model.name} ({size})" if model.available else f"{model.name} (not installed)"


def option_control(card: OptionCard) -> Component:
    """The control that fits an option's type and range."""
    label = card.name.replace("_", " ")
    if card.choices:
        return gr.Dropdown(list(card.choices), value=card.default, label=label, info=card.help)
    if card.type == "bool":
        return gr.Checkbox(value=bool(card.default), label=label, info=card.help)
    if card.type in ("int", "float"):
        return _number_control(card, label)
    default = ",".join(map(str, card.default)) if isinstance(card.default, list | tuple) else card.default or ""
    example = "3,2,1" if card.type == "ints" else None
    return gr.Textbox(value=str(default), label=label, info=card.help, placeholder=example, max_lines=1)


def _number_control(card: OptionCard, label: str) -> Component:
    step = 1.0 if card.type == "int" else 0.01
    value = card.default if isinstance(card.default, int | float) else None
    if card.minimum is None or card.maximum is None or card.maximum - card.minimum > SLIDER_SPAN or value is None:
        return gr.Number(value=value, label=label, info=card.help, minimum=card.minimum, maximum=card.maximum)
    return gr.Slider(card.minimum, card.maximum, value=value, step=step, label=label, info=card.help)


def option_groups(controls: Controls, group: str, methods: Sequence[MethodDescription], chosen: str) -> None:
    """Draw one group per method that has options; only the chosen method's is visible."""
    groups = controls.groups.setdefault(group, {})
    for method in methods:
        if not method.options:
            continue
        with gr.Group(visible=method.name == chosen, elem_classes="sv-options") as box, gr.Row():
            for card in method.options:
                controls.fields[option_key(group, method.name, card.name)] = option_control(card)
        groups[method.name] = box


def shown_groups(controls: Controls, group: str, chosen: str) -> list[gr.Group]:
    """Visibility updates for `controls.groups[group]`, in its order."""
    return [gr.Group(visible=name == chosen) for name in controls.groups.get(group, {})]


def method_note(methods: Sequence[MethodDescription], name: str) -> str:
    """The one-line summary of the chosen method."""
    return next((method.summary for method in methods if method.name == name), "")


def lossless_note(catalog: Catalog, drafter: str, verifier: str) -> tuple[bool, str]:
    """Whether the chosen pair keeps the target's distribution, and the sentence that says so."""
    parts = [method for method in catalog.drafters if method.name == drafter]
    parts += [method for method in catalog.verifiers if method.name == verifier]
    lossy = [method.name for method in parts if not method.lossless]
    if lossy:
        return False, f"lossy: {' and '.join(lossy)} may change the target's distribution"
    rule = " (greedy at temperature 0, sequential above)" if verifier == AUTO else ""
    return True, f"lossless{rule}: the text follows the target's distribution exactly"


def model_controls(controls: Controls, catalog: Catalog, limits: Limits, defaults: RunRequest) -> None:
    """Target and drafter weights."""
    for name, label, role, value in (
        ("target", "target model", "target", defaults.target),
        ("drafter_model", "drafter's model", "drafter", defaults.drafter_model),
    ):
        choices = model_choices(catalog.models, role)
        listed = [choice for _, choice in choices]
        start = value if value in listed or limits.any_model else next(iter(listed), None)
        info = "bundled name, local folder or hub id" if limits.any_model else None
        controls.fields[name] = gr.Dropdown(
            choices, value=start, label=label, info=info, allow_custom_value=limits.any_model, min_width=200
        )


def sampling_controls(controls: Controls, limits: Limits, defaults: RunRequest) -> None:
    """Temperature and length; seed, truncation, stop strings."""
    fields, length = controls.fields, min(defaults.max_new_tokens, limits.max_new_tokens)
    with gr.Row():
        fields["temperature"] = gr.Slider(
            0.0, 2.0, value=defaults.temperature, step=0.05, label="temperature", info="0: greedy", min_width=200
        )
        fields["max_new_tokens"] = gr.Slider(
            1, limits.max_new_tokens, value=length, step=1, label="new tokens", info="at most", min_width=200
        )
    with gr.Row():
        fields["seed"] = _whole(defaults.seed, "seed", "same seed, same run")
        fields["top_k"] = _whole(defaults.top_k, "top-k", "0: off")
        fields["top_p"] = gr.Number(
            value=defaults.top_p, label="top-p", minimum=0, maximum=1, step=0.05, info="1: off", min_width=80
        )
        fields["stop"] = gr.Textbox(label="stop strings", info="one per line, \\n: a break", max_lines=4, min_width=120)


def _whole(value: int, label: str, info: str) -> gr.Number:
    return gr.Number(value=value, label=label, precision=0, minimum=0, info=info, min_width=80)
