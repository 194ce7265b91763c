"""The stages of `specviz train`, one function each, from corpus to trained weights.

Place in the flow: called by the command in order; every stage reads its inputs from the work folder and leaves its
results there, so each can be repeated or resumed alone. Where a run starts from a model with another tokenizer, rows of
the embedding follow their tokens.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.corpus.plain_english.generator import shares_with
from specviz.corpus.standard_library import Corpus, collect, manifest, package_documents
from specviz.errors import TrainingError
from specviz.training import mixture
from specviz.training.loop import Loop, LoopOptions, Objective, Report
from specviz.training.mixture import DocumentWindows, Mixture, load_packed
from specviz.training.optimiser import Budget
from specviz.training.options import TrainOptions
from specviz.training.target import held_out_loss, model_config, moved, new_model, read_out_loss, target_objective
from specviz.training.windows import (
    Batch,
    Batches,
    Windows,
    held_out_batches,
    load_stream,
    load_tokenizer,
    pack,
    save_stream,
    train_tokenizer,
)

VALIDATION_WINDOWS = 24


def prepare(options: TrainOptions, corpus: Corpus | None = None) -> dict[str, Any]:
    """Collects and splits the text, trains the tokenizer on the training side, packs both sides. Returns counts."""
    if corpus is None:
        extra, notes = package_documents(Path("requirements.txt")) if options.with_packages else ([], ())
        corpus = collect(options.seed, extra, notes)
    work = options.work_dir
    work.mkdir(parents=True, exist_ok=True)
    split = manifest(corpus)
    (work / "split.json").write_text(json.dumps(split, indent=1) + "\n", encoding="utf-8")
    texts = [document.text for document in corpus.train]
    shares = shares_with(options.english_shares)
    english = mixture.write(options.english_seed, options.english_characters, shares) if options.english > 0 else None
    if options.tokenizer:
        tokenizer = load_tokenizer(Path(options.tokenizer))
    else:
        tokenizer = train_tokenizer(texts + (english.tokenizer_texts() if english else []), options.vocabulary)
    tokenizer.save_pretrained(work / "tokenizer")
    train = pack(texts, tokenizer, options.seed)
    held_out = pack([document.text for document in corpus.held_out], tokenizer, None)
    save_stream(work / "train.npy", train)
    save_stream(work / "held_out.npy", held_out)
    if english:
        english.save(work, tokenizer, texts)
    return {
        "train_files": len(corpus.train),
        "held_out_files": len(corpus.held_out),
        "train_bytes": sum(document.n_bytes for document in corpus.train),
        "held_out_bytes": sum(document.n_bytes for document in corpus.held_out),
        "train_tokens": len(train),
        "held_out_tokens": len(held_out),
    }


def prepared_tokenizer(options: TrainOptions) -> PreTrainedTokenizerFast:
    """The tokenizer that `prepare` left."""
    folder = options.work_dir / "tokenizer"
    if not folder.is_dir():
        raise TrainingError("No tokenizer in the work folder: run `specviz train prepare` first.")
    return load_tokenizer(folder)


def measured_dtype(choice: str, device: str) -> torch.dtype:
    """The named dtype; `auto` times one matrix product in bfloat16 against fp32 and takes the faster."""
    named = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if choice in named:
        return named[choice]
    if choice != "auto":
        raise TrainingError(f"Unknown dtype '{choice}': choose auto, float32 or bfloat16.")
    seconds: dict[torch.dtype, float] = {}
    for _ in range(5):  # in turns, and the fastest counts: a shared machine only ever adds time
        for candidate in (torch.float32, torch.bfloat16):
            matrix = torch.ones(512, 512, dtype=candidate, device=device)
            (matrix @ matrix).sum().item()
            started = time.perf_counter()
            for _ in range(3):
                matrix = matrix @ matrix / 512
            matrix.sum().item()
            took = time.perf_counter() - started
            seconds[candidate] = min(took, seconds.get(candidate, took))
    return min(seconds, key=lambda candidate: seconds[candidate])


def validation(options: TrainOptions) -> Callable[[LlamaForCausalLM], float]:
    """Held-out loss on a small fixed sample of windows, in nats per token."""
    names = ["held_out.npy", *(["held_out_english.npy"] if options.english > 0 else [])]
    batches = [
        batch
        for name in names
        for batch in held_out_batches(
            load_stream(options.work_dir / name), options.window, 4, VALIDATION_WINDOWS // len(names)
        )
    ]
    return lambda model: held_out_loss(model, batches)


def target_loop(options: TrainOptions) -> Loop:
    """The target's training run, resumed where a checkpoint exists."""
    is_growing = options.grow_at > 0
    if is_growing and options.layers % 2:
        raise TrainingError(f"Growth doubles the depth, and {options.layers} layers are odd: use --grow-at 0.")
    config = model_config(
        options.layers // 2 if is_growing else options.layers,
        options.hidden,
        options.heads,
        options.intermediate,
        options.vocabulary,
    )
    model = started_model(options.start, options, config) if options.start else new_model(config, options.seed)
    model = moved(model, options.device)
    autocast_dtype = measured_dtype(options.dtype, options.device)
    return Loop(
        model,
        target_batches(options),
        with_autocast(
            partial(target_objective, loss_of=torch.compile(read_out_loss)) if options.compile else target_objective,
            options.device,
            autocast_dtype,
        ),
        LoopOptions(
            Budget(options.tokens, options.minutes),
            matrix_lr=options.matrix_lr,
            embedding_lr=options.embedding_lr,
            decay=options.decay,
            grow_at=options.grow_at,
            product_dtype=autocast_dtype,
            is_compiled=options.compile,
        ),
        options.work_dir / "target" / "checkpoint.pt",
    )


