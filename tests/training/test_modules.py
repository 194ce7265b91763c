"""Modules are trained together from one reading of the target, measured exactly, stopped and resumed at any time."""

import json
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event

import pytest
import torch
from torch import nn
from transformers import LlamaForCausalLM

from specviz.drafters.learned import weights as module_weights
from specviz.drafters.learned.module import MODULES, DrafterModule, FeatureBatch, divergence
from specviz.drafters.learned.weights import read_card, read_module
from specviz.errors import ModelError, SpecVizError, TrainingError
from specviz.lm.load import load
from specviz.options import Options, option
from specviz.protocol import trainings
from specviz.training.modules import loop as loop_module
from specviz.training.modules import train
from specviz.training.modules.loop import LoopOptions, ModuleLoop
from specviz.training.modules.measure import HeldOut
from specviz.training.modules.teacher import Reading, Teacher
from specviz.training.modules.texts import Amount, TextOptions, packed_here
from specviz.training.modules.train import ModuleTraining, Training, Wanted, distance_of, train_modules
from specviz.training.optimiser import Budget
from specviz.training.options import TrainOptions
from specviz.training.windows import load_tokenizer, train_tokenizer

TINY = TextOptions(length=24, rows=4, block_rows=3, write_every=3, most_written=2)


@dataclass(frozen=True)
class TwoAheadOptions(Options):
    """Which states it reads."""

    depth: int = option(2, help="after how many layers the target is read", minimum=0)


class TwoAhead(DrafterModule[TwoAheadOptions]):
    """One matrix guesses the token after the next from the state before it."""

    name = "two_ahead"

    def __init__(self, target, options):
        super().__init__(target, options)
        self.turn = nn.Linear(self.hidden_size, self.hidden_size)
        self.told = 0

    def depths(self):
        return (self.options.depth,)

    def calibrate(self, tokens):
        self.told = len(tokens)

    def drafts(self, batch: FeatureBatch, most: int):
        return [self.turn(batch.features[:, :-1, 0]) @ self.head.T][:most]

    def loss(self, batch: FeatureBatch):
        noise = torch.rand(()) * 1e-3  # so that a resumed run must go on with the same draws
        logits = self.drafts(batch, 1)[0].flatten(0, 1)
        wanted = batch.target_logits(self.head)[:, 1:].softmax(-1).flatten(0, 1)
        return {"token": nn.functional.cross_entropy(logits, wanted), "noise": noise * self.turn.weight.square().sum()}


@pytest.fixture
def kind():
    MODULES._entries["two_ahead"] = TwoAhead
    yield TwoAhead
    del MODULES._entries["two_ahead"]


@pytest.fixture(scope="module")
def teacher(module_target) -> Teacher:
    return Teacher.from_folder(module_target, "cpu", torch.float32)


@pytest.fixture
def training_of(kind, module_target, module_work, tmp_path):
    """A training with its own copy of the texts."""

    def made(**changes) -> ModuleTraining:
        return replace(
            tiny_training(module_target, shutil.copytree(module_work, tmp_path / "work", dirs_exist_ok=True)), **changes
        )

    return made


def tiny_training(folder: Path, work: Path) -> ModuleTraining:
    return ModuleTraining(
        (Wanted("two_ahead"), Wanted("two_ahead", {"depth": 3}, "last")),
        target=str(folder),
        minutes=0,
        tokens=96 * 12,
        texts=TINY,
        held_out_rows=4,
        held_out_length=20,
        dtype="float32",
        work_dir=work,
        measure_every_s=0.0,
    )


