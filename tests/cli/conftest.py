"""The command line in-process, over the golden trace and a source that plays it."""

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from specviz.cli.main import main
from specviz.protocol.runs import (
    Catalog,
    MethodDescription,
    ModelDescription,
    OptionCard,
    PromptCard,
    Resume,
    RunRequest,
)
from specviz.trace import codec, events
from specviz.trace.events import Step

Call = Callable[..., Any]
"""the fixtures `specviz` and `terminal`, called with the words of a command line"""
GOLDEN = Path(__file__).parent.parent / "golden" / "trace-1.0-sample.json"


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def specviz(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """`specviz("check", path)` → exit code, standard output, standard error."""

    def call(*arguments: object) -> Result:
        code = main([str(one) for one in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """`terminal("replay", path)` → what a colour terminal would be sent, errors included."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def call(*arguments: object) -> str:
        stream = FakeTerminal()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", stream)
            patched.setattr(sys, "stderr", stream)
            main([str(one) for one in arguments])
        return stream.getvalue()

    return call


@pytest.fixture
def golden() -> Path:
    return GOLDEN


GAMMA = OptionCard("gamma", "int", 4, "speculation length", 1, 64)
SHAPE = (replace(GAMMA, unless="branching", shape=True), OptionCard("branching", "ints", [], "tree", shape=True))
METHODS = (
    MethodDescription("model", "Drafts with a model.", "", True, SHAPE),
    MethodDescription("ngram", "Copies.", "", True, (GAMMA, OptionCard("max_ngram", "int", 3, "longest suffix"))),
    MethodDescription("none", "Plain decoding.", "", True, ()),
)
VERIFIERS = (
    MethodDescription("greedy", "Argmax.", "", True, (), temperatures="zero"),
    MethodDescription("sequential", "Master rule.", "", True, (OptionCard("top_k", "int", 0, "a clash of names"),)),
)
TREE_POLICIES = (
    MethodDescription("bush", "Many branches.", "", True, (OptionCard("branching", "ints", [], "children"),)),
)
STOPPINGS = (
    MethodDescription("fixed", "Never stops.", "", True, ()),
    MethodDescription("doubt", "Stops in doubt.", "", True, (OptionCard("threshold", "float", 0.4, "how sure"),)),
)


@dataclass
class PlayedSource:
    """Plays the golden trace, whatever is asked, and keeps the requests."""

    requests: list[RunRequest] = field(default_factory=list)
    resumes: list[Resume | None] = field(default_factory=list)
    reason: str | None = None
    message: str | None = None
    """set: the run fails after its first round"""

    def catalog(self) -> Catalog:
        models = (ModelDescription("target", "target", "A model.", 15_700_000, False),)
        prompts = (PromptCard("mean", "code", "Mean", "A function.", "def mean(values):\n"),)
        return Catalog(models, METHODS, VERIFIERS, prompts, TREE_POLICIES, STOPPINGS)

    def status(self) -> str:
        return "models ready"

    def warm(self) -> None:
        return

    def explain(self, request: RunRequest) -> str | None:
        return self.reason

    def run(
        self, request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        self.requests.append(request)
        self.resumes.append(resume)
        trace = codec.read(GOLDEN)
        yield Step(trace.started, trace.vocab)
        rounds: list[events.Round] = []
        for one in trace.rounds:
            if cancelled() or (self.message and rounds):
                ids = [item.token for done in rounds for item in done.committed.tokens]
                reason: events.FinishReason = "failed" if self.message else "cancelled"
                yield Step(replace(trace.finished, reason=reason, message=self.message, output_ids=ids, text="…"), {})
                return
            rounds.append(one)
            yield Step(one, {})
        yield Step(trace.finished, {})


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> PlayedSource:
    """Commands get this source instead of the engine."""
    source = PlayedSource()
    for command in ("run", "list", "record"):
        module = __import__(f"specviz.cli.commands.{command}", fromlist=["live_source"])
        monkeypatch.setattr(module, "live_source", lambda: source)
    return source
