"""Eleven generations of drafters on one target: how far each drafts, what a draft costs, and what comes of it.

Place in the flow: `measure` makes the file; the page, the command and the documentation show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from specviz.errors import OptionError
from specviz.studies.chart import Axis, Bars, Chart, Level, Panel, Series
from specviz.studies.study import NICE, STUDIES, Choice, Codec, Flag, Remade, Study, Table, View, count, work_folder
from specviz.theory.speedup import times_as_fast

GENERATIONS: Mapping[str, str] = {
    "model": "model",
    "medusa": "Medusa",
    "markov": "+ Markov",
    "hydra": "Hydra",
    "eagle": "EAGLE",
    "eagle3": "EAGLE-3 form",
    "p_eagle": "P-EAGLE",
    "masked_block": "masked block",
    "dflash": "DFlash",
    "ddtree": "DFlash + DDTree",
    "dspark": "DSpark",
}
"""as they followed each other"""
ONE_PASS = frozenset({"medusa", "markov", "p_eagle", "masked_block", "dflash", "ddtree", "dspark"})
"""of whose drafts all places come from one pass of a network"""
AIM = 1.2
"""times as fast as `model` a one-pass drafter should be"""
EQUAL, SHIPPED_AS = "equal", "shipped"
SETS = {EQUAL: "equal training", SHIPPED_AS: "as shipped"}
POSITION, SPEED, NATIVE = "position", "speed", "native"
SHOWS = {POSITION: "acceptance by position", SPEED: "times plain decoding", NATIVE: "a native head"}
ARMS = {
    "joint": "learnt with its target",
    "apart": "beside a target that learnt alone",
    "frozen": "on the bundled target as it is",
}
HEAD = (
    "generation",
    "learnt from",
    "by position",
    "tokens per pass",
    "ms per draft",
    "ms per round",
    "× plain",
    "alike",
)
TAUGHT_HEAD = ("generation", "parameters", "minutes", "acceptance at T = 1 by position")
NATIVE_HEAD = ("head", "target, nats per token", "acceptance at T = 1 by position", "same first choice")
INTRO = (
    "One frozen target and every generation of drafters in the order in which they appeared: a small model, heads, "
    "heads that know of each other, a layer on the target's states, and blocks that are filled in one pass. With "
    "**equal training** all learnt from the same batches at the same time; **as shipped** they learnt unequally long, "
    "and the table says how long."
)


@dataclass(frozen=True, slots=True)
class Taught:
    """What one network learnt."""

    label: str
    parameters: int
    tokens: int
    """that it learnt from"""
    minutes: float
    """its own steps alone, as the clock on the wall saw them"""
    all_minutes: float
    """all networks, the target's readings and its writing together"""
    acceptance: tuple[float, ...]
    """by position, as `Acceptance` measures it: Σ min(p, q) along held-out text of the target"""


@dataclass(frozen=True, slots=True)
class NativeArm:
    """One target and the same head."""

    name: str
    """`joint`, `apart` or `frozen`"""
    tokens: int
    minutes: float
    nats: float
    """of the target, for each token of held-out text"""
    acceptance: tuple[float, ...]
    """by position, along what this target wrote"""
    agreement: tuple[float, ...]
    """how often target and head have the same first choice"""


@dataclass(frozen=True, slots=True)
class GenerationRow:
    """One generation with one set of weights, over all prompts, greedily."""

    generation: str
    weights: str
    """`equal` or `shipped`"""
    learnt_tokens: int | None
    """None: as many as all of equal training"""
    levels: tuple[tuple[int, int], ...]
    """by position: (rounds that asked about a candidate there, rounds that accepted one), given those before it"""
    tokens: int
    rounds: int
    draft_ms: float
    """mean for each round, of the processor's time"""
    round_ms: float
    """the same of whole rounds: draft, target's pass, verdict, commit"""
    low: float
    ratio: float
    """median over prompts of tokens per second against plain decoding's on the same prompt"""
    high: float
    """quartiles"""
    alike: int
    """texts that are plain decoding's, of `texts`"""
    texts: int

    @property
    def per_pass(self) -> float:
        return self.tokens / self.rounds

    @property
    def title(self) -> str:
        return GENERATIONS[self.generation]

    @property
    def shares(self) -> list[float]:
        """Acceptance by position."""
        return [accepted / tested for tested, accepted in self.levels]


