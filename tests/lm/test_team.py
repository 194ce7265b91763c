"""Passes that several threads share: the numbers of one thread bit for bit, whatever becomes of the team."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from specviz.core import compiled
from specviz.core.draws import Chooser
from specviz.lm.base import Share
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.load import load
from specviz.lm.products import MOST_ROWS, Product
from tests.lm.tiny_models import random_parents, random_tokens, rounded_copy
from tests.processors.processors import on_every_processor

pytestmark = pytest.mark.skipif(compiled.library(SOURCE) is None, reason="there is no compiler here")
SHAPE = {"hidden_size": 256, "intermediate_size": 511, "num_attention_heads": 8, "num_key_value_heads": 4}
"""products wide enough to be shared, of 1,022 outputs too: a last piece of two"""
TEXT = random_tokens(0, 40)
TASKS = Path("/proc/self/task")
needs_list_of_threads = pytest.mark.skipif(not TASKS.is_dir(), reason="the system does not list threads here")


@contextmanager
def threads(count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.fixture(params=["float32", "bfloat16"])
def model(request, checkpoint, tmp_path):
    model = load(rounded_copy(checkpoint("llama", **SHAPE), tmp_path / "short"), dtype=request.param).model
    model._few_rows.most = MOST_ROWS
    return model


def a_pass(model, tokens=TEXT, parents=None, before=()):
    cache = model.new_cache()
    if before:
        model.forward(before, cache)
        cache.keep(range(len(before)))
    return model.forward(tokens, cache, parents)


def a_tree(model):
    return a_pass(model, random_tokens(1, 9), random_parents(2, 40, 40, 9), TEXT)


def a_chain(model):
    return model.write_chain(TEXT, model.new_cache(), Chooser.of(4)).logits


def a_batch(model):
    batch = model.new_batch()
    lanes = [batch.new_cache() for _ in range(3)]
    shares = [Share(TEXT[: 5 + k], lane) for k, lane in enumerate(lanes)]
    return torch.cat(batch.forward(shares))


@on_every_processor
@pytest.mark.parametrize("work", [a_pass, a_tree, a_chain, a_batch])
def test_numbers_are_the_same_bit_for_bit_on_one_two_and_three_threads(model, work):
    alone = work(model)
    for count in (2, 3, 2):
        with threads(count):
            assert all(torch.equal(work(model), alone) for _ in range(8))


@on_every_processor
def test_a_product_of_a_network_is_the_same_on_more_threads(model):
    product, x = Product.of(torch.randn(1022, 256), torch.randn(1022)), torch.randn(5, 256)
    alone = product(x)
    with threads(2):
        assert torch.equal(product(x), alone)


def test_who_finds_the_team_at_work_for_another_thread_works_alone(model):
    alone = a_tree(model)
    with threads(2), ThreadPoolExecutor(3) as pool:
        assert all(torch.equal(rows, alone) for rows in pool.map(lambda _: a_tree(model), range(60)))


@needs_list_of_threads
def test_a_forked_process_makes_a_team_of_its_own(model):
    alone = a_tree(model)
    with threads(2):
        a_tree(model)
        child = os.fork()
        if not child:
            signal.alarm(20)
            same = all(torch.equal(a_tree(model), alone) for _ in range(20))
            os._exit(0 if (same, len(os.listdir(TASKS))) == (True, 2) else 1)
        assert os.waitpid(child, 0)[1] == 0


PROGRAM = """
import os, torch
from specviz.lm.products import Product

torch.set_num_threads(1)
product = Product.of(torch.ones(512, 256), None)
product(torch.ones(1, 256))
before = len(os.listdir("/proc/self/task"))
for threads in (3, 2, 1, 5):
    torch.set_num_threads(threads)
    product(torch.ones(1, 256))
    print(len(os.listdir("/proc/self/task")) - before)
"""


@needs_list_of_threads
def test_a_team_is_made_once_as_large_as_anybody_asked_and_ends_with_its_process():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, timeout=60, text=True, check=True)
    assert ended.stdout.split() == ["2", "2", "2", "4"]
