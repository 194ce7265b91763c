"""Matrix products of the lean forward: the fastest way to multiply n rows by a weight, measured on this machine.

One row reads memory and little else; a few rows need another routine than many. Each group of equally shaped weights is
timed once over a few row counts with every routine this build of torch offers, and remembers the winner per row count.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from specviz.allocator import give_back
from specviz.lm import products
from specviz.lm.products import Short

Product = Callable[[Tensor, Tensor | None], Tensor]
"""x [n, in], residual [n, out] or None → x Wᵀ + b + residual [n, out]; the residual may be overwritten"""

ROW_COUNTS = (1, 2, 4, 8, 16, 64)
"""Row counts that are timed; others use the next larger one's winner."""
PACKING_HINT = 16
"""Row count told to oneDNN when it packs; anything above one gives the same layout on AVX2."""
CALIBRATION_BYTES = 64 << 20
"""Enough weights to leave the processor's caches between two uses, as in a real forward pass."""
LEAST_BYTES = 8 << 20
"""of one kind of weight in that sample: a sliver of a large head would be timed as a small matrix"""
SMALL_BYTES = 1 << 20
"""Below this, calls cost more than arithmetic and there is nothing to choose."""
ONE_COPY_BYTES = 1 << 30
"""Above this, every weight is held once, in the form that serves best overall; below, in two where that is faster. On a
model of 290 MB one row took 12.4 ms and four 24.8 with two forms, 15.4 and 28.5 or 12.7 and 37.2 with one."""
MOST_COPIES = 2
"""of one weight: a third saved nothing in the measurement above"""
TIMED_FORMATS = (torch.float32, torch.bfloat16)
"""In bfloat16 torch's own product puts its weight into another order each time: packed once, it took three quarters."""
CALIBRATION_S = 0.5
FEWEST_REPEATS = 2
"""The first is not counted, and one more is needed however slow the machine is."""
CLEARLY = 0.06
SECOND_COPY_GAIN = 0.01
"""A routine that needs a copy of its own must save this share of the time summed over the row counts."""


Choice = dict[int, str]
"""row count → routine"""
Key = tuple[int, torch.dtype, tuple[str, ...], tuple[tuple[int, int, int, bool], ...]]
"""threads, format, routines, and of each group: weights, outputs, inputs, whether it has biases"""
_known: dict[Key, list[Choice]] = {}
"""what was measured in this process: weights of the same shapes, loaded again, need not be timed again"""


def plain(weight: Tensor, bias: Tensor | None) -> Product:
    """The fallback that works on every device and dtype."""

    def multiply(x: Tensor, residual: Tensor | None) -> Tensor:
        product = functional.linear(x, weight, bias)
        return product if residual is None else product.add_(residual)

    return multiply


def transposed(weight: Tensor, bias: Tensor | None) -> Product:
    """GEMM on a transposed copy: reads long rows, which suits one row of wide outputs."""
    copy = weight.t().contiguous()

    def multiply(x: Tensor, residual: Tensor | None) -> Tensor:
        if residual is None:
            return torch.mm(x, copy) if bias is None else torch.addmm(bias, x, copy)
        product = torch.addmm(residual, x, copy)
        return product if bias is None else product.add_(bias)

    return multiply


def packed(weight: Tensor, bias: Tensor | None) -> Product:
    """oneDNN inner product on weights packed for its kernel: nearly flat from two to six rows."""
    copy = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), PACKING_HINT)
    linear = torch.ops.mkldnn._linear_pointwise.default
    linear_add = torch.ops.mkldnn._linear_pointwise.binary

    def multiply(x: Tensor, residual: Tensor | None) -> Tensor:
        product: Tensor = (
            linear(x, copy, bias, "none", [], "") if residual is None else linear_add(x, residual, copy, bias, "add")
        )
        return product

    return multiply


