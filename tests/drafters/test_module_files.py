"""A drafter module's folder: its weights packed, read as they were written, and as earlier versions left them."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from specviz.drafters.eagle import EagleModule
from specviz.drafters.parts.eagle_trunk import EagleShape
from specviz.drafters.parts.module_files import SCALE, pack, read_module, restored, stored, unpack, write_module
from specviz.drafters.parts.trained import TargetParts, fresh
from specviz.errors import ModelError
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import TARGET_SEED, toy


@pytest.fixture
def target() -> TableModel:
    return toy(3, TARGET_SEED)


@pytest.fixture
def folder(target, tmp_path: Path) -> Path:
    write_module(fresh(EagleModule, TargetParts.of(target), EagleShape()), tmp_path, {})
    return tmp_path


def numbers(target, folder: Path) -> dict[str, torch.Tensor]:
    return read_module(folder, target).state_dict()


def test_the_weights_are_packed_alone_and_are_safetensors_inside(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["model.safetensors.bz2", "module.json"]
    assert bz2.decompress((folder / "model.safetensors.bz2").read_bytes())[8:10] == b'{"'


def test_weights_that_were_not_packed_are_read_too(target, folder):
    before = numbers(target, folder)
    packed = folder / "model.safetensors.bz2"
    (folder / "model.safetensors").write_bytes(bz2.decompress(packed.read_bytes()))
    packed.unlink()
    after = numbers(target, folder)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_what_is_written_over_unpacked_weights_counts(target, folder):
    (folder / "model.safetensors").write_bytes(b"of an earlier training")
    write_module(fresh(EagleModule, TargetParts.of(target), EagleShape()), folder, {})
    assert not (folder / "model.safetensors").exists()


@pytest.mark.parametrize("damage", [b"", b"no bz2", bz2.compress(b"no safetensors")], ids=["empty", "other", "inside"])
def test_damaged_weights_are_one_sentence(target, folder, damage):
    (folder / "model.safetensors.bz2").write_bytes(damage)
    with pytest.raises(ModelError, match=r"^the weights in .+ cannot be read: [^\n]+$"):
        read_module(folder, target)


def test_weights_that_end_too_early_are_one_sentence(target, folder):
    packed = folder / "model.safetensors.bz2"
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(ModelError, match="cannot be read"):
        read_module(folder, target)


def test_a_folder_without_weights_is_one_sentence(target, folder):
    (folder / "model.safetensors.bz2").unlink()
    with pytest.raises(ModelError, match="cannot be read"):
        read_module(folder, target)


def test_a_matrix_is_stored_in_eight_bits_with_a_scale_for_each_row():
    written = stored({"inner.weight": torch.tensor([[1.27, -0.64, 0.004], [0.0, 254.0, -127.0], [0.0, 0.0, 0.0]])})
    assert written["inner.weight"].dtype == torch.int8
    assert written["inner.weight"].tolist() == [[127, -64, 0], [0, 127, -64], [0, 0, 0]]
    assert written["inner.weight" + SCALE][:2, 0].tolist() == pytest.approx([0.01, 2.0])
    assert restored(written)["inner.weight"].tolist() == [
        pytest.approx([1.27, -0.64, 0.0]),
        pytest.approx([0.0, 254.0, -128.0]),
        [0.0, 0.0, 0.0],
    ]


def test_norms_stay_in_sixteen_bits_and_maps_as_they_are():
    written = stored({"norm.weight": torch.tensor([1.0, 0.5]), "d2t": torch.tensor([[300, -2]])})
    assert {name: tensor.dtype for name, tensor in written.items()} == {
        "norm.weight": torch.bfloat16,
        "d2t": torch.int64,
    }
    assert restored(written)["d2t"].tolist() == [[300, -2]]


def test_what_was_stored_once_is_stored_the_same_again(target, folder, tmp_path):
    once = numbers(target, folder)
    unpack(pack(folder), tmp_path / "again")
    assert all(torch.equal(once[name], again) for name, again in numbers(target, tmp_path / "again").items())
    write_module(read_module(folder, target), tmp_path / "third", {})
    for name, again in numbers(target, tmp_path / "third").items():
        torch.testing.assert_close(once[name], again, rtol=1e-6, atol=0)


def test_weights_of_sixteen_bits_as_earlier_versions_wrote_them_are_read(target, folder):
    module = fresh(EagleModule, TargetParts.of(target), EagleShape())
    earlier = {name: one.bfloat16() if one.is_floating_point() else one for name, one in module.state_dict().items()}
    (folder / "model.safetensors.bz2").write_bytes(bz2.compress(save(earlier)))
    for name, read in numbers(target, folder).items():
        assert torch.equal(read, earlier[name].to(read.dtype))
