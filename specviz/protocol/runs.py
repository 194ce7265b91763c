"""Where traces come from, as the screen and the command line see it: a live engine, a file, a simulator.

Plain data and one protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, runtime_checkable

from specviz.protocol.choice import STANDARD, Choice
from specviz.protocol.profiles import Profiled, ProfileRequest
from specviz.protocol.proofs import Prover
from specviz.protocol.trainings import WEIGHTS
from specviz.trace.events import Option, Step, Trace
from specviz.trace.header import Started, in_words

MEMORY_WAYS = ("cold", "warm", "reset")
"""values of `RunRequest.memory`, the default first"""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run, in words. Names are looked up by the source; options are validated there."""

    prompt: str
    target: str = "target"
    """bundled name, local folder or hub id"""
    drafter: Choice = STANDARD["drafter"]
    drafter_model: str = "drafter"
    """weights of a drafter that needs a model; ignored by the others"""
    tree_policy: Choice = STANDARD["tree_policy"]
    """tree policy of a drafter that grows trees; `auto`: as the drafter's own options say"""
    stop_policy: Choice = STANDARD["stop_policy"]
    """stop policy of such a drafter: when a draft ends"""
    memory: str = "cold"
    """for drafters that remember; `cold`: begin with nothing and keep nothing; `warm`: begin with what earlier runs
    left, and leave what is learnt to the next; `reset`: begin with nothing, and leave what is learnt"""
    memory_file: str = ""
    """file that holds the memory between processes; empty: this process alone"""
    stop_policy_weights: Mapping[str, Any] | None = None
    """weights of a stop policy that learns, as `TraceSource.learn` gave them; None: the shipped ones"""
    datastore: str = ""
    """file that a drafter retrieves from; empty: that of the target's tokenizer in the user's cache"""
    verifier: Choice = STANDARD["verifier"]
    """`auto`: greedy at temperature 0, sequential above"""
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 7
    max_new_tokens: int = 64
    stop: tuple[str, ...] = ()
    prompt_name: str | None = None
    chat: bool = False
    """the prompt is a user's message, put into the target's chat template"""
    scene: str = ""
    """the picture for a target that sees one, such as `large red circle at 8,8; small blue square at 24,20`; the prompt
    is then the caption's beginning, or empty"""
    dtype: str = "auto"
    device: str = "auto"
    record: bool = True
    """False: no per-node distributions are kept (benchmarks); the events are otherwise the same"""
    stepwise: bool = True
    """False: nobody watches the rounds come, so several may be handed over at a time, which costs less"""
    top: int = 10
    """how many tokens of each distribution the trace keeps"""
    recorded: bool = False
    """the options are those of a trace's header: one that does nothing with the others is dropped instead of refused,
    as earlier releases wrote such options down"""

    def with_drafter(
        self, drafter: str, options: Mapping[str, Option] | None = None, keeps_policies: bool = False
    ) -> RunRequest:
        """The same request with another drafter, with nothing left that belonged to the one before: its options, tree
        policy, stop policy and weights, and memory. `keeps_policies`: the new one grows its drafts by the same."""
        standard = RunRequest(prompt="")
        policies = ["tree_policy", "stop_policy", "stop_policy_weights"]
        cleared = ["memory", "memory_file", *([] if keeps_policies else policies)]
        values: dict[str, Any] = {name: getattr(standard, name) for name in cleared}
        return replace(self, drafter=Choice(drafter, dict(options or {})), **values)


def setting_names() -> list[str]:
    """What a run's settings may be called: the fields of a request, with the options of a choice apart or in it."""
    names = [field.name for field in fields(RunRequest)]
    return [part for name in names for part in ((name, f"{name}_options") if name in STANDARD else (name,))]


