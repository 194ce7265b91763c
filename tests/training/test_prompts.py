"""The bundled prompts come from held-out files only; the shipped split is the witness."""

import importlib
import json
import sysconfig
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

ASSETS = Path(__file__).resolve().parents[2] / "assets"
BUNDLE: dict[str, Any] = json.loads((ASSETS / "prompts" / "prompts.json").read_text(encoding="utf-8"))
PROMPTS: list[dict[str, Any]] = BUNDLE["prompts"]
SPLIT_FILE = ASSETS / "models" / "target" / "split.json"
FAMILIES = {"code", "prose", "copy", "table", "tests"}

needs_models = pytest.mark.skipif(not SPLIT_FILE.is_file(), reason="the bundled models are not in this checkout")


def source_text(path: str) -> str | None:
    """The named source in this interpreter, or None where it has no such file."""
    if "#" in path:
        topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
        text = topics.get(path.split("#")[1])
        return None if text is None else text.strip() + "\n"
    file = Path(sysconfig.get_path("stdlib")) / path
    return file.read_text(encoding="utf-8") if file.is_file() else None


def test_there_are_at_least_six_prompts_of_every_family() -> None:
    counts = Counter(prompt["family"] for prompt in PROMPTS)
    assert set(counts) == FAMILIES
    assert min(counts.values()) >= 6
    assert sum(counts.values()) >= 32


def test_identifiers_are_unique_and_every_field_is_filled() -> None:
    assert len({prompt["id"] for prompt in PROMPTS}) == len(PROMPTS)
    for prompt in PROMPTS:
        assert all(prompt[field] for field in ("id", "family", "title", "description", "text", "source"))


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt["id"])
def test_the_text_is_made_of_passages_and_ends_without_blanks(prompt: dict[str, Any]) -> None:
    assert "".join(prompt["parts"]) == prompt["text"]
    assert prompt["text"] == prompt["text"].rstrip()


def test_copy_prompts_repeat_the_beginning_of_a_passage() -> None:
    assert all(len(prompt["parts"]) == 2 for prompt in PROMPTS if prompt["family"] == "copy")


@needs_models
def test_every_prompt_names_a_held_out_file_and_no_training_file() -> None:
    split = json.loads(SPLIT_FILE.read_text(encoding="utf-8"))
    held_out, train = ({row["path"] for row in split[side]} for side in ("held_out", "train"))
    assert not held_out & train
    assert {prompt["source"] for prompt in PROMPTS} <= held_out


@needs_models
def test_where_this_interpreter_has_the_same_file_every_passage_is_in_it() -> None:
    split = json.loads(SPLIT_FILE.read_text(encoding="utf-8"))
    hashes = {row["path"]: row["sha256"] for row in split["held_out"]}
    for prompt in PROMPTS:
        text = source_text(prompt["source"])
        if text is not None and sha256(text.encode()).hexdigest() == hashes[prompt["source"]]:
            assert all(part in text for part in prompt["parts"])


@needs_models
def test_prompts_have_one_to_four_hundred_tokens() -> None:
    tokenizer = AutoTokenizer.from_pretrained(SPLIT_FILE.parent)
    for prompt in PROMPTS:
        assert len(tokenizer(prompt["text"])["input_ids"]) == prompt["tokens"]
        assert 100 <= prompt["tokens"] <= 400