@dataclass(frozen=True, slots=True)
class GenerationsFile:
    rows: tuple[GenerationRow, ...]
    taught: tuple[Taught, ...]
    native: tuple[NativeArm, ...]
    gamma: int
    budget: int
    """candidates of the tree"""
    prompts: int
    max_new_tokens: int
    load: float
    """programs that wanted a processor while it was measured"""
    created: str
    models: dict[str, str]
    """name → SHA-256 of the weights"""
    origin: str
    earlier: str = ""
    """how equal training was measured, where the shipped weights alone were measured since"""

    def of(self, weights: str) -> list[GenerationRow]:
        """In the order in which they appeared."""
        order = {generation: index for index, generation in enumerate(GENERATIONS)}
        rows = [row for row in self.rows if row.weights == weights]
        return sorted(rows, key=lambda row: order.get(row.generation, len(order)))


def problems(file: GenerationsFile) -> Iterator[str]:
    for row in file.rows:
        if row.generation not in GENERATIONS or row.weights not in SETS:
            yield f"there is no generation {row.generation} with {row.weights} weights"
            continue
        if row.rounds < 1 or not 0 < row.draft_ms < row.round_ms or not row.low <= row.ratio <= row.high:
            yield f"{row.title} has impossible times: {row.draft_ms} of {row.round_ms} ms in {row.rounds} rounds"
        if any(not 0 <= accepted <= tested for tested, accepted in row.levels) or not row.levels:
            yield f"{row.title} accepted more than it asked about"
    for weights in SETS:
        if "model" not in [row.generation for row in file.of(weights)]:
            yield f"with {weights} weights there is no model to compare with"
    if len({taught.tokens for taught in file.taught}) != 1:
        yield "the networks did not learn from equally many tokens"


def unequal(file: GenerationsFile) -> list[str]:
    """A sentence for each that wrote another text than plain decoding."""
    return [
        f"{row.title} ({SETS[row.weights]}) wrote another text than plain decoding on {row.texts - row.alike} prompts."
        for row in file.rows
        if row.alike != row.texts
    ]


def choices(file: GenerationsFile) -> tuple[Choice, ...]:
    sets = [(label, name) for name, label in SETS.items()]
    return (
        Choice("weights", "weights", sets),
        Choice("show", "show", [(label, name) for name, label in SHOWS.items()]),
    )


def view(file: GenerationsFile, weights: str, show: str) -> View:
    """One set of weights, or the native head. Raises OptionError for what was not measured."""
    if weights not in SETS or show not in SHOWS:
        raise OptionError(f"'{weights[:40]}, {show[:40]}' was not measured; choose of {', '.join((*SETS, *SHOWS))}.")
    if show == NATIVE:
        return View(native_sentence(file), native_chart(file), (native_table(file),), how(file))
    rows = file.of(weights)
    drawn = by_position(rows) if show == POSITION else speeds(rows)
    tables = (table(file, rows), taught_table(file)) if weights == EQUAL else (table(file, rows),)
    return View(sentence(rows), drawn, tables, how(file))


