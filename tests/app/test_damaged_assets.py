"""Shipped files that are damaged: the page starts, names what it leaves out, and runs no weights that it was not
shipped with."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from specviz import resources
from specviz.drafters.eagle import EagleModule
from specviz.drafters.learned.eagle_network import EagleShape
from specviz.drafters.learned.module import TargetParts, fresh
from specviz.drafters.learned.weights import read_module, write_module
from specviz.errors import ModelError, SpecVizError
from specviz.lm.load import load
from specviz.proof.exhaustive import TARGET_SEED, toy
from specviz.resources import LEFT_OUT, altered, hashes_text, leave_out, read_json, without

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = (
    "rules.json", "methods.json", "catalog.json", "glossary.json", "method_map.toml", "models/target/config.json",
    "models/captioner/config.json", "prompts/prompts.json", "traces/index.json", "traces/recordings.toml",
    "traces/opening.json.gz", "traces/eagle-story.json.gz", "sweeps/all_drafters.json.gz",
    "lessons/1_guess_and_check.toml", "races/opening.json.gz", "lanes/opening.json.gz", "studies/depth_width.json",
    "batches/opening.json.gz", "studies/alignment.json", "studies/long_context.json", "studies/captions.json",
    "hardware/cpu-2-core-amd-epyc.json", "frequencies/target.json", "written_rules.json",
)  # fmt: skip
"""one of each kind that the page reads as it is built"""
MAP, RECORDINGS = "method_map.toml", "traces/recordings.toml"
"""the second is read where the first is there alone"""


def truncated(raw: bytes) -> bytes:
    return raw[: len(raw) // 2]


def flipped(raw: bytes) -> bytes:
    """One bit in the second half of the file, where the numbers are."""
    changed = bytearray(raw)
    changed[len(raw) * 2 // 3] ^= 0x40
    return bytes(changed)


def flipped_or_of_another_type(raw: bytes) -> bytes:
    """A flipped bit where the file is packed, which notices it; a bit within a word of a text is read as it is, so the
    others hold something else."""
    return flipped(raw) if raw[:2] == b"\x1f\x8b" else b"[7]\n"


Damage = Callable[[bytes], bytes]
SPARED = {truncated: RECORDINGS, flipped_or_of_another_type: MAP}
"""kinds of damage, and the file that is left whole under each"""


def copied(folder: Path) -> Path:
    """The package with what is compiled of it already, and the assets as links."""
    shutil.copytree(ROOT / "specviz", folder / "specviz")
    shutil.copy(ROOT / "spaces_config.yaml", folder)
    for path in sorted((ROOT / "assets").rglob("*")):
        place = folder / "assets" / path.relative_to(ROOT / "assets")
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            place.symlink_to(path)
    return folder


def harm(copy: Path, damage: Damage) -> None:
    """Damage all of `SKIPPED` at once but one."""
    for name in set(SKIPPED) - {SPARED[damage]}:
        place = copy / "assets" / name
        content = damage(place.read_bytes())
        place.unlink()
        place.write_bytes(content)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[Damage, dict[str, Any]]:
    """What the page says after each kind of damage."""
    copies = {damage: copied(tmp_path_factory.mktemp(damage.__name__)) for damage in SPARED}
    for damage, copy in copies.items():
        harm(copy, damage)
    script = Path(__file__).with_name("damaged_page.py")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run([sys.executable, "-P", script, *copies.values()], env=environment, check=False)
    logs = {damage: (copy / "log").read_text(encoding="utf-8") for damage, copy in copies.items()}
    assert run.returncode == 0, {damage.__name__: log[-2000:] for damage, log in logs.items()}
    answers = {damage: json.loads((copy / "told.json").read_text()) for damage, copy in copies.items()}
    for damage, log in logs.items():
        assert "Traceback" not in log
        for name in answers[damage]["left_out"]:
            assert f"{name} is missing or damaged, and left out" in log, "the log names it"
    return answers


@pytest.mark.slow
def test_with_half_of_every_kind_of_file_cut_off_the_page_starts_and_names_them(
    told: dict[Damage, dict[str, Any]],
) -> None:
    said = told[truncated]
    assert said["left_out"] == sorted({*SKIPPED} - {RECORDINGS})
    assert said["visible"] is True
    assert "Left out, because it is missing or damaged: batches/opening.json.gz, catalog.json," in said["said"]
    assert f"and {len(SKIPPED) - 9} more; `git checkout assets` restores it" in said["said"]


@pytest.mark.slow
def test_with_a_flipped_bit_or_something_else_in_each_of_them_it_starts_too(
    told: dict[Damage, dict[str, Any]],
) -> None:
    assert set(SKIPPED) - {MAP} <= set(told[flipped_or_of_another_type]["left_out"]) <= set(SKIPPED)


# --- weights -------------------------------------------------------------------------------------------------------


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of assets of its own, with a small model in it."""
    monkeypatch.setattr(resources, "ROOT", tmp_path)
    monkeypatch.setattr(resources, "LEFT_OUT", {})
    shutil.copytree(ROOT / "assets" / "models" / "caption-drafter-text", tmp_path / "models" / "small")
    resources._hashes.cache_clear()
    yield tmp_path
    resources._hashes.cache_clear()


