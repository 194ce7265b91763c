"""A drafter module's folder: its weights packed, read as they were written, and as earlier versions left them."""

import bz2
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from specviz.drafters.dflash import DFlashShape
from specviz.drafters.eagle import EagleModule
from specviz.drafters.learned import weights as module_weights
from specviz.drafters.learned.eagle_network import EagleShape
from specviz.drafters.learned.eight_bits import SCALE, less, more, restored, stored
from specviz.drafters.learned.module import MODULES, TargetParts, fresh
from specviz.drafters.learned.weights import fill_from, keeping, module_for, pack, read_module, unpack, write_module
from specviz.drafters.small_model import SmallModelModule
from specviz.errors import ModelError, SpecVizError
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import TARGET_SEED, toy
from specviz.protocol.trainings import SHIPPED


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


def test_a_card_from_before_an_option_was_made_is_one_with_its_default(target, tmp_path):
    module = fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=3))
    write_module(module, tmp_path, {})
    card = json.loads((tmp_path / "module.json").read_text())
    for later in ("convolution", "selector_rank", "selected", "selector_tables"):
        del card["options"][later]
    (tmp_path / "module.json").write_text(json.dumps(card))
    assert read_module(tmp_path, target).options == DFlashShape(slots=3)
    assert fill_from(tmp_path, module)[0].options == card["options"]
    with pytest.raises(ModelError, match="holds a 'dflash' with options"):
        fill_from(tmp_path, fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=4)))


def test_a_block_may_learn_on_as_causal_and_nothing_else_of_it_changes(target, tmp_path):
    trained = fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=3), seed=1)
    write_module(trained, tmp_path, {})
    causal = fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=3, causal=True, anchors=4))
    fill_from(tmp_path, causal)
    given, taken = trained.network.layers[0].mlp.up_proj.weight, causal.network.layers[0].mlp.up_proj.weight
    assert torch.allclose(taken, given, atol=0.01), "they are kept in eight bits"
    assert (causal.options.causal, causal.options.anchors) == (True, 4)
    with pytest.raises(ModelError, match="holds a 'dflash' with options"):
        fill_from(tmp_path, fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=4, causal=True)))


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


def test_shipped_weights_of_another_target_than_the_bundled_are_those_whose_card_names_it(
    target, tmp_path, monkeypatch
):
    monkeypatch.setattr(module_weights, "MODULES_FOLDER", tmp_path)
    for name, made_for in (("eagle", "a" * 64), ("later", target.info.weights_sha256), ("real", "b" * 64)):
        write_module(fresh(EagleModule, TargetParts.of(target), EagleShape()), tmp_path / name, {})
        card = json.loads((tmp_path / name / "module.json").read_text())
        (tmp_path / name / "module.json").write_text(json.dumps(card | {"target_sha256": made_for}))
    own = numbers(target, tmp_path / "later")
    found = module_for(EagleModule, SHIPPED, target).state_dict()
    assert all(torch.equal(own[name], found[name]) for name in own)
    (tmp_path / "later" / "module.json").unlink()
    with pytest.raises(ModelError, match="eagle were trained on the states of the target aaaaaaaaaaaa"):
        module_for(EagleModule, SHIPPED, target)


def test_a_module_of_the_same_real_model_in_other_numbers_is_taken_and_says_so(target, tmp_path, monkeypatch):
    monkeypatch.setattr(module_weights, "MODULES_FOLDER", tmp_path)
    monkeypatch.setattr(target, "_info", replace(target.info, name="HuggingFaceTB/SmolLM2-135M-Instruct"))
    for name, learnt_on in (("eagle", "target"), ("real", "smollm2")):
        write_module(fresh(EagleModule, TargetParts.of(target), EagleShape()), tmp_path / name, {})
        described(tmp_path / name, target_name=learnt_on, target_sha256=name[0] * 64)
    assert module_for(EagleModule, SHIPPED, target).learnt_from == "r" * 64
    described(tmp_path / "real", target_sha256=target.info.weights_sha256)
    assert read_module(tmp_path / "real", target).learnt_from == "", "it learnt from these very weights"
    with pytest.raises(ModelError, match=r"states of the target eeeeeeeeeeee \(target\), .*; choose that target"):
        read_module(tmp_path / "eagle", target)


def test_two_models_of_the_same_name_are_no_family_where_the_name_is_no_real_model(target, folder):
    described(folder, target_sha256="a" * 64)
    assert json.loads((folder / "module.json").read_text())["target_name"] == target.info.name
    with pytest.raises(ModelError, match="were trained on the states of the target aaaaaaaaaaaa"):
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
    unpack(pack(folder), tmp_path / "again", target)
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


