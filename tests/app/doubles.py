"""A source made from a stored trace: it plays the rounds again, at once or as slowly as a test needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING
from unittest.mock import patch

from specviz.errors import PairingError, SpecVizError
from specviz.protocol.proofs import Prover
from specviz.protocol.runs import (
    Catalog,
    FamilyCard,
    FetchableModel,
    Fetching,
    Learned,
    MethodDescription,
    ModelDescription,
    ModelPair,
    OptionCard,
    PromptCard,
    Resume,
    RunRequest,
)
from specviz.trace import codec
from specviz.trace.events import Finished, Step, Trace
from specviz.trace.header import StepTime

if TYPE_CHECKING:
    import gradio as gr

    from specviz.lm.load import LoadedModel

SAMPLE = Path(__file__).parents[1] / "golden" / "trace-1.0-sample.json"

GAMMA = OptionCard("gamma", "int", 4, "how deep each draft goes", 1, 16)
BRANCHING = OptionCard("branching", "ints", None, "children per level, e.g. 3,2,1; empty: a chain")
MATCH = OptionCard("longest", "int", 3, "longest match looked for", 1, 8)
SHAPE = OptionCard("branching", "ints", [2, 1], "children per level", 1, 32)
BUDGET = OptionCard("budget", "int", 0, "at most so many candidates", 0, 512, counts="candidates")
FLOOR = OptionCard("floor", "float", 0.4, "least probability", 0.0, 1.0)


def catalog() -> Catalog:
    """Three drafters, two verifiers (one lossy), two families of prompts, one pair of models."""
    return Catalog(
        models=(
            ModelDescription("target", "target", "the bundled target", 15_000_000, True),
            ModelDescription("drafter", "drafter", "the bundled drafter", 1_000_000, True),
        ),
        drafters=(
            MethodDescription("none", "Plain decoding: nothing is drafted.", "", True, ()),
            MethodDescription(
                "model", "A small model drafts ahead.", "", True, (GAMMA, BRANCHING), needs_model=True, grows=True
            ),
            MethodDescription("ngram", "Looks the continuation up in the text.", "", True, (GAMMA, MATCH)),
        ),
        verifiers=(
            MethodDescription("greedy", "Keeps what the target would have written.", "", True, (), temperatures="zero"),
            MethodDescription("loose", "Keeps nearly everything.", "", False, ()),
        ),
        tree_policies=(
            MethodDescription("levels", "The same children below every node of a level.", "", True, (SHAPE, BUDGET)),
        ),
        stop_policies=(
            MethodDescription("fixed", "Every draft has its full length.", "", True, ()),
            MethodDescription("doubt", "Stops where the drafter doubts.", "", True, (FLOOR,), learns=True),
        ),
        prompts=(
            PromptCard("code-a", "code", "First", "A function.", "def first():\n"),
            PromptCard("code-b", "code", "Second", "Another one.", "def second():\n"),
            PromptCard("copy-a", "copy", "Copy", "A list twice.", "one two three one two"),
        ),
    )


def pairs() -> tuple[ModelPair, ...]:
    """The pair of `catalog`, and a real one for which only lookup drafts."""
    known = catalog()
    names = tuple(drafter.name for drafter in known.drafters)
    asked = PromptCard("ask-a", "ask", "Sky", "A question.", "Why is the sky blue?")
    told = FamilyCard("ask", "Ask", "An answer.")
    return (
        ModelPair("bundled", "bundled", ("target",), "a small world", False, names, "model", known.prompts, ()),
        ModelPair(
            "smollm2", "Smol (real)", ("smollm2",), "a big world", True, ("none", "ngram"), "ngram", (asked,), (told,)
        ),
    )


class ReplaySource:
    """Plays `trace` for every request. `gate`, if given, must be set for the rounds after `free_rounds` of every run
    after the first `free_runs`."""

    def __init__(
        self,
        trace: Trace,
        gate: Event | None = None,
        round_wait_s: float = 0.0,
        free_rounds: int = 0,
        free_runs: int = 0,
    ) -> None:
        self.trace = trace
        self.requests: list[tuple[RunRequest, Resume | None]] = []
        self._gate = gate
        self._wait = Event()
        self._round_wait_s = round_wait_s
        self._free_rounds, self._free_runs = free_rounds, free_runs

    def catalog(self) -> Catalog:
        return catalog()

    def status(self) -> str:
        return "models ready"

    def warm(self) -> None:
        pass

    def explain(self, request: RunRequest) -> str | None:
        if request.verifier.name == "greedy" and request.temperature > 0:
            return f"greedy judges at temperature 0 only, but the temperature is {request.temperature:g}; set it to 0."
        return None

    def run(
        self, request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        self.requests.append((request, resume))
        if "fail" in request.prompt:
            raise PairingError("this prompt fails on purpose; choose another.")
        drafts = request.drafter.name != "none"
        started = replace(
            self.trace.started,
            source="live",
            prompt_text=request.prompt,
            step_times=[StepTime(1, 100, 0.010, 0.009, 0.011), StepTime(8, 100, 0.012, 0.011, 0.013)],
            draft_step_s=0.001,
        )
        yield Step(started, self.trace.vocab)
        played = []
        for this in self.trace.rounds:
            self._wait.wait(self._round_wait_s)
            held = len(self.requests) > self._free_runs and len(played) >= self._free_rounds
            while held and self._gate is not None and not self._gate.wait(0.02) and not cancelled():
                pass
            if cancelled():
                break
            played.append(
                this
                if drafts or request.record
                else replace(this, nodes=this.nodes[:1], judged=replace(this.judged, path=[]))
            )
            yield Step(played[-1], {})
        yield Step(self._finished(len(played), drafts), {})

    def learn(self, traces: Sequence[Trace], policy: str) -> Learned:
        return Learned(policy, {"runs": len(traces)}, f"{policy} learnt from {len(traces)} runs.", {})

    def prover(self) -> Prover:
        """The real one, without a pair: imported here, so that a page that asks nothing needs no torch."""
        from specviz.proof.prover import ToyAndPair

        def none() -> tuple[LoadedModel, LoadedModel]:
            raise PairingError("there is no pair in this test; sample the toy.")

        return ToyAndPair(none, nullcontext())

    def _finished(self, rounds: int, drafts: bool) -> Finished:
        whole = self.trace.finished
        if rounds == len(self.trace.rounds):
            return replace(whole, decode_s=whole.decode_s if drafts else 2 * whole.decode_s)
        output = [token.token for this in self.trace.rounds[:rounds] for token in this.committed.tokens]
        text = "".join(self.trace.vocab[str(token)].text for token in output)
        return replace(whole, reason="cancelled", output_ids=output, text=text)


MB = 1_000_000
LACKING = FetchableModel("smollm2", "SmolLM2-135M-Instruct", "Apache-2.0", 3 * MB, "a test's own hands")


class FetchingSource(ReplaySource):
    """Lacks one model of three megabytes, which comes megabyte by megabyte: after the first it waits for `go`."""

    def __init__(self) -> None:
        super().__init__(sample())
        self.go = Event()
        self.here = 0
        self.began: list[int] = []
        """how much was there at each attempt"""
        self.problem: SpecVizError | None = None

    def catalog(self) -> Catalog:
        is_here = self.here >= LACKING.size_bytes
        size = 135_000_000 if is_here else 0
        return replace(
            catalog(),
            models=(*catalog().models, ModelDescription("smollm2", "target", "a real one", size, is_here)),
            fetchable=() if is_here else (LACKING,),
            pairs=pairs(),
        )

    def fetch(self, name: str, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Fetching]:
        assert name == "smollm2"
        self.began.append(self.here)
        if self.problem is not None:
            raise self.problem
        while self.here < LACKING.size_bytes:
            self.here += MB
            yield Fetching(self.here, LACKING.size_bytes)
            while not self.go.wait(0.02):
                if cancelled():
                    return
        yield Fetching(sentence="SmolLM2-135M-Instruct came from a test's own hands (Apache-2.0)")


def sample() -> Trace:
    """The golden trace."""
    return codec.read(SAMPLE)


@contextmanager
def unserved() -> Iterator[gr.Blocks]:
    """A page to draw on that nobody serves: the routes that Gradio makes for every page take 0.2 s."""
    import gradio as gr

    with patch.object(gr.blocks.App, "create_app"), gr.Blocks() as page:
        yield page
