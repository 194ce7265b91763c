"""Where a model comes from and where it runs: name to folder, device and dtype to what this machine has.

A target that does not fit one device is spread: its layers over several (`map:…`), or each of its matrices over the
processes of `torchrun` (`tp:auto`). That is written where a device is named, so that a request, a sweep's file and a
link need no further word for it; and so is `eager:cuda`, a device whose passes are not replayed as CUDA graphs. How it
is done: `hub.load`, `ranks`, `llama.replay`.

An `Origin` names folders of this machine, which a model's card does not; it stays in the process, so that another one
can load the same model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch

from specviz.core.compiled import library
from specviz.errors import ModelError, SpecVizError
from specviz.lm.base import LanguageModel
from specviz.lm.checkpoint import read_config
from specviz.lm.fetched import REAL_MODELS
from specviz.lm.gguf import STORED, TYPE, is_gguf, unpacked
from specviz.lm.hub.files import from_hub, is_hub_id
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.llama.shape import why_not_lean
from specviz.resources import asset_path

SMALL_FILES = ("*.json", "*.jinja")
"""all of a hub checkpoint but its weights: configuration, tokenizer, chat template"""
WIDE, LEAN_WIDE = 1024, 384
"""least width at which `auto` takes bfloat16 on a CPU: by torch's products, and by compiled passes over few rows"""
AUTO = "SPECVIZ_DTYPE"
"""environment variable: the format that `auto` stands for"""
WIDTHS = ("hidden_size", "n_embd", "d_model")
"""what configurations call it"""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def locate(name: str) -> Path:
    """The folder of a checkpoint: bundled name, fetched model, folder, GGUF file, or hub id, in this order. Raises
    ModelError.

    Of a hub checkpoint only the small files are there; `fetch_weights` brings the rest once the model is known to fit.
    """
    bundled = bundled_models()
    if name in bundled:
        return bundled[name]
    if name in REAL_MODELS:
        return REAL_MODELS[name].fetched()
    if is_folder(name):
        return Path(os.path.expanduser(name))
    if is_gguf(name):
        return unpacked(Path(os.path.expanduser(name)))
    if is_hub_id(name):
        return from_hub(name, SMALL_FILES)
    raise ModelError(
        f"there is no model {name[:200]!r}: it is neither bundled ({', '.join(bundled) or 'none'}), nor fetched by "
        f"specviz get ({', '.join(REAL_MODELS)}), nor a folder, nor a GGUF file, nor a hub id like owner/model or "
        "owner/model@revision."
    )


def is_folder(name: str) -> bool:
    """Whether a folder is called so; what no file system could call anything is none."""
    return os.path.isdir(os.path.expanduser(name))  # Path.is_dir raises for a name that is too long


def is_local(name: str) -> bool:
    """Whether a name is no hub id's, although it may be written like one."""
    return name in bundled_models() or name in REAL_MODELS or is_folder(name) or is_gguf(name)


def shown_name(name: str) -> str:
    """What a model is called in a trace, which must not carry paths of this machine."""
    if name not in REAL_MODELS and (is_folder(name) or is_gguf(name)):
        path = Path(os.path.expanduser(name)).resolve()
        return path.stem if path.is_file() else path.name
    return name


def bundled_models() -> dict[str, Path]:
    """Models that ship with SpecViz: name → folder."""
    try:
        folder = asset_path("models")
    except SpecVizError:
        return {}
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/config.json"))}


def fetch_weights(name: str, folder: Path) -> None:
    """Bring the safetensors files of a hub checkpoint to `folder`, the one `locate` gave. Raises ModelError."""
    if not is_local(name):
        fetched = from_hub(name, (*SMALL_FILES, "model*.safetensors"))
        if fetched != folder:
            raise ModelError(f"{name} changed on the hub while it was being loaded; load it again.")


