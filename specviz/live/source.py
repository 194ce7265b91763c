"""The live source: requests in words become runs of the engine on real models.

    RunRequest ─► plan (names, options, pairing) ─► models ─► session ─► decode ─► Steps

Models are kept by name, device and dtype. One engine lane: runs of several visitors take turns round by round, so
that every time in a trace is that of a machine doing one thing. Knows nothing about screens and commands.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

from specviz.bench.profile.measure import profile
from specviz.core.randomness import SeededDice
from specviz.core.sampling import Sampling
from specviz.datastore.retrieval import Datastores
from specviz.drafters.base import DRAFTERS, Drafter, Habit
from specviz.drafters.capabilities import (
    Remembers,
    Retrieves,
    Tunes,
    UsesModel,
    model_of,
    policies_of,
    retrieves,
    with_model,
)
from specviz.engine.decode import Cancelled, decode
from specviz.engine.header import Participants, started
from specviz.engine.memory import Memories
from specviz.engine.pairing import check_pairing, follow
from specviz.engine.recorder import Recorder
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import ModelError, OptionError, PromptError, SpecVizError
from specviz.live import catalog
from specviz.lm.base import LanguageModel
from specviz.lm.load import LoadedModel, load
from specviz.lm.place import choose_device, locate
from specviz.lm.step_time import use_threads
from specviz.lm.text import TextCodec, check_vocabularies
from specviz.options import Options, describe, to_mapping
from specviz.proof.prover import ToyAndPair
from specviz.protocol.profiles import Profiled, ProfileRequest
from specviz.protocol.proofs import Prover
from specviz.protocol.runs import MEMORY_WAYS, Catalog, Learned, Resume, RunRequest, TraceSource
from specviz.stop_policies.base import STOPS
from specviz.trace.assemble import assemble
from specviz.trace.events import Trace
from specviz.trace.exhibits import DatastoreCard
from specviz.trace.steps import Step
from specviz.training.stop_classifiers.learn import learn
from specviz.tree_policies.base import GROWTHS, Pair, StepCosts
from specviz.verifiers.base import VERIFIERS, Verifier

AUTO_VERIFIER = {True: "greedy", False: "sequential"}
"""by whether the temperature is zero"""
OWN_GROWTH = "auto"
"""trees grow as the drafter's own options say"""
MOST_TOP = 64

Loader = Callable[..., LoadedModel]


@dataclass(frozen=True, slots=True)
class Plan:
    """A request whose names and options are known to be good; nothing is loaded yet. Its drafter is for one run."""

    drafter: Drafter[Options]
    verifier: Verifier[Options]
    sampling: Sampling
    limits: Limits


def make_plan(request: RunRequest) -> Plan:
    """Raises OptionError or PairingError where the request cannot be run."""
    sampling = Sampling(request.temperature, request.top_k, request.top_p)
    kind = DRAFTERS.get(request.drafter)
    drafter = kind.of(request.drafter_options)
    name = AUTO_VERIFIER[sampling.greedy] if request.verifier == "auto" else request.verifier
    verifier = VERIFIERS.get(name)
    follow(drafter, make_habit(request))
    _check_shape(drafter)
    check_pairing(drafter, verifier, sampling)
    _check_memory(request, drafter)
    if request.datastore and not retrieves(drafter):
        raise OptionError(f"the drafter '{request.drafter}' retrieves nothing with these options; leave out datastore.")
    if not 1 <= request.top <= MOST_TOP:
        raise OptionError(f"top is {request.top}, but must lie between 1 and {MOST_TOP}.")
    judge = verifier.of(request.verifier_options)
    limits = Limits(request.max_new_tokens, frozenset(), request.stop)
    return Plan(drafter, judge, sampling, limits)


def _check_shape(drafter: Drafter[Options]) -> None:
    """Raises OptionError where a shape is asked of the drafter that its tree policy decides."""
    growth, values = policies_of(drafter).growth, to_mapping(drafter.options)
    if growth is None:
        return
    default = to_mapping(type(drafter.options)())
    for name in (one.name for one in describe(type(drafter.options)) if one.shape):
        if values[name] != default[name]:
            raise OptionError(
                f"{name} of the drafter '{drafter.name}' is {values[name]}, but the growth policy '{growth.name}' "
                f"decides the shape of its drafts; leave {name} out and use the policy's own options "
                f"({', '.join(to_mapping(growth.options))}), or leave growth at '{OWN_GROWTH}'."
            )


