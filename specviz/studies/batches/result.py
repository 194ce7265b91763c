"""The same texts decoded plainly and speculatively in batches of several sizes: from which size on does it stop paying?

Place in the flow: `measure` makes it; the page, the documentation and the command show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from specviz.bench.core.report import CLOCKS, DASH, Origin, or_dash, spread, value_of, with_interval
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.protocol.sweeps.points import Quartiles, quartiles
from specviz.studies.batches.points import (
    FORMAT,
    PLAIN,
    VERSION,
    BatchFile,
    BatchPoint,
    BatchText,
    Shape,
    by_budget,
    name_of,
    problems,
)
from specviz.studies.chart import Axis, Chart, Panel, Series
from specviz.studies.study import STUDIES, Codec, Flag, Remade, Study, Table, View, count
from specviz.theory.speedup import times_as_fast

INTRO = (
    "Several texts decoded together share every pass: one of the drafter for all their drafts, one of the target for "
    "all their verifications. Each text has its own accepted length, and the batch changes none of them. But the rows "
    "of B texts use up the room in which a draft's rows are nearly free: from some size on a drafted token costs more "
    "than it saves. **Recorded** on one machine; plain decoding is measured in batches of the same size. Method: "
    "`docs/batch.md`."
)
HEAD = (
    "draft", "B", "× plain in the same batch", "× by passes alone", "tokens/s", "accepted / drafted",
    "tokens per round", "texts per pass", "same text",
)  # fmt: skip
MODELLED = "× modelled, batch full"
APART = 1.03
"""shapes stand side by side at a size, so that their intervals do not cover each other"""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One way of decoding in batches of one size, over all texts and repeats."""

    shape: Shape
    size: int
    tokens_per_s: float
    """of the whole batch, median over repeats"""
    speedup: Quartiles | None
    """tokens per second over plain decoding's in batches of this size in the same repeat; None of plain decoding"""
    pass_speedup: float | None
    """the same by the seconds of the passes alone, median: without what else the engine does for each text"""
    modelled: float | None
    """the same by modelled seconds until the first text of a batch ended; None where they are not known"""
    acceptance: Estimate | None
    """accepted / drafted, with the central 95 % over resampled prompts"""
    length: Estimate | None
    """1 + accepted / rounds that drafted, likewise"""
    texts_per_pass: float
    """texts in a target pass, on average: fewer than `size` once the first are over"""
    same: int
    """texts that are what the engine writes without a batch, of `texts`"""
    texts: int

    @property
    def pays(self) -> bool:
        """Faster than plain decoding, the lower quartile included."""
        return self.speedup is not None and self.speedup.low > 1.0


def rows(file: BatchFile) -> list[BatchRow]:
    """Plain decoding first, then by shape, each from the smallest batch to the largest."""
    points = {(point.shape, point.size, point.repeat): point for point in file.points}
    kinds = sorted({(point.shape != PLAIN, point.shape, point.size) for point in file.points}, key=_order)
    return [
        _row(
            [point for point in file.points if (point.shape, point.size) == (shape, size)],
            [text for text in file.texts if (text.shape, text.size) == (shape, size)],
            points,
        )
        for _, shape, size in kinds
    ]


def _order(kind: tuple[bool, Shape, int]) -> tuple[bool, bool, bool, int, Shape, int]:
    """Plain decoding, chains by length, trees, budgets; and each by size."""
    drafts, shape, size = kind
    return drafts, by_budget(shape), max(shape, default=1) > 1, len(shape), shape, size