def request_of(started: Started) -> RunRequest:
    """The request that would run this trace again."""
    request = RunRequest(
        prompt=started.prompt_text if started.chat_message is None else started.chat_message,
        chat=started.chat_message is not None,
        prompt_name=started.prompt_name,
        target=started.target.name,
        drafter=Choice(started.drafter.name, dict(started.drafter.options)),
        verifier=Choice(started.verifier.name, dict(started.verifier.options)),
        temperature=started.sampling.temperature,
        top_k=started.sampling.top_k,
        top_p=started.sampling.top_p,
        seed=started.seed,
        max_new_tokens=started.max_new_tokens,
        stop=tuple(started.stop),
        scene="" if started.scene is None else in_words(started.scene),
        recorded=True,
        dtype=started.machine.dtype,  # `auto` goes by the machine, and another format rounds to another text
    )
    for role, card in (("tree_policy", started.tree_policy), ("stop_policy", started.stop_policy)):
        if card is not None:
            choice: dict[str, Any] = {role: Choice(card.name, dict(card.options))}
            request = replace(request, **choice)
    model = started.drafter.model
    return request if model is None else replace(request, drafter_model=model.name)


@dataclass(frozen=True, slots=True)
class Resume:
    """Continue `trace` from the start of round `round`, optionally forcing the next token (branching in time)."""

    trace: Trace
    round: int
    forced_token: int | None = None


@dataclass(frozen=True, slots=True)
class OptionCard:
    """One option of a method, enough to draw a control or a flag."""

    name: str
    type: str
    """`int`, `float`, `bool`, `str`, `ints` (e.g. 3,2,1)"""
    default: Option
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    counts: str = ""
    """what it counts of a draft: `candidates`, `levels` or `per_level`; empty: nothing"""
    unless: str = ""
    """another option of the same method that replaces this one where it is set"""
    needs: str = ""
    """another option of the same method without which this one does nothing"""
    shape: bool = False
    """drafters: it describes the shape of a draft, which a tree policy decides where the run has one"""


@dataclass(frozen=True, slots=True)
class MethodDescription:
    name: str
    summary: str
    """first line of the docstring"""
    description: str
    """the whole docstring"""
    lossless: bool
    options: tuple[OptionCard, ...]
    needs_model: bool = False
    temperatures: str = "any"
    """verifiers: `any` or `zero`"""
    grows: bool = False
    """drafters: has a tree policy and a stop policy"""
    remembers: bool = False
    """drafters: can go on with what earlier runs taught it (`RunRequest.memory`)"""
    retrieves: bool = False
    """drafters: looks continuations up in a datastore, with its default options (`RunRequest.datastore`)"""
    standing: str = ""
    """what measurements say of it, as a sentence"""
    learns: bool = False
    """stop policies: goes by weights that `TraceSource.learn` makes"""
    deployable: bool = True
    """stop policies: False where it asks the target beforehand; such a run is a bound, and no speed is taken from it"""
    guesses_from: str = ""
    """drafters: what they draft from; empty: they do not say"""
    training: str = ""
    """drafters: what must be trained first"""
    memory: str = ""
    """drafters: what they keep beside the target and its cache"""
    package: str = "specviz"
    """where it comes from; another name for a plug-in"""


@dataclass(frozen=True, slots=True)
class ModelDescription:
    name: str
    role: str
    """`target`, `drafter`, `captioner` or `caption drafter`"""
    summary: str
    parameters: int
    available: bool
    licence: str = ""
    """of one from the hub that is offered here; empty for the bundled ones"""


@dataclass(frozen=True, slots=True)
class FetchableModel:
    """A real model that is not on this machine yet, and that `Fetches.fetch` brings there."""

    name: str
    title: str
    licence: str
    size_bytes: int
    """that are downloaded"""
    origin: str
    """where they come from"""


@dataclass(frozen=True, slots=True)
class Fetching:
    """How far a model is on its way to this machine."""

    here: int = 0
    """bytes, those of an earlier attempt among them"""
    total: int = 0
    sentence: str = ""
    """where it came from, once it can be used; no bytes are counted then"""


@dataclass(frozen=True, slots=True)
class DatastoreDescription:
    """A text that drafters may retrieve from, built on this machine."""

    file: str
    name: str
    tokens: int
    size_bytes: int
    built: str
    """day, as 2026-01-31"""


@dataclass(frozen=True, slots=True)
class PromptCard:
    id: str
    family: str
    title: str
    description: str
    text: str


@dataclass(frozen=True, slots=True)
class FamilyCard:
    """A family of prompts in plain words."""

    name: str
    title: str
    expect: str
    """one line: what to expect of its texts, and why"""
    measured: str = ""
    """what a sweep measured on them (`bench/sweep/expectations.py`); empty: nothing yet"""


