"""Trains, and writes what was trained as checkpoint folders: language model, eyes, tokenizer, facts and a model card.

The language model alone is an ordinary Llama checkpoint that transformers loads; its eyes lie beside it. The card says
how often greedy captions name what is in the picture, on scenes that training never had. A caption is right where the
shapes that it names with size, colour and kind are those of the scene, none missing and none added; the looser figure
asks for colours and kinds alone.
"""

from __future__ import annotations

import datetime
import json
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from specviz.errors import TrainingError
from specviz.lm.base import SeesPictures
from specviz.lm.checkpoint import EYES as EYES_FILE
from specviz.lm.llama.captioner import PREFIX, Eyes
from specviz.lm.load import LoadedModel, load
from specviz.resources import take_over
from specviz.scenes.captions import END, named, shown
from specviz.scenes.scene import HELD_OUT, Scene, Split, pixels, scene_of
from specviz.training.captions.lessons import UNREAD
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

MOST_TOKENS = 48
SPLITS: tuple[Split, ...] = ("chance", "combination")


def accuracy(captioner: LoadedModel, scenes: int) -> dict[str, Any]:
    """Per split: scenes, and how many captions name all shapes rightly, with and without their sizes, and which not."""
    found: dict[str, Any] = {}
    for split in SPLITS:
        told = [(one, greedy_caption(captioner, one)) for one in (scene_of(split, seed) for seed in range(scenes))]
        wrong = [f"{scene}: {text.strip()}" for scene, text in told if named(text) != shown(scene)]
        found[split] = {
            "scenes": scenes,
            "right": scenes - len(wrong),
            "right_without_sizes": sum(_unsized(named(text)) == _unsized(shown(scene)) for scene, text in told),
            "errs": wrong[:3],
        }
    return found


def greedy_caption(captioner: LoadedModel, scene: Scene) -> str:
    """The text of the most probable token at every place, to the end of the caption."""
    return captioner.tokenizer.decode(_tokens(captioner, scene))


def _tokens(captioner: LoadedModel, scene: Scene) -> Iterator[int]:
    model = captioner.model
    assert isinstance(model, SeesPictures), "only a model with eyes captions a scene."
    seeing = model.seeing(torch.from_numpy(pixels(scene)))
    cache, new = seeing.new_cache(), list(model.picture_ids)
    for _ in range(MOST_TOKENS):
        token = int(seeing.forward(new, cache, last_only=True)[-1].argmax())
        cache.keep(range(cache.base, cache.length))
        if token in captioner.info.eos_ids:
            return
        yield token
        new = [token]


def _unsized(shapes: Counter[tuple[str, str, str]]) -> Counter[tuple[str, str]]:
    without: Counter[tuple[str, str]] = Counter()
    for (_, colour, shape), times in shapes.items():
        without[colour, shape] += times
    return without


WHAT = {
    "captioner": "A target that captions a picture of one to three coloured shapes: 64 patches of 4 × 4 pixels, three "
    "blocks of a vision transformer, 16 pooled tokens, a projector, and a language model of six layers.",
    "caption-drafter-text": "A drafter that sees no picture and never read a caption: it knows the captions' words "
    "from other sentences.",
    "caption-drafter-tuned": "The same drafter, trained on captions as well; it still sees no picture, so it can only "
    "guess what is in it.",
    "caption-drafter-eyes": "A drafter with a small image adapter of its own: its eyes, one block wide 48, give one "
    "embedding for each quarter of the picture.",
}
HEAD = """---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
tags: [speculative-decoding, teaching, llama, image-captioning]
---
"""


def card(role: str, parameters: Mapping[str, int], facts: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """Markdown, from what was counted and measured."""
    sizes = f"{parameters['model']:,} in the language model"
    if "eyes" in parameters:
        sizes += f", {parameters['eyes']:,} in its eyes"
    read = "texts" if role.endswith("-text") else "scenes"
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return "\n".join(
        (
            HEAD,
            f"# SpecViz {role}",
            "",
            WHAT[role],
            "",
            f"Parameters: {sizes}; stored in half precision, computed in float32 on a CPU. The vocabulary is one token "
            "per word of the captions, so embeddings weigh next to nothing.",
            "",
            "Made after Gagrani et al. 2404.08856, at toy scale: their target is LLaVA-7B, their drafters have 115 M "
            "parameters and read photographs. What carries over is the question, not a number.",
            "",
            "## How it was made",
            "",
            *_alone(facts),
            f"* {facts['steps']:,} steps over {facts['scenes']:,} generated {read}, "
            f"{facts['minutes']:g} minutes of "
            f"{facts['machine']}, one thread at low priority; last loss {facts['last_loss']:g}.",
            f"* Command: `{facts['command']}` (seed {facts['seed']}). Versions: Python {facts['python']}, {versions}. "
            f"Date: {facts['date']}." + (f" {facts['note']}" if facts["note"] else ""),
            "* Scenes and captions are this project's own (`specviz/scenes`), Apache-2.0 like the weights.",
            f"* Never in training: {', '.join(sorted(f'{colour} {shape}' for colour, shape in HELD_OUT))}.",
            *_right(figures),
            "",
            "## Limits",
            "",
            "It knows nothing but these scenes and words. How it is used and what was measured: `docs/scenes.md`.",
            "",
        )
    )


def _alone(facts: Mapping[str, Any]) -> list[str]:
    if "eyes_pictures" not in facts:
        return []
    return [
        f"* First its eyes alone, {facts['eyes_minutes']:g} minutes on {facts['eyes_pictures']:,} generated pictures: "
        "a reader, thrown away since, asked what lies in each cell of a grid. A third of the shapes there had a colour "
        "without a name, a third of the colours a form without one, and what has no name was not asked. Then the eyes "
        "were fixed, and the language model learnt captions of such pictures. What has no name it did not have to say; "
        f"{100 * UNREAD:g} % of the other words that the picture decides were hidden from it once said, so that it "
        "has to look.",
    ]


def _right(figures: Mapping[str, Any]) -> list[str]:
    if not figures:
        return []
    rows = [
        f"| {what} | {100 * one['right_without_sizes'] / one['scenes']:.1f} % | "
        f"{100 * one['right'] / one['scenes']:.1f} % | {one['scenes']} |"
        for what, one in (
            ("pairs of colour and shape that training had", figures["chance"]),
            ("with a pair that training never had", figures["combination"]),
        )
    ]
    wrong = [f"* `{line}`" for figure in figures.values() for line in figure["errs"]]
    return [
        "",
        "## Measured on the published weights",
        "",
        "Greedy captions of held-out scenes in which every shape is named rightly, none missing and none added:",
        "",
        "| pictures | colours and shapes | with sizes too | of |",
        "| --- | ---: | ---: | ---: |",
        *rows,
        *(["", "Where it errs:", "", *wrong] if wrong else []),
    ]


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
