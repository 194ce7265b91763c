"""The live source on ZeroGPU: one decorated function, forked processes, pickled results, and what goes wrong."""

import importlib
import os
import signal
import subprocess
import sys
import time
from contextvars import ContextVar
from pathlib import Path

import gradio as gr
import pytest
import torch

from specviz.app.job import Background
from specviz.app.runs.deferred import DeferredSource
from specviz.bench.race import Racer, RaceSpec, race
from specviz.bench.sweep.runner import sweep, warm_up
from specviz.errors import JobError
from specviz.live.source import LiveSource, collect
from specviz.protocol.choice import Choice
from specviz.protocol.lending import Lends, at_once, seconds_for
from specviz.protocol.runs import PromptCard, RunRequest
from specviz.protocol.sweeps.definition import SweepDrafter, SweepSpec
from specviz.protocol.trainings import TrainingQuestion
from specviz.scratch import scratch
from tests.live.fake_spaces import Lender
from tests.proof.letters import toy_source

ROOT = Path(__file__).resolve().parents[2]
REQUEST = RunRequest("abc", max_new_tokens=8)
PROMPTS = (PromptCard("one", "letters", "One", "first", "abc"), PromptCard("two", "letters", "Two", "second", "cab"))


@pytest.fixture
def lender(monkeypatch):
    lender = Lender()
    monkeypatch.setitem(sys.modules, "spaces", lender)
    monkeypatch.delitem(sys.modules, "specviz.live.zero", raising=False)
    yield lender
    lender.end()


@pytest.fixture
def zero(lender):
    """The module, with the toy pair placed for the device."""
    module = importlib.import_module("specviz.live.zero")
    module.load_for_device(toy_source(), ["target", "drafter"])
    return module


@pytest.fixture
def source(zero):
    return zero.ZeroSource()


def process_of(source, cancelled):
    yield os.getpid()


def counted(source, cancelled):
    """Goes on until it is stopped."""
    number = 0
    while not cancelled():
        yield number
        number += 1
        time.sleep(0.001)
    yield "stopped"


def die(source, cancelled):
    yield 1
    os.kill(os.getpid(), signal.SIGKILL)
    yield 2


def fail(source, cancelled):
    yield 1
    raise ValueError("nobody but the log hears this")


def sleep(source, cancelled):
    time.sleep(60)
    yield 1


def left_over():
    return list(scratch().glob("errand-*"))


def test_a_run_is_that_of_the_placed_source_and_was_made_in_another_process(source, lender):
    trace, here = collect(source, REQUEST), collect(toy_source(), REQUEST)
    assert trace.finished.output_ids == here.finished.output_ids
    assert [round_.judged.path for round_ in trace.rounds] == [round_.judged.path for round_ in here.rounds]
    assert lender.processes != [os.getpid()]
    assert len(lender.asked) == 1
    assert left_over() == []


def test_each_result_arrives_as_soon_as_it_is_there(source):
    """Of work that never ends by itself, the first results."""
    stream = source.lend(counted, [REQUEST])
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    stream.close()
    assert left_over() == []


def test_a_process_that_has_the_models_is_used_again(source, lender):
    [first], [second] = ([*source.lend(process_of, [])] for _ in range(2))
    assert first == second != os.getpid()
    assert lender.processes == [first, second]


def test_work_that_is_cancelled_ends_by_itself_and_says_what_it_has(source):
    seen = []
    for result in source.lend(counted, [REQUEST], lambda: len(seen) >= 3):
        seen.append(result)
    assert seen[:3] == [0, 1, 2]
    assert seen[-1] == "stopped"


def test_what_is_cancelled_before_it_begins_asks_for_no_gpu(source, lender):
    assert list(source.run(REQUEST, lambda: True)) == []
    assert lender.asked == []


# --- how long a GPU is asked for -------------------------------------------------------------------------------------


def test_the_time_of_a_run_follows_from_its_tokens_and_its_target():
    """4 s, and a token 0.06 s and 0.03 s for each thousand million numbers: 4 + 64 · 0.09, 4 + 64 · 0.06."""
    runs = [RunRequest("", target="large", max_new_tokens=64), RunRequest("", target="else", max_new_tokens=64)]
    assert seconds_for(runs[:1], {"large": 10**9}) == pytest.approx(9.76)
    assert seconds_for(runs, {"large": 10**9}) == pytest.approx(9.76 + 7.84)


def test_a_gpu_is_asked_for_15_seconds_longer_and_for_2_minutes_of_work_at_most(source, lender):
    for tokens in (8, 100, 10_000):
        list(source.lend(process_of, [RunRequest("abc", max_new_tokens=tokens)]))
    assert lender.asked == [20, 26, 135]  # 15 + 4 + 0.48; 15 + 4 + 6.05; 15 + 120


