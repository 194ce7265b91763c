"""Flags of engines for each drafter that one of them has, and a sentence where an engine has none."""

import json
import shlex
from pathlib import Path

import pytest

from specviz.doctor.engine_flags import ENGINES, HEADS, MAKERS, Asked, flags_of, layout_of
from specviz.trace.declared_method import DRAFTERS


@pytest.mark.parametrize(
    ("drafter", "layout", "methods"),
    [
        ("ngram", "", {"vLLM": "ngram", "SGLang": "NGRAM", "llama.cpp": "ngram-simple"}),
        ("suffix", "", {"vLLM": "suffix"}),
        ("model", "", {"vLLM": "draft_model", "SGLang": "STANDALONE", "llama.cpp": "draft-simple"}),
        ("eagle", "published", {"vLLM": "eagle", "SGLang": "EAGLE"}),
        ("eagle", "eagle3", {"vLLM": "eagle3", "SGLang": "EAGLE3", "llama.cpp": "draft-eagle3"}),
        ("medusa", "published", {"vLLM": "medusa"}),
        ("dflash", "published", {"vLLM": "dflash", "SGLang": "DFLASH", "llama.cpp": "draft-dflash"}),
        ("dspark", "published", {"vLLM": "dspark", "llama.cpp": "draft-dspark"}),
    ],
)
def test_each_engine_is_asked_by_its_own_name_of_the_method_or_says_that_it_has_none(
    drafter: str, layout: str, methods: dict[str, str]
) -> None:
    asked = flags_of(Asked(drafter, "./head", 5, layout))
    words = {engine: shlex.split(flags) for engine, flags in asked.flags.items()}
    named = {
        engine: json.loads(parts[1])["method"] if engine == "vLLM" else parts[1] for engine, parts in words.items()
    }
    assert named == methods
    assert set(asked.cannot) == set(ENGINES) - set(methods)
    assert all(why.startswith(("has ", "reads ")) and why.endswith(".") for why in asked.cannot.values())


def test_a_chain_of_five_candidates_is_five_steps_and_six_rows_in_sglang() -> None:
    assert flags_of(Asked("eagle", "a b", 5, "eagle3")).flags["SGLang"] == (
        "--speculative-algorithm EAGLE3 --speculative-draft-model-path 'a b' --speculative-num-steps 5 "
        "--speculative-eagle-topk 1 --speculative-num-draft-tokens 6"
    )


@pytest.mark.parametrize("drafter", HEADS)
def test_weights_in_our_own_layout_are_read_by_no_engine(drafter: str) -> None:
    asked = flags_of(Asked(drafter, "head", 4, "own"))
    assert asked.flags == {}
    assert set(asked.cannot) == set(ENGINES)
    assert ("--speculators" in asked.cannot["vLLM"]) == (drafter == "eagle")


def test_a_drafter_that_no_engine_has_says_so_for_each() -> None:
    assert flags_of(Asked("token_recycling")).cannot == dict.fromkeys(
        ENGINES, "has nothing like the drafter 'token_recycling'."
    )


def test_every_drafter_with_flags_is_one_that_runs_here() -> None:
    assert set(MAKERS) <= set(DRAFTERS)
    assert set(HEADS) <= set(MAKERS)


@pytest.mark.parametrize(
    ("files", "layout"),
    [
        ({}, "published"),
        ({"module.json": {}}, "own"),
        ({"config.json": {"draft_vocab_size": 32000}}, "eagle3"),
        ({"config.json": {"speculators_model_type": "eagle3"}}, "eagle3"),
        ({"config.json": {"vocab_size": 32000}}, "published"),
    ],
)
def test_the_layout_of_weights_follows_from_their_files(
    tmp_path: Path, files: dict[str, dict[str, object]], layout: str
) -> None:
    for name, data in files.items():
        (tmp_path / name).write_text(json.dumps(data))
    assert layout_of("eagle", str(tmp_path)) == layout
    assert layout_of("ngram", "") == ""
