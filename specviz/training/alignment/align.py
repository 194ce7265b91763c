"""One alignment: a trained drafter, a loss, texts, the loop; and `specviz train drafter-align`, which exports it.

Place in the flow: after the pair is exported; reads the models' folder, writes the work folder and an exported drafter.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from transformers import LlamaForCausalLM

from specviz.errors import TrainingError
from specviz.lm.checkpoint import sha256_of, weight_files
from specviz.training.alignment.losses import LOSSES, Loss
from specviz.training.alignment.texts import TOKENS_PER_STEP, Diet, Source, batches_of, training_streams
from specviz.training.loop import Loop, LoopOptions, Objective, Report
from specviz.training.optimiser import Budget
from specviz.training.options import TrainOptions
from specviz.training.publish import export_model, load_exported, write_json
from specviz.training.stages import measured_dtype, with_autocast
from specviz.training.target import layer_outputs, logits_of, moved
from specviz.training.windows import Batch, load_tokenizer

ADAM_SHARE = 0.1
"""of Muon's learning rate, for embeddings and norms"""
WARM_UP_STEPS = 5


@dataclass(frozen=True)
class Recipe:
    """How a drafter is aligned: name of a loss, what it reads, the peak learning rate, the seed of the order."""

    loss: str
    diet: Diet
    lr: float
    seed: int = 0


def recipe_of(options: TrainOptions) -> Recipe:
    """The recipe that the options ask for. Raises TrainingError with what there is to choose from."""
    try:
        temperatures = tuple(float(part) for part in options.align_temperatures.split(","))
    except ValueError as error:
        raise TrainingError(
            f"'{options.align_temperatures}' is no list of temperatures: write --align-temperatures 0,0.7,1."
        ) from error
    loss_named(options.loss)
    diet = Diet(options.align_data, options.align_domain, temperatures, options.align_tokens)
    if diet.tokens < TOKENS_PER_STEP or min(temperatures) < 0 or not (diet.names and diet.domains):
        raise TrainingError(f"An alignment needs {TOKENS_PER_STEP} tokens or more and temperatures of 0 or more.")
    return Recipe(options.loss, diet, options.align_lr, options.seed)


def loss_named(name: str) -> Loss:
    """The loss of that name."""
    if name not in LOSSES:
        raise TrainingError(f"There is no loss '{name}': choose one of {', '.join(LOSSES)}.")
    return LOSSES[name]


def alignment_objective(head: torch.Tensor, loss: Loss) -> Objective:
    """The loss between softmax of the drafter's logits and of the target's, both at temperature 1 and in fp32; head:
    the target's output matrix [V, D]."""

    def objective(model: LlamaForCausalLM, batch: Batch, step: int) -> torch.Tensor:
        if batch.teacher is None:
            raise TrainingError("An alignment needs the target's states beside the tokens.")
        # [batch, length, V] → [positions, V], of drafter and target
        logits = logits_of(model, layer_outputs(model, batch.ids[:, :-1])[-1]).flatten(0, 1)
        teacher = (batch.teacher.to(head.dtype) @ head.T).flatten(0, 1)
        with torch.autocast(logits.device.type, enabled=False):
            return loss(teacher.float().softmax(-1), functional.log_softmax(logits.float(), dim=-1))

    return objective


def source_of(options: TrainOptions) -> Source:
    """The exported target with its training text."""
    folder = options.out_dir / "target"
    tokenizer = load_tokenizer(folder)
    target = moved(load_exported(folder), dtype=measured_dtype(options.dtype, "cpu"))
    work = options.work_dir / f"of-{weights_key(folder)}"  # texts of another target's are none of this one's
    streams = training_streams(work / "text", tokenizer)
    return Source(target, streams, work / f"taught-{options.seed}", tokenizer.eos_token_id, options.seed)


def weights_key(*folders: Path) -> str:
    """Twelve digits that other weights in one of these folders would change."""
    hashes = [sha256_of(weight_files(folder, folder.name)) for folder in folders]
    return hashes[0][:12] if len(hashes) == 1 else sha256("".join(hashes).encode()).hexdigest()[:12]


def start_folder(options: TrainOptions) -> Path:
    """Where the drafter to start from lies."""
    return Path(options.drafter_start) if options.drafter_start else options.out_dir / "drafter"


def first_drafter(options: TrainOptions) -> LlamaForCausalLM:
    """The drafter to start from, in fp32 and ready to learn: the given folder, else the exported one."""
    folder = start_folder(options)
    drafter = load_exported(folder)
    vocabulary = load_exported(options.out_dir / "target").config.vocab_size
    if drafter.config.vocab_size != vocabulary:
        raise TrainingError(
            f"The drafter in '{folder.name}' has {drafter.config.vocab_size} tokens and the target {vocabulary}: "
            "give one with the target's tokenizer."
        )
    drafter.train()
    return drafter


def aligned(
    drafter: LlamaForCausalLM, recipe: Recipe, source: Source, dtype: torch.dtype, folder: Path, report: Report
) -> tuple[LlamaForCausalLM, dict[str, Any]]:
    """The drafter after its alignment (the same object), and what its run took; resumes from `folder`."""
    torch.manual_seed(recipe.seed)  # before the loop, which takes up the state of a checkpoint
    head = source.target.lm_head.weight.detach().float()
    loop = Loop(
        drafter,
        batches_of(recipe.diet, source, drafter, recipe.seed),
        with_autocast(alignment_objective(head, loss_named(recipe.loss)), "cpu", dtype),
        LoopOptions(
            Budget(recipe.diet.tokens),
            matrix_lr=recipe.lr,
            embedding_lr=recipe.lr * ADAM_SHARE,
            weight_decay=0.0,
            warm_up_steps=WARM_UP_STEPS,
            product_dtype=dtype,
            checkpoint_every_s=20.0,
        ),
        folder / "checkpoint.pt",
    )
    model = loop.run(report, lambda model: float("nan")).eval()
    return model, {"steps": loop.progress.step, "tokens": loop.progress.tokens, "seconds": loop.progress.elapsed_s}


def drafter_align(options: TrainOptions, report: Report) -> LlamaForCausalLM:
    """Aligns the drafter and exports it to `align_out`, with `alignment.json` about how."""
    recipe = recipe_of(options)
    source, drafter = source_of(options), first_drafter(options)
    dtype = measured_dtype(options.dtype, "cpu")
    models = weights_key(options.out_dir / "target", start_folder(options))
    work = options.work_dir / "runs" / sha256(f"{recipe} {models}".encode()).hexdigest()[:12]
    model, run = aligned(drafter, recipe, source, dtype, work, report)
    export_model(model, load_tokenizer(options.out_dir / "target"), options.align_out)
    facts = {"loss": recipe.loss, **vars(recipe.diet), "lr": recipe.lr, "seed": recipe.seed, **run}
    write_json(options.align_out / "alignment.json", facts | {"command": options.command}, report)
    return model