def choose_device(device: str) -> torch.device:
    """`auto` takes a CUDA GPU where there is one, else the CPU. Raises ModelError for a device that is not there."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = device.partition(":")[0]
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if kind not in there:
        raise ModelError(f"there is no device '{device}'; choose auto, cpu, cuda or mps.")
    if not there[kind]:
        raise ModelError(f"this machine has no usable {kind} device; choose auto or cpu.")
    try:
        return torch.empty(0, device=device).device
    except RuntimeError as error:
        raise ModelError(f"the device '{device}' cannot be used; choose auto, cpu or {kind}.") from error


def choose_dtype(dtype: str, device: torch.device, config: Mapping[str, Any]) -> tuple[torch.dtype, str]:
    """`auto` takes what the checkpoint was stored in, but on a CPU bfloat16 only where it pays; and why it took that,
    empty where another format was asked for.

    Asks what the machine declares and no clock, so the same run has the same format every time there. `SPECVIZ_DTYPE`
    says what `auto` stands for. Raises ModelError for other names.
    """
    asked = os.environ.get(AUTO, "auto") if dtype == "auto" else dtype
    if asked != "auto":
        if asked not in DTYPES:
            where = f"{AUTO} is '{asked}'" if dtype == "auto" else f"there is no dtype '{asked}'"
            raise ModelError(f"{where}; choose auto, {', '.join(DTYPES)}.")
        return DTYPES[asked], f"{AUTO} says so" if dtype == "auto" else ""
    stored = DTYPES.get(str(config.get("dtype") or config.get("torch_dtype") or "float32"), torch.float32)
    if stored == torch.float32 or device.type == "cuda":
        return stored, "its weights are stored so"
    if device.type != "cpu":
        return torch.float32, f"shorter formats are not tried on the device {device.type}"
    width = next((value for name in WIDTHS if isinstance(value := config.get(name), int)), 0)
    reason = why_not_bfloat16(width, compiled=why_not_lean(config) is None and passes_are_compiled())
    if reason:
        return torch.float32, reason
    return torch.bfloat16, f"width {width} and this processor multiplies it ({bfloat16_by()})"


def chosen_format(name: str, device: str = "auto", dtype: str = "auto") -> str:
    """In a sentence, how a GGUF file or a fetched model is kept and in which format it computes here; empty for other
    models, which compute in the format that their authors stored or in one that was asked for. Raises ModelError."""
    if name not in REAL_MODELS and not is_gguf(name):
        return ""
    config = read_config(locate(name), name)
    kept = str(config.get("dtype") or config.get("torch_dtype") or "float32")
    stored = config.get(TYPE, "")
    blocks = f"{stored} blocks, unpacked to {kept}" if stored and stored not in STORED else kept
    precision, why = choose_dtype(dtype, read_spread(device).device, config)
    computes = str(precision).removeprefix("torch.") + (f": {why}" if why else "")
    return f"{shown_name(name)}: kept as {blocks}; computes in {computes}."


def why_not_bfloat16(width: int, compiled: bool = False) -> str | None:
    """None where the model is wide enough for bfloat16 and this CPU multiplies it; else what is missing. `compiled`:
    whether its passes over a few rows are compiled here.

    Measured on one thread, one row and five rows together, float32 over bfloat16. An AMX Xeon: by torch's products
    0.53 and 1.03 at width 512, 1.21 and 1.90 at 1024, 1.62 and 2.07 at 2048, 1.74 and 2.40 at 4096; by compiled
    passes 1.55 and 1.59 at width 576, and at 384 2.1 for one row. AVX512-BF16 alone (AMD's Zen 4): by torch's
    products 1.6 and 1.9 at width 512, 1.2 and 2.5 at 1024, 1.3 and 4.0 at 2048, 1.1 and 4.8 at 4096; by compiled
    passes 0.98 and 1.12 at width 576, over eight rows 1.38, and 2.2 for a prompt; at width 384 1.09, 1.2 and 1.6 (1,
    5 and 8 rows of the bundled target). Without either torch's products in bfloat16 are up to ten times slower.
    """
    least = LEAN_WIDE if compiled else WIDE
    if width < least:
        return f"width {width or 'unknown'}, and bfloat16 pays from {least} on"
    return None if bfloat16_by() else "this processor does not multiply bfloat16 (neither AMX nor AVX512-BF16)"


def passes_are_compiled() -> bool:
    """Whether the lean forward's passes over a few rows are: a compiler is at hand."""
    return library(SOURCE) is not None


def bfloat16_by() -> str:
    """The instructions by which this processor multiplies bfloat16; empty where it has none."""
    probes = {"AMX": "_is_amx_tile_supported", "AVX512-BF16": "_is_avx512_bf16_supported"}
    return next((name for name, probe in probes.items() if getattr(torch.cpu, probe, bool)()), "")


EAGER, MAP, RANKS = "eager:", "map:", "tp:"
PLANS = ("auto", "balanced", "sequential")
"""ways to share layers out that accelerate knows by name"""
Layers = str | dict[str, int | str]
"""one of `PLANS`, or module → device (0, "cuda:1", "cpu", "disk")"""


@dataclass(frozen=True, slots=True)
class Spread:
    """Where a model goes."""

    device: torch.device
    """where its rows go in and its logits come out"""
    layers: Layers | None = None
    """None: all on `device`"""
    ranks: int = 0
    """processes that share each matrix; 0: this one has it whole"""
    graphs: bool = True
    """passes of few rows are replayed as CUDA graphs, where the device is one of CUDA and the adapter can"""

    @property
    def spread(self) -> bool:
        return self.layers is not None or self.ranks > 0


def read_spread(device: str) -> Spread:
    """Raises ModelError for what is misspelt, or cannot be had on this machine."""
    if device.startswith(MAP):
        layers = _read_map(device.removeprefix(MAP))
        _need_accelerate("transformers puts layers on several devices with")
        return Spread(choose_device("auto"), layers)
    if device.startswith(RANKS):
        return Spread(_of_this_rank(device.removeprefix(RANKS)), ranks=_ranks())
    if device.startswith(EAGER):
        return Spread(choose_device(device.removeprefix(EAGER)), graphs=False)
    return Spread(choose_device(device))


def one_device(device: str) -> str:
    """Where a small model goes that works beside one spread like that: a drafter cut up would wait more than it
    computes."""
    return "auto" if device.startswith((MAP, RANKS)) else device


def _read_map(written: str) -> Layers:
    if written in PLANS:
        return written
    try:
        found: Any = json.loads(written)
    except ValueError:
        found = None
    places = list(found.values()) if isinstance(found, dict) else []
    if not places or not all(isinstance(one, (int, str)) and not isinstance(one, bool) for one in places):
        raise ModelError(
            f"there is no device map {written[:80]!r}; choose {', '.join(PLANS)}, or write a JSON object of modules "
            'and devices such as {"model.embed_tokens": 0, "model.layers.0": "cpu", …}.'
        )
    checked: dict[str, int | str] = found
    return checked


def _of_this_rank(written: str) -> torch.device:
    if written != "auto":
        raise ModelError(f"there is no way {written[:80]!r} to cut a model over processes; choose auto.")
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        raise ModelError(
            "a model is cut over the processes of torchrun, but this process was not started by it; "
            "write torchrun --nproc-per-node 2 -m specviz in place of specviz."
        )
    _need_accelerate("transformers cuts a model over processes with")
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return torch.device("cpu")


def _need_accelerate(purpose: str) -> None:
    if find_spec("accelerate") is None:
        raise ModelError(f"{purpose} accelerate, which is not installed: pip install 'specviz[large]'.")


def _ranks() -> int:
    return int(os.environ["WORLD_SIZE"])


@dataclass(frozen=True, slots=True)
class Origin:
    """The arguments of `lm.load.load` that give the model again."""

    name: str
    """bundled name, folder or hub id, as it was asked for"""
    device: str = "cpu"
    dtype: str = "float32"
    adapter: str = "auto"


_ORIGINS: WeakKeyDictionary[LanguageModel, Origin] = WeakKeyDictionary()


def remember(model: LanguageModel, origin: Origin) -> None:
    """Called by `load`."""
    _ORIGINS[model] = origin


def origin_of(model: LanguageModel) -> Origin | None:
    """None of a model that was made in memory, or that stands in for another one."""
    return _ORIGINS.get(model)
