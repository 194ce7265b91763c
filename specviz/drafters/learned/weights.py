"""A trained drafter module as a folder: `model.safetensors.bz2` with its weights, `module.json` with what they are for.

Place in the flow: written by training, read by drafters and by the Train page. The weights are data: nothing in them
is ever executed.

Matrices are stored in eight bits a number, a scale for each row (absmax quantisation, Dettmers et al. 2208.07339 §2):
half of what sixteen bits take, and drafts need no more. They are computed with as with any others.

A file says of itself how large it is, and may lie: packed zeros, or a column of numbers with a row of
scales, are a few kilobytes that fill the memory. So the module's own tensors, as its card describes them, say how many
bytes are read and which shapes are multiplied, before anything is unpacked.
"""

from __future__ import annotations

import bz2
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, load_file, save, save_file
from torch import Tensor

from specviz.drafters.learned.module import MODULES, DrafterModule, TargetParts, check_target, fresh, outline
from specviz.errors import ModelError, TraceError
from specviz.lm.base import GivesFeatures
from specviz.lm.fetched import family
from specviz.options import Options, from_mapping, to_mapping
from specviz.protocol.trainings import SHIPPED, UNTRAINED
from specviz.resources import ROOT, altered, take_over, without
from specviz.trace.files import STANDARD
from specviz.trace.guard import json_of, sentence_of

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


def packed(written: Mapping[str, Tensor]) -> bytes:
    """As the file holds them."""
    return bz2.compress(save(dict(written)))


def fitting(path: Path, wanted: Mapping[str, Tensor], called: str) -> dict[str, Tensor]:
    """As they are written, fit to be `restored` into a module with the tensors `wanted`. `called`: what a sentence
    calls them. Raises ModelError where they cannot be read or are not its; no more is read than it has room for."""
    most = _NUMBER_BYTES * _numbers(wanted) + _NAME_BYTES * 2 * len(wanted) + _HEAD_BYTES
    written = as_written(path, most, called)
    if problem := _misfit(written, wanted):
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


