"""One product of a few rows with a weight by the compiled library, for networks that are no whole Llama.

    weight [out, in] ─ `shortened` ─► the same numbers in two bytes each ─► Matrix ─► `products.c` ─► x Wᵀ + b

Reading the weight is what such a product costs. A float32 weight whose numbers bfloat16 can hold, or are whole ones
times a scale for each row, as files of drafters have them, is read from half the bytes. Used on the CPU
where a compiler is at hand; results are equal up to rounding.

Shapes: n rows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.weak import WeakTensorKeyDictionary

from specviz.core.compiled import library
from specviz.lm.pages import LargePages

SOURCE = Path(__file__).with_name("products.c")
MOST_ROWS = 64
"""of a compiled product or pass where tiles multiply (Intel's AMX), or vectors of AMD's Zen 4 (64 rows of the bundled
target and of SmolLM2-135M took 0.68 to 0.81 of torch's time there); beyond, torch's keep the processor busy"""
VECTOR_ROWS = 24
"""the same for other vectors: on an AMX Xeon 24 rows of the bundled target took 0.85 to 1.05 of torch's time, 32 rows
1.0 to 1.2"""
FORMATS = (torch.float32, torch.bfloat16)
WHOLE = 127
"""the largest whole number that a row is made of"""
pointer, whole = ctypes.c_void_p, ctypes.c_int64
_pages = LargePages(SOURCE)
"""of shortened weights"""


class Matrix(ctypes.Structure):
    """As `products.h` has it."""

    _fields_ = (
        *((name, pointer) for name in ("weight", "bias", "scales")),
        *((name, whole) for name in ("outs", "ins", "half", "far")),
    )


@dataclass(frozen=True, slots=True)
class Short:
    """A float32 weight in two bytes a number."""

    weight: Tensor
    """[out, in] bfloat16"""
    scales: Tensor | None = None
    """[out] float32, what each row is multiplied by"""

    def columns(self, first: int, last: int) -> Short:
        return Short(self.weight[:, first:last].contiguous(), self.scales)

    def rows(self, index: Sequence[int]) -> Short:
        chosen = list(index)
        return Short(self.weight[chosen], None if self.scales is None else self.scales[chosen])


def shortened(weight: Tensor) -> Short | None:
    """The same numbers, bit for bit; None where there is no such form, or no product for it. weight
    [out, in] float32."""
    if weight.dtype != torch.float32 or weight.device.type != "cpu":
        return None
    exact = weight.bfloat16()
    if torch.equal(exact.float(), weight):
        return Short(_pages.joined([exact]))
    # The scale that a row was made with is its largest number over 127, up to the last bit.
    about = (weight.abs().amax(-1) / WHOLE).clamp_min(torch.finfo(torch.float32).tiny)  # [out]
    scales = torch.full_like(about, torch.nan)
    for some in (about, about.nextafter(about.new_tensor(torch.inf)), about.nextafter(about.new_tensor(0.0))):
        numbers = (weight / some[:, None]).round()
        scales = torch.where((numbers * some[:, None] == weight).all(-1), some, scales)
    if bool(scales.isnan().any()):
        return None
    return Short(_pages.joined([(weight / scales[:, None]).round().bfloat16()]), scales)


def matrix(weight: Tensor, bias: Tensor | None, short: Short | None, held: list[Tensor]) -> Matrix:
    """What the struct points into is put into `held`, and must stay alive as long as it."""

    def at(tensor: Tensor) -> int:
        held.append(tensor.contiguous())
        return held[-1].data_ptr()

    read = weight if short is None else short.weight
    scales = None if short is None or short.scales is None else at(short.scales)
    half = read.dtype == torch.bfloat16
    return Matrix(at(read), None if bias is None else at(bias.float()), scales, *read.shape, half)


def most_rows(compiled: ctypes.CDLL, half: bool) -> int:
    """Of a pass that a compiled library does no slower than torch; `half`: whether it reads bfloat16."""
    return MOST_ROWS if (half and compiled.tiles()) or compiled.rounds() else VECTOR_ROWS


class Product:
    """One weight, multiplied by the compiled library."""

    def __init__(self, compiled: ctypes.CDLL, weight: Tensor, bias: Tensor | None, short: Short | None) -> None:
        self._compiled = compiled
        self._held: list[Tensor] = []
        """what the struct points into"""
        self.matrix = matrix(weight, bias, short, self._held)
        self._at, self._outs = ctypes.byref(self.matrix), len(weight)
        self.parts = whole(2 if weight.dtype == torch.bfloat16 else 3)
        self.most = most_rows(compiled, bool(self.matrix.half))
        """rows that it takes"""

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor | None, short: Short | None = None) -> Product | None:
        """`short`: the weight, where it is known already. None where the weight is not on the CPU, in another format,
        or there is no compiler."""
        if weight.device.type != "cpu" or weight.dtype not in FORMATS:
            return None
        compiled = library(SOURCE)
        return None if compiled is None else cls(compiled, weight, bias, short or shortened(weight))

    def takes(self, n: int) -> bool:
        """Whether a product of so many rows is one for it."""
        return n <= self.most

    def __call__(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        """x [n, in], residual [n, out] or None → x Wᵀ + b + residual [n, out], in x's format."""
        rows = x.to(torch.float32).contiguous()
        if residual is None:
            y = torch.empty(len(rows), self._outs)
        else:
            y = residual.to(torch.float32, copy=True).contiguous()
        given = pointer(rows.data_ptr()), whole(len(rows)), pointer(y.data_ptr()), whole(residual is not None)
        if self._compiled.multiply(self._at, self.parts, *given, whole(torch.get_num_threads())):
            raise MemoryError(f"no memory for a product of {len(rows)} rows.")
        return y.to(x.dtype)


_made: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
"""weight → (the version of its numbers, its product): training changes them"""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [..., in] → x Wᵀ + b [..., out], as `functional.linear`; few rows that nobody learns from by the compiled
    product."""
    rows = x.numel() // x.shape[-1]
    if torch.is_inference_mode_enabled() and rows <= MOST_ROWS:
        version = -1 if weight.is_inference() else weight._version
        known = _made.get(weight)
        if known is None or known[0] != version:
            _made[weight] = known = version, Product.of(weight.detach(), None if bias is None else bias.detach())
        product: Product | None = known[1]
        if product is not None and product.takes(rows):
            return product(x.reshape(rows, -1)).view(*x.shape[:-1], -1)
    return functional.linear(x, weight, bias)


class Linear(nn.Linear):
    """The layer of that name, by `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)
