"""Two networks trained alike but for their positions, measured by context; beyond it, against the raised target."""

import shutil
from dataclasses import replace

import pytest
import torch

from specviz.drafters.cross_kv import CrossKVModule
from specviz.drafters.learned.cross_network import CrossKVShape
from specviz.drafters.learned.module import fresh
from specviz.errors import TrainingError
from specviz.lm.llama.shape import write_raised
from specviz.lm.rotary import turned
from specviz.studies.long_context.training import (
    RaisedOptions,
    _read,
    beyond,
    both_networks,
    losses_at,
    spread_texts,
    trainings_of,
    within,
)
from specviz.training.modules import train
from specviz.training.modules.measure import HeldOut
from specviz.training.modules.teacher import Teacher
from specviz.training.modules.texts import TextOptions
from specviz.training.modules.train import ModuleTraining, Training, Wanted
from specviz.training.options import TrainOptions

PLACES = ((1, 64), (65, 128), (129, 200))
FEW = {"drafts": 8, "texts": 4, "loss_texts": 2, "characters": 4000}
SMALL = RaisedOptions(context=2048, places=PLACES, times=(1.0, 4.0), contexts=(32, 1100), **FEW)


@pytest.fixture
def teacher(module_target):
    return Teacher.from_folder(module_target, "cpu", torch.float32)


def network(teacher, seed):
    torch.manual_seed(seed)
    module = fresh(CrossKVModule, teacher.parts, CrossKVShape(window=8), seed).eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(torch.randn_like(weight) / 10)
    return module


def test_the_end_of_a_text_with_all_of_the_targets_rows_is_drafted_as_the_whole_text_is(teacher):
    """Read whole, contexts 21 … 40 of a text of 43 tokens; and of its end alone, whose window is 8 tokens."""
    module, tokens = network(teacher, 0), torch.randint(0, 90, (1, 43), generator=torch.Generator().manual_seed(2))
    whole = teacher.read(tokens, (), rows=True)
    drafts = module.drafts(whole.batch_for(module), 4)
    end = module.drafts(
        type(whole)(tokens[:, -32:], {}, whole.final[:, -32:], whole.logits[:, -32:], rows=whole.rows).batch_for(
            module
        ),
        4,
    )
    for depth in range(4):
        torch.testing.assert_close(end[depth][:, -20:], drafts[depth][:, -20:], rtol=1e-4, atol=1e-4)
    without_rows = teacher.read(tokens[:, -32:], (), rows=True, positions=torch.arange(11, 43))
    alone = module.drafts(without_rows.batch_for(module), 4)
    assert not torch.allclose(alone[0][:, -20:], drafts[0][:, -20:], atol=1e-3), "rows before the end change nothing"


def test_the_same_tokens_are_drafted_at_every_context(teacher):
    (text,) = spread_texts([torch.arange(300).remainder(90).numpy().astype("uint16")], 203, 1)
    for context in (32, 200):
        ((reading, nats),) = _read(teacher, [text], context, 8)
        assert reading.rows.keys.shape[2] == context + 3
        assert reading.tokens[0, -11:].tolist() == text[-11:].tolist()
        whole = teacher.read(text[None, -(context + 3) :], ())
        said = whole.logits[0].log_softmax(-1)[range(context - 8, context), text[-10:-2]]
        assert nats == pytest.approx(-float(said.mean()), abs=1e-5)
        module = network(teacher, 3)
        everywhere = HeldOut(reading, reading.logits.softmax(-1), 0)
        whole_text = teacher.read(text[None, -(context + 3) :], (), rows=True)
        known = HeldOut(whole_text, whole_text.logits.softmax(-1), 0)
        last = reading.tokens.shape[1] - 3
        found = everywhere.by_context(module, [(last - 7, last)])[0]
        assert found == pytest.approx(known.by_context(module, [(context - 7, context)])[0], abs=1e-5)


