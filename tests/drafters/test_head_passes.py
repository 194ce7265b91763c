"""Heads and masked blocks by compiled calls say what their networks say by torch's operations."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from specviz.core import compiled
from specviz.drafters.learned.block_network import ROOM, BlockPass
from specviz.drafters.learned.head_passes import SOURCE, HeadPasses
from specviz.drafters.learned.module import MODULES, TargetParts, fresh
from specviz.lm.chains import as_it_runs
from specviz.options import from_mapping
from specviz.proof.small_models import SHAPE, small_pair
from tests.processors.processors import on_every_processor

needs_compiler = pytest.mark.skipif(compiled.library(SOURCE) is None, reason="there is no compiler here")
SIZES = {24: "no whole vectors", 96: "whole vectors"}
"""hidden sizes"""


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(params=SIZES, ids=SIZES.get)
def target(request):
    size = request.param
    return small_pair(3, replace(SHAPE, vocab_size=50, hidden_size=size, heads=2, head_size=size // 2))[0]


def taught(name, target, halves, **shape):
    """Numbers that two bytes hold, or not, in every weight."""
    kind, numbers = MODULES.get(name), torch.Generator().manual_seed(5)
    module = fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, shape), seed=4)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=numbers))
            weight.copy_(weight.bfloat16() if halves else weight)
    return module


def same(said, expected):
    torch.testing.assert_close(said, expected, atol=1e-4, rtol=1e-4)


@needs_compiler
@on_every_processor
@pytest.mark.parametrize("halves", [True, False], ids=["weights in two bytes", "in four"])
@pytest.mark.parametrize("shape", [{}, {"layers": 3, "heads": 2}, {"own_head": True}, {"draft_tokens": 8}], ids=str)
@torch.inference_mode()
def test_parallel_heads_say_it_by_one_call(target, halves, shape):
    module, state = taught("medusa", target, halves, **shape), torch.randn(target.info.hidden_size)
    same(HeadPasses.of_parallel(module).say_all(state), module.known_logits(state, module.read_head()))


@needs_compiler
@on_every_processor
@pytest.mark.parametrize("halves", [True, False], ids=["weights in two bytes", "in four"])
@pytest.mark.parametrize("layers", [1, 3])
@torch.inference_mode()
def test_a_head_that_reads_tokens_says_it_for_a_whole_level(target, halves, layers):
    module, state = taught("hydra", target, halves, layers=layers), torch.randn(target.info.hidden_size)
    for head in range(4):
        tokens = torch.randint(50, (7, head + 1))
        expected = module.logits(head, state.expand(7, -1), tokens)
        same(module.passes().say_behind(head, state, tokens.tolist()), expected)


@needs_compiler
@on_every_processor
@pytest.mark.parametrize("halves", [True, False], ids=["weights in two bytes", "in four"])
@torch.inference_mode()
def test_a_block_says_it_of_a_text_of_any_length_and_whatever_is_known_of_its_slots(target, halves):
    module = taught("masked_block", target, halves, window=5)
    runs = [BlockPass(module.block, module.embedding, module.head) for _ in range(2)]
    runs[1]._compiled = None
    texts, used = [run.new_text() for run in runs], 3
    for count in (2, 1, 5, 3, 5, 4, 5, 5):
        states = torch.randn(count, target.info.hidden_size)
        for run, text in zip(runs, texts, strict=True):
            run.read(states, text)
        same(*(text.seen() for text in texts))
        for known in ([True, False, False, False, False], [True, False, True, True, False]):
            asked = (torch.randint(50, (5,)).tolist(), known, used)
            said, expected = (run.fill(states[-1], text, *asked) for run, text in zip(runs, texts, strict=True))
            assert said.shape == (used, 50)
            same(said, expected)
    assert texts[0].length < 30 > ROOM * 5, "the room was full once"


@needs_compiler
@torch.no_grad()
def test_passes_are_made_once_and_anew_when_the_weights_have_changed(target):
    module, state = taught("hydra", target, False), torch.randn(target.info.hidden_size)
    first = as_it_runs(module, module.passes)
    assert as_it_runs(module, module.passes) is first
    module.heads[0][0].skip.weight.mul_(2.0)
    same(as_it_runs(module, module.passes).say_behind(0, state, [[3]])[0], module.logits(0, state, torch.tensor([3])))


OUTLINES = """
import sys
from dataclasses import replace
from specviz.drafters.learned.module import MODULES, TargetParts, outline
from specviz.lm.chains import as_it_runs
from specviz.options import from_mapping
from specviz.proof.small_models import SHAPE, small_pair
parts = TargetParts.of(small_pair(shape=replace(SHAPE, layers=3))[0])
for name in MODULES.names():
    outline(MODULES.get(name), parts, from_mapping(MODULES.get(name).options_type, {}))
print(name, "torch._dynamo" in sys.modules)
"""


def test_the_shapes_of_no_module_bring_in_torchs_compiler():
    """Three seconds of a first draft."""
    asked = [sys.executable, "-c", OUTLINES]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "small_model False\n"
