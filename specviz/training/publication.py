"""The stages after training: `export` writes the models with their facts, `measure` their figures and cards, `figures`
measures a target on the small world, `keep` exports a target alone to train on later, `prompts` writes the prompt set.

Place in the flow: reads the work folder, writes the assets folder. `figures` and `keep` also work while the target
still trains; `prompts` needs its export.
"""

import datetime
import json
import platform
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.corpus import prompt_set
from specviz.errors import TrainingError
from specviz.training import pair_report
from specviz.training.drafter import WEAK
from specviz.training.loop import Report
from specviz.training.options import TrainOptions
from specviz.training.pair_figures import pair_figures
from specviz.training.pair_report import MODELS, TARGET, first_of_each, held_out_texts, measured_pair
from specviz.training.publish import (
    LIMITS,
    bits_per_byte,
    card,
    checkpoint_facts,
    continuation,
    copy_split,
    draw_loss_curve,
    export_model,
    fenced,
    held_out_bits,
    held_out_table,
    load_exported,
    measure_held_out,
    write_json,
)
from specviz.training.stages import prepared_tokenizer
from specviz.training.target import model_config
from specviz.training.windows import load_stream, load_tokenizer

SAMPLE_FAMILIES = ("story", "facts", "sums", "letter", "code")
PARAMETERS = ".layers."


def export(options: TrainOptions, report: Report) -> None:
    """Writes the folders of all three models, or of those named: weights, tokenizer, split, loss curve and measured
    `training.json`. Raises TrainingError for a name that is none of theirs."""
    for name in options.names:
        if name not in MODELS:
            raise TrainingError(f"'{name}' is no model of `specviz train export`; it writes {', '.join(MODELS)}.")
    for name in options.names or MODELS:
        export_one(name, options, report)


def export_one(name: str, options: TrainOptions, report: Report) -> None:
    """Writes the folder of one model."""
    trained, folder = options.work_dir / name / "model", options.out_dir / name
    if not trained.is_dir():
        stage = "weak" if name == WEAK else name
        raise TrainingError(f"No trained {name} in the work folder: run `specviz train {stage}` first.")
    export_model(LlamaForCausalLM.from_pretrained(trained), prepared_tokenizer(options), folder)
    n_bytes = copy_split(options.work_dir, folder)
    run = checkpoint_facts(options.work_dir / name / "checkpoint.pt")
    draw_loss_curve(run["log"], folder / "loss.png", name)
    stream = load_stream(options.work_dir / "held_out.npy")
    held_out = measure_held_out(load_exported(folder), stream, n_bytes, options.window)
    start = read_json(options.work_dir / name / "start.json")
    facts = {
        "started_from": start,
        "steps": run["step"],
        "tokens": run["tokens"],
        "minutes": round(run["elapsed_s"] / 60, 1),
        "held_out_tokens": held_out.tokens,
        "held_out_bytes": n_bytes,
        "held_out_nats_by_layer": [round(value, 4) for value in held_out.nats_by_layer],
        "held_out_nats": round(held_out.nats, 4),
        "held_out_bits_per_byte": round(held_out.bits_per_byte, 4),
        "english": read_json(options.work_dir / "english.json") if options.english > 0 else None,
        "english_share": options.english,
        "history": history(start, options.work_dir) if name == TARGET else [],
        "command": options.command,
        "seed": options.seed,
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "versions": {package: metadata.version(package) for package in ("torch", "transformers", "tokenizers")},
        "machine": options.machine,
        "note": options.note,
    }
    write_json(folder / "training.json", facts, report)