def target_batches(options: TrainOptions) -> Batches:
    """Windows of Python alone, or of plain English and Python in the asked shares."""
    if options.english == 0:
        stream = load_stream(options.work_dir / "train.npy")
        return Windows(stream, options.window, options.batch_size, options.seed, options.copies)
    english, python = (load_packed(options.work_dir / f"train_{name}.npy") for name in ("english", "python"))
    return Mixture(
        DocumentWindows(english, options.window, options.seed, again=True),  # prompts are as short as a bare sum
        DocumentWindows(python, options.window, options.seed, options.copies),
        options.english,
        options.batch_size,
    )


def started_model(folder: str, options: TrainOptions, config: LlamaConfig) -> LlamaForCausalLM:
    """A trained model to go on from, in fp32, under the prepared tokenizer; raises where its shape is another one."""
    if not (Path(folder) / "config.json").is_file():
        raise TrainingError(f"No model in {folder}: give the folder of a trained one.")
    model: LlamaForCausalLM = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    for name in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"):
        found, wanted = getattr(model.config, name), getattr(config, name)
        if found != wanted:
            raise TrainingError(f"The model in {folder} has {name} {found}, and {wanted} is asked for: use its shape.")
    if (Path(folder) / "tokenizer.json").is_file():
        carry_embeddings(model, load_tokenizer(Path(folder)), prepared_tokenizer(options))
    model.train()
    return model


def with_autocast(objective: Objective, device: str, dtype: torch.dtype) -> Objective:
    """The objective under autocast where bfloat16 is the faster; weights and optimisers stay fp32."""
    if dtype == torch.float32:
        return objective

    def wrapped(model: LlamaForCausalLM, batch: Batch, step: int) -> torch.Tensor:
        with torch.autocast(torch.device(device).type, dtype=dtype):
            return objective(model, batch, step)

    return wrapped


def note_start(start: str, folder: Path) -> None:
    """Keeps in `folder` what is known of the run that this one goes on from; the export may overwrite its own."""
    kept = folder / "start.json"
    facts = Path(start) / "training.json"
    if start and facts.is_file() and not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(facts.read_text(encoding="utf-8"), encoding="utf-8")


def train_target(options: TrainOptions, report: Report) -> LlamaForCausalLM:
    """Trains (or resumes) the target and saves its fp32 weights in the work folder."""
    loop = target_loop(options)
    note_start(options.start, options.work_dir / "target")
    model = loop.run(report, validation(options))
    model.save_pretrained(options.work_dir / "target" / "model")
    return model


def old_pieces(token: str, old: PreTrainedTokenizerFast) -> list[int]:
    """The old tokens that spell one new token; both spell in the byte-level alphabet, so any token can be spelt."""
    known = old.get_vocab()
    if token in known:
        return [known[token]]
    return [piece.id for piece in old.backend_tokenizer.model.tokenize(token)]


@torch.no_grad()
def carry_embeddings(model: LlamaForCausalLM, old: PreTrainedTokenizerFast, new: PreTrainedTokenizerFast) -> int:
    """Gives each new token its old row, or the mean of its old pieces' rows; returns how many rows are means.

    The head is tied to the embedding, so it follows. Both tokenizers must have as many tokens as the model has rows.
    """
    rows = model.model.embed_tokens.weight
    before, means = rows.clone(), 0
    for token, index in new.get_vocab().items():
        pieces = old_pieces(token, old)
        rows[index] = before[pieces].mean(0)
        means += len(pieces) > 1
    return means