def _check_memory(request: RunRequest, drafter: Drafter[Options]) -> None:
    """Raises OptionError where a memory is asked for in a way there is not, or of a drafter that has none."""
    if request.memory not in MEMORY_WAYS:
        raise OptionError(f"memory is '{request.memory}', but must be one of {', '.join(MEMORY_WAYS)}.")
    if not isinstance(drafter, Remembers) and (request.memory != "cold" or request.memory_file):
        raise OptionError(
            f"the drafter '{request.drafter}' learns nothing that would outlast a run; leave memory at 'cold' and "
            "memory_file empty."
        )
    if request.memory_file and request.memory == "cold":
        raise OptionError("memory_file needs memory 'warm' or 'reset'; with 'cold' nothing is read or kept.")


def make_habit(request: RunRequest) -> Habit:
    """The growth and stop policy that a request names. Raises OptionError where there is none, or for bad options."""
    stop = STOPS.get(request.stopping)
    stopping = stop.of(request.stopping_options)
    if request.stopping_weights is not None:
        stopping.use(request.stopping_weights)
    if request.growth == OWN_GROWTH:
        if request.growth_options:
            raise OptionError(
                f"growth is '{OWN_GROWTH}', which has no options, but {', '.join(request.growth_options)} was given; "
                "choose a growth policy or use the drafter's own options."
            )
        return Habit(stop=stopping)
    growth = GROWTHS.get(request.growth)
    return Habit(growth.of(request.growth_options), stopping)