def read_json(path: Path) -> Any:
    """What a file holds, or None where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def tokens_so_far(facts: dict[str, Any] | None) -> int:
    """Tokens of a run and of all that it went on from."""
    return 0 if facts is None else int(facts["tokens"]) + tokens_so_far(facts.get("started_from"))


def history(start: dict[str, Any] | None, work: Path) -> list[dict[str, Any]]:
    """Figures at earlier checkpoints, `tokens` counted over all runs: those of the start, then those that `figures`
    left in the work folder."""
    before = tokens_so_far(start)
    found: list[dict[str, Any]] = list((start or {}).get("history", ()))
    if start is not None and "figures" in start:
        found.append({"tokens": before, **start["figures"]})
    own = {int(path.stem.removeprefix("figures-")): path for path in work.glob("figures-[0-9]*.json")}
    found += [{"tokens": before + tokens, **read_json(own[tokens])} for tokens in sorted(own)]
    return [{key: value for key, value in row.items() if key not in ("misses", "cases")} for row in found]


def prompts_of(options: TrainOptions) -> list[dict[str, Any]]:
    """The bundled prompts."""
    if not options.prompts.is_file():
        raise TrainingError(f"No prompts at '{options.prompts}': pass --prompts, or run in the project's folder.")
    prompts: list[dict[str, Any]] = json.loads(options.prompts.read_text(encoding="utf-8"))["prompts"]
    return prompts


def measure(options: TrainOptions, report: Report) -> None:
    """Measures the exported models and writes `figures.json`, `acceptance.json` and the cards."""
    write_pair(measured(options, report), options, report)


def measured(options: TrainOptions, report: Report) -> dict[str, Any]:
    """What `pair_report` finds out about the exported models."""
    models = {name: load_exported(options.out_dir / name) for name in MODELS}
    folder = options.out_dir / TARGET
    return measured_pair(
        models,
        load_tokenizer(folder),
        first_of_each(prompts_of(options), options.figure_prompts),
        held_out_texts(folder),
        options.figure_cases,
        report,
    )


def whole_history(pair: dict[str, Any], options: TrainOptions) -> list[dict[str, Any]]:
    """The target's figures at earlier checkpoints and now; empty where it has no earlier ones."""
    facts = read_json(options.out_dir / TARGET / "training.json")
    now = {"tokens": tokens_so_far(facts), **pair["figures"][TARGET]}
    return [*facts["history"], now] if facts.get("history") else []


def write_pair(pair: dict[str, Any], options: TrainOptions, report: Report) -> None:
    """Keeps what was measured in the folders of the models, with their cards."""
    for name, figures in pair["figures"].items():
        folder = options.out_dir / name
        weights = sha256((folder / "model.safetensors").read_bytes()).hexdigest()
        kept = {"cases_asked": pair["cases"], "weights_sha256": weights, **figures}
        write_json(folder / "figures.json", kept, report)
        if name in pair["acceptance"]:
            write_json(folder / "acceptance.json", pair["acceptance"][name], report)
        text = card(card_facts(name, load_exported(folder), options, pair))
        (folder / "MODEL_CARD.md").write_text(text, encoding="utf-8")


def card_facts(name: str, model: LlamaForCausalLM, options: TrainOptions, pair: dict[str, Any]) -> dict[str, Any]:
    """Everything the card of one model says."""
    folder = options.out_dir / name
    facts, split = read_json(folder / "training.json"), read_json(folder / "split.json")
    nats = facts["held_out_nats_by_layer"]
    names = [f"layer {i}" for i in range(1, len(nats))] + [f"layer {len(nats)} (the model)"]
    bits = [bits_per_byte(value, facts["held_out_tokens"], facts["held_out_bytes"]) for value in nats]
    config = model.config
    inside = sum(p.numel() for n, p in model.named_parameters() if PARAMETERS in n)
    return {
        "title": f"SpecViz {name}",
        "licence": "apache-2.0",
        "purpose": PURPOSE[name],
        "shape": f"`LlamaForCausalLM`, {config.num_hidden_layers} layer(s), hidden size {config.hidden_size}, "
        f"{config.num_attention_heads} heads, intermediate size {config.intermediate_size}, vocabulary "
        f"{config.vocab_size} (byte-level BPE), tied embeddings: {model.num_parameters() / 1e6:.2f} M parameters, "
        f"{inside / 1e6:.2f} M of them outside the embedding.",
        "corpus": corpus_line(facts, split),
        "command": facts["command"],
        "seed": facts["seed"],
        "versions": ", ".join([f"Python {facts['python']}", *(f"{k} {v}" for k, v in facts["versions"].items())]),
        "run": run_line(facts),
        "date": facts["date"],
        "recipe": RECIPE[name] + (f"\n\nNote on this run: {facts['note']}" if facts["note"] else ""),
        "figure": "loss.png",
        "numbers": f"All held-out files: {facts['held_out_bits_per_byte']:.3f} bits per byte. Read out after each "
        f"layer, on some of their windows:\n\n{held_out_table(names, nats, bits)}",
        "extra": world_section(name, whole_history(pair, options), pair),
        "samples": "\n\n".join(sample_texts(model, options)),
        "limits": LIMITS.format(repeated=split["repeated_line_share"]),
    }


