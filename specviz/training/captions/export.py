"""Trains, and writes what was trained as checkpoint folders: language model, eyes, tokenizer, facts and a model card.

The language model alone is an ordinary Llama checkpoint that transformers loads; its eyes lie beside it.
"""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from specviz.errors import TrainingError
from specviz.lm.checkpoint import EYES as EYES_FILE
from specviz.lm.llama.captioner import PREFIX, Eyes
from specviz.lm.load import load
from specviz.resources import take_over
from specviz.scenes.vocabulary import END
from specviz.training.captions.accuracy import accuracy
from specviz.training.captions.card import card
from specviz.training.captions.train import (
    BEGINS_WITH,
    EYES,
    EYES_ALONE,
    ROLES,
    SEED,
    STAGES,
    CaptionTraining,
    Report,
    checkpoint,
    fresh,
    tokenizer,
    trained,
)
from specviz.training.options import TrainOptions
from specviz.training.publish import checkpoint_facts, write_json

STORED = torch.float16
MEASURED_SCENES = 500
"""of each split"""


def export(training: CaptionTraining, roles: Iterable[str], options: TrainOptions, report: Report) -> None:
    """A folder for each of these in `options.out_dir`, the captioner's with how often it is right. Raises TrainingError
    where one is not trained yet."""
    for role in roles:
        facts = {
            "command": options.command,
            **_run(training, role),
            "date": datetime.date.today().isoformat(),
            "python": platform.python_version(),
            "versions": {package: metadata.version(package) for package in ("torch", "transformers", "tokenizers")},
            "machine": options.machine,
            "seed": SEED,
            "note": options.note,
        }
        folder = options.out_dir / role
        write_checkpoint(training, role, folder)
        write_json(folder / "training.json", facts, report)
        figures = accuracy(load(str(folder), device="cpu"), MEASURED_SCENES) if role == ROLES[0] else {}
        if figures:
            write_json(folder / "figures.json", figures, report)
        (folder / "MODEL_CARD.md").write_text(card(role, _parameters(folder), facts, figures), encoding="utf-8")


def write_checkpoint(training: CaptionTraining, role: str, folder: Path) -> None:
    """The trained weights in half precision, with all that loading needs."""
    words = tokenizer()
    model = fresh(role, words.get_vocab_size())
    model.load_state_dict(torch.load(checkpoint(training.work, role), map_location="cpu", weights_only=True)["model"])
    folder.mkdir(parents=True, exist_ok=True)
    config = model.language.config.to_dict()
    config |= {"architectures": ["LlamaForCausalLM"], "dtype": str(STORED).removeprefix("torch.")}
    eyes = EYES.get(role)
    if eyes is not None and model.eyes is not None:
        config["eyes"] = {name: getattr(eyes, name) for name in type(eyes).__dataclass_fields__}
        save_file(_eyes_tensors(model.eyes), folder / EYES_FILE, {"format": "pt"})
    _write(folder / "config.json", config)
    _write(folder / "generation_config.json", {"bos_token_id": 0, "do_sample": False, "eos_token_id": 0})
    language = {name: tensor.to(STORED).contiguous() for name, tensor in model.language.state_dict().items()}
    save_file(language, folder / "model.safetensors", {"format": "pt"})
    words.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "model_max_length": 128}
    _write(folder / "tokenizer_config.json", settings)
    for file in folder.iterdir():
        file.chmod(0o644)  # safetensors files are otherwise readable by their owner only
    take_over(folder)


def _eyes_tensors(eyes: Eyes) -> dict[str, Tensor]:
    return {PREFIX + name: tensor.to(STORED).contiguous() for name, tensor in eyes.state_dict().items()}


def _run(training: CaptionTraining, role: str) -> dict[str, Any]:
    """How long it was trained, and how its loss fell; of the captioner also what its eyes learnt from alone."""
    run = checkpoint_facts(checkpoint(training.work, role))
    log = run["log"]
    every = max(1, len(log) // 40)
    facts: dict[str, Any] = {
        "steps": run["step"],
        "scenes": run["step"] * training.batch_size,
        "tokens": run["tokens"],
        "minutes": round(run["elapsed_s"] / 60, 1),
        "losses": [[row["step"], round(row["loss"], 4)] for row in log[::every]],
        "last_loss": round(sum(row["loss"] for row in log[-20:]) / max(1, len(log[-20:])), 4),
    }
    if BEGINS_WITH.get(role) == EYES_ALONE:
        alone = checkpoint_facts(checkpoint(training.work, EYES_ALONE))
        facts |= {"eyes_pictures": alone["tokens"], "eyes_minutes": round(alone["elapsed_s"] / 60, 1)}
    return facts


def _parameters(folder: Path) -> dict[str, int]:
    from safetensors import safe_open

    counted: dict[str, int] = {}
    for path in sorted(folder.glob("*.safetensors")):
        opened: Any = safe_open(path, framework="pt")
        counted[path.stem] = sum(opened.get_tensor(key).numel() for key in opened.keys())  # noqa: SIM118 -- no mapping
    return counted


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def train_captions(options: TrainOptions, report: Report) -> None:
    """Train captioner and drafters, or those that `names` names, or go on where they stopped, and leave a folder for
    each in `options.out_dir`.

    How much each learns is fixed; of the options it reads `names`, `work_dir`, `out_dir`, `command`, `machine`
    and `note`. Raises TrainingError for a name that is none of theirs."""
    roles = options.names or ROLES
    for name in roles:
        if name not in ROLES:
            raise TrainingError(f"there is no caption model '{name}'; there are {', '.join(ROLES)}.")
    training = CaptionTraining(options.work_dir)
    needed = {*roles, *(BEGINS_WITH[role] for role in roles if role in BEGINS_WITH)}
    for stage in (stage for stage in STAGES if stage in needed):
        report({"training": stage})
        trained(training, stage, report)
    export(training, roles, options, report)
