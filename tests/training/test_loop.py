"""Runs resume exactly, grow in depth and stop at their budget."""

import dataclasses
import functools
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from specviz.errors import TrainingError
from specviz.training import loop
from specviz.training.loop import Loop, compile_layers, grown
from specviz.training.options import TrainOptions
from specviz.training.stages import note_start, target_loop
from specviz.training.target import layer_outputs, logits_of, model_config, new_model, read_out_loss, target_objective
from specviz.training.windows import Batch, Windows, twice


def train(options: TrainOptions, most_steps: int | None = None) -> Loop:
    loop = target_loop(options)
    loop.run(lambda row: None, lambda model: 0.0, most_steps)
    return loop


def test_a_resumed_run_equals_an_uninterrupted_one(mini_options: TrainOptions) -> None:
    whole = train(mini_options)
    whole.checkpoint.unlink()
    for steps in (4, 5, None):  # the second piece crosses the growth
        pieces = train(mini_options, steps)
    assert [row["loss"] for row in pieces.progress.log] == [row["loss"] for row in whole.progress.log]
    for own, other in zip(pieces.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(own, other)


def test_the_budget_ends_the_run(mini_options: TrainOptions) -> None:
    loop = train(mini_options)
    assert loop.progress.tokens == mini_options.tokens
    assert loop.fraction() == 1.0
    assert loop.progress.log[-1]["lr_factor"] < 0.1


def test_depth_doubles_on_the_way_and_the_result_loads(mini_options: TrainOptions) -> None:
    loop = train(mini_options)
    assert loop.progress.has_grown
    assert loop.model.config.num_hidden_layers == mini_options.layers


def test_growth_repeats_the_stack() -> None:
    shallow = new_model(model_config(2, 32, 2, 48, 64), seed=0)
    deep = grown(shallow)
    assert deep.config.num_hidden_layers == 4
    for index in range(4):
        own, source = deep.model.layers[index], shallow.model.layers[index % 2]
        assert torch.equal(own.mlp.up_proj.weight, source.mlp.up_proj.weight)
    assert deep.lm_head.weight is deep.model.embed_tokens.weight


def test_odd_depth_with_growth_is_refused(mini_options: TrainOptions) -> None:
    with pytest.raises(TrainingError, match="--grow-at 0"):
        target_loop(dataclasses.replace(mini_options, layers=3))


def test_the_direct_layer_walk_equals_the_model_itself() -> None:
    model = new_model(model_config(2, 32, 2, 48, 64), seed=0).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    ids = torch.arange(20)[None]
    with torch.inference_mode():
        own = logits_of(model, layer_outputs(model, ids)[-1])
        torch.testing.assert_close(own, model(input_ids=ids).logits, rtol=1e-4, atol=1e-4)


def test_a_run_goes_on_from_trained_weights_and_keeps_what_is_known_of_them(
    mini_options: TrainOptions, tmp_path: Path
) -> None:
    options = dataclasses.replace(mini_options, grow_at=0.0)
    first = train(options)
    folder = tmp_path / "first"
    first.model.save_pretrained(folder)
    (folder / "training.json").write_text('{"tokens": 1536}', encoding="utf-8")
    first.checkpoint.unlink()
    further = dataclasses.replace(options, start=str(folder))
    for own, other in zip(target_loop(further).model.parameters(), first.model.parameters(), strict=True):
        assert torch.equal(own, other)
    note_start(further.start, options.work_dir / "target")
    assert json.loads((options.work_dir / "target" / "start.json").read_text(encoding="utf-8")) == {"tokens": 1536}


def test_weights_of_another_shape_or_none_at_all_are_no_start(mini_options: TrainOptions, tmp_path: Path) -> None:
    new_model(model_config(2, 32, 2, 48, 320), seed=0).save_pretrained(tmp_path / "shallow")
    options = dataclasses.replace(mini_options, grow_at=0.0)
    with pytest.raises(TrainingError, match="num_hidden_layers 2, and 4 is asked for"):
        target_loop(dataclasses.replace(options, start=str(tmp_path / "shallow")))
    with pytest.raises(TrainingError, match=r"No model in .*nowhere"):
        target_loop(dataclasses.replace(options, start=str(tmp_path / "nowhere")))


def test_a_copy_window_holds_its_passage_twice() -> None:
    window = np.arange(17, dtype=np.uint16)
    draw = np.random.default_rng(0)
    copied = twice(window, draw, share=1.0)
    first = int(copied[1:].tolist().index(0)) + 1
    assert 2 <= first <= 8
    assert copied.tolist() == [*range(first), *range(17 - first)]
    assert twice(window, draw, share=0.0) is window


def test_windows_repeat_their_passage_in_the_asked_share_and_in_each_step_alike() -> None:
    stream = np.arange(4000, dtype=np.uint16)
    windows = Windows(stream, 16, 8, seed=0, copies=0.5)
    rows = torch.cat([windows.batch(step).ids for step in range(20)])
    share = float((rows[:, 1:] < rows[:, :-1]).any(1).float().mean())
    assert 0.4 < share < 0.6
    assert torch.equal(windows.batch(3).ids, windows.batch(3).ids)
    with pytest.raises(TrainingError, match=r"share of copy windows is 1\.5"):
        Windows(stream, 16, 8, seed=0, copies=1.5)


@pytest.mark.parametrize("length", [5, loop.TILE, 2 * loop.TILE + 3])
def test_attention_in_tiles_is_causal_attention(length: int) -> None:
    draw = torch.Generator().manual_seed(length)
    query, key, value = (torch.randn(2, heads, length, 8, generator=draw) for heads in (4, 2, 2))
    tiled, _ = loop.causal_tiles(torch.nn.Identity(), query, key, value, None, scaling=0.3)
    key, value = key.repeat_interleave(2, dim=1), value.repeat_interleave(2, dim=1)
    whole = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, scale=0.3)
    torch.testing.assert_close(tiled, whole.transpose(1, 2))


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers are captured and differentiated; machine code, half a minute's work and torch's, is not made."""
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="aot_eager"))


@pytest.mark.slow
@pytest.mark.usefixtures("captured")
@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # the compiler looks at every tensor it meets
def test_compiled_training_takes_the_same_first_step_and_is_saved_as_an_ordinary_model(tmp_path: Path) -> None:
    batch = Batch(torch.randint(0, 64, (2, 17), generator=torch.Generator().manual_seed(0)))
    gradients = {}
    for is_compiled in (False, True):
        model = new_model(model_config(2, 32, 2, 48, 64), seed=0)
        loss_of = read_out_loss
        if is_compiled:
            compile_layers(model)
            loss_of = torch.compile(read_out_loss)
        target_objective(model, batch, 0, loss_of).backward()
        gradients[is_compiled] = {name: weights.grad for name, weights in model.named_parameters()}
    assert list(gradients[True]) == list(gradients[False]), "weights keep their names"
    torch.testing.assert_close(gradients[True], gradients[False])
    model.save_pretrained(tmp_path)
    assert loop.NAME not in (tmp_path / "config.json").read_text(encoding="utf-8")
