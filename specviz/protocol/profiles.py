"""How long one target pass takes on one machine, as a file: t(n) for n rows, at several contexts and batch sizes.

Beside the times stand the machine, the model's sizes, and two ceilings measured in the same run: how fast weights can
be read, and how fast they can be multiplied. Written by `specviz profile`, read by the page. A file may come from a
stranger, so it passes the guard that traces pass.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from specviz.errors import TraceError, shown
from specviz.trace.files import UPLOAD, Limits, read_file
from specviz.trace.guard import json_of, sentence_of, text_of
from specviz.trace.header import Machine

FORMAT = "specviz-hardware"
VERSION = 1
LIMITS = replace(
    UPLOAD,
    what="a curve",
    stored_bytes=512 * 2**10,
    text_bytes=2**20,
    nesting=4,
    containers=20_000,
    string_chars=2_000,
)
MOST_ROWS = 2_000
"""times in one file"""
MOST_NODES = 65_536
"""rows of one pass, and sequences of one batch"""


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """Which model was timed, and what a pass of it reads and multiplies."""

    name: str
    weights_sha256: str
    """empty where the weights are random"""
    parameters: int
    read_parameters: int
    """numbers a pass reads whatever its width: all but an input embedding that is no output head too"""
    number_bytes: int
    """bytes of one number of cached keys and values, and of weights where nothing else is said"""
    layers: int
    hidden_size: int
    attention_size: int
    """query heads × head size"""
    kv_size: int
    """key heads × head size"""
    vocab_size: int
    context_length: int
    stored_bytes: int | None = None
    """bytes of one number of the weights, where passes over a few rows read them as the checkpoint stores them"""

    @property
    def weight_bytes(self) -> int:
        """Bytes a pass reads whatever its width."""
        return self.read_parameters * (self.stored_bytes or self.number_bytes)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A rate measured on the same machine, in the same number format, on the same threads, in the same run."""

    median: float
    """bytes/s or FLOP/s"""
    low: float
    """first quartile"""
    high: float
    """third quartile"""
    how: str
    """what was timed, in a few words"""


@dataclass(frozen=True, slots=True)
class PassTime:
    """One point of t(n). Seconds: median and quartiles over `repeats` passes."""

    n: int
    """new rows of each sequence in the pass"""
    context: int
    """rows of each sequence in the cache before it"""
    batch: int
    """sequences in the pass"""
    median_s: float
    low_s: float
    high_s: float
    repeats: int


