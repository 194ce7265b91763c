"""The chat template of an instruct checkpoint: one message of a user as the text that the model was trained to answer.

Rendering is transformers' own, in Jinja's sandbox.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.errors import PromptError

FILE = "chat_template.jinja"
SETTINGS = "tokenizer_config.json"
VARIABLES = ("bos_token", "eos_token", "pad_token", "unk_token")
"""special tokens that templates name"""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A template, and the special tokens it may name."""

    source: str
    special: Mapping[str, str]

    @classmethod
    def from_folder(cls, folder: Path) -> ChatTemplate | None:
        """That of a checkpoint folder; None where it has none."""
        settings = _settings(folder / SETTINGS)
        file = folder / FILE
        source = file.read_text(encoding="utf-8") if file.is_file() else _default(settings.get("chat_template"))
        special = {name: text for name in VARIABLES if (text := _content(settings.get(name))) is not None}
        return cls(source, special) if source else None

    def render(self, message: str, name: str) -> str:
        """The whole prompt, up to where the answer begins. Raises PromptError for a template that cannot be used."""
        from jinja2 import TemplateError
        from transformers.utils.chat_template_utils import render_jinja_template

        variables: Any = self.special
        try:
            rendered: Any = render_jinja_template(
                conversations=[[{"role": "user", "content": message}]],
                chat_template=self.source,
                add_generation_prompt=True,
                **variables,
            )
        except (TemplateError, TypeError, ValueError) as error:
            raise PromptError(
                f"the chat template of {name} cannot be used ({error}); leave chat off and write the prompt as the "
                "model wants it."
            ) from error
        return str(rendered[0][0] if isinstance(rendered, tuple) else rendered[0])


def _settings(path: Path) -> Mapping[str, Any]:
    """What the file says; nothing where it is missing or damaged: a template is then said to be missing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _default(template: object) -> str:
    """A checkpoint may have several; then one is called `default`."""
    if isinstance(template, list):
        named = {one.get("name"): one.get("template") for one in template if isinstance(one, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else ""


def _content(token: object) -> str | None:
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None
