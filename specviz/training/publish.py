"""Exports trained weights as ordinary checkpoints, measures what was exported, and writes the card from measured facts.

Place in the flow: below `publication`; writes folders that `AutoModelForCausalLM` loads offline. Every number in a card
comes from its arguments.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.errors import TrainingError
from specviz.lm.hub.model import cache_argument, returned_cache
from specviz.resources import take_over
from specviz.training.loop import Report
from specviz.training.target import held_out_loss, losses_by_layer, moved
from specviz.training.windows import TokenStream, held_out_batches

BITS_WINDOWS = 64


@dataclass(frozen=True)
class HeldOut:
    """Held-out numbers: nats per token after each layer on some windows, nats and bits per byte of the last on all."""

    nats_by_layer: tuple[float, ...]
    nats: float
    bits_per_byte: float
    tokens: int


def export_model(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Writes bfloat16 weights, configuration and tokenizer; the model in memory stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    published = moved(LlamaForCausalLM(model.config), dtype=torch.bfloat16)
    published.load_state_dict(model.state_dict())
    published.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        do_sample=False,
    )
    published.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        file.chmod(0o644)  # safetensors files are otherwise readable by their owner only
    take_over(folder)


def load_exported(folder: Path) -> LlamaForCausalLM:
    """The exported weights in fp32, as the engine uses them on a CPU: rounded once, computed exactly."""
    if not (folder / "config.json").is_file():
        raise TrainingError(f"No exported model in '{folder.name}': run `specviz train export` first.")
    model: LlamaForCausalLM = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    return model


def bits_per_byte(nats_per_token: float, tokens: int, n_bytes: int) -> float:
    """Compression of the text itself, comparable between tokenizers."""
    return nats_per_token * tokens / (log(2) * n_bytes)


def measure_held_out(model: LlamaForCausalLM, stream: TokenStream, n_bytes: int, window: int) -> HeldOut:
    """Loss over the held-out stream in windows without carried context (so a little pessimistic): the last layer's over
    all of it, every layer's over windows spread evenly."""
    by_layer = losses_by_layer(model, held_out_batches(stream, window, 4, BITS_WINDOWS))
    nats = held_out_loss(model, held_out_batches(stream, window, 4))
    return HeldOut(tuple(by_layer), nats, bits_per_byte(nats, len(stream), n_bytes), len(stream))


def held_out_bits(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, stream: TokenStream, window: int
) -> float:
    """Bits per byte on some windows, evenly spread over a held-out stream, without carried context."""
    batches = held_out_batches(stream, window, 4, BITS_WINDOWS)
    tokens = sum(batch[:, 1:].numel() for batch in batches)
    texts = [str(tokenizer.decode(row[1:].tolist(), skip_special_tokens=True)) for batch in batches for row in batch]
    n_bytes = sum(len(text.encode("utf-8")) for text in texts)
    return round(bits_per_byte(held_out_loss(model, batches), tokens, n_bytes), 4)


@torch.inference_mode()
def continuation(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, text: str, tokens: int, temperature: float, seed: int
) -> str:
    """The model's continuation of a text, greedy at temperature 0."""
    generator, takes_cache = torch.Generator().manual_seed(seed), cache_argument(model)
    cache, fresh, produced = None, tokenizer(text, return_tensors="pt")["input_ids"], []
    for _ in range(tokens):
        result = model(input_ids=fresh, use_cache=True, **{takes_cache: cache})
        cache, logits = returned_cache(result), result.logits[:, -1]
        if temperature == 0:
            fresh = logits.argmax(-1, keepdim=True)
        else:
            fresh = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)
        produced.append(int(fresh))
        if produced[-1] == tokenizer.eos_token_id:
            break
    return str(tokenizer.decode(produced, skip_special_tokens=True))


