"""The Space's card, its limits and the pins agree with each other."""

import re
import subprocess
import tomllib
import unicodedata
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from specviz.app.form.fields import model_choices
from specviz.app.form.request import Limits, request_from
from specviz.app.page import settings as space
from specviz.errors import OptionError, SpecVizError
from specviz.live.catalog import beside, saved

ROOT = Path(__file__).resolve().parents[2]
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
    assert card["license"] == "apache-2.0"
    assert re.fullmatch(r"(cpu|t4|l4|l40s|a10g|a100|zero|rtx)-[a-z0-9-]+", card["suggested_hardware"])


def test_the_emoji_is_one_sign(card):
    assert len(card["emoji"]) == 1
    assert unicodedata.category(card["emoji"]) == "So"


def test_one_gradio_version_in_card_requirements_and_environment(card):
    requirements = (ROOT / "requirements.txt").read_text()
    pyproject = (ROOT / "pyproject.toml").read_text()
    pinned = re.search(r"^gradio==(\S+)$", requirements, re.MULTILINE).group(1)
    assert card["sdk_version"] == pinned == version("gradio")
    assert f'"gradio=={pinned}"' in pyproject


def test_python_version_is_text_and_new_enough(card):
    """Unquoted, YAML reads 3.10 as the number 3.1."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert card["python_version"] == "3.12"
    assert "python_version: '3.12'" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert project["requires-python"] == ">=3.11"


def test_every_runtime_requirement_stands_alike_in_both_files():
    requirements = set(re.findall(r"^([A-Za-z][^#\s]*)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = {*project["dependencies"], *extras["engine"], *extras["app"]}
    assert requirements - declared == {"pytest>=9"}
    assert declared <= requirements


BOUNDED = ("numpy", "scipy", "networkx", "pydantic", "tokenizers", "safetensors", "torch", "transformers")


@pytest.mark.parametrize("package", BOUNDED)
def test_what_reads_weights_and_numbers_is_bounded_above_by_what_the_suite_ran_on(package):
    """A new minor version is taken when the suite has passed on it, not when a Space is rebuilt."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    [asked] = [Requirement(line.partition("#")[0]) for line in lines if re.match(rf"{package}\b", line)]
    major, minor = Version(version(package)).release[:2]
    assert asked.specifier.contains(f"{major}.{minor}"), "the bound excludes what the suite runs on"
    assert not asked.specifier.contains(f"{major + 1}.0")
    if package != "transformers":  # its minor versions come weekly; what is used of it is held by contracts
        assert not asked.specifier.contains(f"{major}.{minor + 1}")


a_clone = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone of the repository")
HUB_BYTES = 10_000_000
"""of a file that the hub takes without LFS"""


@a_clone
def test_every_file_that_the_hub_takes_through_lfs_alone_is_marked_so_and_no_other():
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [name for name in tracked.decode().split("\0") if name and (ROOT / name).is_file()]
    large = [name for name in files if (ROOT / name).stat().st_size > HUB_BYTES]
    ask, asked = ["git", "check-attr", "-z", "--stdin", "filter"], "\0".join(files).encode()
    told = subprocess.run(ask, cwd=ROOT, capture_output=True, check=True, input=asked).stdout.decode().split("\0")
    marked = [name for name, _, value in zip(told[::3], told[1::3], told[2::3], strict=False) if value == "lfs"]
    assert large == ["assets/models/target/model.safetensors"]
    assert marked == large


@a_clone
def test_a_clone_without_git_lfs_has_the_files_themselves():
    """They are committed as they are, and not as pointers to somewhere else."""
    name = "assets/models/target/model.safetensors"
    size = subprocess.run(["git", "cat-file", "-s", f":{name}"], cwd=ROOT, capture_output=True, check=True).stdout
    assert int(size) == (ROOT / name).stat().st_size


def test_the_app_file_exists(card):
    assert (ROOT / card["app_file"]).is_file()


def test_the_readme_carries_the_card():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == space.front_matter() + space.body(readme)


def test_only_the_front_matter_of_a_readme_is_replaced():
    assert space.body("---\ntitle: Old\n---\n# Heading\n---\nafter a rule\n") == "# Heading\n---\nafter a rule\n"
    assert space.body("# Heading\n") == "# Heading\n"


def test_front_matter_that_never_ends_is_refused():
    with pytest.raises(SpecVizError, match="never closes it"):
        space.body("---\ntitle: Old\n")


@pytest.mark.parametrize("name", ["zero-gpu", "cpu-basic", "cpu-upgrade", "gpu", "local"])
def test_every_tier_sets_every_limit_to_a_positive_number(name):
    tier = space.tier({"SPECVIZ_TIER": name})
    for entry in fields(tier):
        assert type(getattr(tier, entry.name)) is int
        assert getattr(tier, entry.name) > 0


def test_no_tier_goes_untested():
    assert list(space.settings()["tiers"]) == ["zero-gpu", "cpu-basic", "cpu-upgrade", "gpu", "local"]


def test_a_tier_that_misses_a_limit_is_refused(monkeypatch):
    monkeypatch.setattr(space, "settings", lambda: {"tiers": {"small": {"torch_threads": 1}}})
    with pytest.raises(SpecVizError, match=r"tier small in spaces_config\.yaml must set torch_threads, max_new_tokens"):
        space.tier({"SPECVIZ_TIER": "small"})


