"""The drafter: a shallow Llama cut out of the target, the loss that teaches it to agree with the target, its stages.

Place in the flow: after the target's stage. `teach` collects what the target says, `drafter` distils it, and `weak`
trains without it; all read and write the work folder only.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from transformers import LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from specviz.errors import TrainingError
from specviz.training.generation import Beginnings, TaughtRows, corpus_rows, generated_rows
from specviz.training.loop import Loop, LoopOptions, Objective, Report
from specviz.training.mixture import load_packed
from specviz.training.optimiser import Budget
from specviz.training.options import TrainOptions
from specviz.training.publish import load_exported
from specviz.training.stages import (
    measured_dtype,
    note_start,
    prepared_tokenizer,
    started_model,
    target_batches,
    validation,
    with_autocast,
)
from specviz.training.target import layer_outputs, logits_of, model_config, moved, new_model, plain_objective
from specviz.training.windows import Batch, Rotation, load_stream


@torch.no_grad()
def drafter_from(target: LlamaForCausalLM, layers: int, intermediate: int, seed: int) -> LlamaForCausalLM:
    """A drafter that starts as the target's first layers: embedding, norms and attention whole, the MLP thinned.

    The early-exit losses have already taught the target to predict from those layers, which saves most of the
    drafter's own training.
    """
    c = target.config
    drafter = moved(
        new_model(model_config(layers, c.hidden_size, c.num_attention_heads, intermediate, c.vocab_size), seed),
        target.device,
    )
    drafter.model.embed_tokens.load_state_dict(target.model.embed_tokens.state_dict())
    drafter.model.norm.load_state_dict(target.model.norm.state_dict())
    for thin, full in zip(drafter.model.layers, target.model.layers, strict=False):
        _copy_layer(thin, full, intermediate)
    return drafter


def _copy_layer(thin: LlamaDecoderLayer, full: LlamaDecoderLayer, intermediate: int) -> None:
    """Copies attention and norms; of the MLP the `intermediate` units with the largest product of weight norms."""
    for name in ("self_attn", "input_layernorm", "post_attention_layernorm"):
        getattr(thin, name).load_state_dict(getattr(full, name).state_dict())
    # [F, D], [F, D] and [D, F]: a unit is a row of the first two and a column of the last
    gate, up, down = full.mlp.gate_proj.weight, full.mlp.up_proj.weight, full.mlp.down_proj.weight
    strength = gate.norm(dim=1) * up.norm(dim=1) * down.norm(dim=0)  # [F]
    kept = strength.topk(min(intermediate, len(strength))).indices
    thin.mlp.gate_proj.weight[: len(kept)] = gate[kept]
    thin.mlp.up_proj.weight[: len(kept)] = up[kept]
    thin.mlp.down_proj.weight[:, : len(kept)] = down[:, kept]


def distillation_objective(head: torch.Tensor, hard_share: float) -> Objective:
    """Forward KL to the target, plus `hard_share` times the cross entropy on the target's most likely token.

    head: the target's output matrix [V, D]. Forward KL is the DistillSpec default (Zhou et al. 2023, section 4);
    the hard term aims at greedy acceptance, which counts only the most likely token.
    """

    def objective(model: LlamaForCausalLM, batch: Batch, step: int) -> torch.Tensor:
        if batch.teacher is None:
            raise TrainingError("Distillation needs the target's states beside the tokens: run the `teach` stage.")
        logits = logits_of(model, layer_outputs(model, batch.ids[:, :-1])[-1]).float()  # [batch, length, V]
        teacher = batch.teacher.to(head.dtype) @ head.T  # [batch, length, D] · [D, V]
        said = functional.log_softmax(logits.flatten(0, 1), dim=-1)  # [positions, V]
        wanted = functional.log_softmax(teacher.flatten(0, 1), dim=-1)
        loss = functional.kl_div(said, wanted, reduction="batchmean", log_target=True)
        if hard_share > 0:
            loss = loss + hard_share * functional.nll_loss(said, wanted.argmax(-1))
        return loss

    return objective


class TaughtWindows:
    """Shuffled batches of taught rows; a new permutation every epoch."""

    def __init__(self, rows: TaughtRows, batch_size: int, seed: int) -> None:
        """Rows may be memory-mapped."""
        if len(rows.ids) < batch_size:
            raise TrainingError(
                f"{len(rows.ids)} taught windows are fewer than one batch of {batch_size}: raise --teach-minutes."
            )
        self.rows, self.batch_size, self.seed = rows, batch_size, seed

    def batch(self, step: int) -> Batch:
        """Token ids with the target's states."""
        per_epoch = len(self.rows.ids) // self.batch_size
        epoch, place = divmod(step, per_epoch)
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.rows.ids))
        chosen = order[place * self.batch_size : (place + 1) * self.batch_size]
        ids = torch.from_numpy(self.rows.ids[chosen].astype(np.int64))
        return Batch(ids, torch.from_numpy(self.rows.states[chosen].astype(np.float32)))


@torch.inference_mode()
def agreement(drafter: LlamaForCausalLM, target: LlamaForCausalLM, batches: list[torch.Tensor]) -> float:
    """Share of positions, in [0, 1], where both models have the same most likely token; batches [batch, length+1]."""
    same = total = 0
    for batch in batches:
        ids = batch[:, :-1].to(target.device)
        own = logits_of(drafter, layer_outputs(drafter, ids)[-1]).argmax(-1)
        wanted = logits_of(target, layer_outputs(target, ids)[-1]).argmax(-1)
        same += int((own == wanted).sum())
        total += ids.numel()
    return same / max(1, total)


