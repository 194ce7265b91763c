"""llama.cpp beside us, on a stand-in for its package: what is timed, when it ends, and how many threads we had."""

import sys
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import pytest
import torch

from specviz.bench.core.contest import Measured
from specviz.bench.speed import yardstick
from specviz.bench.speed.yardstick import LlamaCpp, OnThreads, contestants
from specviz.cli.main import main
from specviz.protocol.runs import PromptCard, RunRequest
from specviz.theory.rows import RunCounts
from tests.fake_source import FakeSource

PROMPT = PromptCard("one", "code", "One", "first", "a")


class Llama:
    """Writes 5, 6, 7, 8 and then its end-of-text token 2."""

    made: ClassVar[list[dict[str, object]]] = []

    def __init__(self, path, **settings):
        self.made.append({"path": path, **settings})

    def tokenize(self, text, add_bos, special):
        return list(text)

    def reset(self):
        return

    def token_eos(self):
        return 2

    def generate(self, ids, temp, repeat_penalty):
        assert (ids, temp, repeat_penalty) == ([97], 0.0, 1.0)
        yield from (5, 6, 7, 8, 2, 9)


@pytest.fixture
def package(monkeypatch):
    """A clock that counts seconds by its readings."""
    module = ModuleType("llama_cpp")
    module.Llama = Llama
    Llama.made = []
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    seconds = count()
    monkeypatch.setattr(yardstick, "time", SimpleNamespace(perf_counter=lambda: float(next(seconds))))


def test_a_run_ends_with_the_text_or_the_limit_and_its_first_token_came_with_the_prompt(package):
    whole = LlamaCpp("llama.cpp", Path("m.gguf"), 2, 64)
    run = whole.decode(PROMPT, lambda: False)
    assert run == Measured([5, 6, 7, 8, 2], 2.0, 1.0, RunCounts(5, 5), prefill_tokens=1)
    assert LlamaCpp("llama.cpp", Path("m.gguf"), 1, 3).decode(PROMPT, lambda: False).output_ids == [5, 6, 7]
    assert whole.decode(PROMPT, lambda: True) is None
    assert [(made["n_threads"], made["n_threads_batch"]) for made in Llama.made] == [(2, 2), (1, 1)], "read once each"


def test_our_contestant_runs_on_as_many_threads_and_leaves_the_others_as_they_were():
    seen = []

    class Counting:
        name = "plain"

        def decode(self, prompt, cancelled, repeat=0):
            seen.append(torch.get_num_threads())

    before = torch.get_num_threads()
    OnThreads("plain, 2 threads", Counting(), before + 1).decode(PROMPT, lambda: False)
    assert (seen, torch.get_num_threads()) == ([before + 1], before)


def test_both_stand_there_on_one_thread_and_on_two_and_our_one_thread_is_the_baseline():
    source = FakeSource()
    there = contestants(source, RunRequest("", max_new_tokens=8), Path("m.gguf"))
    assert [contestant.name for contestant in there] == [
        "specviz: plain, 1 thread", "specviz: plain, 2 threads", "llama.cpp, 1 thread", "llama.cpp, 2 threads",
    ]  # fmt: skip
    there[0].decode(PROMPT, lambda: False)
    assert [(request.target, request.drafter.name, request.max_new_tokens) for request in source.requests] == [
        ("m.gguf", "none", 8)
    ]


def test_a_file_or_a_package_that_is_not_there_is_said_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    assert main(["bench", "--llama-cpp", str(tmp_path / "no.gguf")]) == 2
    assert "there is no file" in capsys.readouterr().err
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    assert main(["bench", "--llama-cpp", str(tmp_path / "m.gguf")]) == 2
    assert "pip install 'specviz[llama-cpp]'" in capsys.readouterr().err
