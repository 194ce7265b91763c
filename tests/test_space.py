"""The Space's card, its limits and the pins agree with each other."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from specviz import space
from specviz.errors import SpecVizError

ROOT = Path(__file__).resolve().parent.parent
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
KEYS = {
    "title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "python_version", "suggested_hardware", "app_file",
    "fullWidth", "header", "short_description", "models", "datasets", "tags", "thumbnail", "pinned", "license",
    "disable_embedding", "startup_duration_timeout", "custom_headers", "preload_from_hub",
}  # fmt: skip


@pytest.fixture
def card():
    return space.settings()["card"]


def test_the_card_uses_only_keys_and_values_the_hub_knows(card):
    assert set(card) <= KEYS
    assert {card["colorFrom"], card["colorTo"]} <= COLOURS
    assert card["sdk"] == "gradio"
    assert len(card["short_description"]) <= 60


def test_one_gradio_version_in_card_requirements_and_environment(card):
    requirements = (ROOT / "requirements.txt").read_text()
    pyproject = (ROOT / "pyproject.toml").read_text()
    pinned = re.search(r"^gradio==(\S+)$", requirements, re.MULTILINE).group(1)
    assert card["sdk_version"] == pinned == version("gradio")
    assert f'"gradio=={pinned}"' in pyproject


def test_python_version_is_text_and_new_enough(card):
    assert card["python_version"] == "3.12"
    assert 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text()


def test_every_runtime_requirement_stands_alike_in_both_files():
    requirements = set(re.findall(r"^([A-Za-z][^#\s]*)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    block = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    declared = set(re.findall(r'"([^"]+)"', block.group(1)))
    assert requirements - declared == {"pytest>=9"}
    assert declared <= requirements


def test_the_app_file_exists(card):
    assert (ROOT / card["app_file"]).is_file()


def test_the_readme_carries_the_card():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == space.front_matter() + space.body(readme)


@pytest.mark.parametrize(
    ("environment", "tokens"),
    [
        ({}, 256),
        ({"SPACE_ID": "a/b"}, 96),
        ({"SPACE_ID": "a/b", "CPU_CORES": "8"}, 192),
        ({"SPACE_ID": "a/b", "ACCELERATOR": "t4"}, 256),
        ({"SPECVIZ_TIER": "cpu-basic"}, 96),
    ],
)
def test_the_tier_follows_the_machine(environment, tokens):
    assert space.tier(environment).max_new_tokens == tokens


def test_an_unknown_tier_is_refused_with_the_known_ones():
    with pytest.raises(SpecVizError, match="SPECVIZ_TIER is 'huge', but must be one of cpu-basic"):
        space.tier({"SPECVIZ_TIER": "huge"})
