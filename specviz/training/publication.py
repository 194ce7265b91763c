"""The last two stages: `export` writes both models with their facts and cards, `measure` the drafter's acceptance.

Place in the flow: after target and drafter; reads the work folder, writes the assets folder.
"""

import datetime
import json
import platform
from importlib import metadata
from typing import Any

from transformers import LlamaForCausalLM

from specviz.errors import TrainingError
from specviz.training.acceptance import DRAFT_LENGTH, NEW_TOKENS, acceptance_by_family, mean_rate
from specviz.training.card import LIMITS, acceptance_table, card, fenced, held_out_table
from specviz.training.drafter import agreement
from specviz.training.loop import Report
from specviz.training.options import TrainOptions
from specviz.training.publish import (
    bits_per_byte,
    checkpoint_facts,
    continuation,
    copy_split,
    draw_loss_curve,
    export_model,
    load_exported,
    measure_held_out,
    write_json,
)
from specviz.training.stages import prepared_tokenizer
from specviz.training.windows import held_out_batches, load_stream

SAMPLE_PROMPTS = ("code-template-sub", "tests-quote")
AGREEMENT_WINDOWS = 48


def export(options: TrainOptions, report: Report) -> None:
    """Writes target and drafter folders: weights, tokenizer, split, loss curve and measured `training.json`."""
    for name in ("target", "drafter"):
        export_one(name, options, report)


def export_one(name: str, options: TrainOptions, report: Report) -> None:
    """Writes the folder of one model."""
    trained, folder = options.work_dir / name / "model", options.out_dir / name
    if not trained.is_dir():
        raise TrainingError(f"No trained {name} in the work folder: run `specviz train {name}` first.")
    export_model(LlamaForCausalLM.from_pretrained(trained), prepared_tokenizer(options), folder)
    n_bytes = copy_split(options.work_dir, folder)
    run = checkpoint_facts(options.work_dir / name / "checkpoint.pt")
    draw_loss_curve(run["log"], folder / "loss.png", name)
    stream = load_stream(options.work_dir / "held_out.npy")
    held_out = measure_held_out(load_exported(folder), stream, n_bytes, options.window)
    start = options.work_dir / name / "start.json"
    facts = {
        "started_from": json.loads(start.read_text(encoding="utf-8")) if start.is_file() else None,
        "steps": run["step"],
        "tokens": run["tokens"],
        "minutes": round(run["elapsed_s"] / 60, 1),
        "held_out_tokens": held_out.tokens,
        "held_out_bytes": n_bytes,
        "held_out_nats_by_layer": [round(value, 4) for value in held_out.nats_by_layer],
        "held_out_bits_per_byte": round(held_out.bits_per_byte, 4),
        "command": options.command,
        "seed": options.seed,
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "versions": {package: metadata.version(package) for package in ("torch", "transformers", "tokenizers")},
        "machine": options.machine,
        "note": options.note,
    }
    write_json(folder / "training.json", facts, report)


def prompts_of(options: TrainOptions) -> list[dict[str, Any]]:
    """The bundled prompts."""
    if not options.prompts.is_file():
        raise TrainingError(f"No prompts at '{options.prompts}': pass --prompts, or run in the project's folder.")
    prompts: list[dict[str, Any]] = json.loads(options.prompts.read_text(encoding="utf-8"))["prompts"]
    return prompts


def measure(options: TrainOptions, report: Report) -> None:
    """Measures greedy acceptance on the exported pair and writes both cards."""
    target, drafter = (load_exported(options.out_dir / name) for name in ("target", "drafter"))
    tokenizer = prepared_tokenizer(options)
    families = acceptance_by_family(target, drafter, tokenizer, prompts_of(options))
    stream = load_stream(options.work_dir / "held_out.npy")
    batches = held_out_batches(stream, options.window, 4, AGREEMENT_WINDOWS)
    result: dict[str, Any] = {
        "draft_length": DRAFT_LENGTH,
        "new_tokens": NEW_TOKENS,
        "temperature": 0,
        "mean_rate": round(mean_rate(families), 4),
        "agreement_on_held_out_text": round(agreement(drafter, target, batches), 4),
        "families": {
            name: {
                "rate": round(counts.rate, 4),
                "accepted": counts.accepted,
                "drafted": counts.drafted,
                "rounds": counts.rounds,
                "mean_length": round(counts.accepted / counts.rounds + 1, 3),
            }
            for name, counts in families.items()
        },
    }
    write_json(options.out_dir / "drafter" / "acceptance.json", result, report)
    report({name: row["rate"] for name, row in result["families"].items()} | {"mean": result["mean_rate"]})
    for name, model in (("target", target), ("drafter", drafter)):
        folder = options.out_dir / name
        text = card(card_facts(name, model, options, result))
        (folder / "MODEL_CARD.md").write_text(text, encoding="utf-8")