def test_states_are_those_of_transformers_at_every_depth(module_target, teacher):
    ids = torch.arange(20).reshape(2, 10)
    reading = teacher.read(ids, range(4))
    with torch.inference_mode():
        found = LlamaForCausalLM.from_pretrained(module_target)(ids, output_hidden_states=True)
    for depth, wanted in enumerate(found.hidden_states):
        torch.testing.assert_close(reading.states[depth], wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(reading.logits, found.logits, rtol=1e-5, atol=1e-5)
    assert teacher.parts.info.weights_sha256 == load(str(module_target)).info.weights_sha256


def test_modules_learn_and_leave_folders_that_load_for_this_target(training_of, module_target, tmp_path):
    rows = []
    cards = train_modules(training_of(tokens=96 * 100), tmp_path / "out", rows.append)
    assert [row["step"] for row in rows] == list(range(101))
    before, after = rows[0]["held_out"]["last"], rows[-1]["held_out"]["last"]
    assert after["acceptance"][0] > before["acceptance"][0] + 0.05
    assert cards["last"].options == {"depth": 3}
    card = read_card(tmp_path / "out" / "last").training
    assert card["held_out"]["acceptance"] == after["acceptance"]
    assert card["curve"][0]["tokens"] == 0
    target = load(str(module_target)).model
    assert read_module(tmp_path / "out" / "two_ahead", target).options.depth == 2


def test_a_training_killed_on_the_way_ends_as_one_that_was_not(training_of, tmp_path):
    """The first step after each break asks for what the target has written before it."""
    ends = []
    for number, steps in enumerate(([None], [4, 3, None])):
        for most in steps:
            under_way = Training(training_of(seed=0, work_dir=tmp_path / "work", tokens=96 * 12))
            under_way.loop.run(lambda row: None, dict, most_steps=most)
        ends.append(under_way)
        if number == 0:
            under_way.forget()
    whole, killed = ends
    assert whole.loop.progress.step == killed.loop.progress.step == 12
    assert whole.loop.progress.losses == killed.loop.progress.losses
    for label, module in whole.modules.items():
        for own, other in zip(module.parameters(), killed.modules[label].parameters(), strict=True):
            assert torch.equal(own, other)


def test_a_finished_training_leaves_no_checkpoint_behind(training_of, tmp_path):
    train_modules(training_of(), tmp_path / "out", lambda row: None)
    assert not list((tmp_path / "work").rglob("checkpoint.pt"))


def test_a_module_goes_on_from_weights_that_were_trained_for_another_target(training_of, tmp_path):
    begun = tmp_path / "begun"
    cards = train_modules(training_of(tokens=96 * 30), begun, lambda row: None)
    of_another = asdict(cards["last"]) | {"target_sha256": "0" * 64}
    (begun / "last" / "module.json").write_text(json.dumps(of_another), encoding="utf-8")
    rows = []
    again = train_modules(training_of(start=begun, tokens=96 * 12), tmp_path / "out", rows.append)
    first, last = cards["last"].training["held_out"], rows[0]["held_out"]["last"]
    assert last["acceptance"][0] == pytest.approx(first["acceptance"][0], abs=0.02)
    assert again["last"].training["started_from"] == {"of_target": "0" * 64, "tokens": 96 * 30}
    assert again["last"].target_sha256 == cards["two_ahead"].target_sha256
    third = train_modules(training_of(start=tmp_path / "out", tokens=96), tmp_path / "third", rows.append)
    assert third["last"].training["started_from"]["tokens"] == 96 * 42
    (begun / "last" / "module.json").write_text(json.dumps(of_another | {"options": {"depth": 2}}), encoding="utf-8")
    with pytest.raises(ModelError, match=r"holds a 'two_ahead' with options \{'depth': 2\}"):
        Training(training_of(start=begun))


def test_what_a_start_lacks_is_trained_alone_where_its_weights_are_to_stay_and_is_stored_on_them(
    training_of, module_target, tmp_path, monkeypatch
):
    shipped, tokens = tmp_path / "shipped", 96 * 12
    monkeypatch.setattr(train, "MODULES_FOLDER", shipped)
    monkeypatch.setattr(module_weights, "MODULES_FOLDER", shipped)
    block, selector = Wanted("dflash", {"slots": 3}), Wanted("dflash", {"slots": 3, "selector_rank": 4})
    train_modules(training_of(wanted=(block,), tokens=tokens), shipped, lambda row: None)
    card = train_modules(
        training_of(wanted=(selector,), tokens=tokens, start=shipped, frozen=True), tmp_path / "out", lambda row: None
    )["dflash"]
    assert (card.base, card.training["started_from"]["tokens"]) == ("dflash", tokens)
    target = load(str(module_target)).model
    before, after = (read_module(folder / "dflash", target) for folder in (shipped, tmp_path / "out"))
    for name, tensor in before.state_dict().items():
        assert torch.equal(tensor, after.state_dict()[name]), name
    assert bool(after.selector.after.weight.any()), "it was zero"
    small, whole = (
        (folder / "dflash" / "model.safetensors.bz2").stat().st_size for folder in (tmp_path / "out", shipped)
    )
    assert small < whole / 3
    causal = Wanted("dflash", {"slots": 3, "causal": True}, "dflash_causal")
    beside = training_of(wanted=(causal,), tokens=tokens, start=shipped)
    for _ in range(2):  # the second time it is there already, and still begins with the usual block
        card = train_modules(beside, shipped, lambda row: None)["dflash_causal"]
        assert (card.base, card.training["started_from"]["tokens"]) == ("dflash", tokens)
    with pytest.raises(TrainingError, match="holds all weights of 'dflash', and they are to stay"):
        Training(training_of(wanted=(block,), start=shipped, frozen=True))
    with pytest.raises(TrainingError, match="and none are named"):
        Training(training_of(frozen=True))


def test_a_stopped_training_keeps_what_was_learnt(training_of, tmp_path):
    stop, rows = Event(), []

    def report(row):
        rows.append(row)
        if row["step"] == 5:
            stop.set()

    cards = train_modules(training_of(), tmp_path / "out", report, stop)
    assert rows[-1]["step"] == cards["last"].training["steps"] == 5
    assert "held_out" in rows[-1]


def test_modules_are_told_of_the_text_before_they_learn(training_of):
    assert Training(training_of()).modules["last"].told == 250 * 4 * 24


def test_english_and_python_are_packed_on_the_spot_where_no_work_folder_holds_any(module_target):
    domains = packed_here(load_tokenizer(module_target), Amount(5000, 0))
    assert [len(one.held_out[1]) > 1 for one in domains] == [True, True]
    assert set(domains[0].train[0][:50]) != set(domains[1].train[0][:50])


class Oracle(TwoAhead):
    """Says what the target says, at depth 1; nothing but the first token at depth 2."""

    def drafts(self, batch, most):
        known = batch.target_logits(self.head)
        return [known[:, 1:], torch.zeros_like(known[:, 2:]).index_fill(2, torch.tensor([0]), 50.0)][:most]


def test_acceptance_is_the_overlap_of_both_distributions(teacher):
    ids = torch.arange(40).reshape(2, 20)
    reading = teacher.read(ids, [2])
    probs = reading.logits.softmax(-1)
    measured = HeldOut(reading, probs, 1).measure(Oracle(teacher.parts, TwoAheadOptions()))
    assert measured.acceptance[0] == pytest.approx(1.0, abs=1e-5)
    assert measured.acceptance[1] == pytest.approx(float(probs[:, 2:, 0].mean()), abs=1e-5)
    assert measured.agreement[0] == 1.0
    wanted = float((reading.logits[:1, 2:].argmax(-1) == 0).float().mean())
    assert measured.accepted == pytest.approx(1.0 + wanted)


def test_a_loss_that_is_no_number_ends_the_training(teacher):
    module = TwoAhead(teacher.parts, TwoAheadOptions())
    nn.init.constant_(module.turn.weight, torch.nan)
    reading: Reading = teacher.read(torch.arange(20).reshape(2, 10), [2])
    loop = ModuleLoop({"broken": module}, lambda step: reading, LoopOptions(Budget(1000)), None)
    with pytest.raises(TrainingError, match=r"loss of 'broken' is not a number at step 0: .*--module-lr"):
        loop.run(lambda row: None)


def test_tables_of_tokens_are_no_matter_of_muon(teacher):
    module = TwoAhead(teacher.parts, TwoAheadOptions())
    module.table = nn.Linear(16, 80)  # more than four times as long as wide
    kinds = [type(one).__name__ for one in loop_module.optimisers_of(module, LoopOptions(Budget(1)))]
    assert kinds == ["Muon", "AdamW"]
    muon, adamw = loop_module.optimisers_of(module, LoopOptions(Budget(1)))
    assert [p.shape for group in muon.param_groups for p in group["params"]] == [(16, 16)]
    assert (80, 16) in [p.shape for group in adamw.param_groups for p in group["params"]]


def test_the_command_names_modules_and_their_shapes(kind):
    options = TrainOptions(names=("two_ahead",), module_options="two_ahead.depth=3", minutes=2.0, target="some")
    made = train.training_of(options)
    assert made.wanted == (Wanted("two_ahead", {"depth": "3"}),)
    assert (made.minutes, made.target) == (2.0, "some")
    with pytest.raises(TrainingError, match="'medusa', which is not trained here"):
        train.training_of(replace(options, module_options="medusa.heads=3"))
    with pytest.raises(TrainingError, match="'two_ahead=3' in --module-options is no choice"):
        train.training_of(replace(options, module_options="two_ahead=3"))
    with pytest.raises(SpecVizError, match="nothing_such"):
        train.training_of(replace(options, names=("nothing_such",), module_options=""))


def test_modules_of_another_target_lie_in_a_folder_of_its_name_unless_one_is_given():
    assert train.folder_for(TrainOptions()) == Path("assets/modules")
    assert train.folder_for(TrainOptions(target="smollm2")) == Path("assets/modules/smollm2")
    assert train.folder_for(TrainOptions(target="models/mine")) == Path("assets/modules/mine")
    assert train.folder_for(TrainOptions(target="models/mine", out="here")) == Path("here")


@pytest.mark.parametrize("target", ["target", "smollm2"])
def test_weights_that_are_there_are_written_over_only_where_their_folder_is_named(
    monkeypatch, tmp_path, target
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train, "train_modules", lambda *asked: {})
    options = TrainOptions(names=("medusa", "eagle"), target=target)
    folder = train.folder_for(options)
    train.train_module(options, print)
    (folder / "eagle").mkdir(parents=True)
    (folder / "eagle" / "module.json").write_text("{}")
    with pytest.raises(
        TrainingError, match=rf"{folder}/eagle holds trained weights already; .* with --out {folder} to"
    ):
        train.train_module(options, print)
    train.train_module(replace(options, out=str(folder)), print)
    train.train_module(replace(options, names=("medusa",)), print)


def test_texts_packed_with_another_tokenizer_are_refused(training_of, tmp_path):
    training = training_of()
    train_tokenizer(["other words " * 9], 300).save_pretrained(tmp_path / "work" / "tokenizer")
    with pytest.raises(TrainingError, match="another tokenizer"):
        Training(training)


def test_a_loss_is_chosen_by_name_and_stands_on_the_card(training_of, tmp_path):
    assert distance_of("fkl") is divergence
    logits, target = torch.tensor([[[0.0, 0.0]]]), torch.tensor([[[0.75, 0.25]]]).log()
    assert float(distance_of("tvd")(logits, target)) == pytest.approx(0.25)
    assert float(distance_of("ce-hard")(logits, target)) == pytest.approx(0.6931, abs=1e-4)
    with pytest.raises(TrainingError, match=r"there is no loss 'luck'; choose one of ce-hard, fkl"):
        Training(training_of(loss="luck"))
    cards = train_modules(training_of(loss="tvd", tokens=96 * 2), tmp_path / "out", lambda row: None)
    assert cards["last"].training["loss"] == "tvd"


def test_the_page_offers_losses_that_there_are():
    assert next(iter(trainings.LOSSES)) == trainings.TrainingQuestion().loss
    for name in trainings.LOSSES:
        assert distance_of(name)


def test_no_module_or_one_twice_is_refused(training_of, teacher):
    with pytest.raises(TrainingError, match="No module was named"):
        Training(training_of(wanted=()), teacher)
    with pytest.raises(TrainingError, match="the same label, two_ahead"):
        Training(training_of(wanted=(Wanted("two_ahead"), Wanted("two_ahead"))), teacher)
