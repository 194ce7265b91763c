"""How far a block of `dflash` is accepted as a chain and as a tree, with each of its shipped weights.

Place in the flow: `measure` counts it in traces; the Studies tab draws it, and the drafter's page has the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from specviz.errors import OptionError
from specviz.studies.chart import Axis, Chart, Panel, Series
from specviz.studies.study import STUDIES, THREADS, Choice, Codec, Remade, Study, Table, View, count

FORMAT, VERSION = "specviz-blocks", "1.0"
TEMPERATURES = (0.0, 0.8)
CHAIN, TREE, READ_AGAIN = "chain", "tree", "read_again"
SHAPES: Mapping[str, str] = {
    CHAIN: "as a chain",
    TREE: "as a tree",
    READ_AGAIN: "as a tree, branches read again",
}
TRAINED: Mapping[str, str] = {"usual": "usual", "selector": "with the selector", "causal": "trained causal"}
"""the shipped weights, and how they differ"""
WAYS = (
    *((trained, CHAIN) for trained in TRAINED),
    *((trained, TREE) for trained in TRAINED),
    ("causal", READ_AGAIN),
)
"""what is compared; only causal rows can be told a branch"""
INTRO = (
    "A block that is filled in one pass says of each place what stands there, whatever stands before it. Three ways "
    "let tokens of a block know of each other: **a selector** (DFlash 2) scores the likeliest tokens of a place behind "
    "the token before it; **causal** rows (JetSpec) see the rows before them; and a tree over these can be **read "
    "again**, each branch with its own tokens. All of them drafted on the same prompts. Tokens per round do not say "
    "who is faster: reading again is a second pass of the block, and the selector is asked once per level of a draft."
)


@dataclass(frozen=True, slots=True)
class BlockRow:
    """One way on all prompts at one temperature."""

    trained: str
    shape: str
    temperature: float
    rounds: int
    """that drafted"""
    reached: tuple[int, ...]
    """of them, those that accepted 1 candidate or more, 2 or more, and so on"""

    @property
    def per_round(self) -> float:
        """Tokens: what was accepted, and one of the target."""
        return 1 + sum(self.reached) / self.rounds


@dataclass(frozen=True, slots=True)
class BlocksFile:
    """One measurement."""

    format: str
    version: str
    rows: tuple[BlockRow, ...]
    gamma: int
    """of a chain"""
    budget: int
    """candidates of a tree"""
    prompts: int
    max_new_tokens: int
    models: dict[str, str]
    """model → SHA-256 of its weights"""

    def at(self, temperature: float) -> dict[tuple[str, str], BlockRow]:
        return {(row.trained, row.shape): row for row in self.rows if row.temperature == temperature}


def problems(file: BlocksFile) -> Iterator[str]:
    """What cannot be so."""
    if any(tuple(file.at(temperature)) != WAYS for temperature in TEMPERATURES):
        yield f"its rows are not the {len(WAYS)} that are compared at each temperature"
    for row in file.rows:
        if list(row.reached) != sorted(row.reached, reverse=True) or max(row.reached, default=0) > row.rounds:
            yield f"{row.trained}, {row.shape} accepts further candidates in more rounds than it accepts earlier ones"


def sentence(file: BlocksFile, temperature: float) -> str:
    """Tokens per round of each way, and which has most."""
    rows = file.at(temperature)
    chain, tree = (
        f"{rows['selector', shape].per_round:.2f} tokens per round with the selector, "
        f"{rows['usual', shape].per_round:.2f} without it"
        for shape in (CHAIN, TREE)
    )
    best = max(rows.values(), key=lambda row: row.per_round)
    return (
        f"Temperature {temperature:g}: a chain has {chain}; a tree has {tree}, "
        f"{rows['causal', TREE].per_round:.2f} with causal rows, and {rows['causal', READ_AGAIN].per_round:.2f} where "
        f"its branches are read again. Most: {TRAINED[best.trained]}, {SHAPES[best.shape]}."
    )


def choices(file: BlocksFile) -> tuple[Choice]:
    return (Choice("temperature", "temperature", [(f"{value:g}", f"{value:g}") for value in TEMPERATURES]),)


def view(file: BlocksFile, temperature: str) -> View:
    """The chains above the trees. Raises OptionError for a temperature that was not measured."""
    measured = {f"{value:g}": value for value in TEMPERATURES}
    if temperature not in measured:
        raise OptionError(f"temperature {str(temperature)[:20]} was not measured; choose of {', '.join(measured)}.")
    value = measured[temperature]
    rows = file.at(value)
    panels = []
    for title, shapes in (("chain", (CHAIN,)), ("tree", (TREE, READ_AGAIN))):
        lines = [
            Series(
                TRAINED[trained] + (", read again" if shape == READ_AGAIN else ""),
                list(range(1, 1 + len(row.reached))),
                [count / row.rounds for count in row.reached],
                [*TRAINED, READ_AGAIN].index(READ_AGAIN if shape == READ_AGAIN else trained),
                hover=": %{x} or more in %{y:.0%} of the rounds",
                group=shape != READ_AGAIN,
                legend=None if shape == READ_AGAIN else shape == CHAIN,
            )
            for (trained, shape), row in rows.items()
            if shape in shapes
        ]
        panels.append(Panel(lines, Axis(f"{title}: rounds", range=(0, 1.02), form=".0%"), 0.5))
    chart = Chart(Axis("candidates accepted, or more", spacing=1), panels, height=520, legend="grown")
    return View(sentence(file, value), chart, (table(file),), origin(file))


def table(file: BlocksFile) -> Table:
    """A row for each way, a column for each temperature."""
    rows = [
        (
            TRAINED[trained],
            SHAPES[shape],
            *(f"{file.at(temperature)[trained, shape].per_round:.2f}" for temperature in TEMPERATURES),
        )
        for trained, shape in WAYS
    ]
    heads = ("block", "drafts", *(f"tokens per round, T {temperature:g}" for temperature in TEMPERATURES))
    return Table(heads, rows, words=2)


def origin(file: BlocksFile) -> str:
    """What the numbers rest on."""
    rounds = [row.rounds for row in file.rows]
    return (
        f"DFlash with its shipped weights: chains of {file.gamma}, DDTree of {file.budget} candidates; {file.prompts} "
        f"prompts, at most {file.max_new_tokens} tokens each, float32; {min(rounds):,} to {max(rounds):,} rounds that "
        f"drafted in each row. Target: sha256 {file.models['target'][:12]}."
    )


def markdown(file: BlocksFile) -> str:
    """Sentences, table, origin."""
    said = " ".join(sentence(file, temperature) for temperature in TEMPERATURES)
    return "\n\n".join([f"**{said}**", table(file).markdown(), origin(file)])


STUDY = STUDIES.add(
    Study(
        name="blocks",
        home=__package__,
        summary="count what a block gains from a selector, from causal rows and from a second reading",
        question="What if a block's tokens know of each other?",
        order=15,
        intro=INTRO,
        codec=Codec(
            BlocksFile, "study of blocks", 4, "specviz study blocks --write", format=FORMAT, version=VERSION,
            problems=problems, line_each="rows",
        ),
        file="studies/blocks.json",
        page="methods/dflash.md",
        section="blocks study",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(
            count("--prompts", 4, "prompts per family"),
            count("--max-new-tokens", 48, "tokens per text, where it does not end before"),
            count("--gamma", 7, "tokens of a chain"),
            count("--budget", 12, "candidates of a tree"),
            THREADS,
        ),
        remade=Remade("what a block gains from knowing its neighbours", 6, rests_on=("target",), shares=True),
    )
)  # fmt: skip
