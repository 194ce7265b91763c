"""The bundled prompts come from held-out text only: plain English by the words that meet, Python by file."""

import importlib
import json
import sysconfig
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from specviz.corpus import prompt_set
from specviz.corpus.plain_english.generator import documents
from specviz.corpus.prompt_set import ENGLISH, FAMILIES
from specviz.datastore.retrieval import plain_english
from specviz.errors import TrainingError

ASSETS = Path(__file__).resolve().parents[2] / "assets"
BUNDLE: dict[str, Any] = json.loads((ASSETS / "prompts" / "prompts.json").read_text(encoding="utf-8"))
PROMPTS: list[dict[str, Any]] = BUNDLE["prompts"]
SPLIT_FILE = ASSETS / "models" / "target" / "split.json"
PYTHON = [prompt for prompt in PROMPTS if not prompt_set.is_english(prompt)]
HELD_OUT_ENGLISH = [prompt for prompt in PROMPTS if prompt["source"].startswith("plain_english/")]

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
    assert list(counts) == [family.name for family in FAMILIES]
    assert min(counts.values()) >= 6


def test_every_family_says_in_one_line_what_to_expect() -> None:
    assert [family["name"] for family in BUNDLE["families"]] == [family.name for family in FAMILIES]
    for family in BUNDLE["families"]:
        assert family["title"]
        assert 40 < len(family["expect"]) < 240
        assert "\n" not in family["expect"]


def test_the_english_prompts_are_what_the_seed_gives() -> None:
    """`specviz train prompts` writes them; nothing in them is chosen by a model's answer."""
    kept = [{key: value for key, value in one.items() if key != "tokens"} for one in PROMPTS if one not in PYTHON]
    assert kept == list(prompt_set.english_prompts(BUNDLE["english_seed"]))
    assert list(prompt_set.english_prompts(BUNDLE["english_seed"] + 1)) != kept


def test_every_english_prompt_is_the_beginning_of_a_held_out_document() -> None:
    assert len(HELD_OUT_ENGLISH) == prompt_set.PROMPTS_PER_FAMILY * len(ENGLISH)
    for prompt in HELD_OUT_ENGLISH:
        text = prompt_set.held_out_text(prompt["source"])
        assert text.startswith(prompt["text"])
        assert len(text) > len(prompt["text"])


def test_no_document_of_a_prompt_is_in_the_training_text_or_in_a_datastore() -> None:
    told = {prompt_set.held_out_text(prompt["source"]) for prompt in HELD_OUT_ENGLISH}
    assert told.isdisjoint(document.text for document in documents(1, 2_000_000, held_out=False))
    assert told.isdisjoint(text for _, text in plain_english())


def test_a_source_that_names_no_document_is_refused() -> None:
    with pytest.raises(TrainingError, match="plain_english/FAMILY/SEED/NUMBER"):
        prompt_set.held_out_text("by hand")


def test_writing_the_set_keeps_the_python_passages_and_counts_tokens(tmp_path: Path) -> None:
    path = tmp_path / "prompts.json"
    few = [PROMPTS[0], *PYTHON[:2]]
    path.write_text(json.dumps({"licence": "PSF-2.0", "prompts": few}), encoding="utf-8")
    count = prompt_set.write(path, len, seed=3)
    bundle = json.loads(path.read_text(encoding="utf-8"))
    assert len(bundle["prompts"]) == count
    assert [one["id"] for one in bundle["prompts"][-2:]] == [one["id"] for one in PYTHON[:2]]
    assert all(one["tokens"] == len(one["text"]) for one in bundle["prompts"])
    assert bundle["english_seed"] == 3


def test_identifiers_are_unique_and_every_field_is_filled() -> None:
    assert len({prompt["id"] for prompt in PROMPTS}) == len(PROMPTS)
    for prompt in PROMPTS:
        assert all(prompt[field] for field in ("id", "family", "title", "description", "text", "source"))


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt["id"])
def test_the_text_is_made_of_passages_and_ends_without_blanks(prompt: dict[str, Any]) -> None:
    assert "".join(prompt["parts"]) == prompt["text"]
    assert prompt["text"] == prompt["text"].rstrip()


def test_copy_prompts_repeat_the_beginning_of_a_passage() -> None:
    assert all(len(prompt["parts"]) == 2 for prompt in PROMPTS if prompt["family"] == "code-copy")


@needs_models
def test_every_prompt_names_a_held_out_file_and_no_training_file() -> None:
    split = json.loads(SPLIT_FILE.read_text(encoding="utf-8"))
    held_out, train = ({row["path"] for row in split[side]} for side in ("held_out", "train"))
    assert not held_out & train
    assert {prompt["source"] for prompt in PYTHON} <= held_out


@needs_models
def test_where_this_interpreter_has_the_same_file_every_passage_is_in_it() -> None:
    split = json.loads(SPLIT_FILE.read_text(encoding="utf-8"))
    hashes = {row["path"]: row["sha256"] for row in split["held_out"]}
    for prompt in PYTHON:
        text = source_text(prompt["source"])
        if text is not None and sha256(text.encode()).hexdigest() == hashes[prompt["source"]]:
            assert all(part in text for part in prompt["parts"])


@needs_models
def test_the_set_says_how_long_its_prompts_are_in_the_shipped_tokenizer() -> None:
    tokenizer = AutoTokenizer.from_pretrained(SPLIT_FILE.parent)
    for prompt in PROMPTS:
        assert len(tokenizer(prompt["text"])["input_ids"]) == prompt["tokens"]
        assert (100 if prompt in PYTHON else 1) <= prompt["tokens"] <= 420