def sentence(rows: Sequence[GenerationRow]) -> str:
    """Who writes most in a pass, who is fastest, and whether one pass beats `model` by as much as was hoped; if not,
    what is missing."""
    model = next(row for row in rows if row.generation == "model")
    widest, fastest = max(rows, key=lambda row: row.per_pass), max(rows, key=lambda row: row.ratio)
    best = max((row for row in rows if row.generation in ONE_PASS), key=lambda row: row.ratio)
    against = times_as_fast(best.ratio, model.ratio)
    said = (
        f"Most tokens per pass of the target: {widest.title}, {widest.per_pass:.2f}. Fastest: {fastest.title}, "
        f"{fastest.ratio:.2f} × plain decoding. Of those that fill a draft in one pass {best.title} is the fastest, "
        f"{against:.2f} × as fast as the small model"
    )
    if against >= AIM:
        return f"{said}: the {AIM} that were hoped for."
    needed = AIM * model.per_pass * best.round_ms / model.round_ms
    return (
        f"{said}, not the {AIM} that were hoped for: a round of it takes {best.round_ms:.1f} ms against "
        f"{model.round_ms:.1f}, so {needed:.2f} tokens per pass would be needed, and it writes {best.per_pass:.2f}."
    )


def native_sentence(file: GenerationsFile) -> str:
    """What learning together changed, at the first position and in the target."""
    of = {arm.name: arm for arm in file.native}
    joint, apart, frozen = (of[name] for name in ARMS)
    return (
        f"After {joint.tokens:,} tokens the head that learnt with its target is accepted {joint.acceptance[0]:.1%} of "
        f"the time at the first position, beside a target that learnt alone {apart.acceptance[0]:.1%}, on the bundled "
        f"one {frozen.acceptance[0]:.1%}. They are three targets: held-out text costs them {joint.nats:.3f}, "
        f"{apart.nats:.3f} and {frozen.nats:.3f} nats per token."
    )


def by_position(rows: Sequence[GenerationRow]) -> Chart:
    """A line for each generation; one-pass drafters have hollow marks, for colour is not the only sign."""
    series = [
        Series(
            row.title,
            list(range(1, len(row.shares) + 1)),
            row.shares,
            index,
            hollow=row.generation in ONE_PASS,
            hover=": position %{x}, %{customdata} accepted",
            extra=[f"{accepted} of {tested}" for tested, accepted in row.levels],
        )
        for index, row in enumerate(rows)
    ]
    axis = Axis("position in the draft, all before it accepted (hollow: one pass for the whole draft)", spacing=1)
    return Chart(axis, (Panel(series, Axis("accepted", range=(0, 1.02), form=".0%")),), 460, legend="below")


def speeds(rows: Sequence[GenerationRow]) -> Chart:
    """A bar for each generation; those of one pass are hatched."""
    bars = [
        Bars(
            name,
            [row.title for row in group],
            [row.ratio for row in group],
            [row.low for row in group],
            [row.high for row in group],
            index,
            pattern,
            ": %{y:.2f} × plain",
        )
        for index, (name, pattern, group) in enumerate(
            (
                ("a pass for each token", "", [row for row in rows if row.generation not in ONE_PASS]),
                ("one pass for the draft", "/", [row for row in rows if row.generation in ONE_PASS]),
            )
        )
    ]
    axis = Axis(categories=[row.title for row in rows], angle=-30)
    levels = (Level(1.0, "plain decoding"),)
    return Chart(axis, (Panel(bars, Axis("× plain, quartiles over prompts", from_zero=True)),), 460, levels=levels)


def native_chart(file: GenerationsFile) -> Chart:
    """A line for each target."""
    series = [
        Series(ARMS[arm.name], list(range(1, len(arm.acceptance) + 1)), arm.acceptance, index, hover=": %{y:.3f}")
        for index, arm in enumerate(file.native)
    ]
    panel = Panel(series, Axis("Σ min(p, q), temperature 1", range=(0, 1.02)))
    return Chart(Axis("position in the draft", spacing=1), (panel,), 420)


