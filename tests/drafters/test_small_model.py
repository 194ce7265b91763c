"""Which of its networks the small model is asked for by name, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from specviz.drafters.learned.module import FeatureBatch, TargetParts, fresh
from specviz.drafters.learned.weights import read_card, write_module
from specviz.drafters.small_model import (
    EXTREMES,
    NETWORKS,
    SmallModelDrafter,
    SmallModelModule,
    SmallModelShape,
    running,
    shape_of,
)
from specviz.errors import ModelError, OptionError
from specviz.proof.small_models import SHAPE, small_pair
from specviz.protocol.trainings import UNTRAINED
from specviz.resources import ROOT

SIZES = replace(SHAPE, vocab_size=12)


def _layers(drafter: SmallModelDrafter) -> int:
    return drafter._draft.model.info.layers


def test_a_network_is_called_by_its_layers_and_width() -> None:
    target, _ = small_pair()
    for network, layers in (("auto", 2), ("1x320", 1), ("16x80", 16)):
        drafter = SmallModelDrafter.of({"weights": UNTRAINED, "network": network})
        drafter.attach(target, target.new_cache())
        assert _layers(drafter) == layers
        assert drafter._draft.model.info.hidden_size == shape_of(network)[1]
        assert drafter.options.network == network


def test_an_unknown_network_is_refused_with_those_there_are() -> None:
    with pytest.raises(OptionError, match=r"network.*4x97.*1x320"):
        SmallModelDrafter.of({"network": "4x97"})


def test_a_folder_has_a_network_of_its_own_and_another_is_refused(tmp_path: Path) -> None:
    target, _ = small_pair()
    module = fresh(SmallModelModule, TargetParts.of(target), SmallModelShape(size=8, layers=3))
    write_module(module, tmp_path, {})
    drafter = SmallModelDrafter.of({"weights": str(tmp_path)})
    drafter.attach(target, target.new_cache())
    assert _layers(drafter) == 3
    wrong = SmallModelDrafter.of({"weights": str(tmp_path), "network": "1x320"})
    with pytest.raises(ModelError, match=r"network is 1x320, but the weights in .* are of 3x8; set network to 'auto'"):
        wrong.attach(target, target.new_cache())


@pytest.mark.parametrize("network", EXTREMES)
def test_the_shallowest_and_the_deepest_network_are_shipped_under_their_names(network: str) -> None:
    assert network in NETWORKS
    layers, size = shape_of(network)
    card = read_card(ROOT / "modules" / f"small_model_{network}")
    assert (card.options["layers"], card.options["size"]) == (layers, size)
    assert card.training["tokens"] == read_card(ROOT / "modules" / "small_model_1x320").training["tokens"]


@pytest.mark.parametrize("draft_tokens", [0, 5])
def test_the_running_network_says_what_the_trained_one_says(draft_tokens: int) -> None:
    target, _ = small_pair(shape=SIZES)
    shape = SmallModelShape(size=12, layers=3, draft_tokens=draft_tokens)
    module = fresh(SmallModelModule, TargetParts.of(target), shape)
    model = running(module)
    tokens = [1, 2, 3, 4, 5]
    said = model.forward(tokens, model.new_cache())
    assert int(said.isfinite()[0].sum()) == (draft_tokens or target.info.vocab_size)
    torch.testing.assert_close(said, module.logits(torch.tensor([tokens]))[0].detach(), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_it_learns_the_targets_law_on_the_tokens_that_it_can_draft() -> None:
    """From the target, and from the text alone, where a token that it cannot draft says nothing."""
    target, _ = small_pair(shape=SIZES)
    module = fresh(SmallModelModule, TargetParts.of(target), SmallModelShape(size=8, layers=1, draft_tokens=3))
    tokens = torch.tensor([[1, 2, 9, 0, 1]])
    final = torch.randn(1, 5, target.info.hidden_size, generator=torch.Generator().manual_seed(1))
    batch = FeatureBatch(tokens, final[:, :, None][:, :, :0], final)
    own = module.logits(tokens)[0, 1:, :3].log_softmax(-1)
    wanted = batch.target_logits(module.head)[0, 1:, :3].softmax(-1)
    distance = (wanted * (wanted.log() - own)).sum(-1).mean()
    assert float(module.loss(batch)["tokens"]) == pytest.approx(float(distance), rel=1e-4)
    text = -(own[1, 0] + own[2, 1]) / 2  # the 0 and the 1 behind the 9, which itself cannot be drafted
    assert float(module.loss(replace(batch, text_alone=True))["text"]) == pytest.approx(float(text), rel=1e-4)
