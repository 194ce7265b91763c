"""What is refused of a drafter module's folder, in a sentence and before anything large is built or multiplied."""

import bz2
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from specviz.drafters.learned import weights as module_weights
from specviz.drafters.learned.eight_bits import SCALE
from specviz.drafters.learned.weights import module_for, pack, read_module, unpack
from specviz.drafters.small_model import SmallModelModule
from specviz.errors import ModelError, SpecVizError
from tests.drafters.test_module_files import described


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


def replaced(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    """The weights in the folder, written again with a change."""
    packed = folder / "model.safetensors.bz2"
    tensors = load(bz2.decompress(packed.read_bytes()))
    change(tensors)
    packed.write_bytes(bz2.compress(save(tensors)))


def column_and_row(tensors: dict[str, torch.Tensor]) -> None:
    """A column of 10,000 numbers and a row of 10,000 scales: 50 kB that multiply to 400 MB, and 200 kB to 7 GB."""
    name = next(name for name in tensors if tensors[name].dtype == torch.int8)
    tensors[name] = torch.ones(10_000, 1, dtype=torch.int8)
    tensors[name + SCALE] = torch.ones(1, 10_000)


def scales_of_a_matrix(tensors: dict[str, torch.Tensor]) -> None:
    """The right matrix, and scales that would give it another shape."""
    name = next(name for name in tensors if tensors[name].dtype == torch.int8)
    tensors[name + SCALE] = torch.ones(9_000, 1, 1)


def stranger(tensors: dict[str, torch.Tensor]) -> None:
    tensors["stranger"] = torch.ones(3)


def scale_of_nothing(tensors: dict[str, torch.Tensor]) -> None:
    tensors["stranger" + SCALE] = torch.ones(3, 1)


def first_missing(tensors: dict[str, torch.Tensor]) -> None:
    del tensors[next(name for name in tensors if tensors[name].dtype == torch.bfloat16)]


def of_words(tensors: dict[str, torch.Tensor]) -> None:
    name = next(name for name in tensors if tensors[name].dtype == torch.bfloat16)
    tensors[name] = tensors[name].to(torch.int64)


def not_a_number(tensors: dict[str, torch.Tensor]) -> None:
    name = next(name for name in tensors if name.endswith(SCALE))
    tensors[name][0] = float("nan")


def eight_bits_alone(tensors: dict[str, torch.Tensor]) -> None:
    del tensors[next(name for name in tensors if name.endswith(SCALE))]


MISFITS = {
    column_and_row: r"has the shape \[10000, 1\], not \[",
    scales_of_a_matrix: "has scales of the shape .9000, 1, 1., not one for each row",
    stranger: "there is a tensor 'stranger' in it, which this module has not",
    scale_of_nothing: "'stranger.row_scale' is a scale of nothing",
    first_missing: "the tensor .+ is missing",
    of_words: "holds torch.int64 without scales",
    not_a_number: "has scales that are no finite numbers",
    eight_bits_alone: "holds torch.int8 without scales",
}


@pytest.mark.parametrize("change", MISFITS, ids=lambda change: change.__name__)
def test_weights_that_are_not_the_modules_are_refused_before_a_number_is_multiplied(
    target, folder, change, tmp_path, monkeypatch
):
    replaced(folder, change)
    one_file = pack(folder)
    monkeypatch.setattr(module_weights, "restored", lambda _: pytest.fail("the weights were unpacked"))
    with pytest.raises(ModelError, match=MISFITS[change]):
        read_module(folder, target)
    with pytest.raises(ModelError, match=MISFITS[change]):
        unpack(one_file, tmp_path / "again", target)
    assert not (tmp_path / "again").exists()


def test_packed_zeros_are_unpacked_no_further_than_the_module_has_room(target, folder, monkeypatch):
    bomb = bz2.compress(b"\0" * 40_000_000)
    assert len(bomb) < 200
    (folder / "model.safetensors.bz2").write_bytes(bomb)
    unpacked = []
    whole = bz2.BZ2Decompressor

    class Counted:
        def __init__(self) -> None:
            self.inner = whole()

        def decompress(self, raw: bytes, most: int) -> bytes:
            content = self.inner.decompress(raw, most)
            unpacked.append(len(content))
            return content

    monkeypatch.setattr(bz2, "BZ2Decompressor", Counted)
    with pytest.raises(ModelError, match=r"hold more than the .+ bytes that this module has room for"):
        read_module(folder, target)
    assert sum(unpacked) < 200_000


@pytest.mark.parametrize("ffn", [2**40, 10**15], ids=["a terabyte", "more than there are addresses"])
def test_a_card_of_a_giant_is_refused_without_building_it(target, folder, ffn):
    card = json.loads((folder / "module.json").read_text())
    described(folder, options=card["options"] | {"ffn": ffn})
    with pytest.raises(ModelError, match=r"^(a|no) module 'eagle' .+; take smaller (ones|sizes)\.$"):
        read_module(folder, target)


def test_an_untrained_giant_is_refused_without_building_it(target):
    with pytest.raises(ModelError, match=r"has [0-9,]+ numbers, but at most 33,554,432 are taken beside"):
        module_for(SmallModelModule, "untrained", target, {"size": 4096, "layers": 32})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"module": ["eagle"]}, "module is "),
        ({"options": [1]}, "options is "),
        ({"target_sha256": 7}, "target_sha256 is 7"),
        ({"parameters": "many"}, "parameters is 'many'"),
        ({"training": None}, "training is "),
        ({"module": "no such"}, "no such"),
        ({"options": {"depths": [[1]]}}, "depths is "),
        ({"options": {"unknown": 1}}, "there is no option 'unknown' here"),
        ({"options": {"wiring": "x" * 100_000}}, "wiring is 'x+…, but must be one of"),
        ({"options": {"ffn": "1" * 5_000}}, "ffn is "),
    ],
)
def test_a_card_of_wrong_types_is_one_sentence(target, folder, change, said):
    described(folder, **change)
    with pytest.raises(SpecVizError, match=said) as refused:
        read_module(folder, target)
    assert len(str(refused.value)) < 600


def test_a_card_nested_too_deeply_is_one_sentence(target, folder):
    (folder / "module.json").write_text('{"options":' + "[" * 100_000)
    with pytest.raises(ModelError, match="nested deeper"):
        read_module(folder, target)
