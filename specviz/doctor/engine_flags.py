"""How an engine is asked for a drafter: command-line flags of vLLM, SGLang and llama.cpp, or why an engine cannot.

    drafter, its weights, speculation length ─► engine → flags, or a sentence

After vLLM's `SpeculativeMethod` (its module of the speculative configuration) and its pages on each method, SGLang's
page on speculative decoding and its server arguments, and llama.cpp's page on it and its table of `--spec-type`, read
in November 2026.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, Literal

Layout = Literal["", "own", "published", "eagle3"]
ENGINES = ("vLLM", "SGLang", "llama.cpp")
USUAL = 4
"""speculation length where none follows from the measurement"""
CARD = "module.json"
"""beside weights that `specviz train` wrote"""
CONFIG = "config.json"
OF_EAGLE3 = {"eagle": ("draft_vocab_size", "eagle_aux_hidden_state_layer_ids", "speculators_model_type")}
"""drafter → keys of a config that EAGLE-3's weights have and EAGLE-1's have not"""


@dataclass(frozen=True, slots=True)
class Asked:
    """One drafter, as an engine is asked for it."""

    drafter: str
    model: str = ""
    """its weights; empty: it has none"""
    gamma: int = USUAL
    layout: Layout = ""
    """of its weights: SpecViz's own, or published ones"""


@dataclass(frozen=True, slots=True)
class Flags:
    """What each engine's command line needs, and of those that cannot be asked why."""

    flags: Mapping[str, str]
    cannot: Mapping[str, str]


def layout_of(drafter: str, weights: str) -> Layout:
    """From the files beside the weights; empty where there is no such folder."""
    folder = Path(weights)
    if not weights or not folder.is_dir():
        return ""
    if (folder / CARD).is_file():
        return "own"
    return "eagle3" if any(key in _config(folder) for key in OF_EAGLE3.get(drafter, ())) else "published"


def _config(folder: Path) -> Mapping[str, Any]:
    try:
        data = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # whoever loads the weights says what is wrong with them
    return data if isinstance(data, dict) else {}


def flags_of(asked: Asked) -> Flags:
    """Every engine is in one of the two."""
    if asked.layout == "own" and asked.drafter in HEADS:
        return Flags({}, dict.fromkeys(ENGINES, f"{OWN_LAYOUT}{WRITTEN_TOO.get(asked.drafter, '')}"))
    make = MAKERS.get(asked.drafter)
    if make is None:
        return Flags({}, dict.fromkeys(ENGINES, f"has nothing like the drafter '{asked.drafter}'."))
    flags = make(asked)
    missing = {engine: _why_not(engine, asked.drafter) for engine in ENGINES if engine not in flags}
    return Flags(flags, missing)


OWN_LAYOUT = (
    "reads published checkpoints, and these weights are in SpecViz's own layout: give published weights to --head, or "
    "train the head with the engine's own tools."
)
WRITTEN_TOO = {
    "eagle": " `specviz train module eagle --speculators` also writes the layout of speculators, where the head has "
    "EAGLE-3's wiring; vLLM reads that."
}
REASONS = {
    ("SGLang", "suffix"): "has no suffix drafter; NGRAM is its nearest.",
    ("llama.cpp", "suffix"): "has no suffix drafter; --spec-type ngram-map-k is its nearest.",
    ("llama.cpp", "eagle"): "has EAGLE-3 alone (--spec-type draft-eagle3), and these weights are EAGLE-1's.",
}


def _why_not(engine: str, drafter: str) -> str:
    return REASONS.get((engine, drafter), f"has no drafter of the kind '{drafter}'.")


# --- per drafter -----------------------------------------------------------------------------------------------------


def _vllm(**config: object) -> str:
    return f"--speculative-config {quote(json.dumps(config))}"


def _sglang(algorithm: str, model: str, gamma: int) -> str:
    """A chain of gamma candidates: one more row than candidates is verified."""
    return (
        f"--speculative-algorithm {algorithm} --speculative-draft-model-path {quote(model)} "
        f"--speculative-num-steps {gamma} --speculative-eagle-topk 1 --speculative-num-draft-tokens {gamma + 1}"
    )


def _llama(kind: str, model: str, gamma: int) -> str:
    gguf = model if model.endswith(".gguf") else f"{model}.gguf"
    return f"--spec-type {kind} --model-draft {quote(gguf)} --spec-draft-n-max {gamma}"


def _ngram(asked: Asked) -> dict[str, str]:
    return {
        "vLLM": _vllm(method="ngram", num_speculative_tokens=asked.gamma, prompt_lookup_max=4),
        "SGLang": f"--speculative-algorithm NGRAM --speculative-num-draft-tokens {asked.gamma + 1}",
        "llama.cpp": f"--spec-type ngram-simple --spec-draft-n-max {asked.gamma}",
    }


def _suffix(asked: Asked) -> dict[str, str]:
    return {"vLLM": _vllm(method="suffix", num_speculative_tokens=asked.gamma)}


def _draft_model(asked: Asked) -> dict[str, str]:
    return {
        "vLLM": _vllm(method="draft_model", model=asked.model, num_speculative_tokens=asked.gamma),
        "SGLang": _sglang("STANDALONE", asked.model, asked.gamma),
        "llama.cpp": _llama("draft-simple", asked.model, asked.gamma),
    }


def _eagle(asked: Asked) -> dict[str, str]:
    third = asked.layout == "eagle3"
    flags = {
        "vLLM": _vllm(method="eagle3" if third else "eagle", model=asked.model, num_speculative_tokens=asked.gamma),
        "SGLang": _sglang("EAGLE3" if third else "EAGLE", asked.model, asked.gamma),
    }
    return {**flags, "llama.cpp": _llama("draft-eagle3", asked.model, asked.gamma)} if third else flags


def _medusa(asked: Asked) -> dict[str, str]:
    return {"vLLM": _vllm(method="medusa", model=asked.model, num_speculative_tokens=asked.gamma)}


def _dflash(asked: Asked) -> dict[str, str]:
    return {
        "vLLM": _vllm(method="dflash", model=asked.model, num_speculative_tokens=asked.gamma),
        "SGLang": f"--speculative-algorithm DFLASH --speculative-draft-model-path {quote(asked.model)}",
        "llama.cpp": _llama("draft-dflash", asked.model, asked.gamma),
    }


def _dspark(asked: Asked) -> dict[str, str]:
    return {
        "vLLM": _vllm(method="dspark", model=asked.model, num_speculative_tokens=asked.gamma),
        "llama.cpp": _llama("draft-dspark", asked.model, asked.gamma),
    }


MAKERS: Mapping[str, Callable[[Asked], dict[str, str]]] = {
    "ngram": _ngram,
    "suffix": _suffix,
    "model": _draft_model,
    "eagle": _eagle,
    "medusa": _medusa,
    "dflash": _dflash,
    "dspark": _dspark,
}
"""drafter → its flags by engine; an engine that is missing cannot"""
HEADS = ("eagle", "medusa", "dflash", "dspark")
