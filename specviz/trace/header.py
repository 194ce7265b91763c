"""The head of a trace: which models, methods and machine made the run, and with what it was asked; and its seal.

Everything a run needs to be made again stands here, before its first round. Read by checks, views and `specviz audit`;
written by the engine's `header`. Conventions as in `events`. The seal is the run's id: a hash over the header, so that
a header that was changed afterwards no longer fits its id. It says that header and id belong together, not who wrote
them.

What a drafter knew when it drafted has a form that every reader can show without knowing the drafter: rows of tokens
under a title. A matched span, the matrix rows behind a tree, retrieved snippets, the iterations of a parallel decoding:
all are exhibits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, Literal, Protocol

ITERATIONS = "guesses by iteration"
"""title of what a parallel decoding shows; a page draws such a run as a whole"""
LOOKED_UP = "looked up in the datastore"
SEEN_BEFORE = "the end of the text, seen before"
"""titles of the end of the text that was looked for"""
HOLDS_PROBABLE = "holds probable"
"""in the title of what a model holds probable after one node: its rows have that distribution's probabilities as
scores"""
MATRIX_AT_START = "the matrix before the first round"
MATRIX_BEHIND = "matrix rows behind the tree"
MATRIX_REWRITTEN = "matrix rows rewritten by this round"
"""titles of what is kept of a matrix of followers: the first has a row's own token in front of its followers, the
others name nodes; together they give the matrix as it stands after any round"""


@dataclass(frozen=True, slots=True)
class ExhibitRow:
    """One line of an exhibit: some tokens, and where they come from."""

    label: str
    """what the line is, in a few plain words: `matched`, `iteration 3`, `after “the”`"""
    tokens: list[int]
    marks: list[int] = field(default_factory=list)
    """indices into `tokens` that stand out; the exhibit's `marked` says why"""
    nodes: list[int] = field(default_factory=list)
    """nodes of this round's tree that were made from this line"""
    position: int | None = None
    """where `tokens` begin in the text (prompt and output together), if they were taken from there"""
    scores: list[float] = field(default_factory=list)
    """one number per token where there is one (a frequency, a probability); empty: none"""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One thing that the drafter knew or learnt in a round."""

    title: str
    rows: list[ExhibitRow]
    marked: str = ""
    """what a mark means, such as `drafted` or `frozen`; empty where nothing is marked"""


@dataclass(frozen=True, slots=True)
class MemoryCard:
    """What the drafter remembered from before this run; the run can be repeated with the same memory alone."""

    origin: str
    """`earlier runs` of the same process, or the name of a file without its folder"""
    runs: int
    """how many runs it was learnt from"""
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class DatastoreCard:
    """The text that a drafter retrieved from; the run can be repeated with the same one alone."""

    name: str
    tokens: int
    """ids, one end per document included"""
    documents: int
    size_bytes: int
    sha256: str
    """of the ids"""


Source = Literal["live", "recorded", "simulated"]


Option = int | float | bool | str | None | list[int]


SIDE = 32
"""pixels of a picture along either side"""
MOST_SHAPES = 3
COLOURS = ("red", "green", "blue", "yellow", "white", "purple")
SHAPES = ("circle", "square", "triangle", "cross")
RADII = {"small": 3, "large": 6}
"""size → pixels from a shape's centre to its edge; it covers twice that and one"""
NUMBERS = ("one", "two", "three")
PLACES = ("top", "bottom", "left", "right", "middle")
RELATIONS = ("left", "right", "above", "below")
GROUNDED = frozenset({*RADII, *COLOURS, *SHAPES, *NUMBERS, *PLACES, *RELATIONS})
"""words that the picture decides"""


@dataclass(frozen=True, slots=True)
class ShapeCard:
    """One shape of a picture."""

    size: str
    colour: str
    shape: str
    x: int
    """pixels from the left edge to the centre"""
    y: int
    """pixels from the top"""