def _misfit(written: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> str:
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


WEIGHTS_HELP = (
    "trained weights: 'shipped', 'untrained' (random, for comparison), or a folder `specviz train module` left"
)
WEIGHTS, CARD = f"model.safetensors{PACKED}", "module.json"
UNPACKED = "model.safetensors"
"""weights that another program left, or an earlier version, which stored all in bfloat16"""
CARD_KEY = "specviz_module"
"""of a packed module's card, in the header of its file"""
_MOST_PACKED = 1 << 28
"""bytes of weights that a page hands out as one file"""


@dataclass(frozen=True, slots=True)
class ModuleCard:
    """What a module's weights are for, and how they came about."""

    module: str
    options: dict[str, Any]
    target_sha256: str
    target_name: str
    parameters: int
    training: dict[str, Any] = field(default_factory=dict)
    """tokens, seconds, losses, held-out acceptance: whatever training measured"""


def write_module(module: DrafterModule[Options], folder: Path, training: dict[str, Any]) -> ModuleCard:
    """Weights and card, in `folder`: matrices in eight bits, other numbers in bfloat16."""
    card = ModuleCard(
        module.name,
        to_mapping(module.options),
        module.target.weights_sha256,
        module.target.name,
        module.parameter_count(),
        training,
    )
    _write(stored(module.state_dict()), card, folder)
    return card


def _write(tensors: Mapping[str, torch.Tensor], card: ModuleCard, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(packed(tensors))
    (folder / UNPACKED).unlink(missing_ok=True)
    (folder / CARD).write_text(json.dumps(asdict(card), indent=1) + "\n", encoding="utf-8")
    take_over(folder)


def _weights(folder: Path) -> Path:
    packed = folder / WEIGHTS
    return packed if packed.is_file() else folder / UNPACKED


def read_card(folder: Path) -> ModuleCard:
    """Raises ModelError where the folder holds no module."""
    try:
        return _card((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, TraceError, ValidationError) as error:
        raise ModelError(
            f"{folder} holds no trained drafter module ({_why(error)}); give a folder that `specviz train module` "
            "wrote."
        ) from error


def _card(text: str) -> ModuleCard:
    return _CARDS.validate_json(json.dumps(json_of(text, _CARD_LIMITS)), strict=True)


_CARDS = TypeAdapter(ModuleCard)
_CARD_LIMITS = replace(STANDARD, what="a module's card")


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return sentence_of(error, "module's card").rstrip(".")
    return f"{type(error).__name__}: {error}".rstrip(".")[:300]


def read_module(folder: Path, target: GivesFeatures) -> DrafterModule[Options]:
    """The module, on the target's device and in its dtype. Raises ModelError where the files are damaged, or made for
    another target."""
    if problem := altered(folder / CARD) or altered(_weights(folder)):
        raise ModelError(problem)
    card = read_card(folder)
    check_target(card.target_sha256, card.target_name, f"in {folder}", target.info)
    parts = TargetParts.of(target)
    kind, options, wanted = _described(card, parts)
    written = fitting(_weights(folder), wanted, f"the weights in {folder}")
    module = fresh(kind, parts, options)
    module.load_state_dict(restored(written))
    module.check()
    module.learnt_from = card.target_sha256 if card.target_sha256 != target.info.weights_sha256 else ""
    return module


def _described(
    card: ModuleCard, target: TargetParts
) -> tuple[type[DrafterModule[Options]], Options, dict[str, torch.Tensor]]:
    """The module that a card is of, its options, and its tensors without their numbers. Raises SpecVizError."""
    kind = MODULES.get(card.module)
    options = from_mapping(kind.options_type, card.options)
    return kind, options, outline(kind, target, options)


def fill_from(folder: Path, module: DrafterModule[Options]) -> ModuleCard:
    """Give a fresh module the weights in `folder`, to be trained on, whichever target they were trained for; returns
    their card. Raises ModelError where they are of another module or shape."""
    card = read_card(folder)
    wanted, relearnt = to_mapping(module.options), module.relearnt
    begun = to_mapping(from_mapping(type(module.options), card.options)) if card.module == module.name else {}
    if not begun or any(begun[name] != wanted[name] for name in wanted if name not in relearnt):
        raise ModelError(
            f"{folder} holds a '{card.module}' with options {card.options}, and a '{module.name}' with "
            f"{wanted} is to be trained; give those options, or another folder."
        )
    written = fitting(_weights(folder), module.state_dict(), f"the weights in {folder}")
    module.load_state_dict(restored(written))
    return card


def module_for(
    kind: type[DrafterModule[Options]], weights: str, target: GivesFeatures, shape: Mapping[str, Any] | None = None
) -> DrafterModule[Options]:
    """The module that a drafter's option `weights` names; `shape` is that of an untrained one. Raises ModelError where
    there is none for this target, or the folder holds a module of another kind. The same one each time while target,
    shape and files are the same, and not too many others were asked for in between."""
    known = _KNOWN.setdefault(target, {})
    shape = shape or {}
    key = kind.name, weights, _written_at(_folder_of(kind, weights, target, shape)), repr(sorted(shape.items()))
    found = known.pop(key) if key in known else _module_for(kind, weights, target, shape)
    known[key] = found
    passing = [one for one in known if one[1] != SHIPPED]
    for one in passing[:-MOST_PASSING]:
        known.pop(one, None)
    return found


def shown_weights(weights: str) -> str:
    """As a trace names them: no path of this machine."""
    return weights if weights in (SHIPPED, UNTRAINED) else Path(weights).name


MODULES_FOLDER = ROOT / "modules"
"""of the shipped weights"""
MOST_PASSING = 3
"""modules of a target that are kept beside the shipped ones, those asked for last: a page trains one after the other,
and each is put to work several times on the way"""
Asked = tuple[str, str, int, str]
"""kind, weights, when they were written, shape"""
_KNOWN: WeakKeyDictionary[GivesFeatures, dict[Asked, DrafterModule[Options]]] = WeakKeyDictionary()


def _folder_of(
    kind: type[DrafterModule[Options]], weights: str, target: GivesFeatures, shape: Mapping[str, Any]
) -> Path:
    """Of shipped weights: the folder that is named for this shape, which is the bundled target's; for another target
    the one whose card names its weights, else its family, where there is one."""
    if weights != SHIPPED:
        return Path(weights)
    usual = MODULES_FOLDER / kind.folder_name(from_mapping(kind.options_type, shape))
    related, nearest = family(target.info.name), None
    for path in sorted(MODULES_FOLDER.glob(f"**/{CARD}"), key=lambda path: (path.parent != usual, path)):
        card = without(path, _read, None)
        if card is None or card.module != kind.name:
            continue
        if card.target_sha256 == target.info.weights_sha256:
            return path.parent
        if related and nearest is None and family(card.target_name) == related:
            nearest = path.parent
    return nearest or usual


def _read(card: Path) -> ModuleCard:
    return _card(card.read_text(encoding="utf-8"))


def _written_at(folder: Path) -> int:
    path = _weights(folder)
    return path.stat().st_mtime_ns if path.is_file() else 0


def _module_for(
    kind: type[DrafterModule[Options]], weights: str, target: GivesFeatures, shape: Mapping[str, Any]
) -> DrafterModule[Options]:
    if weights == UNTRAINED:
        parts, options = TargetParts.of(target), from_mapping(kind.options_type, shape)
        outline(kind, parts, options)
        return fresh(kind, parts, options)
    folder = _folder_of(kind, weights, target, shape)
    if weights == SHIPPED and not folder.is_dir():
        raise ModelError(
            f"no weights of '{folder.name}' are shipped; train some with `specviz train module {kind.name}`, or set "
            f"weights to '{UNTRAINED}'."
        )
    module = read_module(folder, target)
    if module.name != kind.name:
        raise ModelError(
            f"{folder} holds a module '{module.name}', but '{kind.name}' is needed; choose another folder."
        )
    return module


def pack(folder: Path) -> Path:
    """The module in `folder` as one file beside it, NAME.safetensors: its weights, and its card in their header."""
    card = read_card(folder)
    path = folder / f"{card.module}.safetensors"
    written = as_written(_weights(folder), _MOST_PACKED, f"the weights in {folder}")
    save_file(written, path, metadata={CARD_KEY: json.dumps(asdict(card))})
    return path


def unpack(path: Path, folder: Path, target: GivesFeatures) -> ModuleCard:
    """Write what `pack` made of a module of this target into `folder`. Raises ModelError for any other file, before
    anything in it is multiplied or written."""
    try:
        with safe_open(path, "pt") as file:
            card = _card((file.metadata() or {})[CARD_KEY])
    except (OSError, SafetensorError, KeyError, TraceError, ValidationError) as error:
        raise ModelError(
            f"{path.name} holds no drafter module ({_why(error)}); choose a file that the Train tab saved."
        ) from error
    check_target(card.target_sha256, card.target_name, f"in {path.name}", target.info)
    _, _, wanted = _described(card, TargetParts.of(target))
    _write(fitting(path, wanted, f"the weights in {path.name}"), card, folder)
    return card
