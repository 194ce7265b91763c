"""Compiled products and drafters' blocks: torch's numbers, from weights read in two bytes where nothing is lost."""

import pytest
import torch
from torch.nn import RMSNorm, functional

from specviz.core import compiled
from specviz.drafters.learned.eagle_layers import BlockShape, DraftBlock, LeanBlock, Wiring
from specviz.lm.kernels import Projection, settle
from specviz.lm.products import MOST_ROWS, SOURCE, Linear, Product, shortened
from tests.lm.tiny_models import error, random_parents
from tests.processors.processors import on_every_processor

needs_compiler = pytest.mark.skipif(compiled.library(SOURCE) is None, reason="there is no compiler here")
CLOSE = 2e-6
HALVES = torch.tensor([[1.0, -0.5], [0.25, 3.0]])
THIRDS = torch.tensor([[127.0, -2.0], [64.0, 127.0]]) * torch.tensor([[0.1], [1 / 3]])
"""whole numbers times a scale for each row"""


def test_numbers_of_bfloat16_are_read_as_they_are():
    short = shortened(HALVES)
    assert (short.weight.tolist(), short.scales) == (HALVES.tolist(), None)


def test_whole_numbers_times_a_scale_are_told_from_the_products():
    short = shortened(THIRDS)
    assert short.weight.tolist() == [[127.0, -2.0], [64.0, 127.0]]
    assert torch.equal(short.weight.float() * short.scales[:, None], THIRDS)


def test_a_row_of_zeros_has_any_scale():
    assert shortened(torch.cat([THIRDS, torch.zeros(1, 2)])).weight[2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("weight", [torch.tensor([[1.0, 0.123456]]), HALVES.bfloat16(), HALVES.double()], ids=str)
def test_any_other_weight_has_no_shorter_form(weight):
    assert shortened(weight) is None


def weight_of(kind, outs, ins):
    torch.manual_seed(outs)
    if kind == "whole numbers":
        return torch.randint(-127, 128, (outs, ins)).index_fill(1, torch.tensor(0), 127) * torch.rand(outs, 1)
    weight = torch.randn(outs, ins)
    return weight.bfloat16().float() if kind == "bfloat16" else weight


@needs_compiler
@on_every_processor
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "whole numbers"])
@pytest.mark.parametrize(("outs", "ins"), [(48, 64), (19, 64), (16, 30), (16, 300), (3, 5)])
def test_a_product_is_torchs_with_and_without_a_residual(kind, outs, ins):
    weight, bias = weight_of(kind, outs, ins), torch.randn(outs)
    product = Product.of(weight, bias)
    for n in (1, 4, 5, 16, 17, 64):
        x, residual = torch.randn(n, ins), torch.randn(n, outs)
        exact = functional.linear(x.double(), weight.double(), bias.double())
        most = exact.abs().max().item()
        assert error(product(x), exact.float()) < CLOSE * most
        assert error(product(x, residual), (exact + residual).float()) < CLOSE * most


@needs_compiler
@on_every_processor
@pytest.mark.parametrize("ins", [300, 320, 1024])
@pytest.mark.parametrize("kind", ["float32", "read in bfloat16", "bfloat16"])
def test_a_row_of_a_wide_product_is_the_same_bit_for_bit_alone_and_beside_others(kind, ins):
    weight = weight_of("float32" if kind == "float32" else "bfloat16", 24, ins)
    product = Product.of(weight.bfloat16() if kind == "bfloat16" else weight, None)
    x = torch.randn(9, ins)
    alone = torch.cat([product(row) for row in x.split(1)])
    for n in range(2, 10):
        assert torch.equal(product(x[:n]), alone[:n])


