"""Which models a run is of, as controls: target, drafter's weights, and whether a prompt is a message to the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from specviz.app.form.request import Limits
from specviz.protocol.runs import Catalog, ModelDescription, RunRequest

ANY = "bundled name, local folder, or hub id as owner/model@revision"
CHAT = (
    "for instruct models: their chat template is put around it; the player shows what they read. The bundled target is "
    "none and has no template."
)


def model_choices(models: Sequence[ModelDescription], role: str) -> list[tuple[str, str]]:
    """Models of a role first, the others after them: any pair with one vocabulary is legal."""
    ordered = sorted(models, key=lambda model: (model.role != role, not model.available))
    return [(_model_label(model), model.name) for model in ordered]


def _model_label(model: ModelDescription) -> str:
    size = f"{model.parameters / 1e6:.1f} M" if model.parameters else "size unknown"
    if model.licence:
        return f"{model.name} ({model.parameters / 1e6:,.0f} M, {model.licence}, downloaded on first use)"
    return f"{model.name} ({size})" if model.available else f"{model.name} (not installed)"


def model_fields(
    catalog: Catalog,
    limits: Limits,
    begin: Callable[[str, Any], Any] = lambda name, otherwise: otherwise,
    tab: str = "",
) -> dict[str, Any]:
    """The controls by the names of their values: `target`, `drafter_model`, `chat`. `begin`: the value that a control
    opens with, by its name and what it is otherwise; `tab` tells the elements of several tabs apart."""
    defaults, fields = RunRequest(prompt=""), dict[str, Any]()
    for name, label, role, value in (
        ("target", "target model", "target", defaults.target),
        ("drafter_model", "drafter's model", "drafter", defaults.drafter_model),
    ):
        offered = model_choices(catalog.models, role)
        listed, value = [name for _, name in offered], begin(name, value)
        start = value if value in listed or limits.any_model else next(iter(listed), None)
        fields[name] = gr.Dropdown(
            offered, value=start, label=label, info=ANY if limits.any_model else None,
            allow_custom_value=limits.any_model, min_width=200, elem_id=f"sv-{tab}{name.replace('_', '-')}",
        )  # fmt: skip
    fields["chat"] = gr.Checkbox(
        bool(begin("chat", defaults.chat)),
        label="the prompt is a message",
        info=CHAT,
        min_width=260,
        elem_id=f"sv-{tab}chat",
    )
    return fields
