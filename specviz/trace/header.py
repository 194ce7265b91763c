"""The head of a trace: which models, methods and machine made the run, and with what it was asked.

Everything a run needs to be made again stands here, before its first round. Read by checks, views and `specviz audit`;
written by the engine's `header`. Conventions as in `events`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from specviz.trace.exhibits import DatastoreCard, MemoryCard

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


NUMBER_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
"""of a model card's dtype"""


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