def table(file: GenerationsFile, rows: Sequence[GenerationRow]) -> Table:
    """A row for each generation."""
    equal = file.taught[0].tokens
    return Table(
        HEAD,
        [
            (
                row.title, f"{equal if row.learnt_tokens is None else row.learnt_tokens:,}",
                " ".join(f"{share:.2f}" for share in row.shares), f"{row.per_pass:.2f}", f"{row.draft_ms:.2f}",
                f"{row.round_ms:.2f}", f"{row.ratio:.2f} ({row.low:.2f} to {row.high:.2f})", f"{row.alike}/{row.texts}",
            )
            for row in rows
        ],
    )  # fmt: skip


def taught_table(file: GenerationsFile) -> Table:
    """What each network learnt, on held-out text of the target; the tree has the network of its block."""
    rows = [
        (
            GENERATIONS[taught.label], f"{taught.parameters:,}", f"{taught.minutes:.1f}",
            " ".join(f"{share:.2f}" for share in taught.acceptance),
        )
        for taught in file.taught
    ]  # fmt: skip
    first = file.taught[0]
    caption = f"{first.tokens:,} tokens each; all networks together took {first.all_minutes:.0f} minutes"
    return Table(TAUGHT_HEAD, rows, caption)


def native_table(file: GenerationsFile) -> Table:
    """A row for each target."""
    rows = [
        (ARMS[arm.name], f"{arm.nats:.3f}", *(" ".join(f"{share:.2f}" for share in each) for each in shares))
        for arm in file.native
        for shares in [(arm.acceptance, arm.agreement)]
    ]
    return Table(NATIVE_HEAD, rows, f"{file.native[0].tokens:,} tokens each")


def how(file: GenerationsFile) -> str:
    first = file.taught[0]
    return (
        f"The bundled target, frozen. Equal training: {first.tokens:,} tokens for every network, all side by side in "
        f"{first.all_minutes:.0f} minutes of a busy machine. Greedy chains of {file.gamma}, the tree {file.budget} "
        f"candidates; {file.prompts} prompts, {file.max_new_tokens} tokens, one thread. Times are the processor's own; "
        f"{file.load:.0f} program{'' if round(file.load) == 1 else 's'} wanted it. {file.origin}"
        + (
            f" That is of the shipped weights; equal training was measured before: {file.earlier}"
            if file.earlier
            else ""
        )
    )


def markdown(file: GenerationsFile) -> str:
    parts = [how(file)]
    for weights, label in SETS.items():
        rows = file.of(weights)
        parts += [f"### {label.capitalize()}", f"**{sentence(rows)}**", table(file, rows).markdown()]
        if weights == EQUAL:
            parts += [taught_table(file).markdown()]
    return "\n\n".join([*parts, "### A native head", f"**{native_sentence(file)}**", native_table(file).markdown()])


STUDY = STUDIES.add(
    Study(
        name="generations",
        home=__package__,
        summary="eleven generations of drafters on one target, after equal training and as shipped; a native head",
        question="Which generation of drafters?",
        order=25,
        intro=INTRO,
        codec=Codec(
            GenerationsFile, "study of generations", 6, "specviz study generations --write", problems=problems
        ),
        file="studies/generations.json",
        page="generations.md",
        section="generations study",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(
            count("--train-tokens", 400_000, "tokens that every network learns from, where the minutes last"),
            Flag(
                "--minutes", "of training for all networks together, whichever runs out first (default %(default)s)",
                58.0, float, "MINUTES",
            ),
            count("--native-tokens", 40_000, "tokens for each target of the native head"),
            Flag("--shipped-only", "measure the shipped weights alone: all else stays that of the kept result"),
            count("--prompts", 1, "prompts of each family"),
            count("--max-new-tokens", 32, "tokens of each text, where it does not end before"),
            count("--gamma", 4, "tokens of a chain"),
            Flag("--drafter-model", "the small model as shipped (default %(default)s)", "drafter", str, "NAME"),
            work_folder("generations", "training goes on from here after a break"),
            NICE,
        ),
        shared_flags="target",
        complaints=unequal,
        remade=Remade("eleven generations of drafters", 45, ("--dtype", "float32")),
    )
)  # fmt: skip