def draw_loss_curve(log_rows: Sequence[dict[str, Any]], path: Path, title: str) -> None:
    """A small PNG: smoothed training objective and held-out loss over tokens."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 2.8), dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    smooth, value = [], log_rows[0]["loss"]
    for row in log_rows:
        value = 0.95 * value + 0.05 * row["loss"]
        smooth.append(value)
    axes.plot([row["tokens"] / 1e6 for row in log_rows], smooth, label="objective (smoothed)", color="C0")
    held = [row for row in log_rows if "held_out" in row]
    axes.plot(
        [row["tokens"] / 1e6 for row in held],
        [row["held_out"] for row in held],
        "o-",
        markersize=3,
        label="held-out nats per token",
        color="C1",
    )
    axes.set(xlabel="million tokens", title=title)
    axes.legend(frameon=False)
    figure.savefig(path)


def checkpoint_facts(checkpoint: Path) -> dict[str, Any]:
    """Step, tokens, seconds and log of a run, from its checkpoint."""
    if not checkpoint.is_file():
        raise TrainingError(f"No checkpoint {checkpoint.parent.name}/{checkpoint.name} in the work folder.")
    facts: dict[str, Any] = torch.load(checkpoint, map_location="cpu", weights_only=True)["progress"]
    return facts


def copy_split(work_dir: Path, folder: Path) -> int:
    """Ships the split manifest beside the model; returns the held-out bytes."""
    shutil.copyfile(work_dir / "split.json", folder / "split.json")
    split = json.loads((folder / "split.json").read_text(encoding="utf-8"))
    return sum(row["bytes"] for row in split["held_out"])


def write_json(path: Path, value: Any, report: Report) -> None:
    """Writes indented JSON and reports its name."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    report({"wrote": path.name})


CARD = """---
license: {licence}
library_name: transformers
pipeline_tag: text-generation
tags: [speculative-decoding, teaching, llama]
---

# {title}

{purpose}

{shape}

## How it was made

* Corpus: {corpus}. Python is split by file (`split.json` lists every file with its SHA-256), plain \
English by the words that meet; tokenizer and weights saw training text only.
* Corpus licences: PSF-2.0 (Python Software Foundation License) and Apache-2.0. Weights: Apache-2.0.
* Command: `{command}` (seed {seed}).
* Versions: {versions}.
* Run: {run}.
* Date: {date}.

{recipe}

![loss]({figure})

## Measured on the published weights

Weights are stored in bfloat16; every number below was measured on these rounded weights, computed in fp32.

Python. {numbers}

The small world:

{extra}

## Samples

{samples}

## Limits

{limits}
"""

LIMITS = """* A teaching model, trained for a few hours on a small CPU: it knows short English texts of the kind shown
  here and the form of Python, nothing else. Its programs do not work, and what it says of the world outside its small
  fact base is made up.
* The English half is generated from templates: fluent there, lost elsewhere. How often facts and sums are right stands
  in the table above.
* Standard library modules share idioms, licence headers and some code, so held-out files are new files,
  not new territory: {repeated:.1%} of the long lines of held-out files also occur in a training file.
* Contexts beyond 512 tokens were never trained; the configuration allows 1024 positions."""


def fenced(title: str, prompt: str, text: str) -> str:
    """A sample as Markdown: the end of its prompt, then the continuation."""
    tail = "\n".join(prompt.splitlines()[-4:])
    return f"{title}\n\n````text\n{tail}⟦{text}⟧\n````"


def held_out_table(names: Sequence[str], nats: Sequence[float], bits: Sequence[float]) -> str:
    """One row per read-out layer: nats per token and bits per byte."""
    rows = [f"| {name} | {n:.3f} | {b:.3f} |" for name, n, b in zip(names, nats, bits, strict=True)]
    return "\n".join(["| read out | nats per token | bits per byte |", "|---|---|---|", *rows])


def card(facts: Mapping[str, Any]) -> str:
    """The card's Markdown; a missing fact is an error, never a blank."""
    return CARD.format(**facts)