@dataclass(frozen=True, slots=True)
class HardwareCurve:
    """One machine, one model."""

    name: str
    """the machine in a few words, never its host name"""
    machine: Machine
    model: ModelSizes
    way: Literal["engine", "bare"]
    """`engine`: the pass that runs make, tree mask included; `bare`: a pass of fixed sizes and nothing around it"""
    cuda_graphs: bool
    clock: Literal["wall", "thread"]
    """`thread`: processor time of the one thread that computes, so that other programs disturb less"""
    reading: Ceiling
    """bytes/s of a long read from memory"""
    arithmetic: Ceiling
    """FLOP/s of a large matrix product, two per multiplication with addition"""
    rows: tuple[PassTime, ...]
    created: str
    """UTC, ISO 8601"""
    command: str
    """what to type to measure it again"""
    specviz: str
    complete: bool = True
    """False: the measurement was stopped early, with fewer repeats"""
    dtype_why: str = ""
    """why `auto` took this number format, in words; empty where another one was asked for"""


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What to time. Names are looked up by whoever measures; see `TraceSource.profile`."""

    target: str = "target"
    """bundled name, folder or hub id; ignored where `shape` is given"""
    shape: str = ""
    """sizes by name, such as 7b: such a model with random weights"""
    rows: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256)
    contexts: tuple[int, ...] = (128, 512)
    batches: tuple[int, ...] = (1,)
    repeats: int = 21
    device: str = "auto"
    dtype: str = "auto"
    bare: bool = False
    """a pass of fixed sizes with nothing around it, as other batches than 1 and every shape have it anyway"""
    name: str = ""
    """of the machine; empty: made from its processor"""


@dataclass(frozen=True, slots=True)
class Profiled:
    """How far a measurement is."""

    done: int
    """single passes timed"""
    total: int
    curve: HardwareCurve | None
    """what is known so far; None until every setting has been timed often enough for quartiles"""


_ADAPTER = TypeAdapter(HardwareCurve)


def dumps(curve: HardwareCurve) -> str:
    """The text of the file: a line per part and per time. Raises TraceError where it would not be read back."""
    _check(curve)
    data = _ADAPTER.dump_python(curve)
    rows = data.pop("rows")
    lines = [f' "{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in data.items()]
    times = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    head = f' "format": "{FORMAT}",\n "version": {VERSION},\n'
    return "{\n" + head + ",\n".join(lines) + ',\n "rows": [\n' + times + "\n ]\n}\n"


def loads(raw: bytes, limits: Limits = LIMITS) -> HardwareCurve:
    """Raises TraceError with one sentence for everything that is no measured curve."""
    data = json_of(text_of(raw, limits), limits)
    if data.pop("format", None) != FORMAT:
        raise TraceError(
            f"this is no measured step-time curve: its format is not '{FORMAT}'; `specviz profile` writes one."
        )
    version = data.pop("version", None)
    if version != VERSION or isinstance(version, bool):
        raise TraceError(f"the curve has version {shown(version)}, but this release reads version {VERSION}.")
    rows = data.get("rows")
    if isinstance(rows, list) and len(rows) > MOST_ROWS:
        raise TraceError(f"the curve has {len(rows):,} times, but at most {MOST_ROWS:,} are read.")
    try:
        curve = _ADAPTER.validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        raise TraceError(
            f"the curve cannot be used: {sentence_of(error, 'curve')} Measure it again with `specviz profile`."
        ) from None
    _check(curve)
    return curve


def read(path: str | Path, limits: Limits = LIMITS) -> HardwareCurve:
    """Raises TraceError where the file is missing or holds no measured curve; the sentence begins with its name."""
    return read_file(Path(path), lambda raw: loads(raw, limits), limits)


def _check(curve: HardwareCurve) -> None:
    """Raises TraceError with the first thing that is wrong."""
    problem = next(_problems(curve), None)
    if problem:
        raise TraceError(f"the curve cannot be used: {problem}; measure it again with `specviz profile`.")


def _problems(curve: HardwareCurve) -> Iterator[str]:
    sizes: Mapping[str, int | None] = {
        name: getattr(curve.model, name) for name in ModelSizes.__slots__ if name not in ("name", "weights_sha256")
    }
    below = {name: value for name, value in sizes.items() if value is not None and value < 1}
    yield from (f"model.{name} is {value}, which is below 1" for name, value in below.items())
    if curve.machine.threads < 1 or curve.machine.cores < 1:
        yield "machine names no thread or no core"
    for name, rate in (("reading", curve.reading), ("arithmetic", curve.arithmetic)):
        if not _is_spread(rate.low, rate.median, rate.high):
            yield f"{name} is no rate with quartiles around its median"
    if not curve.rows:
        yield "rows holds no time"
    seen: set[tuple[int, int, int]] = set()
    for index, row in enumerate(curve.rows):
        where = (row.context, row.batch, row.n)
        if not 1 <= row.n <= MOST_NODES or not 1 <= row.batch <= MOST_NODES or row.context < 0 or row.repeats < 1:
            yield f"rows[{index}] has a count that cannot be"
        if where in seen:
            yield f"rows[{index}] is there twice"
        if not _is_spread(row.low_s, row.median_s, row.high_s):
            yield f"rows[{index}] has no time with quartiles around its median"
        seen.add(where)


def _is_spread(low: float, median: float, high: float) -> bool:
    return isfinite(high) and 0 < low <= median <= high