@dataclass(frozen=True, slots=True)
class ModelPair:
    """A target with what goes with it: what drafts for it, and prompts that it was made for. Chosen as one."""

    name: str
    title: str
    targets: tuple[str, ...]
    """names of the target; the first is the one that a run asks for"""
    knows: str
    """what to expect of its texts, in one line"""
    chat: bool
    """its prompts are messages"""
    drafters: tuple[str, ...]
    """names of those that can draft for it"""
    drafter: str
    """the one to begin with"""
    prompts: tuple[PromptCard, ...]
    families: tuple[FamilyCard, ...]

    @property
    def target(self) -> str:
        return self.targets[0]


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything a visitor can choose from."""

    models: tuple[ModelDescription, ...]
    drafters: tuple[MethodDescription, ...]
    verifiers: tuple[MethodDescription, ...]
    prompts: tuple[PromptCard, ...]
    """of the bundled pair"""
    tree_policies: tuple[MethodDescription, ...] = ()
    stop_policies: tuple[MethodDescription, ...] = ()
    datastores: tuple[DatastoreDescription, ...] = ()
    """the newest first"""
    families: tuple[FamilyCard, ...] = ()
    """of the prompts, in their order"""
    fetchable: tuple[FetchableModel, ...] = ()
    """real models that this machine lacks"""
    pairs: tuple[ModelPair, ...] = ()
    """the bundled one first"""


def trainable(catalog: Catalog) -> list[str]:
    """The drafters whose weights can be trained here: those with an option for them."""
    return [drafter.name for drafter in catalog.drafters if any(card.name == WEIGHTS for card in drafter.options)]


@dataclass(frozen=True, slots=True)
class Learned:
    """What a stop policy learnt from runs."""

    policy: str
    weights: Mapping[str, Any]
    """plain JSON data, for `RunRequest.stop_policy_weights` or a file"""
    sentence: str
    """what came out, for a visitor"""
    numbers: Mapping[str, int | float | str | None]
    """the same as numbers"""


@runtime_checkable
class Profiles(Protocol):
    """A trace source with a machine behind it; recordings and simulations have none."""

    def profile(self, request: ProfileRequest, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Profiled]:
        """Time target passes of every width, telling progress; stops early with what it has where cancelled.

        Raises SpecVizError where it cannot be measured.
        """
        ...


@runtime_checkable
class Renders(Protocol):
    """A trace source that knows what a target reads; recordings and simulations do not."""

    def rendered(self, request: RunRequest) -> str:
        """The text that the target of `request` will read: the prompt, or its chat template around it. Reads the
        target's tokenizer and no weights. Raises SpecVizError where there is no such model or template."""
        ...


@runtime_checkable
class Surprised(Protocol):
    """A trace source that knows how surprising a prompt is to a target; recordings and simulations do not."""

    def surprise(self, request: RunRequest) -> float | None:
        """Mean nats per token of the prompt, by the target of `request`; None where the prompt is too short or too long
        to say. Raises SpecVizError where there is no such model."""
        ...


@runtime_checkable
class Fetches(Protocol):
    """A trace source with a machine on which models can be kept; recordings and simulations have none."""

    def fetch(self, name: str, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Fetching]:
        """Bring one of the catalog's fetchable models there, telling progress; its last state says where it came from.
        Where cancelled, it ends without, and goes on from there the next time. Raises SpecVizError where there is no
        network or no room."""
        ...


class TraceSource(Protocol):
    """The one door from the screen to whatever produces traces."""

    def catalog(self) -> Catalog: ...

    def status(self) -> str:
        """One short line: `engine ready`, `loading target…`, or why it failed."""
        ...

    def warm(self) -> None:
        """Load the default models (called in the background)."""
        ...

    def explain(self, request: RunRequest) -> str | None:
        """Why this request cannot run, as one sentence with the cure; None if it can."""
        ...

    def run(
        self, request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        """Yields Started, then each Round as soon as it is computed, then Finished (reason `cancelled` if stopped).
        Where the request is not `stepwise`, Started comes once the prompt is read, and rounds several at a time."""
        ...

    def learn(self, traces: Sequence[Trace], policy: str) -> Learned:
        """Train this stop policy on the rounds of these traces; a few seconds. Raises SpecVizError where it cannot."""
        ...

    def prover(self) -> Prover:
        """Who answers questions about losslessness."""
        ...