def test_a_training_asks_for_its_minutes_and_for_nine_runs(source, lender, monkeypatch):
    """15 + 2 · 60 + 9 · (4 + 40 · 0.06): what it yields comes through."""
    monkeypatch.setattr(LiveSource, "train", lambda self, question, cancelled: iter([question.minutes, os.getpid()]))
    minutes, process = source.train(TrainingQuestion(minutes=2.0, max_new_tokens=40))
    assert minutes == 2.0
    assert process != os.getpid()
    assert lender.asked == [193]


# --- what is compared is of one loan ---------------------------------------------------------------------------------


def test_a_race_is_of_one_loan(source, lender):
    spec = RaceSpec(REQUEST, (Racer("ngram"), Racer("model")), repeats=2)
    laps = list(race(source, spec))
    assert [(lap.place, lap.repeat) for lap in laps] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    assert lender.asked == [42]  # 15 + 6 · (4 + 8 · 0.06)


def test_a_sweep_warms_up_on_one_loan_and_takes_one_for_each_prompt(source, lender):
    drafter = SweepDrafter("model", {}, None)
    spec = SweepSpec((drafter,), (2,), ("one", "two"), max_new_tokens=8, own_prompts=PROMPTS)
    assert [warmed.reason for warmed in warm_up(source, spec)] == ["", ""]
    kept = []
    points = list(sweep(source, spec, keep=lambda point, trace: kept.append((point, len(trace.rounds)))))
    assert [(point.prompt, point.drafter) for point in points] == [
        ("one", "none"), ("one", "model"), ("two", "none"), ("two", "model"),
    ]  # fmt: skip
    assert kept == [(point, point.rounds) for point in points]
    assert len(lender.asked) == 3


def test_what_is_compared_on_a_machine_just_lent_is_begun_once_before(source, lender):
    """In the first loan each of two runs is begun; the second loan is of the same process, which is warm."""
    runs = [REQUEST, RunRequest("abc", drafter=Choice("ngram"), max_new_tokens=8)]
    warmed = [list(source.lend(number_warmed, runs)) for _ in range(2)]
    assert warmed == [[2], [2]]
    lender.end()
    assert list(source.lend(number_warmed, runs[:1])) == [0]


def number_warmed(source, cancelled):
    yield len(sys.modules["specviz.live.zero"]._warm)


def test_a_page_whose_engine_is_loaded_behind_it_passes_the_loan_on(source, lender):
    deferred = DeferredSource(lambda: source, source.catalog())
    deferred.start(grace_s=0.0)
    [process] = at_once(deferred, process_of, [REQUEST])
    assert lender.processes == [process]


def test_a_source_with_a_machine_of_its_own_lends_nothing():
    here = toy_source()
    assert not isinstance(here, Lends)
    assert list(at_once(here, process_of, [REQUEST])) == [os.getpid()]


# --- what goes wrong -------------------------------------------------------------------------------------------------


def failing(stream):
    seen = []
    try:
        for result in stream:
            seen.append(result)
    except JobError as error:
        return seen, str(error)
    raise AssertionError(f"it did not fail: {seen}")


def test_what_the_engine_refuses_keeps_its_sentence(source):
    seen, sentence = failing(source.run(RunRequest("abc", drafter=Choice("modle"))))
    assert seen == []
    assert "no drafter called 'modle'; did you mean 'model'" in sentence


def test_a_fault_is_told_by_its_name_and_what_came_before_is_kept(source):
    assert failing(source.lend(fail, [])) == (
        [1], "the work failed on the GPU (ValueError); the server's log says more.",
    )  # fmt: skip


def test_a_process_that_ends_is_told_and_the_next_work_has_another(source, lender):
    seen, sentence = failing(source.lend(die, []))
    assert seen == [1]
    assert sentence.startswith("the GPU was taken away before the work was done: it took longer than the 15 s asked")
    assert "press Run here" in sentence
    [process] = source.lend(process_of, [])
    assert lender.processes[1:] == [process]
    assert lender.processes[0] != process


def test_a_process_that_is_killed_for_its_time_is_told(source, lender):
    lender.patience_s = 0.2
    seen, sentence = failing(source.lend(sleep, []))
    assert seen == []
    assert "the GPU was taken away" in sentence


def test_work_ends_before_its_gpu_is_taken_and_keeps_what_it_has(source):
    """Nothing is asked for, so its time is over at once."""
    seen, sentence = failing(source.lend(counted, []))
    assert seen == ["stopped"]
    assert sentence.startswith("the 15 s of GPU time that this had asked for are over")


