"""A trained drafter module as a folder: `model.safetensors.bz2` with its weights, `module.json` with what they are for.

Place in the flow: written by training, read by drafters and by the Train page. The weights are data: nothing in them
is ever executed.

Numbers are stored as `eight_bits` says. A module that went on from a shipped one may name that as its base: its file
then holds what it has beside or instead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from specviz.drafters.learned.eight_bits import (
    PACKED,
    as_written,
    fitting,
    less,
    misfit,
    more,
    packed,
    restored,
    stored,
)
from specviz.drafters.learned.module import MODULES, DrafterModule, TargetParts, check_target, fresh, outline
from specviz.errors import ModelError, TraceError
from specviz.lm.base import GivesFeatures
from specviz.lm.fetched import family
from specviz.lm.hub.files import is_hub_id
from specviz.options import Options, from_mapping, to_mapping
from specviz.protocol.trainings import SHIPPED, UNTRAINED
from specviz.resources import ROOT, altered, take_over, without
from specviz.trace.files import STANDARD
from specviz.trace.guard import json_of, sentence_of

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
    base: str = ""
    """the shipped module that these weights are stored on, if any; see `eight_bits.less`"""
    base_sha256: str = ""
    """of that one's file"""


def write_module(module: DrafterModule[Options], folder: Path, training: dict[str, Any], base: str = "") -> ModuleCard:
    """Weights and card, in `folder`: matrices in eight bits, other numbers in bfloat16. base: the shipped module that
    they are stored on."""
    card = ModuleCard(
        module.name,
        to_mapping(module.options),
        module.target.weights_sha256,
        module.target.name,
        module.parameter_count(),
        training,
        base,
        _sha256(base) if base else "",
    )
    written = stored(module.state_dict())
    _write(less(written, _base_of(card, module.state_dict(), folder)) if base else written, card, folder)
    return card


def _sha256(base: str) -> str:
    return hashlib.sha256(_weights(MODULES_FOLDER / base).read_bytes()).hexdigest()


def _write(tensors: Mapping[str, Tensor], card: ModuleCard, folder: Path) -> None:
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
    written = _written(folder, card, wanted)
    module = fresh(kind, parts, options)
    module.load_state_dict(restored(written))
    module.check()
    module.learnt_from = card.target_sha256 if card.target_sha256 != target.info.weights_sha256 else ""
    return module


def _written(folder: Path, card: ModuleCard, wanted: Mapping[str, Tensor], whole: bool = True) -> dict[str, Tensor]:
    """As `fitting`, on their base where they have one."""
    called = f"the weights in {folder}"
    written = fitting(_weights(folder), wanted, called, whole and not card.base)
    if not card.base:
        return written
    written = more(written, _base_of(card, wanted, folder))
    if whole and (problem := misfit(written, wanted)):
        raise ModelError(f"{called} do not fit their base: {problem}; train them anew.")
    return written


def _base_of(card: ModuleCard, wanted: Mapping[str, Tensor], folder: Path) -> dict[str, Tensor]:
    """The shipped weights, as written, that those in `folder` are stored on. Raises ModelError where they are not there
    or are others by now."""
    if card.base not in shipped_modules() or _sha256(card.base) != card.base_sha256:
        raise ModelError(
            f"the weights in {folder} go on from the shipped weights of {card.base[:60]!r}, and those are others here; "
            "train them anew."
        )
    return fitting(_weights(MODULES_FOLDER / card.base), wanted, f"the weights of {card.base}", whole=False)


def shipped_modules() -> list[str]:
    """Folders of weights for the bundled target, by name."""
    return sorted(path.parent.name for path in MODULES_FOLDER.glob(f"*/{CARD}"))


def _described(
    card: ModuleCard, target: TargetParts
) -> tuple[type[DrafterModule[Options]], Options, dict[str, Tensor]]:
    """The module that a card is of, its options, and its tensors without their numbers. Raises SpecVizError."""
    kind = MODULES.get(card.module)
    options = from_mapping(kind.options_type, card.options)
    return kind, options, outline(kind, target, options)


def fill_from(folder: Path, module: DrafterModule[Options]) -> tuple[ModuleCard, frozenset[str]]:
    """Give a fresh module the weights in `folder`, to be trained on, whichever target they were trained for; what they
    lack because an option was off stays fresh. Returns their card, and the names of what they gave. Raises ModelError
    where they are of another module or shape."""
    card = read_card(folder)
    wanted = to_mapping(module.options)
    begun = to_mapping(from_mapping(type(module.options), card.options)) if card.module == module.name else {}
    differing = {name for name in wanted if begun and begun[name] != wanted[name]} - module.relearnt
    if not begun or differing - module.added:
        raise ModelError(
            f"{folder} holds a '{card.module}' with options {card.options}, and a '{module.name}' with "
            f"{wanted} is to be trained; give those options, or another folder."
        )
    weights = module.state_dict()
    given = restored(_written(folder, card, weights, whole=not differing))
    module.load_state_dict(weights | given)
    return card, frozenset(given)


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
    for one in passing[: -_KEPT.get()]:
        known.pop(one, None)
    return found


@contextmanager
def keeping(modules: int) -> Iterator[None]:
    """Keep so many modules of a target that are not shipped meanwhile: a measurement that takes them in turns would
    read each anew for every text, and time that."""
    token = _KEPT.set(max(modules, MOST_PASSING))
    try:
        yield
    finally:
        _KEPT.reset(token)


def shown_weights(weights: str) -> str:
    """As a trace names them: no path of this machine, and an id on the hub as it is."""
    everywhere = weights in (SHIPPED, UNTRAINED) or (is_hub_id(weights) and not Path(weights).is_dir())
    return weights if everywhere else Path(weights).name


MODULES_FOLDER = ROOT / "modules"
"""of the shipped weights"""
MOST_PASSING = 3
"""modules of a target that are kept beside the shipped ones, those asked for last: a page trains one after the other,
and each is put to work several times on the way"""
_KEPT: ContextVar[int] = ContextVar("modules that are kept", default=MOST_PASSING)
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