@needs_compiler
@on_every_processor
@pytest.mark.parametrize("kind", ["read in bfloat16", "whole numbers", "bfloat16"])
@pytest.mark.parametrize(("outs", "ins"), [(19, 320), (24, 1030), (3, 300)])
def test_a_row_is_the_same_bit_for_bit_where_its_weights_are_asked_for_from_far(kind, outs, ins):
    weight = weight_of("whole numbers" if kind == "whole numbers" else "bfloat16", outs, ins)
    product = Product.of(weight.bfloat16() if kind == "bfloat16" else weight, torch.randn(outs))
    x, residual = torch.randn(6, ins), torch.ones(6, outs)
    near = [product(x[:n], residual[:n]) for n in range(1, 7)]
    product.matrix.far = 1
    assert all(torch.equal(product(x[:n], residual[:n]), alone) for n, alone in enumerate(near, 1))


@needs_compiler
@torch.inference_mode()
def test_a_layer_takes_rows_of_any_arrangement_and_more_of_them_than_compiled_code_does():
    layer = Linear(64, 48)
    for shape in ((64,), (1, 64), (2, 3, 64), (MOST_ROWS, 64), (MOST_ROWS + 1, 64)):
        x = torch.randn(shape)
        wanted = functional.linear(x, layer.weight, layer.bias)
        assert layer(x).shape == wanted.shape
        assert error(layer(x), wanted) < CLOSE * wanted.abs().max().item()


def test_a_layer_multiplies_by_the_weights_that_training_has_left_it():
    layer = Linear(2, 1, bias=False)
    for number in (2.0, 3.0):
        with torch.no_grad():
            layer.weight.fill_(number)
        with torch.inference_mode():
            assert layer(torch.tensor([[1.0, 10.0]])).tolist() == [[11 * number]]


def test_a_layer_that_learns_has_its_gradient():
    layer = Linear(2, 1, bias=False)
    layer(torch.tensor([[1.0, 10.0]])).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 10.0]]


def block_of(inputs, extra):
    torch.manual_seed(5)
    block = DraftBlock(BlockShape(hidden=64, inputs=inputs, heads=4, kv_heads=2, head_size=16, ffn=96, extra=extra))
    with torch.no_grad():
        block.post_attention_layernorm.weight.uniform_(0.5, 1.5)
        for name, weight in block.named_parameters():
            if name.endswith("proj.weight"):
                scales = weight.abs().amax(-1, keepdim=True) / 127
                weight.copy_((weight / scales).round() * scales)
    return block


@needs_compiler
@on_every_processor
@pytest.mark.parametrize(("inputs", "extra"), [(64, 0), (128, 0), (64, 8)])
@pytest.mark.parametrize("n", [1, 5, 17, 64])
@torch.inference_mode()
def test_a_drafters_block_is_the_plain_one_below_a_text(inputs, extra, n):
    """Words and states are added up, or stand normed side by side."""
    compiled_block, plain = (LeanBlock(block_of(inputs, extra), 128) for _ in range(2))
    assert all(projection.short for projection in (compiled_block.layer.qkv, compiled_block.layer.gate_up))
    words, norms, head = torch.randn(40, 64), [RMSNorm(64, 1e-6) for _ in range(3)], Projection(torch.randn(40, 64))
    settle([head])
    wiring = Wiring(state=Product.of(torch.eye(64), None)) if inputs == 64 else Wiring(norms=norms)
    compiled_block.join(words, head, None, 40, wiring)
    compiled_block._few_rows.most = MOST_ROWS
    caches = compiled_block.new_cache(), plain.new_cache()
    for parents, rows in ((None, 7), (random_parents(n, 7, 7, n), n)):
        tokens, states = torch.randint(40, (rows,)), torch.randn(rows, 64)
        x = words[tokens] + states if inputs == 64 else states
        read = x if inputs == 64 else torch.cat([norms[0](words[tokens]), norms[1](states)], -1)
        placements = [cache.place(tokens.tolist(), parents, 128) for cache in caches]
        assert compiled_block.joins(rows)
        outputs = [
            compiled_block.run_states(states, caches[0], placements[0]),
            plain.run(read, x, plain.step(placements[1], caches[1])),
        ]
        for cache, placement in zip(caches, placements, strict=True):
            cache.add(placement)
        assert outputs[0].shape == (rows, 64 + extra)
        assert error(*outputs) < 1e-5 * outputs[1].abs().max().item()
