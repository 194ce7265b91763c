"""All networks of both families learn from the same places of the same texts, by the same optimiser."""

import shutil
from dataclasses import replace

import pytest
import torch

from specviz.drafters.learned.module import FeatureBatch, TargetParts, fresh
from specviz.drafters.learned.weights import read_card, read_module
from specviz.drafters.small_model import (
    BLOCKS,
    DEPTHS,
    WHOLE,
    SmallModelModule,
    SmallModelShape,
    block_parameters,
    members,
    running_parameters,
    shape_of,
)
from specviz.errors import TrainingError
from specviz.lm.load import load
from specviz.proof.small_models import small_pair
from specviz.studies.depth_width import training as depth_study
from specviz.studies.depth_width.training import TABLES_ONLY, DepthStudy, training_of, wanted
from specviz.training.modules.loop import LoopOptions, optimisers_of
from specviz.training.modules.teacher import Teacher
from specviz.training.modules.texts import TextOptions
from specviz.training.modules.train import TEXT, ModuleTraining, Training, Wanted
from specviz.training.optimiser import Budget, Muon

TINY = TextOptions(length=24, rows=4, block_rows=3, write_every=3, most_written=2)
TWO = (Wanted("small_model", {"size": 8, "layers": 1}, "one"), Wanted("small_model", {"size": 4, "layers": 3}, "three"))


@pytest.fixture
def training(module_target, module_work, tmp_path) -> ModuleTraining:
    usual = training_of(0, 96 * 4, str(module_target), shutil.copytree(module_work, tmp_path / "work"))
    return replace(usual, wanted=TWO, texts=TINY, held_out_rows=2, held_out_length=12, dtype="float32")


@pytest.mark.parametrize(("family", "spread"), [(BLOCKS, 1.03), (WHOLE, 1.06)])
def test_a_familys_networks_have_equally_many_parameters(family, spread):
    shapes = [shape_of(name) for name in members(family)]
    assert [layers for layers, _ in shapes] == list(DEPTHS)
    counts = [
        block_parameters(*one) if family == BLOCKS else running_parameters(*one, vocabulary=4096) for one in shapes
    ]
    assert max(counts) / min(counts) < spread


def test_the_counts_are_those_of_the_network_that_runs():
    target, _ = small_pair()
    module = fresh(SmallModelModule, TargetParts.of(target), SmallModelShape(size=12, layers=3))
    matrices = [one for block in module.blocks for one in block.parameters() if one.ndim == 2]
    assert sum(one.numel() for one in matrices) == block_parameters(3, 12)
    running = module.as_model().info
    weights = running_parameters(3, 12, running.vocab_size)
    assert running.read_per_pass == weights - 12 * running.vocab_size + 7 * 12  # the head, not the embedding; 7 norms


def test_every_network_of_both_families_has_a_folder_of_its_own():
    assert [one.label for one in wanted()][:2] == ["small_model_1x320", "small_model_2x224"]
    assert len({one.label for one in wanted()}) == 12
    assert SmallModelModule.folder_name(SmallModelShape()) == "small_model"


def test_one_optimiser_learns_all_matrices_of_the_narrowest_too():
    target, _ = small_pair()
    module = fresh(SmallModelModule, TargetParts.of(target), SmallModelShape(size=4, layers=1))
    module.widen = torch.nn.Linear(4, 36, bias=False)  # nine times as long as wide
    usual, same = (
        [one for one in optimisers_of(module, options) if isinstance(one, Muon)]
        for options in (LoopOptions(Budget(1)), LoopOptions(Budget(1), table_ratio=TABLES_ONLY))
    )
    held = [{id(one) for one in found[0].param_groups[0]["params"]} for found in (usual, same)]
    assert held[1] - held[0] == {id(module.widen.weight)}


@pytest.mark.parametrize("same", [True, False])
def test_every_network_learns_from_the_same_places(training, same, monkeypatch):
    drawn = []
    usual = torch.randperm
    monkeypatch.setattr(torch, "randperm", lambda n: drawn.append(usual(n)) or drawn[-1])
    Training(replace(training, same_draws=same, tokens=96 * 2)).run(lambda row: None)
    first, second, third, fourth = drawn
    assert torch.equal(first, second) is same
    assert torch.equal(third, fourth) is same
    assert not torch.equal(first, third), "a new step has new places"