ROUTINES: dict[str, Callable[[Tensor, Tensor | None], Product]] = {
    "linear": plain,
    "transposed": transposed,
    "packed": packed,
}


def available(weight: Tensor) -> list[str]:
    """Routines that run on this weight's device and dtype in this build of torch and agree with `F.linear`."""
    if weight.device.type != "cpu" or weight.dtype not in TIMED_FORMATS:
        return ["linear"]
    names = []
    probe, x = torch.eye(16, dtype=weight.dtype), torch.ones(2, 16, dtype=weight.dtype)
    for name, build in ROUTINES.items():
        try:
            product = build(probe, None)
            works = torch.equal(product(x, None), x) and torch.equal(product(x, x), x + x)
        except (RuntimeError, AttributeError, NotImplementedError):
            works = False
        if works:
            names.append(name)
    return names


@dataclass(slots=True)
class Projection:
    """One weight [out, in] with the routine to use per row count."""

    weight: Tensor
    bias: Tensor | None = None
    short: Short | None = None
    """`weight` without a norm's factor, where it is float32 and the checkpoint holds it in bfloat16"""
    by_rows: list[Product] = field(default_factory=list)
    """[n] for n rows, the last one for any more"""
    many: Product | None = None
    few: products.Product | None = None
    """for as many rows as compiled code takes"""

    def __post_init__(self) -> None:
        self.many = plain(self.weight, self.bias)

    def __call__(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        n = x.shape[0]
        if self.few is not None and self.few.takes(n):
            return self.few(x, residual)
        if n < len(self.by_rows):
            return self.by_rows[n](x, residual)
        assert self.many is not None
        return self.many(x, residual)

    def use(self, choice: Choice) -> None:
        """Follow `choice` (row count → routine) and give up the copies no longer needed."""
        built = {name: ROUTINES[name](self.weight, self.bias) for name in sorted(set(choice.values()))}
        counts = sorted(choice)
        self.by_rows = []
        for n in range(counts[-1] + 1):
            count = next(c for c in counts if c >= n)
            self.by_rows.append(built[choice[count]])
        self.many = built[choice[counts[-1]]]
        if "linear" not in built:
            self.weight = self.weight.new_empty(0)


def settle(projections: Sequence[Projection]) -> None:
    """Let each multiply few rows by the compiled product, or, where there is none, by the fastest of torch's."""
    for projection in projections:
        projection.few = products.Product.of(projection.weight, projection.bias, projection.short)
    if any(projection.few is None for projection in projections):
        calibrate([[projection] for projection in projections])


def calibrate(groups: Sequence[Sequence[Projection]], repeats: int = 4) -> list[Choice]:
    """Time every available routine on groups of equally shaped projections and let them use the winners; groups of
    shapes that were timed before in this process use those of then.

    Returns row count → routine per group, empty where there was no choice. Interleaved and judged by the fastest
    repeat, because a shared machine only ever adds time.
    """
    names = available(groups[0][0].weight)
    if len(names) == 1 or _bytes(groups) < SMALL_BYTES:
        return [{} for _ in groups]
    key = _key(groups, names)
    if key not in _known:
        give_back()
        all_times = _measure(_sample(groups), names, repeats)
        most = 1 if _bytes(groups) > ONE_COPY_BYTES else MOST_COPIES
        _known[key] = [_choose(times, names, most) for times in all_times]
    choices = _known[key]
    for group, choice in zip(groups, choices, strict=True):
        give_back()  # oneDNN's copies fill no holes that were left by other tensors
        for projection in group:
            projection.use(choice)
    return choices


def known() -> dict[Key, list[Choice]]:
    """What was measured here, for another process on the same machine."""
    return dict(_known)


def take_over(measured: dict[Key, list[Choice]]) -> None:
    """Time nothing that another process has timed."""
    _known.update(measured)


def _key(groups: Sequence[Sequence[Projection]], names: Sequence[str]) -> Key:
    shapes = tuple((len(group), *group[0].weight.shape, group[0].bias is not None) for group in groups)
    return torch.get_num_threads(), groups[0][0].weight.dtype, tuple(names), shapes


def _bytes(groups: Sequence[Sequence[Projection]]) -> int:
    return sum(p.weight.numel() * p.weight.element_size() for group in groups for p in group)


def _sample(groups: Sequence[Sequence[Projection]]) -> list[Sequence[Projection]]:
    """As much of each group as it takes to measure memory, not the processor's cache; what is timed is copied for every
    routine, so of a weight that alone is more than that, only the first rows."""
    share = min(1.0, CALIBRATION_BYTES / _bytes(groups))
    return [_part(group, share) for group in groups]


def _part(group: Sequence[Projection], share: float) -> Sequence[Projection]:
    number = len(group) * share
    if number >= 1:
        return group[: round(number)]
    weight, bias = group[0].weight, group[0].bias
    least = LEAST_BYTES // (weight.shape[1] * weight.element_size())
    rows = max(math.ceil(len(weight) * number), least)
    return [Projection(weight[:rows], None if bias is None else bias[:rows])]


def _measure(
    groups: Sequence[Sequence[Projection]], names: Sequence[str], repeats: int
) -> list[dict[tuple[str, int], float]]:
    """Fastest seconds per (routine, row count), one table per group.

    All groups take turns, as in a forward pass, and scratch memory is read where they are too small to leave the
    processor's cache between two uses: so every timing finds its weights where a real pass would find them.
    """
    built = {(name, i): [ROUTINES[name](p.weight, p.bias) for p in g] for name in names for i, g in enumerate(groups)}
    times: list[dict[tuple[str, int], float]] = [{} for _ in groups]
    deadline = time.perf_counter() + CALIBRATION_S
    scratch = torch.ones(max(0, CALIBRATION_BYTES - _bytes(groups)) // 4)
    for repeat in range(repeats):
        if repeat >= FEWEST_REPEATS and time.perf_counter() > deadline:
            break
        for n in ROW_COUNTS:
            for name in names:
                scratch.sum()
                for i, group in enumerate(groups):
                    weight = group[0].weight
                    took = _time(built[name, i], torch.randn(n, weight.shape[1]).to(weight.dtype))
                    if repeat:
                        times[i][name, n] = min(took, times[i].get((name, n), took))
    return times


def _time(products: Sequence[Product], x: Tensor) -> float:
    """Seconds; on one thread those the processor really worked, so that other programs disturb less."""
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    began = clock()
    for product in products:
        product(x, None)
    return clock() - began


def _handicap(name: str, rows: int) -> float:
    """What is usually slower must win clearly: a noisy measurement then does little harm."""
    return 1.0 if name == ("transposed" if rows == 1 else "packed") else 1.0 + CLEARLY


def _choose(times: dict[tuple[str, int], float], names: Sequence[str], most: int) -> Choice:
    """Best routine per row count, out of the smallest set (of `most` at most) that loses little against all."""

    def table(allowed: Sequence[str]) -> Choice:
        return {n: min(allowed, key=lambda name: times[name, n] * _handicap(name, n)) for n in ROW_COUNTS}

    def cost(allowed: Sequence[str]) -> float:
        """Time relative to the best routine, averaged over row counts; one row counts as much as all the others."""
        best = table(names)
        ratios = {n: times[name, n] / times[best[n], n] for n, name in table(allowed).items()}
        others = [ratio for n, ratio in ratios.items() if n > 1]
        return (ratios[1] + sum(others) / len(others)) / 2

    allowed: list[str] = [min(names, key=lambda name: cost([name]))]
    while len(allowed) < most:
        candidate = min((n for n in names if n not in allowed), key=lambda name: cost([*allowed, name]))
        if cost(allowed) - cost([*allowed, candidate]) < SECOND_COPY_GAIN:
            break
        allowed.append(candidate)
    return table(allowed)
