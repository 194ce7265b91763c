"""A device that is not there, and small models on it and beside it."""

from dataclasses import replace

import pytest
import torch

from specviz.datastore.store import from_ids
from specviz.live.source import LiveSource
from specviz.lm.llama.model import LlamaModel
from specviz.lm.llama.replay import Replays, direct
from specviz.lm.load import LoadedModel
from specviz.proof.small_models import SHAPE, small_pair, toy_texts
from tests.gpu.fake_cuda import FakeDevice, fake_cuda

VOCABULARY = 40
SIZES = replace(
    SHAPE, layers=3, hidden_size=24, heads=2, kv_heads=1, head_size=12, vocab_size=VOCABULARY, context_length=160
)
CUDA = torch.device("cuda", 0)


@pytest.fixture
def device(monkeypatch) -> FakeDevice:
    """Inside the test every tensor made on "cuda" lies on it."""
    torch.set_num_threads(1)
    with fake_cuda(monkeypatch) as there:
        yield there


@pytest.fixture
def models() -> tuple[LlamaModel, LlamaModel]:
    """Target and drafter on the CPU, which the device's are held against."""
    return small_pair(3, SIZES, noise=0.1)


def moved(model: LlamaModel, graphs: bool = False) -> LlamaModel:
    """The same weights on the device; with `graphs` its passes are those that would be recorded there."""
    there = LlamaModel(model.shape, {name: weight.to(CUDA) for name, weight in model._weights.items()}, model.info)
    if graphs:
        there.replays = Replays(there, direct)
    return there


class OneDatastore:
    """The same for every run."""

    def get(self, codec, target, file, status):
        documents = [(f"text {seed}", [(7 * seed + 3 * i) % 11 for i in range(40)]) for seed in range(6)]
        return from_ids("some", documents, "", VOCABULARY)


def source_of(target: LlamaModel, drafter: LlamaModel) -> LiveSource:
    """A live source over these two."""
    texts = toy_texts(VOCABULARY)[0]
    loaded = {"target": target} | dict.fromkeys(("drafter", "drafter-weak"), drafter)
    held = {name: LoadedModel(model, texts, model.info) for name, model in loaded.items()}
    return LiveSource(load=lambda name, device, dtype: held[name], measure=False, datastores=OneDatastore())