@pytest.mark.parametrize("content", ["- a list", "a: [", None])
def test_settings_that_cannot_be_read_are_refused(tmp_path, content):
    path = tmp_path / "spaces_config.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SpecVizError, match=r"spaces_config\.yaml .*restore it from the repository"):
        space.settings(path)


@pytest.mark.parametrize(
    ("environment", "tokens"),
    [
        ({}, 256),
        ({"SPACE_ID": "a/b"}, 96),
        ({"SPACE_ID": "a/b", "CPU_CORES": "2"}, 96),
        ({"SPACE_ID": "a/b", "CPU_CORES": "8"}, 192),
        ({"SPACE_ID": "a/b", "CPU_CORES": "many"}, 96),
        ({"SPACE_ID": "a/b", "ACCELERATOR": "none", "CPU_CORES": "8"}, 192),
        ({"SPACE_ID": "a/b", "ACCELERATOR": "t4"}, 256),
        ({"SPACE_ID": "a/b", "SPACES_ZERO_GPU": "true"}, 256),
        ({"SPECVIZ_TIER": "cpu-basic"}, 96),
    ],
)
def test_the_tier_follows_the_machine(environment, tokens):
    assert space.tier(environment).max_new_tokens == tokens


def test_an_unknown_tier_is_refused_with_the_known_ones():
    with pytest.raises(SpecVizError, match="SPECVIZ_TIER is 'huge', but must be one of zero-gpu, cpu-basic"):
        space.tier({"SPECVIZ_TIER": "huge"})


GPU = {"SPACE_ID": "a/b", "ACCELERATOR": "t4"}
ZERO = {"SPACE_ID": "a/b", "SPACES_ZERO_GPU": "true"}


@pytest.mark.parametrize(("said", "expected"), [("1", True), ("t", True), ("True", True), ("0", False), ("", False)])
def test_zerogpu_is_known_as_its_own_package_knows_it(said, expected):
    assert space.on_zero_gpu({"SPACES_ZERO_GPU": said}) is expected
    assert not space.on_zero_gpu({})


def test_zerogpu_offers_the_same_models_and_says_that_they_are_loaded():
    assert [one.name for one in space.hub_models(ZERO)] == [one.name for one in space.hub_models(GPU)]
    assert {one.summary for one in space.hub_models(ZERO)} == {"apache-2.0, loaded"}
    assert {one.summary for one in space.hub_models(GPU)} == {"apache-2.0, downloaded on first use"}


def test_a_space_with_a_gpu_offers_pairs_from_the_hub_with_size_and_licence_and_no_other_tier_does():
    offered = space.hub_models(GPU)
    assert [one.role for one in offered] == ["target", "target", "target", "drafter", "target"], "a head is no model"
    assert all(one.parameters > 1e8 and one.licence == "apache-2.0" and one.available for one in offered)
    assert [one.name for one in offered if not re.fullmatch(r"[\w-]+/[\w.-]+-Instruct", one.name)] == [
        "Qwen/Qwen3-1.7B"
    ]
    assert [space.hub_models(other) for other in ({}, {"SPACE_ID": "a/b"}, {"SPECVIZ_TIER": "local"})] == [(), (), ()]


def test_what_is_offered_may_be_chosen_and_says_what_it_is():
    catalog = beside(saved(), space.hub_models(GPU))
    labels = {name: label for label, name in model_choices(catalog.models, "target")}
    name = "Qwen/Qwen2.5-1.5B-Instruct"
    assert labels[name] == f"{name} (1,540 M, apache-2.0, downloaded on first use)"
    strict = Limits(any_model=False)
    values = {"prompt": "x", "target": name, "drafter_model": "drafter", "drafter": "ngram", "temperature": 0}
    values |= {"top_k": 0, "top_p": 1, "seed": 7, "max_new_tokens": 8}
    assert request_from(values, catalog, strict).target == name
    with pytest.raises(OptionError, match="is not offered here"):
        request_from({**values, "target": "some/other"}, catalog, strict)


def test_a_pair_that_lacks_something_is_refused(monkeypatch):
    broken = {"tiers": {"gpu": {}}, "hub_pairs": {"gpu": [{"target": {"name": "a/b", "parameters": 1}}]}}
    monkeypatch.setattr(space, "settings", lambda: broken)
    with pytest.raises(SpecVizError, match=r"a pair of hub_pairs in spaces_config\.yaml lacks 'licence'"):
        space.hub_models({"SPECVIZ_TIER": "gpu"})


def test_a_head_that_lacks_something_is_refused_though_nobody_chooses_it(monkeypatch):
    pair = {"target": {"name": "a/b", "parameters": 1}, "head": {"name": "c/d"}, "licence": "mit"}
    monkeypatch.setattr(space, "settings", lambda: {"tiers": {"gpu": {}}, "hub_pairs": {"gpu": [pair]}})
    with pytest.raises(SpecVizError, match=r"lacks 'parameters'.*a drafter or a head with the same"):
        space.hub_models({"SPECVIZ_TIER": "gpu"})