def described(folder: Path, **change: object) -> None:
    """The card in the folder with other values."""
    card = json.loads((folder / "module.json").read_text())
    (folder / "module.json").write_text(json.dumps(card | change))


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


def test_of_modules_that_were_trained_here_the_three_asked_for_last_are_kept(target, tmp_path):
    folders = [tmp_path / str(number) for number in range(4)]
    for one in folders:
        one.mkdir()
        write_module(fresh(EagleModule, TargetParts.of(target), EagleShape()), one, {})
    first, *others = [module_for(EagleModule, str(one), target) for one in folders[:3]]
    assert module_for(EagleModule, str(folders[0]), target) is first
    module_for(EagleModule, str(folders[3]), target)
    assert module_for(EagleModule, str(folders[0]), target) is first, "asked for again before the fourth"
    assert module_for(EagleModule, str(folders[2]), target) is others[1]
    assert module_for(EagleModule, str(folders[1]), target) is not others[0], "it had made room"


def test_a_measurement_keeps_as_many_as_it_takes_in_turns(target, tmp_path):
    folders = [tmp_path / str(number) for number in range(4)]
    for each in folders:
        write_module(fresh(EagleModule, TargetParts.of(target), EagleShape()), each, {})
    with keeping(4):
        made = [module_for(EagleModule, str(each), target) for each in folders]
        again = [module_for(EagleModule, str(each), target) for each in folders]
        assert all(first is second for first, second in zip(made, again, strict=True))
    module_for(EagleModule, str(folders[3]), target)
    assert module_for(EagleModule, str(folders[0]), target) is not made[0], "three again"


def shipped_block(target, folder: Path) -> Path:
    """As if a block of three slots were shipped: its own folder, below that of all."""
    write_module(fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=3)), folder / "dflash", {})
    return folder / "dflash"


def test_weights_on_a_base_hold_what_it_lacks_and_the_difference_to_the_rest(target, tmp_path, monkeypatch):
    monkeypatch.setattr(module_weights, "MODULES_FOLDER", tmp_path / "shipped")
    base = shipped_block(target, tmp_path / "shipped")
    module = fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=3, selector_rank=2), seed=1)
    _, given = fill_from(base, module)
    with torch.no_grad():
        module.network.fc.weight.mul_(0.5)
    write_module(module, tmp_path / "on", {}, base="dflash")
    held = load(bz2.decompress((tmp_path / "on" / "model.safetensors.bz2").read_bytes()))
    assert {name for name in held if not name.endswith(SCALE)} == {
        "network.fc.weight", "selector.slot.weight", "selector.before.weight", "selector.after.weight",
    }  # fmt: skip
    assert "network.mask" in given
    assert not any(name.startswith("selector.") for name in given)
    write_module(module, tmp_path / "whole", {})
    further = fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=3, selector_rank=2), seed=2)
    fill_from(tmp_path / "on", further)
    whole, on = numbers(target, tmp_path / "whole"), numbers(target, tmp_path / "on")
    assert on.keys() == whole.keys()
    for name in whole:
        torch.testing.assert_close(on[name], whole[name], rtol=1e-6, atol=0)
        assert torch.equal(further.state_dict()[name], on[name]), "a training that goes on begins with all of it"


def test_a_difference_goes_round_at_256_and_comes_back():
    base = {"w": torch.tensor([[-100, 100]], dtype=torch.int8), "w" + SCALE: torch.tensor([[0.1]])}
    own = {"w": torch.tensor([[100, -127]], dtype=torch.int8), "w" + SCALE: torch.tensor([[0.2]])}
    stored_on = less(own, base)
    assert stored_on["w"].tolist() == [[200 - 256, -227 + 256]]
    assert {name: tensor.tolist() for name, tensor in more(stored_on, base).items()} == {
        name: tensor.tolist() for name, tensor in own.items()
    }
    assert less(base, base) == {}


def test_weights_whose_base_is_another_by_now_are_refused(target, tmp_path, monkeypatch):
    monkeypatch.setattr(module_weights, "MODULES_FOLDER", tmp_path / "shipped")
    base = shipped_block(target, tmp_path / "shipped")
    module = fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=3, selector_rank=2))
    fill_from(base, module)
    write_module(module, tmp_path / "on", {}, base="dflash")
    read_module(tmp_path / "on", target)
    described(tmp_path / "on", base="../shipped/dflash")
    with pytest.raises(ModelError, match=r"go on from the shipped weights of '\.\./shipped/dflash'"):
        read_module(tmp_path / "on", target)
    described(tmp_path / "on", base="dflash")
    write_module(fresh(MODULES.get("dflash"), TargetParts.of(target), DFlashShape(slots=3), seed=5), base, {})
    with pytest.raises(ModelError, match="and those are others here; train them anew"):
        read_module(tmp_path / "on", target)
