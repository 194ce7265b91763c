"""The second network is trained as the shipped one was but for its positions, and both are measured by context."""

import shutil
from dataclasses import replace

import pytest
import torch

from specviz.drafters.cross_kv import CrossKVModule
from specviz.drafters.learned.cross_network import CrossKVShape
from specviz.drafters.learned.module import fresh
from specviz.errors import TrainingError
from specviz.studies.long_context.training import both_networks, trainings_of, within
from specviz.training.modules import stage
from specviz.training.modules.batches import TextOptions
from specviz.training.modules.teacher import Teacher
from specviz.training.modules.train import ModuleTraining, Training, Wanted
from specviz.training.options import TrainOptions

TINY = TextOptions(length=24, rows=4, block_rows=3, write_every=3, most_written=2)


@pytest.fixture
def training(module_target, module_work, tmp_path):
    work = shutil.copytree(module_work, tmp_path / "work")

    def made(*wanted: Wanted, tokens: int = 96 * 6) -> ModuleTraining:
        return ModuleTraining(
            wanted, str(module_target), minutes=0, tokens=tokens, texts=TINY, held_out_rows=4, held_out_length=20,
            dtype="float32", work_dir=work,
        )  # fmt: skip

    return made


def test_both_networks_begin_fresh_learn_from_as_many_tokens_and_are_measured_by_context(training, tmp_path):
    asked = trainings_of("target", tmp_path, 96 * 6)
    assert [(one.tokens, one.minutes, one.start) for one in asked.values()] == [(96 * 6, 0.0, None)] * 2
    assert [dict(one.wanted[0].options) for one in asked.values()] == [
        {"preset": "longspec", "anchors": "off"},
        {"preset": "longspec", "anchors": "on"},
    ]
    rows = []
    small = {anchors: replace(training(), wanted=one.wanted, tokens=one.tokens) for anchors, one in asked.items()}
    networks = both_networks(small, rows.append)
    assert [getattr(module.options, "moves_text", False) for module in networks.by_anchors.values()] == [False, True]
    assert rows[-1]["tokens"] == 96 * 6
    found = list(within(networks, [(2, 8), (9, 24)]))
    assert [(one.anchors, one.shortest, one.longest) for one in found] == [
        (False, 2, 8),
        (False, 9, 24),
        (True, 2, 8),
        (True, 9, 24),
    ]
    assert all(0.0 < depth < 1.0 for one in found for depth in one.acceptance)
    assert found[0].acceptance != found[2].acceptance


def test_acceptance_by_context_is_that_of_the_drafts_begun_there(training):
    under_way = Training(training(Wanted("cross_kv")))
    (module,) = under_way.modules.values()
    held_out = under_way.held_out_text(2, 12)
    whole = held_out.measure(module).acceptance
    assert held_out.by_context(module, [(2, 12)])[0] == pytest.approx(whole, abs=1e-5)
    drafts = module.drafts(held_out.reading.batch_for(module), 2)
    at_five = torch.minimum(held_out.probs[:, 4], drafts[0][:, 3].softmax(-1)).sum(-1).mean()
    assert held_out.by_context(module, [(5, 5)], 1)[0] == (pytest.approx(float(at_five.detach())),)


def test_a_module_with_positions_of_its_own_is_trained_alone(training):
    with pytest.raises(TrainingError, match="train it alone"):
        Training(training(Wanted("cross_kv"), Wanted("medusa"))).run(lambda row: None)
    Training(training(Wanted("cross_kv", {"anchors": "off"}), Wanted("medusa"), tokens=96)).run(lambda row: None)


def test_the_target_reads_texts_where_the_module_puts_them(training, module_target):
    """Moved as a whole nothing changes but the keys' turn; moved behind anchors the states do."""
    teacher = Teacher.from_folder(module_target, "cpu", torch.float32)
    tokens = torch.arange(12).reshape(1, 12)
    plain, moved, apart = (
        teacher.read(tokens, [3], rows=True, positions=one)
        for one in (None, torch.arange(12) + 40, torch.cat([torch.arange(2), torch.arange(2, 12) + 40]))
    )
    torch.testing.assert_close(plain.final, moved.final, rtol=1e-3, atol=1e-3)
    assert not torch.allclose(plain.rows.keys, moved.rows.keys, atol=1e-2)
    assert (plain.final - apart.final)[:, 2:].abs().max() > 0.01
    query = torch.randn(1, 2, 12, 8)
    scores = [one.rows.turned(query, one.rows.positions) @ one.rows.keys.mT for one in (plain, moved)]
    torch.testing.assert_close(*scores, rtol=1e-3, atol=1e-3)
    module = fresh(CrossKVModule, teacher.parts, CrossKVShape())
    assert plain.batch_for(module).features.shape == (1, 12, 0, 16)


def test_presets_have_folders_of_their_own():
    options = TrainOptions(names=("cross_kv",), module_options="cross_kv.preset=tandem cross_kv.block=2")
    (wanted,) = stage.training_of(options).wanted
    assert wanted.called == "cross_kv_tandem"
    assert stage.training_of(replace(options, module_options="")).wanted == (Wanted("cross_kv"),)