@dataclass(frozen=True, slots=True)
class SceneCard:
    """What the picture shows, and how the run's tokens hang together with it."""

    shapes: list[ShapeCard]
    """a later one is painted over an earlier one"""
    places: list[int]
    """the first ids of the prompt: where the target reads the picture instead of a word"""
    grounded: list[int]
    """ids of words that the picture decides (sizes, colours, shapes, numbers, places, relations), ascending; all others
    are grammar"""


def in_words(scene: SceneCard) -> str:
    """As a request names it: `large red circle at 8,8; small blue square at 24,20`."""
    return "; ".join(f"{shape.size} {shape.colour} {shape.shape} at {shape.x},{shape.y}" for shape in scene.shapes)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Which weights were really used."""

    name: str
    architecture: str
    """transformers class name or adapter name, e.g. `LlamaForCausalLM`"""
    adapter: str
    """which code ran the forward passes: `lean-llama`, `transformers`, `table`"""
    parameters: int
    layers: int
    hidden_size: int
    vocab_size: int
    context_length: int
    dtype: str
    weights_sha256: str
    """hash over the weight files, or over the tensors where there is no file"""
    read_per_pass: int = 0
    """weights that one pass reads: all but an input embedding that is no head too, of which it gathers a few rows, and
    of a trimmed head the kept rows; 0 where nobody counted them"""
    window: int = 0
    """tokens that its narrowest (sliding) attention sees, where that is less than its positions: `context_length` is
    this, because only texts that fit are run. 0: the context is that of its positions"""
    dtype_why: str = field(default="", compare=False)
    """why `auto` took this dtype, in words; empty where another one was asked for. Weights are the same with or without
    it"""


NUMBER_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}
"""of a model card's dtype; int8 is the browser's engine's, whose rows of weights have a scale each beside them"""


class Weighed(Protocol):
    """A model by its card, in a trace or of one that is loaded."""

    @property
    def dtype(self) -> str: ...
    @property
    def read_per_pass(self) -> int: ...


def bytes_per_pass(card: Weighed) -> int:
    """Of weights that one of its passes reads; 0 where it is not known."""
    return card.read_per_pass * NUMBER_BYTES.get(card.dtype, 0)


def in_role(role: str, name: str) -> str:
    """`target` for the target of that name, `target gpt2` for another one."""
    return role if name == role else f"{role} {name}"


@dataclass(frozen=True, slots=True)
class MethodCard:
    """A drafter, a verifier, a tree or a stop policy with every option it ran with."""

    name: str
    options: dict[str, Option]
    lossless: bool
    model: ModelCard | None = None
    """the drafter's own language model, if it has one"""
    deployable: bool = True
    """False: it asked the target beforehand (an oracle); the run is a bound, and its times say nothing about speed"""
    further_models: list[ModelCard] = field(default_factory=list)
    """language models that draft beside `model`, in the order of their drafts"""
    pass_reads: str = ""
    """of a drafter: which weights `read` of its passes counts, in words; empty where they count none"""
    learnt_from: str = ""
    """of a drafter: hash of the target's weights that its own learnt from, where the run's target is the same model in
    other numbers; empty where they are the same, or it learnt nothing"""


@dataclass(frozen=True, slots=True)
class SamplingCard:
    """The transform applied to target logits before anything is judged (Leviathan §2.2)."""

    temperature: float
    top_k: int
    """0: off"""
    top_p: float
    """1.0: off"""


@dataclass(frozen=True, slots=True)
class TokenizerCard:
    name: str
    vocab_size: int
    sha256: str
    special_ids: list[int]


@dataclass(frozen=True, slots=True)
class StepTime:
    """Measured time of one target pass over `rows` new tokens, at a cache of `cached_rows`."""

    rows: int
    cached_rows: int
    median_s: float
    low_s: float
    high_s: float


@dataclass(frozen=True, slots=True)
class Machine:
    device: str
    dtype: str
    threads: int
    cores: int
    processor: str
    python: str
    torch: str
    transformers: str
    system: str


