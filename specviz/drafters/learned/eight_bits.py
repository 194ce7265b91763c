"""How the weights of a drafter module lie in their file: numbers of eight bits, packed, all or what a base lacks.

Matrices are stored in eight bits a number, a scale for each row (absmax quantisation, Dettmers et al. 2208.07339 §2):
half of what sixteen bits take, and drafts need no more. They are computed with as with any others. A module that went
on from another can be stored on it as its base: what is the base's own is left out, and of other matrices the numbers
are differences to the base's, modulo 256. Small ones pack well, and the sum is exact.

A file says of itself how large it is, and may lie: packed zeros, or a column of numbers with a row of
scales, are a few kilobytes that fill the memory. So the module's own tensors, as its card describes them, say how many
bytes are read and which shapes are multiplied, before anything is unpacked.

Place in the flow: between a module's tensors and its folder (`weights`); nothing here knows what a module is.
"""

from __future__ import annotations

import bz2
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, load_file, save
from torch import Tensor

from specviz.errors import ModelError

SCALE = ".row_scale"
"""behind the name of a matrix of eight bits: what its rows are multiplied by"""
LARGEST = 127
PACKED = ".bz2"
"""Numbers of eight bits lose a tenth to a third of their size to bz2; to unpack 5 MB takes half a second."""
_FLOATS = frozenset((torch.bfloat16, torch.float16, torch.float32))
_NUMBER_BYTES, _NAME_BYTES, _HEAD_BYTES = 8, 1_000, 100_000
"""more than any file spends on a number, on what it says about a tensor, and on a card in its header"""


def stored(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """As they are written; `restored` is its inverse but for the rounding."""
    written: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        one = tensor.detach().cpu()
        if one.is_floating_point() and one.ndim > 1:
            scale = (one.float().abs().amax(-1, keepdim=True) / LARGEST).clamp_min(torch.finfo(torch.float32).tiny)
            written[name + SCALE] = scale
            one = (one.float() / scale).round().to(torch.int8)
        elif one.is_floating_point():
            one = one.to(torch.bfloat16)
        written[name] = one.contiguous()
    return written


def restored(written: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights to compute with. What has no scale is as it stands."""
    return {
        name: tensor * written[name + SCALE] if name + SCALE in written else tensor
        for name, tensor in written.items()
        if not name.endswith(SCALE)
    }


def less(written: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of weights as they are written what is to be stored on a base, which is written alike; `more` is its inverse."""
    stored_on = dict[str, Tensor]()
    for name, tensor in written.items():
        if name.endswith(SCALE) or _same(name, written, base):
            continue
        both = tensor.dtype == torch.int8 and name in base and base[name].shape == tensor.shape
        stored_on[name] = tensor - base[name] if both else tensor
        if name + SCALE in written:
            stored_on[name + SCALE] = written[name + SCALE]
    return stored_on


def more(stored_on: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All weights as they are written, of what a file on this base holds."""
    written = {name: tensor for name, tensor in base.items() if name.removesuffix(SCALE) not in stored_on}
    for name, tensor in stored_on.items():
        both = tensor.dtype == torch.int8 and name in base
        written[name] = tensor + base[name] if both else tensor
    return written


def _same(name: str, written: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> bool:
    """A scale worked out anew from the numbers that it made may differ in its last digit."""
    if name not in base or not torch.equal(written[name], base[name]):
        return False
    scale = name + SCALE
    return scale not in written or torch.allclose(written[scale], base[scale], rtol=1e-6, atol=0.0)


def packed(written: Mapping[str, Tensor]) -> bytes:
    """As the file holds them."""
    return bz2.compress(save(dict(written)))


def fitting(path: Path, wanted: Mapping[str, Tensor], called: str, whole: bool = True) -> dict[str, Tensor]:
    """As they are written, fit to be `restored` into a module with the tensors `wanted`; not `whole`: or to a part of
    them. `called`: what a sentence calls them. Raises ModelError where they cannot be read or are not its; no more is
    read than it has room for."""
    most = _NUMBER_BYTES * _numbers(wanted) + _NAME_BYTES * 2 * len(wanted) + _HEAD_BYTES
    written = as_written(path, most, called)
    if problem := misfit(written, wanted if whole else {name: wanted[name] for name in wanted if name in written}):
        raise ModelError(f"{called} cannot be read: {problem}; choose the file that its training wrote.")
    return written


def as_written(path: Path, most: int, called: str) -> dict[str, Tensor]:
    """Whatever the file holds, up to so many bytes. Raises ModelError where it holds more, or cannot be read."""
    try:
        if path.suffix == PACKED:
            return load(_unpacked(path.read_bytes(), most))
        if path.stat().st_size > most:
            raise _TooLongError
        return load_file(path)
    except _TooLongError:
        raise ModelError(
            f"{called} hold more than the {most:,} bytes that this module has room for; nothing was loaded, choose the "
            "file that its training wrote."
        ) from None
    except (OSError, EOFError, ValueError, SafetensorError) as error:
        raise ModelError(f"{called} cannot be read: {' '.join(str(error).split())[:300]}") from error


class _TooLongError(Exception):
    """A file holds more than its module has room for."""


def _numbers(tensors: Mapping[str, Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors.values())


def _unpacked(raw: bytes, most: int) -> bytes:
    """Stops at `most` bytes. Raises _TooLongError there, and EOFError where the file ends too early."""
    unpacker = bz2.BZ2Decompressor()
    content = unpacker.decompress(raw, most + 1)
    if len(content) > most:
        raise _TooLongError
    if not unpacker.eof:
        raise EOFError("the packed file ends too early")
    return content


def misfit(written: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> str:
    """The first thing in which the file is not one of this module, as a clause; empty where it is one."""
    scales = {name for name in written if name.endswith(SCALE)}
    for name in wanted.keys() - written.keys():
        return f"the tensor {name} is missing"
    for name in sorted(written.keys() - wanted.keys() - scales):
        return f"there is a tensor {name[:60]!r} in it, which this module has not"
    for name in sorted(scales):
        matrix = name.removesuffix(SCALE)
        if matrix not in wanted or written[matrix].dtype != torch.int8:
            return f"{name[:60]!r} is a scale of nothing"
    for name, expected in wanted.items():
        if problem := _unlike(written[name], expected, written.get(name + SCALE)):
            return f"{name} {problem}"
    return ""


def _unlike(tensor: Tensor, expected: Tensor, scale: Tensor | None) -> str:
    if tensor.shape != expected.shape:
        return f"has the shape {list(tensor.shape)}, not {list(expected.shape)}"
    if not expected.is_floating_point():
        return "" if tensor.dtype == expected.dtype else f"holds {tensor.dtype}, not {expected.dtype}"
    if scale is not None:
        if list(scale.shape) != [*tensor.shape[:-1], 1] or scale.dtype not in _FLOATS:
            return f"has scales of the shape {list(scale.shape)}, not one for each row"
        return "" if bool(scale.isfinite().all()) else "has scales that are no finite numbers"
    if tensor.dtype not in _FLOATS:
        return f"holds {tensor.dtype} without scales"
    return "" if bool(tensor.isfinite().all()) else "holds numbers that are not finite"
