"""Held-out texts for the study: what the target writes after prompts of the shipped set, once per temperature.

Place in the flow: between the exported target and `measure`; kept in the work folder.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.corpus.prompt_families import PYTHON
from specviz.training.alignment.measure import WrittenText
from specviz.training.generation import continue_batch

NEW_TOKENS = 64
ROWS = 16
"""prompts of similar length that are written together"""


def held_out_texts(
    target: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[dict[str, Any]],
    temperature: float,
    folder: Path,
) -> list[WrittenText]:
    """Each prompt with up to 64 tokens of the target's, in fp32; the file's name holds what it was made from."""
    weights = sum(float(parameter.detach().double().abs().sum()) for parameter in target.parameters())
    made_from = json.dumps([[one["text"] for one in prompts], temperature, NEW_TOKENS, weights])
    path = folder / f"{hashlib.sha256(made_from.encode()).hexdigest()[:16]}.json"
    if not path.is_file():
        found = [tokens for batch in _batches(prompts) for tokens in _written(target, tokenizer, batch, temperature)]
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), encoding="utf-8")
    rows = json.loads(path.read_text(encoding="utf-8"))
    python = {family.name for family in PYTHON}
    ordered = [one for batch in _batches(prompts) for one in batch]
    return [
        WrittenText(
            one["family"],
            "python" if one["family"] in python else "english",
            torch.tensor(row["ids"]),
            row["start"],
        )
        for one, row in zip(ordered, rows, strict=True)
    ]


def _batches(prompts: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    ordered = sorted(prompts, key=lambda one: (int(one["tokens"]), str(one["id"])))
    for first in range(0, len(ordered), ROWS):
        yield ordered[first : first + ROWS]


def _written(
    target: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, batch: list[dict[str, Any]], temperature: float
) -> list[dict[str, Any]]:
    """ids and length of the prompt, a text for each prompt, ended after end-of-text."""
    given = [list(tokenizer(one["text"])["input_ids"]) for one in batch]
    length = max(map(len, given)) + NEW_TOKENS - 1
    generator = torch.Generator().manual_seed(len(given[0]))
    rows = continue_batch(target, [repeat(ids) for ids in given], length, temperature, generator).ids.tolist()
    found = []
    for ids, row in zip(given, rows, strict=True):
        new = row[len(ids) : len(ids) + NEW_TOKENS]
        end = target.config.eos_token_id
        found.append({"ids": ids + (new[: new.index(end) + 1] if end in new else new), "start": len(ids)})
    return found
