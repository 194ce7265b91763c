"""An engine's answer, as text or as token ids: a file of text, a list of ids, a response, or a trace.

Fields and their sources: SGLang's `output_ids` and `text`; vLLM's `choices[].token_ids` and `prompt_token_ids`
(`return_token_ids`); llama.cpp's `tokens` (`return_tokens`) and `content`; Ollama's `response`; OpenAI's
`choices[].text` and `choices[].message.content`; `specviz run --json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.errors import TraceError, shown
from specviz.trace.events import FORMAT
from specviz.trace.files import STANDARD, Limits, read_file
from specviz.trace.guard import json_of, text_of

Data = Mapping[str, Any]
IDS = ("output_ids", "token_ids", "tokens")
PROMPT_IDS = ("prompt_ids", "prompt_token_ids")
TEXTS = ("text", "content", "response")
LIST = '{{"output_ids": {}}}'
"""the one reader of hostile JSON reads objects; a bare list becomes one"""


@dataclass(frozen=True, slots=True)
class Written:
    """One answer."""

    text: str
    tokens: tuple[int, ...] | None = None
    """None: the engine gave text alone"""
    prompt_ids: tuple[int, ...] | None = None
    """None: not told"""


def read(path: str | Path, limits: Limits = STANDARD) -> Written:
    """Raises TraceError; the sentence begins with the file's name."""
    return read_file(Path(path), lambda raw: loads(raw, limits), limits)


def loads(raw: bytes, limits: Limits = STANDARD) -> Written:
    """Stored bytes, plain or gzip; what begins like no JSON is text. Raises TraceError for JSON without an answer."""
    if not raw:
        raise TraceError("the file is empty; give an answer that an engine wrote.")
    text = text_of(raw, limits)
    begins = text.lstrip()[:1]
    if begins == "[":
        return _of_object(json_of(LIST.format(text), limits))
    if begins == "{":
        return _of_object(json_of(text, limits))
    return Written(text.removesuffix("\n"))


def _of_object(data: Data) -> Written:
    if data.get("format") == FORMAT:
        finished, started = (_object(data, name) for name in ("finished", "started"))
        return Written("", _ids(finished, "output_ids"), _ids(started, "prompt_ids"))
    choice = _first(data.get("choices")) or data
    message = choice.get("message")
    holders = [choice, *([message] if isinstance(message, dict) else []), data]
    tokens = next((_ids(holder, name) for holder in holders for name in IDS if holder.get(name)), None)
    prompt = next((_ids(holder, name) for holder in holders for name in PROMPT_IDS if holder.get(name)), None)
    text = next((holder[name] for holder in holders for name in TEXTS if isinstance(holder.get(name), str)), None)
    if tokens is None and text is None:
        raise TraceError(
            "there is no answer in it; known are a text, a list of token ids, a trace, and responses with "
            f"{', '.join(IDS)}, {', '.join(TEXTS)} or choices."
        )
    return Written(text or "", tokens, prompt)


def _object(data: Data, name: str) -> Data:
    value = data.get(name)
    if not isinstance(value, dict):
        raise TraceError(f"{name} is {shown(value)}, but must be an object.")
    return value


def _first(choices: object) -> Data | None:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _ids(data: Data, name: str) -> tuple[int, ...]:
    values = data.get(name)
    if not isinstance(values, list) or not all(type(value) is int and value >= 0 for value in values):
        raise TraceError(f"{name} is {shown(values)}, but must be a list of token ids.")
    return tuple(values)