WEAK = "drafter-weak"
GENERATED_LENGTH = 192
GENERATED_ROWS = 128
GENERATED_SHARE_OF_TIME = 0.85


def trained_target(options: TrainOptions) -> LlamaForCausalLM:
    """The target that its stage left, or `--start` where none was trained here; for inference, in float32."""
    folder = options.work_dir / "target" / "model"
    if not folder.is_dir() and options.start:
        folder = Path(options.start)
    if not (folder / "config.json").is_file():
        raise TrainingError(
            "No trained target in the work folder: run `specviz train target` first, or name one with --start."
        )
    return moved(load_exported(folder), options.device)


def teach(options: TrainOptions, report: Report) -> None:
    """Lets the target write text and read corpus windows, and keeps its states; both within `teach_minutes`."""
    target = moved(trained_target(options), dtype=measured_dtype(options.dtype, options.device))
    seconds = 60 * options.teach_minutes
    windows = target_batches(replace(options, seed=options.seed + 1))
    sources = {
        "generated": generated_rows(
            target, beginnings(options), GENERATED_LENGTH, options.seed, seconds * GENERATED_SHARE_OF_TIME
        ),
        "corpus": corpus_rows(target, windows, seconds * (1 - GENERATED_SHARE_OF_TIME)),
    }
    for name, batches in sources.items():
        rows = joined(batches)
        save_rows(options.work_dir / "taught" / name, rows)
        report({"taught": name, "windows": len(rows.ids), "tokens": rows.states.shape[0] * rows.states.shape[1]})


def beginnings(options: TrainOptions) -> list[Beginnings]:
    """One for each row of a batch, plain English and Python in the corpus' shares."""
    end = prepared_tokenizer(options).eos_token_id
    english = round(options.english * GENERATED_ROWS)
    if english:
        halves = [load_packed(options.work_dir / f"train_{name}.npy") for name in ("english", "python")]
    else:
        stream = load_stream(options.work_dir / "train.npy")
        (ends,) = np.nonzero(stream == end)
        halves = [(stream, np.concatenate([[0], ends[:-1] + 1])) for _ in range(2)]
    return [
        Beginnings(halves[row >= english], 1000 * options.seed + row, end, options.copies if row >= english else 0.0)
        for row in range(GENERATED_ROWS)
    ]


def joined(batches: Iterable[TaughtRows]) -> TaughtRows:
    """All batches as one block."""
    collected = list(batches)
    return TaughtRows(np.concatenate([b.ids for b in collected]), np.concatenate([b.states for b in collected]))


def save_rows(folder: Path, rows: TaughtRows) -> None:
    """Writes taught rows as two .npy files."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "ids.npy", rows.ids)
    np.save(folder / "states.npy", rows.states)


def load_rows(folder: Path) -> TaughtRows:
    """Maps taught rows from disk."""
    if not (folder / "ids.npy").is_file():
        raise TrainingError(f"No taught text '{folder.name}' in the work folder: run `specviz train teach` first.")
    return TaughtRows(np.load(folder / "ids.npy", mmap_mode="r"), np.load(folder / "states.npy", mmap_mode="r"))


def train_drafter(options: TrainOptions, report: Report) -> LlamaForCausalLM:
    """Distils the drafter from the taught text and saves its fp32 weights in the work folder."""
    target = trained_target(options)
    taught = options.work_dir / "taught"
    generated = TaughtWindows(
        load_rows(taught / "generated"), max(1, options.batch_tokens // GENERATED_LENGTH), options.seed
    )
    corpus = TaughtWindows(load_rows(taught / "corpus"), options.batch_size, options.seed)
    dtype = measured_dtype(options.dtype, options.device)
    drafter = drafter_from(target, options.drafter_layers, options.drafter_intermediate, options.seed)
    if options.drafter_start:
        drafter = moved(started_model(options.drafter_start, options, drafter.config), options.device)
        note_start(options.drafter_start, options.work_dir / "drafter")
    loop = Loop(
        drafter,
        Rotation([generated, generated, corpus]),
        with_autocast(
            distillation_objective(target.lm_head.weight.detach(), options.hard_share), options.device, dtype
        ),
        LoopOptions(
            Budget(options.tokens, options.drafter_minutes),
            matrix_lr=options.drafter_lr,
            embedding_lr=options.embedding_lr / 3,
            product_dtype=dtype,  # never compiled: few layers gain little, and two lengths of window compile anew
        ),
        options.work_dir / "drafter" / "checkpoint.pt",
    )
    model = loop.run(report, validation(options))
    model.save_pretrained(options.work_dir / "drafter" / "model")
    return model


def train_weak(options: TrainOptions, report: Report) -> LlamaForCausalLM:
    """Trains the weaker drafter on the corpus alone, as if it had no target; it needs nothing but `prepare`."""
    dtype = measured_dtype(options.dtype, options.device)
    config = model_config(1, options.weak_hidden, options.weak_heads, options.weak_intermediate, options.vocabulary)
    loop = Loop(
        moved(new_model(config, options.seed), options.device),
        target_batches(replace(options, seed=options.seed + 2)),
        with_autocast(plain_objective, options.device, dtype),
        LoopOptions(
            Budget(options.tokens, options.weak_minutes),
            matrix_lr=options.drafter_lr,
            embedding_lr=options.embedding_lr,
            product_dtype=dtype,
        ),
        options.work_dir / WEAK / "checkpoint.pt",
    )
    model = loop.run(report, validation(options))
    model.save_pretrained(options.work_dir / WEAK / "model")
    return model