def corpus_line(facts: dict[str, Any], split: dict[str, Any]) -> str:
    """What was read, in both halves."""
    kinds = {side: sum(row["bytes"] for row in split[side]) for side in ("train", "held_out")}
    python = (
        f"{split['source']}, {len(split['train'])} training files ({kinds['train'] / 1e6:.1f} MB) and "
        f"{len(split['held_out'])} held-out files ({kinds['held_out'] / 1e6:.2f} MB)"
    )
    english = facts.get("english")
    if not english:
        return python
    return (
        f"{python}; and {english['train_characters'] / 1e6:.1f} M characters of generated plain English (this "
        f"project's own, seed {english['seed']}), {facts['english_share']:.0%} of the windows"
    )


def world_section(name: str, history_rows: list[dict[str, Any]], pair: dict[str, Any]) -> str:
    """Figures of all models; for a drafter how often it is accepted, for the target what further tokens brought."""
    parts = [pair_report.figures_table(pair["figures"])]
    if name in pair["acceptance"]:
        found = pair["acceptance"][name]
        parts.append(
            f"Greedy acceptance with the bundled target, speculation length {found['draft_length']}, each prompt to "
            f"its end or {found['new_tokens']} tokens (the rate, accepted and drafted tokens, tokens per round with "
            f"the bonus):\n\n{pair_report.acceptance_table({name: found})}"
        )
        if pair["examples"][name]:
            said = pair_report.example_lines(pair["examples"][name], name)
            parts.append(f"Where it errs and the target is right:\n\n{said}")
    elif history_rows:
        parts.append(f"What further tokens brought:\n\n{pair_report.history_table(history_rows)}")
    return "\n\n".join(parts)


def run_line(facts: dict[str, Any] | None) -> str:
    """Tokens, steps and time of a run and of those it went on from, the first one first."""
    if facts is None:
        return ""
    before = run_line(facts.get("started_from"))
    return (before + "; then " if before else "") + (
        f"{facts['tokens'] / 1e6:.2f} M tokens in {facts['steps']} steps, {facts['minutes']:.0f} minutes of wall-clock "
        f"time on {facts['machine']} (`{facts['command']}`)"
    )


def sample_texts(model: LlamaForCausalLM, options: TrainOptions) -> list[str]:
    """Greedy and sampled continuations of two bundled prompts; the model's own text stands in ⟦ ⟧."""
    tokenizer = load_tokenizer(options.out_dir / TARGET)
    prompts: dict[str, dict[str, Any]] = {}
    for prompt in prompts_of(options):
        prompts.setdefault(prompt["family"], prompt)
    result = ["The end of the prompt, then the model's continuation between ⟦ and ⟧; first draw, not chosen."]
    for prompt in (prompts[family] for family in SAMPLE_FAMILIES if family in prompts):
        for label, temperature in (("greedy", 0.0), ("temperature 0.8", 0.8)):
            text = continuation(model, tokenizer, prompt["text"], 96, temperature, options.seed)
            result.append(fenced(f"`{prompt['id']}`, {label}:", prompt["text"], text))
    return result


