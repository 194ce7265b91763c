"""docs/trace_format.md tells the truth about what is in the code."""

import importlib
import re
from pathlib import Path
from typing import get_args

import pytest

from specviz.trace import events, header
from specviz.trace.files import STANDARD, UPLOAD, Limits

DOCS = (Path(__file__).parents[2] / "docs" / "trace_format.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("limits", [STANDARD, UPLOAD], ids=["standard", "upload"])
def test_the_limits_are_the_documented_ones(limits: Limits) -> None:
    for name in Limits.__slots__:
        value = getattr(limits, name)
        if name in ("what", "number_chars"):
            continue
        shown = f"{value // 2**20} MiB" if name.endswith("bytes") else f"{value:,}"
        assert shown in DOCS, f"{name} is {shown}"


def test_every_word_of_the_format_is_explained() -> None:
    for words in (events.CandidateKind, events.Fate, events.Origin, events.TrimReason, header.Source):
        for word in get_args(words):
            assert re.search(rf"[`*]{word}[`*]|\b{word}\b", DOCS), word


def test_every_part_of_a_round_and_a_trace_is_listed() -> None:
    for record in (events.Trace, events.Round):
        for name in record.__dataclass_fields__:
            assert re.search(rf"\b{name}\b", DOCS), name


def test_the_imports_shown_exist() -> None:
    for module, names in re.findall(r"^from (specviz\S+) import ([^#\n]+)", DOCS, re.MULTILINE):
        for name in names.split(","):
            assert hasattr(importlib.import_module(module), name.strip())


def test_the_files_linked_exist() -> None:
    for target in re.findall(r"\]\(\.\./([^)]+)\)", DOCS):
        assert (Path(__file__).parents[2] / target).is_file(), target
