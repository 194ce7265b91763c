"""The Train tab over a source that pretends to train: what it shows while it runs, at its end, and of a file."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from specviz.app.form.request import Limits, options_name, request_from
from specviz.app.job import CURRENT, Job
from specviz.app.runs.gallery import Gallery
from specviz.app.step.filling import asked_values
from specviz.app.step.opening import OpeningActions
from specviz.app.train import tab as train_actions
from specviz.app.train.tab import TrainActions
from specviz.app.train.view import compared, moment, runs_of, sentence, texts
from specviz.errors import ModelError, OptionError, TraceError
from specviz.protocol import trainings
from specviz.protocol.choice import Choice
from specviz.protocol.runs import MethodDescription, ModelDescription, OptionCard, RunRequest
from specviz.protocol.trainings import HeldOut, LossMark, Stage, Training, TrainingQuestion
from specviz.scratch import scratch
from tests.app.doubles import ReplaySource, catalog, pairs, sample

WEIGHTS = OptionCard("weights", "str", "shipped", "trained weights")
EAGLE = MethodDescription("eagle", "Drafts from the target's states.", "", True, (WEIGHTS,))
QUESTION = TrainingQuestion("eagle", "both", "fkl", 2.0, "def first():\n")
VISITOR = SimpleNamespace(session_hash="me")


def training(**changes: object) -> Training:
    trace = sample()
    begun = Training(
        QUESTION,
        1_500_000,
        trace.started.machine,
        "target",
        "ab" * 32,
        losses=(LossMark(1.0, 1000, {"state": 0.5, "token": 0.25}),),
        held_out=(HeldOut(0.0, 0, (0.1, 0.05), (0.0, 0.0)), HeldOut(20.0, 40_000, (0.625, 0.5), (0.5, 0.25))),
        stages=(Stage(0.0, 0, trace), Stage(20.0, 40_000, trace)),
    )
    return replace(begun, **changes)


class TrainingSource(ReplaySource):
    """Yields a training in two steps, the second with weights; or fails, or is stopped before the first."""

    def __init__(self, fails: bool = False, trained_for: str = "target") -> None:
        super().__init__(sample())
        self.fails = fails
        self.trained_for = trained_for
        self.questions: list[TrainingQuestion] = []
        self.forgotten: list[str] = []

    def catalog(self):
        smol = ModelDescription("smollm2", "target", "a real model", 135_000_000, True)
        known = catalog()
        return replace(known, drafters=(*known.drafters, EAGLE), models=(*known.models, smol), pairs=pairs())

    def train(self, question, cancelled=lambda: False):
        self.questions.append(question)
        if cancelled():
            return
        yield training(stages=training().stages[:1])
        if self.fails:
            raise ModelError("the disk is full; make room.")
        yield training(folder="/tmp/specviz-training-x")

    def forget(self, folder):
        self.forgotten.append(folder)

    def packed(self, folder):
        return Path(folder).with_suffix(".safetensors")

    def unpacked(self, path, target):
        if "bad" in path.name or target != self.trained_for:
            raise ModelError("these weights were made for another target.")
        return "eagle", "/tmp/specviz-training-y"


def actions(source=None, recorded: Path = Path("nowhere.json.gz")) -> TrainActions:
    return TrainActions(source or TrainingSource(), Limits(), recorded)


def last(found: TrainActions, **asked: object) -> dict[str, object]:
    usual = {"module": "eagle", "data": "both", "loss": "fkl", "minutes": 2, "prompt": "def first():\n"}
    *_, ending = found.train(*(usual | {"target": "target"} | asked).values(), None, VISITOR)
    return ending


def test_a_training_ends_with_its_curves_texts_and_weights():
    ending = last(actions())
    message, acceptance, loss, place = (ending[name] for name in ("message", "acceptance", "loss", "slider"))
    assert ending["held"].folder == "/tmp/specviz-training-x"
    assert "40,000 tokens in 20 s. A first drafted token of held-out text is accepted with probability 0.62" in message
    assert [list(line.y) for line in acceptance.data] == [[0.1, 0.625], [0.05, 0.5]]
    assert {line.name: list(line.y) for line in loss.data} == {"state": [0.5], "token": [0.25], "sum": [0.75]}
    assert ending["written"].count("<section") == 2
    assert (place.maximum, place.value) == (1, 1)
    assert ending["player"].startswith("{")
    assert [ending[name].interactive for name in ("run", "stop", "use", "save")] == [True, False, True, True]


def test_what_was_learnt_before_a_failure_is_shown_and_the_sentence_says_what_happened():
    ending = last(actions(TrainingSource(fails=True)))
    assert len(ending["held"].stages) == 1
    assert "The disk is full; make room. What was learnt before is shown." in ending["message"]
    assert not ending["use"].interactive, "there are no weights to use"


@pytest.mark.parametrize(
    ("asked", "sentence_part"),
    [
        ({"module": "nothing"}, "there is no module 'nothing' to train; choose eagle."),
        ({"data": "gossip"}, "there is no text 'gossip' to learn from"),
        ({"minutes": 6}, "6 minutes are asked for; choose 1 to 5."),
    ],
)
def test_what_cannot_be_trained_is_said(asked, sentence_part):
    assert sentence_part in last(actions(), **asked)["message"].replace("&#x27;", "'").replace("There", "there")


def test_a_page_without_an_engine_says_so():
    source = ReplaySource(sample())
    found = TrainActions(source, Limits(), Path("nowhere.json.gz"))
    assert not found.can_train
    assert "There is no engine behind this page that could train" in last(found)["message"]


def test_a_stop_before_the_first_step_keeps_nothing():
    found = actions()
    found.arm(VISITOR)
    found.stop(VISITOR)
    assert "Stopped before the first step" in last(found)["message"]


def test_a_visitor_who_leaves_leaves_no_weights_behind():
    source = TrainingSource()
    found = actions(source)
    last(found)
    found.load(opens(), "/tmp/good.safetensors", "target", VISITOR)
    found.leave(VISITOR)
    assert source.forgotten == ["/tmp/specviz-training-x", "/tmp/specviz-training-y"]
    found.leave(VISITOR)
    assert len(source.forgotten) == 2, "once"


@pytest.mark.parametrize("leave", [lambda found, job: found.leave(VISITOR), lambda found, job: job.leave()])
def test_weights_that_nobody_is_there_to_take_are_forgotten(leave):
    source, job = TrainingSource(), Job()
    found = actions(source)
    token = CURRENT.set(job)
    states = found._states(TrainingQuestion(), found._cancellations.armed("me"), VISITOR)
    next(states)
    leave(found, job)
    list(states)
    CURRENT.reset(token)
    assert source.forgotten == ["/tmp/specviz-training-x"]


def test_the_oldest_weights_go_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(train_actions, "MOST_FOLDERS", 2)
    source = TrainingSource()
    found = actions(source)
    for name in ("a", "b", "c"):
        found._keep(SimpleNamespace(session_hash=name), f"/tmp/specviz-training-{name}")
    assert source.forgotten == ["/tmp/specviz-training-a"]


def test_the_recorded_training_is_shown_and_named_as_such(tmp_path):
    path = tmp_path / "opening.json.gz"
    trainings.write(training(), path)
    opened = actions(recorded=path).open(None)
    message = opened["message"]
    assert opened["held"] == replace(training(), source="recorded")
    assert "Recorded. Eagle: 40,000 tokens" in message or "Recorded. eagle: 40,000 tokens" in message


def test_the_controls_stand_as_they_were_for_the_recorded_training(tmp_path):
    path, (known, *_) = tmp_path / "opening.json.gz", catalog().prompts
    for prompt, offered in ((known.text, known.text), ("not offered", None)):
        trainings.write(training(question=TrainingQuestion("eagle", "python", "tvd", 3.0, prompt)), path)
        opened = actions(recorded=path).open(None)
        assert [opened[name] for name in ("module", "data", "aim", "minutes")] == ["eagle", "python", "tvd", 3.0]
        assert opened.get("prompt") == offered
        assert "module" not in actions(ReplaySource(sample()), path).open(None), "a page that cannot train it"


def test_a_training_on_the_page_is_not_replaced_by_the_recorded_one(tmp_path):
    assert actions().open(training()) == {}


def test_the_slider_shows_the_network_as_it_was():
    player, line = actions().at(training(), 0)
    assert player.startswith("{")
    assert "Before any training" in line
    assert "After 20 s, 40,000 tokens" in actions().at(training(), 1)[1]


def opens() -> OpeningActions:
    """Of a Watch tab whose form has these controls."""
    controls = ("prompt", "target", "chat", "drafter", options_name("drafter"))
    return OpeningActions(Gallery(Path(), (), None), TrainingSource().catalog(), Limits(), controls)


def test_use_hands_weights_prompt_and_drafter_to_the_step_tab():
    opened = actions().use(opens(), training(folder="/tmp/specviz-training-x"))
    filled = [opened["drafter"].value, *(opened[name] for name in ("prompt", "target", "chat"))]
    assert opened["tabs"].selected == "watch"
    assert filled == ["eagle", "def first():\n", "target", False]
    seen = json.loads(opened[options_name("drafter")])
    assert seen == {"method": "eagle", "options": {"eagle.weights": "/tmp/specviz-training-x"}}
    assert "as it was just trained" in opened["message"]


def test_loaded_weights_are_handed_on_and_bad_ones_refused():
    loaded = actions().load(opens(), "/tmp/good.safetensors", "target", VISITOR)
    assert loaded["drafter"].value == "eagle"
    assert json.loads(loaded[options_name("drafter")])["options"] == {"eagle.weights": "/tmp/specviz-training-y"}
    assert (loaded["target"], loaded["models"], loaded["chat"]) == ("target", "bundled", False)
    refused = actions().load(opens(), "/tmp/bad.safetensors", "target", VISITOR)
    assert list(refused) == ["said"]
    assert "made for another target" in refused["said"]


# --- targets ---------------------------------------------------------------------------------------------------------


def test_a_training_for_the_real_model_asks_for_it_with_the_prompt_as_a_message():
    source = TrainingSource()
    last(actions(source), prompt="Why is the sky blue?", target="smollm2")
    last(actions(source))
    last(actions(source), target="/home/me/my-llama")
    asked = [(question.target, question.chat) for question in source.questions]
    assert asked == [("smollm2", True), ("target", False), ("/home/me/my-llama", False)]


def test_a_public_page_trains_for_listed_targets_alone():
    source = TrainingSource()
    found = TrainActions(source, Limits(any_model=False), Path("nowhere.json.gz"))
    assert "is not offered here; choose one of: target, drafter, smollm2" in last(found, target="/etc")["message"]
    assert source.questions == []


def test_the_targets_on_offer_are_those_that_are_there_and_the_one_named_in_settings():
    listed = ["target", "smollm2", "drafter"]
    assert [name for _, name in actions().targets("smollm2")] == listed
    assert [name for _, name in actions().targets("/home/me/my-llama")] == [*listed, "/home/me/my-llama"]


def test_the_prompts_follow_the_target_and_a_sentence_says_how_long_it_takes():
    followed = actions().follow("smollm2")
    assert followed["prompt"].choices == [("ask: Sky", "Why is the sky blue?")]
    assert "smollm2 has 135 M weights, 9.0 times those of the bundled target" in followed["takes"]
    back = actions().follow("target")
    assert back["prompt"].value == "def first():\n"
    assert "weights" not in back["takes"], "the bundled target is what the minutes are meant for"
    assert "A larger target than the bundled one" in actions().follow("<b>")["takes"]
    assert "<b>" not in actions().follow("<b>")["takes"]


def test_a_module_trained_for_a_folder_is_used_with_that_folder():
    asked = replace(QUESTION, target="/home/me/my-llama")
    opened = actions().use(opens(), training(question=asked, folder="/tmp/specviz-training-x"))
    assert opened["target"] == "/home/me/my-llama"


def test_weights_for_the_real_model_are_loaded_for_it():
    source = TrainingSource(trained_for="smollm2")
    loaded = actions(source).load(opens(), "/tmp/good.safetensors", "smollm2", VISITOR)
    assert (loaded["target"], loaded["models"], loaded["chat"]) == ("smollm2", "smollm2", True)
    assert ("eagle", "eagle") in [(name, name) for _, name in loaded["drafter"].choices], "although none is shipped"
    other = actions(source).load(opens(), "/tmp/good.safetensors", "target", VISITOR)
    assert "made for another target" in other["said"]


def test_texts_mark_what_was_drafted_and_escape_what_models_write():
    trace = sample()
    hostile = {key: replace(entry, text="<b>") for key, entry in trace.vocab.items()}
    shown = texts(training(stages=(Stage(0.0, 0, replace(trace, vocab=hostile)),)))
    assert "<b>" not in shown
    assert '<mark title="drafted and accepted">&lt;b&gt;' in shown
    accepted = sum(token.origin == "draft" for this in trace.rounds for token in this.committed.tokens)
    marked = sum(len(text) for text, drafted in runs_of(replace(trace, vocab=hostile)) if drafted) / len("<b>")
    assert marked == accepted > 0


def test_three_are_compared_where_a_module_is_shipped():
    shipped = Stage(0.0, 0, sample())
    assert [label for label, _ in compared(training(shipped=shipped))] == ["untrained", "just trained", "shipped"]
    assert moment(shipped).startswith("Before any training: 20 tokens in 8 target passes")
    assert sentence(training(held_out=())) == "The target writes the text to learn from…"


def test_a_file_that_was_changed_is_refused_in_one_sentence():
    text = trainings.dumps(training())
    for wrong, said in (
        (text.replace("specviz-training", "other"), "this is no training: its format is not 'specviz-training'"),
        (text.replace('"version":"1.0"', '"version":"9.0"', 1), "this training has the version"),
        (text.replace('"tokens":1000', '"tokens":"many"'), "losses"),
        (
            text.replace('"seconds":20.0,"tokens":40000,"trace"', '"seconds":-1.0,"tokens":40000,"trace"'),
            "not in the order",
        ),
    ):
        with pytest.raises(TraceError, match=said):
            trainings.loads(wrong)


@pytest.mark.parametrize("weights", ["/etc", "/tmp/elsewhere", "../specviz-training-x"])
def test_a_visitor_of_a_public_page_names_no_folder_of_the_server(weights):
    source = TrainingSource()
    asked = RunRequest("one", drafter=Choice("eagle", {"weights": weights}), target="toy", drafter_model="toy")
    values = {**asked_values(asked), "target": catalog().models[0].name, "drafter_model": catalog().models[0].name}
    with pytest.raises(OptionError, match=r"the weights '.*' are not offered here; choose shipped or untrained"):
        request_from(values, source.catalog(), Limits(any_model=False))
    assert request_from(values, source.catalog(), Limits()).drafter.options == {"weights": weights}


def test_weights_of_this_page_are_taken_on_a_public_page():
    source, folder = TrainingSource(), str(scratch() / "specviz-training-x")
    asked = RunRequest("one", drafter=Choice("eagle", {"weights": folder}))
    values = {**asked_values(asked), "target": catalog().models[0].name, "drafter_model": catalog().models[0].name}
    assert request_from(values, source.catalog(), Limits(any_model=False)).drafter.options == {"weights": folder}
