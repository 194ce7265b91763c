"""Three more stages: `prompts` writes the prompt set, `figures` measures a target on the small world, `keep` exports a
target alone to train on later.

Place in the flow: `figures` and `keep` after `target`, also while it still runs; `prompts` once it is exported.
"""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.corpus import prompt_set
from specviz.errors import TrainingError
from specviz.training.loop import Report
from specviz.training.options import TrainOptions
from specviz.training.pair_figures import pair_figures
from specviz.training.publication import export_one
from specviz.training.publish import held_out_bits, load_exported, write_json
from specviz.training.stages import prepared_tokenizer
from specviz.training.target import model_config
from specviz.training.tokenizer import load_tokenizer
from specviz.training.windows import load_stream


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
