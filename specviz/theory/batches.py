"""Numbers of a batch: speedup over plain decoding in batches of the same size, acceptance, and where it stops paying.

Place in the flow: reads what `specviz bench batch` measured; its table, the page's chart and both their sentences come
from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.protocol.sweeps.points import Quartiles, quartiles
from specviz.studies.batches.result import CLOCKS, PLAIN, BatchFile, BatchPoint, BatchText, Shape, name_of


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
    """the same by the seconds of the passes alone, median: without what the engine does beside them for each text"""
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
    points = {(one.shape, one.size, one.repeat): one for one in file.points}
    kinds = sorted({(one.shape != PLAIN, one.shape, one.size) for one in file.points}, key=_order)
    return [
        _row(
            [one for one in file.points if (one.shape, one.size) == (shape, size)],
            [one for one in file.texts if (one.shape, one.size) == (shape, size)],
            points,
        )
        for _, shape, size in kinds
    ]


def _order(kind: tuple[bool, Shape, int]) -> tuple[bool, bool, int, Shape, int]:
    """Plain decoding, chains by length, trees; and each by size."""
    drafts, shape, size = kind
    return drafts, max(shape, default=1) > 1, len(shape), shape, size


def _row(
    own: Sequence[BatchPoint], texts: Sequence[BatchText], points: Mapping[tuple[Shape, int, int], BatchPoint]
) -> BatchRow:
    first, plain = own[0], [points[PLAIN, one.size, one.repeat] for one in own]
    ratios = [(one.tokens / one.seconds) / (base.tokens / base.seconds) for one, base in zip(own, plain, strict=True)]
    in_passes = [(one.tokens / one.pass_s) / (base.tokens / base.pass_s) for one, base in zip(own, plain, strict=True)]
    drafts = first.shape != PLAIN
    return BatchRow(
        shape=first.shape,
        size=first.size,
        tokens_per_s=median(one.tokens / one.seconds for one in own),
        speedup=quartiles(ratios) if drafts else None,
        pass_speedup=median(in_passes) if drafts else None,
        acceptance=ratio_of_sums([(one.accepted, one.drafted) for one in texts]),
        length=ratio_of_sums([(one.accepted + one.drafts, one.drafts) for one in texts]),
        texts_per_pass=sum(one.shares for one in own) / sum(one.target_passes for one in own),
        same=sum(one.same for one in texts),
        texts=len(texts),
    )


def how(file: BatchFile) -> str:
    """What was measured and by which clock, as a clause."""
    repeats, texts = len({one.repeat for one in file.points}), len({one.prompt for one in file.texts})
    load = "" if file.load is None else f", machine's load {file.load:.1f} on {file.machine.cores} cores"
    return (
        f"{texts} texts of at most {file.max_new_tokens} tokens, the same at every batch size B, temperature "
        f"{file.temperature:g}, seed {file.seed}, {repeats} repeat{'s' * (repeats != 1)}, {CLOCKS[file.clock]}{load}"
    )


def stops_paying(of_one_shape: Sequence[BatchRow]) -> int | None:
    """The smallest batch from which on none pays, of one shape's rows by size; None where the largest still does."""
    after = [row for place, row in enumerate(of_one_shape) if not any(one.pays for one in of_one_shape[place:])]
    return after[0].size if after else None


def sentence(found: Sequence[BatchRow]) -> str:
    """What the rows say: where each shape stops paying, and whether acceptance depends on the batch."""
    shapes = dict.fromkeys(row.shape for row in found if row.shape != PLAIN)
    return " ".join([*(_verdict([row for row in found if row.shape == shape]) for shape in shapes), _acceptance(found)])


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


def _acceptance(found: Sequence[BatchRow]) -> str:
    rates: dict[Shape, set[float]] = {}
    for row in found:
        if row.acceptance is not None:
            rates.setdefault(row.shape, set()).add(row.acceptance.value)
    apart = max((max(values) - min(values) for values in rates.values()), default=0.0)
    if apart == 0.0:
        return "Acceptance is the same at every size."
    return f"Acceptance differs by at most {apart:.4f} between sizes."
