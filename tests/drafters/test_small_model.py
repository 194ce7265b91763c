"""Which of its networks the small model is asked for by name, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from specviz.drafters.learned.module import TargetParts, fresh
from specviz.drafters.learned.weights import read_card, write_module
from specviz.drafters.small_model import (
    EXTREMES,
    NETWORKS,
    SmallModelDrafter,
    SmallModelModule,
    SmallModelShape,
    shape_of,
)
from specviz.errors import ModelError, OptionError
from specviz.proof.small_models import small_pair
from specviz.protocol.trainings import UNTRAINED
from specviz.resources import ROOT


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


def test_the_running_network_says_what_the_trained_one_says() -> None:
    target, _ = small_pair()
    module = fresh(SmallModelModule, TargetParts.of(target), SmallModelShape(size=12, layers=3))
    model = module.as_model()
    tokens = [1, 2, 3, 4, 5]
    torch.testing.assert_close(
        model.forward(tokens, model.new_cache()),
        module.logits(torch.tensor([tokens]))[0].detach(),
        rtol=1e-4,
        atol=1e-4,
    )