@pytest.mark.parametrize(
    ("title", "message", "begins"),
    [
        ("ZeroGPU quota exceeded", "20s requested vs. 3s left.", "no GPU was lent, because the time on it is used up"),
        ("ZeroGPU illegal duration", "900s", "no GPU was lent, because it was asked for longer than"),
        ("ZeroGPU pending credits exceeded", "", "no GPU was lent, because your account's other runs"),
        ("ZeroGPU queue timeout", "No GPU was available after 60s", "no GPU became free in a minute"),
        ("ZeroGPU client error", "Expired ZeroGPU proxy token", "no GPU was lent (Expired ZeroGPU proxy token"),
    ],
)
def test_a_loan_that_is_refused_says_why_and_what_to_do(source, lender, title, message, begins):
    lender.refusal = gr.Error(message, title=title)
    seen, sentence = failing(source.run(REQUEST))
    assert seen == []
    assert sentence.startswith(begins)
    assert message.rstrip(".") in sentence
    assert sentence.endswith("in your own browser.")


def test_a_visitor_who_left_the_queue_and_an_error_nobody_knows_have_sentences_too(source, lender):
    lender.refusal = RuntimeError("Connection closed by visitor while queueing")
    assert failing(source.run(REQUEST))[1] == "nobody is listening any more, so no GPU was asked for."
    lender.refusal = RuntimeError("ZeroGPU API /schedule error: 500")
    assert failing(source.run(REQUEST))[1].startswith("the GPU could not be had (RuntimeError)")


def test_a_model_that_cannot_be_loaded_is_left_out_and_named(zero, caplog):
    zero.load_for_device(LiveSource(measure=False), ["no/such/model at all"])
    assert "is left out: there is no model" in caplog.text


# --- around it -------------------------------------------------------------------------------------------------------


VISITOR: ContextVar[str] = ContextVar("visitor")


def test_work_beside_the_page_knows_whose_it_is():
    """Who lends a machine asks there whose time it is."""

    def asked():
        yield VISITOR.get("nobody")

    VISITOR.set("ada")
    *_, seen = Background(asked(), lambda: None).look(0.01)
    assert seen == ("ada",)


def test_what_the_page_computes_itself_it_computes_on_the_cpu(source):
    loaded = source.models.get("drafter", RunRequest(""))
    assert loaded.model.device.type == "cpu"
    assert list(source.models._held) == [("drafter", "cpu", "auto")]


ON_THE_CPU = {
    "catalog", "explain", "rendered", "learn", "forget", "packed", "unpacked", "fetch", "prover",
}  # fmt: skip


def test_all_that_a_live_source_does_is_lent_a_gpu_or_stays_on_the_cpu(zero):
    """A method that comes new must be one or the other."""
    public = {name for name, value in vars(LiveSource).items() if callable(value) and not name.startswith("_")}
    lent = {"run", "profile", "clock", "audit", "consult", "train"}
    assert public == ON_THE_CPU | lent | {"status", "warm", "surprise"}
    assert lent <= set(vars(zero.ZeroSource))
    assert not ON_THE_CPU & set(vars(zero.ZeroSource))


# --- the package itself ----------------------------------------------------------------------------------------------


def test_off_a_zerogpu_machine_the_package_leaves_the_function_as_it_is(monkeypatch):
    spaces = pytest.importorskip("spaces")
    monkeypatch.delitem(sys.modules, "specviz.live.zero", raising=False)
    module = importlib.import_module("specviz.live.zero")
    assert spaces.GPU(duration=3)(counted) is counted
    module.load_for_device(toy_source(), ["target", "drafter"])
    assert list(module.ZeroSource().lend(process_of, [REQUEST])) == [os.getpid()]


PLACED = """
import torch
from specviz.live import zero
from specviz.live.source import LiveSource
source = LiveSource(measure=False)
zero.load_for_device(source, ["target", "drafter"])
print([str(loaded.model.device) for loaded in source.models.held], [loaded.info.dtype for loaded in source.models.held])
from spaces.zero import torch as stand_in, decorator
print(stand_in.pack() > 2 * 15_000_000, len(decorator.decorated_cache) > 0)
"""


@pytest.mark.slow
@pytest.mark.skipif(torch.version.cuda is None, reason="the package needs a torch that was built for CUDA")
def test_on_a_zerogpu_machine_models_are_placed_without_any_device(tmp_path):
    """The package stands in for CUDA while the program starts, and packs the weights for the processes to come."""
    pytest.importorskip("spaces")
    environment = {**os.environ, "SPACES_ZERO_GPU": "true", "SPACES_ZERO_DEVICE_API_URL": "http://127.0.0.1:9"}
    environment |= {"ZEROGPU_OFFLOAD_DIR": str(tmp_path / "tensors"), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PLACED], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['cuda:0', 'cuda:0'] ['bfloat16', 'bfloat16']", "True True"]
