"""Runs resume exactly, grow in depth and stop at their budget."""

import dataclasses

import pytest
import torch

from specviz.errors import TrainingError
from specviz.training.growth import grown
from specviz.training.loop import Loop
from specviz.training.options import TrainOptions
from specviz.training.stages import target_loop
from specviz.training.target import layer_outputs, logits_of, model_config, new_model


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