@dataclass(frozen=True, slots=True)
class Branch:
    """This run continues another one from the start of one of its rounds (branching in time)."""

    run_id: str
    round: int
    forced_token: int | None


FORMER_NAMES = {"tree_policy": "growth", "stop_policy": "stopping"}
"""fields of `Started` that formats before 1.3 called otherwise"""


@dataclass(frozen=True, slots=True)
class Started:
    """Everything needed to run it again."""

    run_id: str
    created: str
    """UTC, ISO 8601, to the second"""
    producer: str
    """`specviz 0.1.0`"""
    source: Source
    target: ModelCard
    drafter: MethodCard
    verifier: MethodCard
    sampling: SamplingCard
    tokenizer: TokenizerCard
    machine: Machine
    seed: int
    max_new_tokens: int
    eos_ids: list[int]
    stop: list[str]
    prompt_text: str
    prompt_ids: list[int]
    prompt_name: str | None = None
    """id in the prompt set, if it came from there"""
    step_times: list[StepTime] = field(default_factory=list)
    draft_step_s: float | None = None
    """time of one drafter pass over one new token, if the drafter has a model: mean of four passes behind a target
    pass, as in a round; median over rounds"""
    branch: Branch | None = None
    tree_policy: MethodCard | None = None
    """how the drafter's trees grow, where that was chosen apart from the drafter's own options"""
    stop_policy: MethodCard | None = None
    """when a draft ends, where it may end early"""
    memory: MemoryCard | None = None
    """what the drafter brought along from earlier runs; None: it began with nothing"""
    datastore: DatastoreCard | None = None
    """what the drafter retrieves from; None: nothing"""
    chat_message: str | None = None
    """what the user wrote, where `prompt_text` is the target's chat template around it"""
    scene: SceneCard | None = None
    """the picture that the target saw; None: it read text alone"""


FIRST: Mapping[type, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in (
        (
            Started,
            "run_id created producer source target drafter verifier sampling tokenizer machine seed max_new_tokens "
            "eos_ids stop prompt_text prompt_ids prompt_name step_times draft_step_s branch tree_policy stop_policy "
            "memory datastore",
        ),
        (
            ModelCard,
            "name architecture adapter parameters layers hidden_size vocab_size context_length dtype weights_sha256",
        ),
        (MethodCard, "name options lossless model deployable"),
        (SamplingCard, "temperature top_k top_p"),
        (TokenizerCard, "name vocab_size sha256 special_ids"),
        (StepTime, "rows cached_rows median_s low_s high_s"),
        (Machine, "device dtype threads cores processor python torch transformers system"),
        (Branch, "run_id round forced_token"),
        (MemoryCard, "origin runs size_bytes sha256"),
        (DatastoreCard, "name tokens documents size_bytes sha256"),
    )
}
"""the fields of format 1.0, by today's names; those that came later count only where they say something"""


def seal(started: Started) -> str:
    """The id of a header: 16 hexadecimal digits of the SHA-256 of its JSON, keys sorted, as it was when it was run.

    Sources `live` and `recorded` are the same run. Fields added after format 1.0 are left out where they have their
    default, so that headers written before they existed keep their id. For the same reason the hash goes by the names
    that fields had before format 1.3.
    """
    data = asdict(replace(started, run_id="", source="live"))
    _without_later_defaults(started, data)
    data = {FORMER_NAMES.get(name, name): value for name, value in data.items()}
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def _without_later_defaults(record: Any, data: dict[str, Any]) -> None:
    first = FIRST[type(record)]
    for kept in fields(record):
        value = getattr(record, kept.name)
        default = kept.default_factory() if kept.default_factory is not MISSING else kept.default
        if kept.name not in first and value == default:
            del data[kept.name]
        elif type(value) in FIRST:
            _without_later_defaults(value, data[kept.name])
        elif isinstance(value, list):
            for part, below in zip(value, data[kept.name], strict=True):
                if type(part) in FIRST:
                    _without_later_defaults(part, below)
