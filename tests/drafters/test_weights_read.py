"""Bytes of weights that passes read: matrices that rows go through, and of tables that are looked up nothing.

A target of 3 layers, 16 wide, 8 tokens, in float32. Its head holds 128 numbers and its last norm 16; a layer's
attention 16 + 256 + 128 + 128 + 256 = 784, its MLP 16 + 3 * 384 = 1168.
"""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from specviz.drafters.base import by_blocks, by_model, bytes_of
from specviz.drafters.cross_kv import CrossKVModule
from specviz.drafters.eagle import EagleModule
from specviz.drafters.hydra import HydraModule
from specviz.drafters.learned.module import TargetParts, fresh
from specviz.drafters.markov import MarkovModule
from specviz.drafters.masked_block import MaskedBlockModule
from specviz.drafters.medusa import MedusaModule
from specviz.lm.base import Blocks, SplitModel
from specviz.lm.llama.model import LlamaModel
from specviz.lm.load import load
from specviz.options import from_mapping
from specviz.proof.small_models import SHAPE, small_pair
from tests.lm.tiny_models import random_model, write_tokenizer

ATTENTION, MLP, HEAD, NORM = 784, 1168, 128, 16
WHOLE = 3 * (ATTENTION + MLP) + HEAD + NORM


@pytest.fixture(scope="module")
def target() -> LlamaModel:
    model, _ = small_pair(shape=replace(SHAPE, layers=3))
    model._info = replace(model.info, read_per_pass=WHOLE)
    return model


def module(target, kind, **options):
    return fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, options))


def test_a_model_reads_what_its_card_says_in_its_own_format(target: LlamaModel) -> None:
    assert by_model(target) == 4 * WHOLE
    halved = LlamaModel(target.shape, {name: one.bfloat16() for name, one in target._weights.items()}, target.info)
    halved._info = replace(target.info, dtype="bfloat16")
    assert by_model(halved) == 2 * WHOLE
    halved._info = replace(target.info, read_per_pass=0)
    assert by_model(halved) is None, "nobody counted"


def test_a_part_of_the_target_reads_its_blocks_and_the_head(target: LlamaModel) -> None:
    assert by_blocks(target, Blocks.first(1)) == 4 * (ATTENTION + MLP + HEAD + NORM)
    assert by_blocks(target, Blocks(frozenset({0, 2}), frozenset({1}))) == 4 * (2 * ATTENTION + MLP + HEAD + NORM)


def test_parallel_heads_read_all_heads_and_the_targets_head_once(target: LlamaModel) -> None:
    head = 16 * 16 + 16 + 16 * 16
    assert module(target, MedusaModule, heads=2).weights_read() == 4 * (2 * head + HEAD)
    own = 16 * 16 + 16 + HEAD
    assert module(target, MedusaModule, heads=2, own_head=True).weights_read() == 4 * 2 * own
    assert module(target, MedusaModule, heads=2, draft_tokens=4).weights_read() == 4 * (2 * head + 4 * 16)
    table = 8 * 3
    assert module(target, MarkovModule, heads=2, rank=3).weights_read() == 4 * (2 * head + HEAD + table)


def test_what_is_read_once_a_round_is_not_part_of_every_pass(target: LlamaModel) -> None:
    plain, fusing = module(target, EagleModule), module(target, EagleModule, depths=(1, 2, 3))
    assert bytes_of(fusing.fuse) == 4 * 3 * 16 * 16
    assert fusing.weights_read() == plain.weights_read()
    assert plain.weights_read() == 4 * (plain.parameter_count() - 16 * 16 + HEAD), "tokens are looked up"
    trimmed = module(target, EagleModule, draft_tokens=4)
    assert plain.weights_read() - trimmed.weights_read() == 4 * (HEAD - 4 * 16)
    assert module(target, EagleModule, draft_tokens=4, own_head=False).weights_read() == trimmed.weights_read()
    block = module(target, MaskedBlockModule, layers=2)
    states = 16 + 2 * 16 * 32
    assert block.weights_read() == 4 * (sum(one.numel() for one in block.block.parameters()) - states + HEAD)
    tandem = module(target, CrossKVModule, preset="tandem")
    project = bytes_of(*tandem.projections())
    assert project == sum(4 * (16 + 16 * 2 * layer.heads * layer.size) for layer in tandem.stack())
    assert tandem.weights_read() == bytes_of(tandem) - project - 4 * 16 * 16 + 4 * HEAD
    assert module(target, CrossKVModule).projections() == []


def test_heads_after_one_another_read_one_head_each(target: LlamaModel) -> None:
    hydra = module(target, HydraModule, heads=3)
    assert bytes_of(hydra.heads[0], hydra.head) < bytes_of(hydra.heads[2], hydra.head) < hydra.weights_read()


def test_nothing_is_counted_for_nothing() -> None:
    assert bytes_of() == bytes_of(None) == 0
    assert bytes_of(torch.zeros(3, dtype=torch.bfloat16), None) == 6


def test_the_adapter_of_many_architectures_counts_as_the_lean_one_does(tmp_path: Path) -> None:
    random_model("llama", num_hidden_layers=3).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    lean, hub = (
        load(str(tmp_path), device="cpu", dtype="float32", adapter=adapter).model
        for adapter in ("lean-llama", "transformers")
    )
    assert isinstance(lean, SplitModel)
    assert isinstance(hub, SplitModel)
    for blocks in (Blocks.first(2), Blocks(frozenset({0, 1, 2}), frozenset({0, 1, 2}))):
        assert lean.block_bytes(blocks) == hub.block_bytes(blocks)
    assert by_blocks(lean, Blocks.first(1)) == by_blocks(hub, Blocks.first(1))
    attention, mlp = Blocks(frozenset({1}), frozenset()), Blocks(frozenset(), frozenset({1}))
    assert sum(hub.block_bytes(one) or 0 for one in (attention, mlp)) < (hub.block_bytes(Blocks.first(1)) or 0)