def card_facts(name: str, model: LlamaForCausalLM, options: TrainOptions, acceptance: dict[str, Any]) -> dict[str, Any]:
    """Everything the card of one model says."""
    folder = options.out_dir / name
    facts = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    split = json.loads((folder / "split.json").read_text(encoding="utf-8"))
    nats = facts["held_out_nats_by_layer"]
    names = [f"layer {i}" for i in range(1, len(nats))] + [f"layer {len(nats)} (the model)"]
    bits = [bits_per_byte(value, facts["held_out_tokens"], facts["held_out_bytes"]) for value in nats]
    kinds = {side: sum(row["bytes"] for row in split[side]) for side in ("train", "held_out")}
    config = model.config
    inside = sum(p.numel() for n, p in model.named_parameters() if ".layers." in n)
    return {
        "title": f"SpecViz {name}",
        "licence": "apache-2.0",
        "purpose": PURPOSE[name],
        "shape": f"`LlamaForCausalLM`, {config.num_hidden_layers} layer(s), hidden size {config.hidden_size}, "
        f"{config.num_attention_heads} heads, intermediate size {config.intermediate_size}, vocabulary "
        f"{config.vocab_size} (byte-level BPE), tied embeddings: {model.num_parameters() / 1e6:.2f} M parameters, "
        f"{inside / 1e6:.2f} M of them outside the embedding.",
        "corpus": f"{split['source']}, {len(split['train'])} training files ({kinds['train'] / 1e6:.1f} MB) and "
        f"{len(split['held_out'])} held-out files ({kinds['held_out'] / 1e6:.2f} MB)",
        "command": facts["command"],
        "seed": facts["seed"],
        "versions": ", ".join([f"Python {facts['python']}", *(f"{k} {v}" for k, v in facts["versions"].items())]),
        "run": run_line(facts),
        "date": facts["date"],
        "recipe": RECIPE[name] + (f"\n\nNote on this run: {facts['note']}" if facts["note"] else ""),
        "figure": "loss.png",
        "numbers": held_out_table(names, nats, bits),
        "extra": "" if name == "target" else acceptance_section(acceptance),
        "samples": "\n\n".join(sample_texts(model, options)),
        "limits": LIMITS.format(repeated=split["repeated_line_share"]),
    }


def run_line(facts: dict[str, Any] | None) -> str:
    """Tokens, steps and time of a run and of those it went on from, the first one first."""
    if facts is None:
        return ""
    before = run_line(facts.get("started_from"))
    return (before + "; then " if before else "") + (
        f"{facts['tokens'] / 1e6:.2f} M tokens in {facts['steps']} steps, {facts['minutes']:.0f} minutes of wall-clock "
        f"time on {facts['machine']} (`{facts['command']}`)"
    )


def acceptance_section(acceptance: dict[str, Any]) -> str:
    """The drafter's acceptance as Markdown."""
    table = acceptance_table(acceptance["families"], acceptance["mean_rate"])
    return (
        f"Greedy acceptance with the bundled target, speculation length {acceptance['draft_length']}, "
        f"{acceptance['new_tokens']} new tokens per bundled prompt (all from held-out files):\n\n{table}\n\n"
        f"On held-out text, target and drafter have the same most likely token at "
        f"{acceptance['agreement_on_held_out_text']:.1%} of the positions."
    )


def sample_texts(model: LlamaForCausalLM, options: TrainOptions) -> list[str]:
    """Greedy and sampled continuations of two bundled prompts; the model's own text stands in ⟦ ⟧."""
    tokenizer = prepared_tokenizer(options)
    texts = {prompt["id"]: prompt["text"] for prompt in prompts_of(options)}
    result = ["The end of the prompt, then the model's continuation between ⟦ and ⟧; first draw, not chosen."]
    for identifier in SAMPLE_PROMPTS:
        for label, temperature in (("greedy", 0.0), ("temperature 0.8", 0.8)):
            text = continuation(model, tokenizer, texts[identifier], 96, temperature, options.seed)
            result.append(fenced(f"`{identifier}`, {label}:", texts[identifier], text))
    return result


PURPOSE = {
    "target": "The target model that SpecViz bundles: small enough to verify drafts in milliseconds on a laptop CPU, "
    "large enough that its text reads as Python. It was trained with early-exit losses, so that the same checkpoint "
    "serves methods that draft with its own first layers.",
    "drafter": "The drafter that SpecViz bundles for its target model: the same tokenizer, a fraction of the work.",
}
RECIPE = {
    "target": "Matrices inside the layers were trained with Muon (Jordan et al. 2024; Newton-Schulz in fp32, or in "
    "bf16 where the processor multiplies it faster), embeddings and norms with AdamW; linear decay of "
    "both rates to zero over the time budget. Depth growth by stacking (G_stack, Du et al. 2024): half "
    "the layers for the first part of the first run, then the stack was doubled. With `--copies`, that "
    "share of the windows holds a passage twice, so that the model learns to copy. Early-exit losses "
    "after LayerSkip (Elhoushi et al. 2024): one exit per step in rotation, through the shared final norm "
    "and head, weighted 0.3 times its relative depth; no layer dropout.",
    "drafter": "The drafter starts from the target: embedding, final norm and its first layers are copies, the MLP "
    "is thinned to the units with the largest weight norms. It was then distilled from the target with "
    "forward KL on full distributions plus a cross entropy on the target's most likely token, two thirds "
    "of the steps on text that the target wrote itself (half at temperature 0, a quarter each at 0.7 "
    "and 1, prompted by training files), one third on training files; with `--copies`, that share of "
    "prompts and windows holds a passage twice.",
}
