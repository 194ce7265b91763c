"""A drafter module's folder: its weights packed, read as they were written, and as earlier versions left them."""

import bz2
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from specviz.drafters.base import DRAFTERS
from specviz.drafters.dflash import DFlashShape
from specviz.drafters.eagle import EagleModule
from specviz.drafters.learned import weights as module_weights
from specviz.drafters.learned.eagle_network import EagleShape
from specviz.drafters.learned.eight_bits import SCALE, less, more, restored, stored
from specviz.drafters.learned.module import MODULES, TargetParts, fresh
from specviz.drafters.learned.weights import (
    fill_from,
    keeping,
    module_for,
    pack,
    read_module,
    shown_weights,
    unpack,
    write_module,
)
from specviz.errors import ModelError
from specviz.options import from_mapping
from specviz.protocol.trainings import SHIPPED

SHAPES = {"kangaroo": {"exit_layer": 1}}


def numbers(target, folder: Path) -> dict[str, torch.Tensor]:
    return read_module(folder, target).state_dict()


def described(folder: Path, **change: object) -> None:
    """The card in the folder with other values."""
    card = json.loads((folder / "module.json").read_text())
    (folder / "module.json").write_text(json.dumps(card | change))


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


@pytest.mark.parametrize("name", MODULES.names())
def test_a_trace_names_the_folder_of_weights_and_not_where_it_lies(name, target, tmp_path):
    kind, drafter = MODULES.get(name), DRAFTERS.get(name)
    write_module(
        fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, SHAPES.get(name, {}))), tmp_path, {}
    )
    made = drafter(from_mapping(drafter.options_type, {"weights": str(tmp_path)}))
    made.attach(target, target.new_cache())
    assert made.options.weights == tmp_path.name


def test_weights_on_the_hub_are_named_as_they_are(tmp_path, monkeypatch):
    assert shown_weights("owner/head@v1") == "owner/head@v1"
    assert shown_weights("shipped") == "shipped"
    monkeypatch.chdir(tmp_path)
    Path("owner/head").mkdir(parents=True)
    assert shown_weights("owner/head") == "head", "a folder"


@pytest.mark.parametrize(("name", "shape"), [("eagle", {"parallel": 2}), ("dflash", {"slots": 2})])
def test_weights_that_draft_few_places_shorten_chains_and_take_trees_as_they_are(name, shape, target, tmp_path):
    kind, drafter = MODULES.get(name), DRAFTERS.get(name)
    write_module(fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, shape)), tmp_path, {})
    for asked, widths in (({}, (1, 1)), ({"gamma": 1}, (1,)), ({"branching": (2, 1, 1)}, (2, 1, 1))):
        made = drafter(from_mapping(drafter.options_type, {"weights": str(tmp_path), **asked}))
        made.attach(target, target.new_cache())
        assert made.options.widths == widths


def test_what_is_written_over_unpacked_weights_counts(target, folder):
    (folder / "model.safetensors").write_bytes(b"of an earlier training")
    write_module(fresh(EagleModule, TargetParts.of(target), EagleShape()), folder, {})
    assert not (folder / "model.safetensors").exists()


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