def _row(
    own: Sequence[BatchPoint], texts: Sequence[BatchText], points: Mapping[tuple[Shape, int, int], BatchPoint]
) -> BatchRow:
    first, pairs = own[0], [(point, points[PLAIN, point.size, point.repeat]) for point in own]
    ratios = [times_as_fast(point.tokens / point.seconds, plain.tokens / plain.seconds) for point, plain in pairs]
    in_passes = [times_as_fast(point.tokens / point.pass_s, plain.tokens / plain.pass_s) for point, plain in pairs]
    drafts = first.shape != PLAIN
    modelled = [
        times_as_fast(point.full_tokens / point.modelled_s, plain.full_tokens / plain.modelled_s)
        for point, plain in pairs
        if point.modelled_s and plain.modelled_s
    ]
    return BatchRow(
        shape=first.shape,
        size=first.size,
        tokens_per_s=median(point.tokens / point.seconds for point in own),
        speedup=quartiles(ratios) if drafts else None,
        pass_speedup=median(in_passes) if drafts else None,
        modelled=median(modelled) if drafts and modelled else None,
        acceptance=ratio_of_sums([(text.accepted, text.drafted) for text in texts]),
        length=ratio_of_sums([(text.accepted + text.drafts, text.drafts) for text in texts]),
        texts_per_pass=sum(point.shares for point in own) / sum(point.target_passes for point in own),
        same=sum(text.same for text in texts),
        texts=len(texts),
    )


def how(file: BatchFile) -> str:
    """What was measured and by which clock, as a clause."""
    repeats, texts = len({point.repeat for point in file.points}), len({text.prompt for text in file.texts})
    load = "" if file.load is None else f", machine's load {file.load:.1f} on {file.machine.cores} cores"
    return (
        f"{texts} texts of at most {file.max_new_tokens} tokens, the same at every batch size B, temperature "
        f"{file.temperature:g}, seed {file.seed}, {repeats} repeat{'s' * (repeats != 1)}, {CLOCKS[file.clock]}{load}"
    )


def stops_paying(of_one_shape: Sequence[BatchRow]) -> int | None:
    """The smallest batch from which on none pays, of one shape's rows by size; None where the largest still does."""
    after = [row for index, row in enumerate(of_one_shape) if not any(later.pays for later in of_one_shape[index:])]
    return after[0].size if after else None


def sentence(batch_rows: Sequence[BatchRow]) -> str:
    """What the rows say: where each shape stops paying, what a budget reaches, and whether acceptance depends on the
    batch, which it may where a budget does."""
    shapes = dict.fromkeys(row.shape for row in batch_rows if row.shape != PLAIN)
    verdicts = [_verdict([row for row in batch_rows if row.shape == shape]) for shape in shapes]
    return " ".join([*verdicts, *_budgets(batch_rows), _acceptance(batch_rows)])


def _budgets(batch_rows: Sequence[BatchRow]) -> Iterator[str]:
    """Of each budget how far it falls, at worst, behind plain decoding and behind the best chain of fixed length."""
    known = {(row.shape, row.size): row.speedup.median for row in batch_rows if row.speedup is not None}
    for shape in dict.fromkeys(shape for shape, _ in known if by_budget(shape)):
        reached = {size: speedup for (way, size), speedup in known.items() if way == shape}
        chains = {size: [known[way, at] for way, at in known if at == size and max(way) == 1] for size in reached}
        least = min(reached, key=lambda size: reached[size])
        said = f"With {name_of(shape)} a batch is at worst {reached[least]:.2f} × as fast as plain (B = {least})"
        if all(chains.values()):
            behind = {size: times_as_fast(reached[size], max(chains[size])) for size in reached}
            worst = min(behind, key=lambda size: behind[size])
            said += f" and {behind[worst]:.2f} × as fast as with the best fixed γ (B = {worst})"
        yield f"{said}."


def _verdict(own: Sequence[BatchRow]) -> str:
    name, stop = name_of(own[0].shape), stops_paying(own)
    paying = [row for row in own if row.pays]
    up_to = paying == own[: len(paying)]
    where = f"up to {_at(paying[-1])}" if paying and up_to else f"at {', '.join(map(_at, paying))}"
    if stop is None:
        return f"With {name} speculation pays {where}, the largest batch measured."
    at = next(row for row in own if row.size == stop)
    if not paying:
        best = max(own, key=lambda row: row.speedup.median if row.speedup else 0.0)
        return f"With {name} speculation pays at no size measured; best is {_at(best)}."
    return f"With {name} speculation pays {where} and stops paying at {_at(at)}."