def take_over(folder: Path) -> None:
    """As `make generate` does."""
    (folder / "hashes.json").write_text(hashes_text())
    resources._hashes.cache_clear()


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_model_with_a_flipped_bit_is_not_run(shipped: Path, file: str) -> None:
    take_over(shipped)
    folder = shipped / "models" / "small"
    assert load(str(folder)).info.parameters > 0
    (folder / file).write_bytes(flipped((folder / file).read_bytes()))
    with pytest.raises(
        ModelError, match=rf"assets/models/small/{file} is not the file that was shipped: it is damaged"
    ):
        load(str(folder))


def test_a_module_with_a_flipped_bit_is_not_run(shipped: Path) -> None:
    target, folder = toy(3, TARGET_SEED), shipped / "modules" / "eagle"
    write_module(fresh(EagleModule, TargetParts.of(target), EagleShape()), folder, {})
    take_over(shipped)
    assert read_module(folder, target).name == "eagle"
    card = (folder / "module.json").read_text()
    (folder / "module.json").write_text(card.replace('"parameters": ', '"parameters": 1'))
    with pytest.raises(ModelError, match=r"modules/eagle/module\.json is not the file that was shipped"):
        read_module(folder, target)


def test_what_was_changed_on_purpose_is_taken_over(shipped: Path) -> None:
    take_over(shipped)
    config = shipped / "models" / "small" / "config.json"
    config.write_text(config.read_text() + "\n")
    assert "is not the file that was shipped" in altered(config)
    take_over(shipped)
    assert altered(config) == ""


def test_weights_that_are_trained_into_the_assets_are_the_ones_expected_from_then_on(shipped: Path) -> None:
    resources.take_over(shipped / "models" / "small")
    target, folder = toy(3, TARGET_SEED), shipped / "modules" / "eagle"
    for seed in (0, 1):
        write_module(fresh(EagleModule, TargetParts.of(target), EagleShape(), seed), folder, {})
        assert read_module(folder, target).name == "eagle"
    assert "modules/eagle/module.json" in json.loads((shipped / "hashes.json").read_text())


def test_weights_that_are_trained_elsewhere_change_no_hashes(shipped: Path, tmp_path_factory: Any) -> None:
    resources.take_over(tmp_path_factory.mktemp("elsewhere"))
    assert not (shipped / "hashes.json").exists()


def test_a_folder_of_ones_own_has_no_hashes(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert altered(tmp_path / "config.json") == ""


def test_every_shipped_weight_has_its_hash() -> None:
    known = json.loads((ROOT / "assets" / "hashes.json").read_text())
    weights = [*(ROOT / "assets").rglob("*.safetensors"), *(ROOT / "assets").rglob("*.bz2")]
    assert len(weights) > 20
    assert [path for path in weights if path.relative_to(ROOT / "assets").as_posix() not in known] == []


def test_a_small_file_that_is_needed_is_a_sentence_where_it_is_damaged(shipped: Path) -> None:
    (shipped / "skips.json").write_text("{")
    with pytest.raises(SpecVizError, match=r"^skips\.json cannot be read \(JSONDecodeError\); restore it with"):
        read_json(shipped / "skips.json")
    (shipped / "skips.json").write_text("{}")
    take_over(shipped)
    (shipped / "skips.json").write_text("[]")
    with pytest.raises(SpecVizError, match=r"skips\.json is not the file that was shipped"):
        read_json(shipped / "skips.json")


def test_what_is_left_out_is_told_once(shipped: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        assert without(shipped / "rules.json", lambda path: path.read_text(), "nothing") == "nothing"
    assert [one.getMessage().partition(" (")[0] for one in caplog.records] == [
        "rules.json is missing or damaged, and left out"
    ]
    leave_out(Path("elsewhere/other.json"), ValueError("x"))
    assert list(resources.LEFT_OUT) == ["rules.json"]
    assert "other.json" not in LEFT_OUT