PURPOSE = {
    "target": "The target model that SpecViz bundles: small enough to verify drafts in milliseconds on a laptop CPU, "
    "at home in a small world of plain English (short stories, letters, facts, sums, small talk) and in the form of "
    "Python. It was trained with early-exit losses, so that the same checkpoint serves methods that draft with its own "
    "first layers.",
    "drafter": "The drafter that SpecViz bundles for its target model: the same tokenizer, a fraction of the work.",
    "drafter-weak": "A second, weaker drafter for the same target, to see what a bad drafter costs: smaller, and never "
    "taught by the target.",
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
    "and 1, given beginnings of training documents of both halves, and a new one after each end of text), one third on "
    "training text; with `--copies`, that share of Python's beginnings and windows holds a passage twice.",
    "drafter-weak": "Fresh weights, plain cross entropy on the training text of both halves (Muon and AdamW as for the "
    "target, linear decay to zero); nothing of the target was used.",
}


def checkpoint_model(options: TrainOptions) -> tuple[LlamaForCausalLM, int]:
    """The last checkpoint's weights, rounded to bfloat16 as an export's are, and the tokens they have seen."""
    path = options.work_dir / "target" / "checkpoint.pt"
    if not path.is_file():
        raise TrainingError("No checkpoint in the work folder: run `specviz train target` first.")
    payload = torch.load(path, map_location="cpu", weights_only=True)
    model = LlamaForCausalLM(
        model_config(options.layers, options.hidden, options.heads, options.intermediate, options.vocabulary)
    )
    try:
        model.load_state_dict(payload["model"])
    except RuntimeError as error:
        raise TrainingError(
            "The checkpoint's weights have another shape than the options say (or the depth has not grown yet)."
        ) from error
    return model.bfloat16().float().eval(), int(payload["progress"]["tokens"])


def both_halves(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, options: TrainOptions) -> dict[str, float]:
    """`held_out_bits` of Python and of plain English, where they have been prepared."""
    files = {"python": options.work_dir / "held_out.npy", "english": options.work_dir / "held_out_english.npy"}
    return {
        f"{name}_bits_per_byte_sampled": held_out_bits(model, tokenizer, load_stream(path), options.window)
        for name, path in files.items()
        if path.is_file()
    }


def figures(options: TrainOptions, report: Report) -> None:
    """Measures `--start` where it is given, else the checkpoint; writes `figures-TOKENS.json` in the work folder."""
    options.work_dir.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    if options.start:
        model, tokenizer = load_exported(Path(options.start)), load_tokenizer(Path(options.start))
        name = "start"
        bits: dict[str, float] = {}
    else:
        tokenizer = prepared_tokenizer(options)
        model, tokens = checkpoint_model(options)
        name, bits = str(tokens), both_halves(model, tokenizer, options)
    found: dict[str, Any] = bits | pair_figures(model, tokenizer, options.figure_cases)
    write_json(options.work_dir / f"figures-{name}.json", found, report)
    report({key: value for key, value in found.items() if not isinstance(value, dict)})


def prompts(options: TrainOptions, report: Report) -> None:
    """Writes the prompt set anew: its English prompts from held-out documents, and all lengths in the exported target's
    tokens."""
    tokenizer = load_tokenizer(options.out_dir / "target")
    count = prompt_set.write(options.prompts, lambda text: len(tokenizer(text)["input_ids"]))
    report({"wrote": options.prompts.name, "prompts": count})


def keep(options: TrainOptions, report: Report) -> None:
    """Exports the trained target to OUT_DIR/target with its figures, so that a later run can start from it."""
    export_one("target", options, report)
    folder = options.out_dir / "target"
    facts = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    model, tokenizer = load_exported(folder), load_tokenizer(folder)
    found = pair_figures(model, tokenizer, options.figure_cases)
    facts["figures"] = both_halves(model, tokenizer, options) | {k: v for k, v in found.items() if k != "misses"}
    write_json(folder / "training.json", facts, report)