def _at(row: BatchRow) -> str:
    assert row.speedup is not None, "plain decoding has no speedup."
    return f"B = {row.size} ({row.speedup.median:.2f}×)"


def _acceptance(batch_rows: Sequence[BatchRow]) -> str:
    rates: dict[Shape, set[float]] = {}
    for row in batch_rows:
        if row.acceptance is not None and not by_budget(row.shape):
            rates.setdefault(row.shape, set()).add(row.acceptance.value)
    apart = max((max(values) - min(values) for values in rates.values()), default=0.0)
    if apart == 0.0:
        return "Acceptance is the same at every size."
    return f"Acceptance differs by at most {apart:.4f} between sizes."


def unequal(file: BatchFile) -> list[str]:
    """A sentence for each way and size that wrote other texts than the engine without a batch, where none may."""
    apart: dict[tuple[Shape, int], list[str]] = {}
    for text in file.texts:
        if not text.same and file.temperature == 0 and file.target.dtype == "float32":
            apart.setdefault((text.shape, text.size), []).append(text.prompt)
    return [
        f"{name_of(shape)} in batches of {size} wrote another text than without a batch on {', '.join(prompts)}."
        for (shape, size), prompts in apart.items()
    ]


def view(file: BatchFile) -> View:
    found, machine = rows(file), file.machine
    origin = (
        f"Recorded {file.created} on {machine.processor}, {machine.cores} cores, {machine.threads} "
        f"thread{'s' * (machine.threads != 1)}, {machine.device}, {machine.dtype}; {file.target.name} and "
        f"{file.drafter.name}; {how(file)}."
    )
    return View(sentence(found), _chart(found), (_speedups(found),), origin)


def _speedups(batch_rows: Sequence[BatchRow]) -> Table:
    """A row for each size: plain decoding's tokens per second, then of each shape the speedup with its quartiles."""
    shapes = list(dict.fromkeys(row.shape for row in batch_rows))
    by_place = {(row.shape, row.size): row for row in batch_rows}
    sizes = sorted({row.size for row in batch_rows})
    body = [[str(size), *(_cell(by_place[shape, size]) for shape in shapes)] for size in sizes]
    return Table(["B", *map(name_of, shapes)], body)


def _cell(row: BatchRow) -> str:
    if row.speedup is None:
        return f"{row.tokens_per_s:.0f} tokens/s"
    return f"{row.speedup.median:.2f}× ({row.speedup.low:.2f} to {row.speedup.high:.2f})"


def _chart(batch_rows: Sequence[BatchRow]) -> Chart:
    """Above the speedup with quartiles over repeats, below the acceptance with 95 % over prompts."""
    shapes = list(dict.fromkeys(row.shape for row in batch_rows if row.shape != PLAIN))
    sizes = sorted({row.size for row in batch_rows})
    above: list[Series] = []
    below: list[Series] = []
    for index, shape in enumerate(shapes):
        own = [row for row in batch_rows if row.shape == shape]
        shift = APART ** (index - (len(shapes) - 1) / 2)
        above.append(_series([(row, _speedup(row)) for row in own], "× plain", index, shift, True))
        below.append(_series([(row, row.acceptance) for row in own], "accepted", index, shift, False))
    ends = (sizes[0] / APART**3, sizes[-1] * APART**3)
    above.append(Series("plain decoding", ends, (1, 1), mode="lines", dash="dash", grey=True, width=1.5))
    return Chart(
        Axis("batch size B: texts decoded together", log=True, ticks=[(size, str(size)) for size in sizes]),
        (
            Panel(above, Axis("× plain, same batch", from_zero=True), 0.6),
            Panel(below, Axis("accepted / drafted", range=(0, 1.02)), 0.4),
        ),
        520,
    )


