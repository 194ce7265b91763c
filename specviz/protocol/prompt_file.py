"""A researcher's own prompts: a JSONL file, one prompt a line, in place of the bundled set.

{"id": "mine-1", "family": "maths", "text": "What is 2 + 2?"}

Rows of SPEED-Bench (2604.09557) are read too: `question_id`, `category` and the first of `turns`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specviz.errors import PromptError, shown
from specviz.protocol.runs import PromptCard
from specviz.trace.files import Limits, read_file

MOST_BYTES = 5_000_000
MOST_PROMPTS = 1000
MOST_NAME = 80
OF_SPEED_BENCH = {"id": "question_id", "family": "category"}
"""what a key is called there"""
FAMILY = "own"
"""of a prompt that names none"""
TITLE = 40


def read_prompts(path: Path) -> tuple[PromptCard, ...]:
    """The prompts of a file. Raises PromptError; the sentence begins with the file's name and line."""
    return read_file(path, _prompts_of, Limits(stored_bytes=MOST_BYTES), PromptError)


def _prompts_of(raw: bytes) -> tuple[PromptCard, ...]:
    if len(raw) > MOST_BYTES:
        raise PromptError(f"is longer than {MOST_BYTES:,} bytes; take fewer prompts.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PromptError(f"byte {error.start} is not valid UTF-8; convert it first.") from None
    return prompts_of_text(text)


def prompts_of_text(text: str) -> tuple[PromptCard, ...]:
    """One prompt per line that is not empty: `text`, and if you like `id`, `family`, `title` and `description`, or what
    SPEED-Bench has in place of them; other keys are passed over. Raises PromptError naming the line."""
    found: dict[str, PromptCard] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            card = _card(line, number)
            if card.id in found:
                raise PromptError(f"line {number}: the id '{card.id}' came before; give each prompt its own.")
            found[card.id] = card
    if not found:
        raise PromptError('there is no prompt in it; a line is like {"id": "mine-1", "family": "maths", "text": "…"}.')
    if len(found) > MOST_PROMPTS:
        raise PromptError(f"has {len(found)} prompts, but at most {MOST_PROMPTS} are taken; split it.")
    return tuple(found.values())


def _card(line: str, number: int) -> PromptCard:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PromptError(f"line {number} is not valid JSON ({str(error)[:80]}); each line is one object.") from None
    if not isinstance(data, dict):
        raise PromptError(f'line {number} is no object; write {{"id": "…", "family": "…", "text": "…"}}.')
    words = {name: _word(data, name, number) for name in ("id", "family", "title", "description", "text")}
    if not words["text"]:
        raise PromptError(f"line {number} has no text; its key is 'text'.")
    return PromptCard(
        id=words["id"] or f"{FAMILY}-{number}",
        family=words["family"] or FAMILY,
        title=words["title"] or " ".join(words["text"][: 2 * TITLE].split())[:TITLE],
        description=words["description"],
        text=words["text"],
    )


def _word(data: dict[str, Any], name: str, number: int) -> str:
    turns = data.get("turns")
    first = turns[0] if name == "text" and isinstance(turns, list) and turns else ""
    value = data.get(name, data.get(OF_SPEED_BENCH.get(name, ""), first))
    if name == "id" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise PromptError(f"line {number}: {name} is {shown(value)}, but must be text.")
    if name in ("id", "family") and len(value) > MOST_NAME:
        raise PromptError(f"line {number}: {name} has {len(value)} characters, but at most {MOST_NAME} are taken.")
    return value