def test_losses_are_of_the_positions_asked_for(teacher):
    text = torch.arange(41).remainder(90)
    nats = torch.nn.functional.cross_entropy(teacher.read(text[None, :-1], ()).logits[0], text[1:], reduction="none")
    found = losses_at(teacher, [text], ((1, 10), (31, 40)))
    assert found == pytest.approx((float(nats[:10].mean()), float(nats[30:].mean())), abs=1e-4)
    assert losses_at(teacher, [text], ((1, 10), (31, 40)), 8.0) != pytest.approx(found, abs=1e-4)


def test_the_base_with_the_least_loss_beyond_the_context_is_taken(teacher, module_target):
    modules = {anchors: network(teacher, anchors) for anchors in (False, True)}
    found = beyond(str(module_target), modules, SMALL, lambda line: None)
    assert [(one.divided_by, len(one.nats)) for one in found.losses] == [(1.0, 3), (1.0, 3), (2.0, 3)]
    least = min(found.losses[:2], key=lambda one: one.nats[1] + one.nats[2])
    assert found.base == least.base
    assert [(one.context, one.raised) for one in found.contexts] == [(32, False), (32, True), (1100, True)]
    for one in found.contexts:
        assert one.gain.value == pytest.approx(one.with_anchors[0] - one.without_anchors[0])
        assert one.gain.low <= one.gain.value <= one.gain.high
        assert len(one.with_anchors) == 4


def test_a_stream_that_is_too_short_is_refused():
    with pytest.raises(TrainingError, match="A text of 9 tokens is asked for, but only 8 are held out"):
        spread_texts([torch.arange(8).numpy().astype("uint16")], 9, 1)
    first, second = spread_texts([torch.arange(8).numpy().astype("uint16")], 4, 2)
    assert (first.tolist(), second.tolist()) == ([2, 3, 4, 5], [4, 5, 6, 7])


def test_queries_turn_by_the_raised_base(module_target, teacher, tmp_path):
    raised = Teacher.from_folder(write_raised(module_target, tmp_path / "raised", 2048, 4.0), "cpu", torch.float32)
    tokens, query, at = torch.arange(12)[None], torch.ones(1, 2, 12, 8), torch.arange(500, 512)
    for one, theta in ((teacher, 10_000.0), (raised, 10_000.0 * 4.0 ** (8 / 6))):
        torch.testing.assert_close(one.read(tokens, (), rows=True).rows.turned(query, at), turned(query, at, theta))


TINY = TextOptions(length=24, rows=4, block_rows=3, write_every=3, most_written=2)


@pytest.fixture
def training(module_target, module_work, tmp_path):
    work = shutil.copytree(module_work, tmp_path / "work")

    def made(*wanted: Wanted, tokens: int = 96 * 6) -> ModuleTraining:
        held_out = {"held_out_rows": 4, "held_out_length": 20}
        how = {"minutes": 0, "tokens": tokens, "texts": TINY, "dtype": "float32", "work_dir": work}
        return ModuleTraining(wanted, str(module_target), **held_out, **how)

    return made


def test_both_networks_begin_fresh_learn_from_as_many_tokens_and_are_measured_by_context(training, tmp_path):
    asked = trainings_of("target", tmp_path, 96 * 6)
    assert [(one.tokens, one.minutes, one.start) for one in asked.values()] == [(96 * 6, 0.0, None)] * 2
    seen = [dict(one.wanted[0].options) for one in asked.values()]
    assert seen == [{"preset": "longspec", "anchors": "off"}, {"preset": "longspec", "anchors": "on"}]
    rows = []
    small = {anchors: replace(training(), wanted=one.wanted, tokens=one.tokens) for anchors, one in asked.items()}
    networks = both_networks(small, rows.append)
    assert [getattr(module.options, "moves_text", False) for module in networks.by_anchors.values()] == [False, True]
    assert rows[-1]["tokens"] == 96 * 6
    found = list(within(networks, [(2, 8), (9, 24)]))
    seen = [(one.anchors, one.shortest, one.longest) for one in found]
    assert seen == [(False, 2, 8), (False, 9, 24), (True, 2, 8), (True, 9, 24)]
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
    (wanted,) = train.training_of(options).wanted
    assert wanted.called == "cross_kv_tandem"
    assert train.training_of(replace(options, module_options="")).wanted == (Wanted("cross_kv"),)