def _series(
    values: Sequence[tuple[BatchRow, Estimate | None]], said: str, index: int, shift: float, legend: bool
) -> Series:
    known = [(row, value) for row, value in values if value is not None]
    name = name_of(values[0][0].shape)
    return Series(
        name,
        [row.size * shift for row, _ in known],
        [value.value for _, value in known],
        index,
        low=[value.low for _, value in known],
        high=[value.high for _, value in known],
        told=[
            (name, f", B = {row.size}", f"{value.value:.2f} {said} ({value.low:.2f} to {value.high:.2f})")
            for row, value in known
        ],
        group=True,
        legend=legend,
    )


def _speedup(row: BatchRow) -> Estimate | None:
    """The median with its quartiles in place of an interval."""
    return None if row.speedup is None else Estimate(row.speedup.median, row.speedup.low, row.speedup.high)


def markdown(file: BatchFile) -> str:
    """The sentence, what was compared, a table, the origin."""
    found = rows(file)
    body: list[tuple[str, ...]] = [
        (
            name_of(one.shape), str(one.size), spread(one.speedup), or_dash(one.pass_speedup, "{:.2f}"),
            f"{one.tokens_per_s:.0f}", with_interval(one.acceptance), value_of(one.length),
            f"{one.texts_per_pass:.1f}" if one.texts_per_pass else DASH, f"{one.same}/{one.texts}",
        )
        for one in found
    ]  # fmt: skip
    heads: tuple[str, ...] = HEAD
    if any(row.modelled is not None for row in found):
        heads = (*HEAD, MODELLED)
        body = [(*cells, or_dash(row.modelled, "{:.2f}")) for cells, row in zip(body, found, strict=True)]
    said = (
        f"{how(file)}. Speedups are medians over repeats with quartiles, acceptance has the central 95 % over prompts."
    )
    origin = Origin(file.target, (file.drafter,), file.machine, file.created)
    return f"**{sentence(found)}**\n\n{said}\n\n{Table(heads, body).markdown()}\n\n{origin}"


STUDY = STUDIES.add(
    Study(
        name="batches",
        home=__package__,
        summary="several texts in one pass: acceptance and speedup against batch size",
        question="How large a batch?",
        order=30,
        link="batch",
        formerly=("bench batch",),
        intro=INTRO,
        codec=Codec(
            BatchFile, "file of batches", 6, "specviz study batches --result FILE", format=FORMAT, version=VERSION,
            problems=problems,
        ),
        file="batches/opening.json.gz",
        page="batch.md",
        section="bench batch",
        view=view,
        tables=markdown,
        flags=(
            Flag("--batch", "texts decoded together (default %(default)s)", "1,2,4,8,16", str, "B,B,…"),
            Flag(
                "--gamma", "tokens drafted as a chain, each a way of its own; empty: no chain (default %(default)s)",
                "1,2,4", str, "N,N,…",
            ),
            Flag(
                "--branching", "children per level of a tree; several with ;, empty: no tree (default %(default)s)",
                "2,1", str, "N,N,…;…",
            ),
            Flag(
                "--budget", "also chains that the batch's budget cuts, so many levels at most; 0: none "
                "(default %(default)s)", 0, int, "N",
            ),
            Flag("--temperature", "of the texts (default %(default)s)", 0.0, float, "T"),
            Flag("--families", "prompts of these families alone, taken in turn", "", str, "NAME,…"),
            Flag("--texts", "texts in all, which every size divides (default: the largest size)", None, int, "N"),
            count("--max-new-tokens", 48, "tokens per text, where it does not end before"),
            count("--repeats", 5, "times everything is measured"),
        ),
        shared_flags="pair",
        complaints=unequal,
        remade=Remade("speculation against batch size", 8, ("--dtype", "float32")),
    )
)  # fmt: skip