def test_the_study_trains_writes_and_measures_what_it_wrote(training, tmp_path):
    rows = []
    study = DepthStudy(training, tmp_path / "networks")
    assert study.train(rows.append) == 96 * 4
    found = dict(study.qualities())
    assert list(found) == ["one", "three"]
    for label, one in found.items():
        assert one.parameters == read_card(tmp_path / "networks" / label).parameters
        assert 0 < one.acceptance < 1
        assert one.perplexity > 1
    assert found["one"] != found["three"]
    again = DepthStudy(training, tmp_path / "networks")
    assert again.train(rows.append) == 96 * 4
    assert dict(again.qualities()) == found
    assert rows[-1]["step"] == 4, "a finished training goes no step further"
    assert study.target_perplexity() != pytest.approx(found["one"].perplexity)


def test_perplexity_is_that_of_every_token_but_the_first(training, tmp_path, monkeypatch):
    study = DepthStudy(replace(training, tokens=96), tmp_path / "networks")
    study.train(lambda row: None)
    target = load(training.target, device="cpu", dtype="float32").model
    monkeypatch.setattr(depth_study, "TEXTS", 1)
    (found, _) = (one.perplexity for one in dict(study.qualities()).values())
    module = read_module(tmp_path / "networks" / "one", target)
    corpus = study._corpus()
    assert corpus.shape == (2, 24)
    said = module.logits(corpus)[:, :-1].log_softmax(-1).gather(-1, corpus[:, 1:, None])
    assert found == pytest.approx(float((-said.mean()).exp().detach()), rel=1e-4)


def test_the_second_set_learns_from_the_first_ones_batches_places_and_rates_without_the_target(
    training, tmp_path, monkeypatch
):
    drawn, batches = [], []
    usual = torch.randperm
    monkeypatch.setattr(torch, "randperm", lambda n: drawn.append(usual(n)) or drawn[-1])
    rows = []
    first = DepthStudy(training, tmp_path / "networks")
    first.train(lambda row: None)
    first._under_way.loop.progress.curve.insert(1, {"tokens": 96, "progress": 0.7})  # most of its time for one step
    places = drawn[:]
    second = first.from_the_text(tmp_path / "networks_text")
    drawn.clear()
    monkeypatch.setattr(Teacher, "read", lambda *given: pytest.fail("the target was asked"))
    read = SmallModelModule.states
    monkeypatch.setattr(SmallModelModule, "states", lambda own, tokens: batches.append(tokens) or read(own, tokens))
    assert second.train(rows.append) == first.tokens
    assert [one.tolist() for one in drawn] == [one.tolist() for one in places]
    texts = first._under_way.texts
    learnt = [one for one in batches if one.shape == (4, 24)]
    assert all(torch.equal(learnt[2 * step + two], texts.batch(step)) for step in range(4) for two in range(2))
    assert len(list(training.work_dir.rglob("written_*.npy"))) == 1, "what the target wrote is not written again"
    assert [row["progress"] for row in rows] == [0.0, 0.7, 0.8, 0.9, 1.0]
    assert read_card(tmp_path / "networks_text" / "one").training["loss"] == TEXT
    assert second.written_share == first.written_share == 0.25  # of four batches the last


def test_a_first_set_that_is_not_finished_has_no_second(training, tmp_path):
    with pytest.raises(TrainingError, match="is not finished"):
        DepthStudy(training, tmp_path / "networks").from_the_text(tmp_path / "networks_text")


def test_plain_cross_entropy_is_held_to_the_next_token_and_to_nothing_behind_the_last():
    target, _ = small_pair()
    module = fresh(SmallModelModule, TargetParts.of(target), SmallModelShape(size=12, layers=1))
    tokens = torch.tensor([[3, 1, 4, 1], [5, 0, 2, 6]])
    nothing = torch.empty(2, 4, 0)
    (found,) = module.loss(FeatureBatch(tokens, nothing, nothing, text_alone=True)).values()
    said = module.logits(tokens).detach().log_softmax(-1)
    by_hand = [said[0, 1, 4], said[0, 2, 1], said[1, 1, 2], said[1, 2, 6]]  # head 1 begins behind the second token
    assert float(found.detach()) == pytest.approx(-sum(map(float, by_hand)) / 4, rel=1e-5)


def test_a_module_that_reads_states_learns_nothing_from_the_text_alone(training):
    with pytest.raises(TrainingError, match="'medusa' reads the target's states, so it cannot learn by 'ce-text'"):
        Training(replace(training, wanted=(Wanted("medusa"),), loss=TEXT))
