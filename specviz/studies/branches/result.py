"""How often a tree of candidates holds a token that belongs to another of its branches, by how the block was trained.

Place in the flow: `measure` counts it in traces; the Studies tab draws it, and the tree policy's page has the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from specviz.studies.chart import Axis, Chart, Panel, Series
from specviz.studies.study import STUDIES, THREADS, Codec, Flag, Remade, Study, Table, View, count, work_folder

FORMAT, VERSION = "specviz-branches", "1.1"
NAMES = {
    "marginals": "not causal",
    "control": "trained on, not causal",
    "causal": "trained causal",
    "read_again": "trained causal, branches read again",
}
"""the trees, before and after; the second shows what the tokens alone bring"""
INTRO = (
    "A block that is filled in one pass says of each place what stands there, whatever stands before it. A tree over "
    "it puts every likely token behind every likely one, so some of its branches mix two continuations that exclude "
    "each other. **Counted** in runs on the same prompts: a candidate *contradicts its branch* where the target gives "
    "it less than 1 % there, and *belongs to another branch* where the target gives it 10 % or more at the same depth "
    "behind another branch of the same tree. JetSpec (2606.18394) trains rows that see those before them, and reads "
    "each branch anew."
)


@dataclass(frozen=True, slots=True)
class Depth:
    """Candidates at one depth, over all rounds."""

    drafted: int
    against: int
    """that contradict their branch"""
    of_others: int
    """of those, that belong to another branch of their tree"""


@dataclass(frozen=True, slots=True)
class Example:
    """The first candidate of a run that belongs to another branch."""

    branch: str
    """it and what stands before it"""
    other: str
    """the branch behind which it belongs"""


@dataclass(frozen=True, slots=True)
class Tree:
    """The trees of one way of training and reading, over all prompts."""

    name: str
    rounds: int
    accepted: int
    depths: tuple[Depth, ...]
    """from depth 2 on: the first candidate has no branch to contradict"""
    example: Example | None

    def share(self, what: str) -> float:
        """Of the candidates below the first: `against` or `of_others`."""
        drafted = sum(depth.drafted for depth in self.depths)
        return sum(getattr(depth, what) for depth in self.depths) / drafted if drafted else 0.0


@dataclass(frozen=True, slots=True)
class BranchesFile:
    """One measurement."""

    format: str
    version: str
    trees: tuple[Tree, ...]
    budget: int
    prompts: int
    max_new_tokens: int
    tokens: tuple[int, int]
    """that the second block and the causal one learnt from, going on from the first"""
    models: dict[str, str]
    """model → SHA-256 of its weights"""


def problems(file: BranchesFile) -> Iterator[str]:
    """What cannot be so."""
    if [tree.name for tree in file.trees] != list(NAMES):
        yield "its trees are not the four that are compared"
    for tree in file.trees:
        if any(not 0 <= depth.of_others <= depth.against <= depth.drafted for depth in tree.depths):
            yield f"{tree.name} counts more candidates of a kind than there are"


def sentence(file: BranchesFile) -> str:
    """What became of it."""
    before, control, causal, after = file.trees
    return (
        f"Of the candidates that stand behind another, {before.share('of_others'):.1%} belong to another branch of "
        f"their tree. As many tokens more leave {control.share('of_others'):.1%} without causal training and "
        f"{causal.share('of_others'):.1%} with it, for the rows of one pass still know no branch; read again with each "
        f"branch's own tokens {after.share('of_others'):.1%} are left, and those that the target rules out go from "
        f"{control.share('against'):.0%} to {after.share('against'):.0%}."
    )


def view(file: BranchesFile) -> View:
    """Both shares by depth."""
    panels = list[Panel]()
    for what, title in (("of_others", "belongs to another branch"), ("against", "contradicts its branch")):
        lines = [
            Series(
                NAMES[tree.name],
                list(range(2, 2 + len(tree.depths))),
                [getattr(depth, what) / depth.drafted if depth.drafted else 0.0 for depth in tree.depths],
                index,
                hover=": %{y:.1%} at depth %{x}",
                group=True,
                legend=not panels,
            )
            for index, tree in enumerate(file.trees)
        ]
        panels.append(Panel(lines, Axis(title, from_zero=True, form=".0%"), 0.5))
    chart = Chart(Axis("depth of the candidate", spacing=1), panels, height=520, legend="grown")
    return View(sentence(file), chart, (table(file), *examples(file)), origin(file))


def origin(file: BranchesFile) -> str:
    """What the numbers rest on."""
    return (
        f"DDTree with {file.budget} candidates over DFlash, {file.prompts} prompts, at most {file.max_new_tokens} "
        f"tokens each, temperature 0. Not causal: the shipped weights; trained on: after {file.tokens[0]:,} tokens "
        f"more; causal: after {file.tokens[1]:,} in which rows see none behind them. Target: sha256 "
        f"{file.models['target'][:12]}."
    )


def table(file: BranchesFile) -> Table:
    """A row for each way."""
    heads = ("block", "candidates behind others", "contradict their branch", "belong to another", "tokens per round")
    rows = [
        (
            NAMES[tree.name],
            f"{sum(depth.drafted for depth in tree.depths):,}",
            f"{tree.share('against'):.0%}",
            f"{tree.share('of_others'):.1%}",
            f"{1 + tree.accepted / tree.rounds:.2f}",
        )
        for tree in file.trees
    ]
    return Table(heads, rows)


def examples(file: BranchesFile) -> list[Table]:
    """A branch that mixes two, of each way that has one."""
    rows = [
        (NAMES[tree.name], tree.example.branch, tree.example.other) for tree in file.trees if tree.example is not None
    ]
    return (
        [Table(("block", "a branch that was drafted", "its last token belongs behind"), rows, words=3)] if rows else []
    )


def markdown(file: BranchesFile) -> str:
    """Sentence, tables, origin."""
    parts = [
        f"**{sentence(file)}**",
        table(file).markdown(),
        *(each.markdown() for each in examples(file)),
        origin(file),
    ]
    return "\n\n".join(parts)


STUDY = STUDIES.add(
    Study(
        name="branches",
        home=__package__,
        summary="count the branches of a tree that contradict each other, before and after causal training",
        question="Which branches contradict each other?",
        order=14,
        intro=INTRO,
        codec=Codec(
            BranchesFile, "study of branches", 4, "specviz study branches --write", format=FORMAT, version=VERSION,
            problems=problems, indented=True,
        ),
        file="studies/branches.json",
        page="methods/ddtree.md",
        section="branches study",
        view=view,
        tables=markdown,
        flags=(
            count("--prompts", 4, "prompts per family"),
            count("--max-new-tokens", 48, "tokens per text, where it does not end before"),
            count("--budget", 12, "candidates of a tree"),
            Flag("--weights", "folder of causal weights; without it some are trained", None, Path, "FOLDER"),
            Flag("--control", "folder of weights trained as long, not causal; likewise", None, Path, "FOLDER"),
            Flag("--tokens", "that they then learn from (default %(default)s)", 950_000, int, "N"),
            work_folder("branches", "texts and checkpoints of the training; it goes on from there"),
            THREADS,
        ),
        remade=Remade("which branches of a tree contradict each other", 15, rests_on=("target",), shares=True),
    )
)  # fmt: skip