class LiveSource:
    """A `TraceSource` that computes."""

    def __init__(
        self, load: Loader = load, measure: bool = True, threads: int = 1, datastores: Datastores | None = None
    ) -> None:
        """`load` and `datastores` may be replaced in tests; without `measure` headers carry no step times."""
        use_threads(threads)
        self._load = load
        self._measure = measure
        self._models: dict[tuple[str, str, str], LoadedModel] = {}
        self._memories = Memories()
        self._datastores = datastores or Datastores()
        self._loading = Lock()
        self._lane = Lock()
        self._status = "models not loaded yet"

    def catalog(self) -> Catalog:
        return catalog.build()

    def status(self) -> str:
        return self._status

    def warm(self) -> None:
        """Load the default models and measure their step times."""
        request = RunRequest(prompt="")
        try:
            participants = self._participants(request, make_plan(request))
            with self._lane:
                participants.measure()
        except SpecVizError as error:
            self._status = f"models failed to load: {error}"
            raise

    def explain(self, request: RunRequest) -> str | None:
        """Asks everything that can be asked without loading or downloading."""
        try:
            plan = make_plan(request)
            choose_device(request.device)
            names = [request.target, request.drafter_model] if isinstance(plan.drafter, UsesModel) else [request.target]
            for name in names:
                if self._load is load and "/" not in name:
                    locate(name)
        except SpecVizError as error:
            return str(error)
        return None

    def run(
        self, request: RunRequest, cancelled: Cancelled = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        """See `TraceSource.run`. An empty prompt starts from the tokenizer's end-of-text token. A resumed run
        counts `max_new_tokens` from the branching point.

        Raises SpecVizError before the first step where the request cannot be run.
        """
        plan = make_plan(request)
        participants = self._participants(request, plan)
        text = participants.target.tokenizer
        prompt_ids = _context(resume, text) if resume is not None else _encode(text, request.prompt)
        limits = Limits(request.max_new_tokens, frozenset(participants.target.info.eos_ids), request.stop)
        special = frozenset(text.special_ids)
        ending = Ending(limits, lambda token: b"" if token in special else text.token_bytes(token))
        drafting = participants.drafter
        drafter = with_model(plan.drafter, drafting.model if drafting is not None else None)
        method = Method(drafter, plan.verifier, plan.sampling, SeededDice(request.seed))
        start = Start(prompt_ids) if resume is None else Start(prompt_ids, resume.forced_token, resume.round)
        session = Session(participants.target.model, method, start, ending)
        growth = policies_of(drafter).growth
        if growth is not None and participants.drafter is not None:
            target, draft = (one.info.weights_sha256 for one in (participants.target, participants.drafter))
            growth.prepare(Pair(target, draft, request.temperature))
        if self._measure:
            with self._lane:
                participants.measure(model_of(drafter))
            _tune(drafter, participants)
        memory = None
        if request.memory == "warm":
            memory = self._memories.recall(drafter, text.sha256, request.memory_file)
        datastore = self._consult(drafter, request, text)
        header = started(request, participants, method, prompt_ids, resume, memory, datastore)
        yield from decode(header, session, Recorder(text, request.top, request.record), cancelled, self._lane)
        if request.memory != "cold":
            self._memories.keep(drafter, text.sha256, memory is None, request.memory_file)

    def _consult(self, drafter: Drafter[Options], request: RunRequest, text: TextCodec) -> DatastoreCard | None:
        """Hand over the datastore to a drafter that retrieves; what it is."""
        if not isinstance(drafter, Retrieves) or not drafter.retrieves():
            return None
        store = self._datastores.get(text, request.target, request.datastore, self._say)
        self._status = "models ready"
        drafter.consult(store)
        return store.card

    def _say(self, status: str) -> None:
        self._status = status

    def profile(self, request: ProfileRequest, cancelled: Cancelled = lambda: False) -> Iterator[Profiled]:
        """See `Profiles.profile`."""

        def loaded(name: str, device: str, dtype: str) -> LoadedModel:
            return self._model(name, RunRequest(prompt="", device=device, dtype=dtype))

        yield from profile(request, loaded, cancelled, self._lane)

    def learn(self, traces: Sequence[Trace], policy: str) -> Learned:
        """See `TraceSource.learn`. Models are loaded only for a policy that looks at hidden states."""
        return learn(traces, policy, self._drafter_of)

    def prover(self) -> Prover:
        """See `TraceSource.prover`. What is sampled is computed in float32, like the law it is compared with."""
        exact = RunRequest(prompt="", dtype="float32")
        return ToyAndPair(
            lambda: (self._model(exact.target, exact), self._model(exact.drafter_model, exact)), self._lane
        )

    def _drafter_of(self, trace: Trace) -> LanguageModel:
        drafter, usual = trace.started.drafter.model, RunRequest(prompt="")
        return self._model(drafter.name if drafter else usual.drafter_model, usual).model

    def _participants(self, request: RunRequest, plan: Plan) -> Participants:
        target = self._model(request.target, request)
        drafter = self._model(request.drafter_model, request) if isinstance(plan.drafter, UsesModel) else None
        if drafter is not None:
            check_vocabularies(target.tokenizer, drafter.tokenizer)
        self._status = "models ready"
        return Participants(target, drafter)

    def _model(self, name: str, request: RunRequest) -> LoadedModel:
        key = (name, request.device, request.dtype)
        with self._loading:
            if key not in self._models:
                self._status = f"loading {name}…"
                try:
                    self._models[key] = self._load(name, device=request.device, dtype=request.dtype)
                    _spare_the_collector()
                except ModelError as error:
                    self._status = f"{name} failed to load: {error}"
                    raise
            return self._models[key]


def _tune(drafter: Drafter[Options], who: Participants) -> None:
    """Tell drafter and growth policy what passes cost here; what they make of it is in their options, and so in the
    header."""
    costs = StepCosts([(one.rows, one.median_s) for one in who.step_times], who.draft_step_s or 0.0)
    if costs.target and isinstance(drafter, Tunes):
        drafter.tune(costs)
    growth = policies_of(drafter).growth
    if growth is not None and who.draft_step_s is not None:  # parts of the target cost what no one measured
        growth.tune(costs)


def _spare_the_collector() -> None:
    """Take what was loaded (models, libraries) out of the garbage collector's rounds, which would stop runs with it."""
    gc.collect()
    gc.freeze()


def _encode(text: TextCodec, prompt: str) -> list[int]:
    """Prompt ids, never empty. Raises PromptError where an empty prompt has nothing to start from."""
    ids = text.encode(prompt)
    if not ids and not text.eos_ids:
        raise PromptError("the prompt is empty and the tokenizer has no end-of-text token to start from; write a word.")
    return ids or [text.eos_ids[0]]


def _context(resume: Resume, text: TextCodec) -> list[int]:
    """The text as it stood when the round began. Raises OptionError where the trace cannot be continued here."""
    trace = resume.trace
    if trace.started.tokenizer.sha256 != text.sha256:
        raise OptionError(
            f"the trace was made with the tokenizer of {trace.started.tokenizer.name}, which is not that of "
            f"{text.name}; continue it with its own target."
        )
    if not 0 <= resume.round <= len(trace.rounds):
        raise OptionError(f"there is no round {resume.round} in this trace; choose 0 to {len(trace.rounds)}.")
    ids = list(trace.started.prompt_ids)
    for one in trace.rounds[: resume.round]:
        ids += [committed.token for committed in one.committed.tokens]
    return ids


def collect(
    source: TraceSource, request: RunRequest, cancelled: Cancelled = lambda: False, resume: Resume | None = None
) -> Trace:
    """Run to the end and keep the whole trace."""
    return assemble(source.run(request, cancelled, resume))
