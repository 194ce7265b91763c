"""Two more stages: `figures` measures a target on the small world, `keep` exports a target alone to train on later.

Place in the flow: after `target`, also while it still runs: both can read its checkpoint.
It knows nothing about the command line; it reports rows and prints nothing.
"""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.errors import TrainingError
from specviz.training.loop import Report
from specviz.training.options import TrainOptions
from specviz.training.pair_figures import pair_figures
from specviz.training.publication import export_one
from specviz.training.publish import load_exported, measure_held_out, write_json
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


def held_out_bits(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, options: TrainOptions
) -> dict[str, float]:
    """Bits per byte on the held-out text of both halves, under the model's own tokenizer."""
    bits = {}
    for name, file in (("python", "held_out.npy"), ("english", "held_out_english.npy")):
        if (options.work_dir / file).is_file():
            stream = load_stream(options.work_dir / file)
            texts = tokenizer.decode(stream.tolist(), skip_special_tokens=True)
            held_out = measure_held_out(model, stream, len(texts.encode("utf-8")), options.window)
            bits[f"{name}_bits_per_byte"] = round(held_out.bits_per_byte, 4)
    return bits


def figures(options: TrainOptions, report: Report) -> None:
    """Measures `--start` where it is given, else the checkpoint; writes `figures-TOKENS.json` in the work folder."""
    if options.start:
        model, tokenizer = load_exported(Path(options.start)), load_tokenizer(Path(options.start))
        name = "start"
        bits: dict[str, float] = {}
    else:
        tokenizer = prepared_tokenizer(options)
        model, tokens = checkpoint_model(options)
        name, bits = str(tokens), held_out_bits(model, tokenizer, options)
    found: dict[str, Any] = bits | pair_figures(model, tokenizer, options.figure_cases)
    write_json(options.work_dir / f"figures-{name}.json", found, report)
    report({key: value for key, value in found.items() if not isinstance(value, dict)})


def keep(options: TrainOptions, report: Report) -> None:
    """Exports the trained target to OUT_DIR/target with its figures, so that a later run can start from it."""
    export_one("target", options, report)
    folder = options.out_dir / "target"
    facts = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    model, tokenizer = load_exported(folder), load_tokenizer(folder)
    found = pair_figures(model, tokenizer, options.figure_cases)
    facts["english"] = json.loads((options.work_dir / "english.json").read_text(encoding="utf-8"))
    facts["figures"] = held_out_bits(model, tokenizer, options) | {k: v for k, v in found.items() if k != "misses"}
    write_json(folder / "training.json", facts, report)
