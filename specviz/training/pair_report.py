"""What the pair can do, measured on its published weights: figures of each model, and how often drafters are accepted.

Place in the flow: `specviz bench pair` and the stage `measure`; `pair_tables` writes it down.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.corpus.plain_english.generator import documents
from specviz.corpus.standard_library import collect
from specviz.training.acceptance import DRAFT_LENGTH, NEW_TOKENS, Acceptance, acceptance_by_family, mean_rate
from specviz.training.loop import Report
from specviz.training.pair_figures import Figure, measured_figures, plain
from specviz.training.publish import held_out_bits
from specviz.training.windows import pack

TARGET = "target"
DRAFTERS = ("drafter", "drafter-weak")
MODELS = (TARGET, *DRAFTERS)
ENGLISH_CHARACTERS = 400_000
WINDOW = 512
EXAMPLES_OF = ("facts", "sums_two_digits_asked", "sums_three_digits_asked")
MOST_EXAMPLES = 3


def measured_pair(
    models: Mapping[str, LlamaForCausalLM],
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[Mapping[str, Any]],
    texts: Mapping[str, Sequence[str]],
    cases: int,
    report: Report,
) -> dict[str, Any]:
    """All that is measured, as plain data; `texts` are the held-out texts of each half."""
    streams = {half: pack(list(text), tokenizer, None) for half, text in texts.items() if text}
    figures: dict[str, dict[str, Any]] = {}
    judged: dict[str, Mapping[str, Figure]] = {}
    for name, model in models.items():
        judged[name], shares = measured_figures(model, tokenizer, cases)
        bits = {
            f"{half}_bits_per_byte_sampled": held_out_bits(model, tokenizer, stream, WINDOW)
            for half, stream in streams.items()
            if len(stream) > WINDOW
        }
        figures[name] = bits | plain(judged[name], shares)
        report({"measured": name, **{key: figures[name][key] for key in ("facts", "ends_by_itself")}})
    drafters = {name: model for name, model in models.items() if name != TARGET}
    accepted = acceptance_by_family(models[TARGET], drafters, tokenizer, prompts)
    return {
        "cases": cases,
        "figures": figures,
        "acceptance": {name: as_data(found) for name, found in accepted.items()},
        "examples": {name: examples(judged[TARGET], judged[name]) for name in drafters},
    }


def first_of_each(prompts: Sequence[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """The first prompts of every family, in the order of the set."""
    met: dict[str, int] = {}
    chosen = []
    for prompt in prompts:
        met[prompt["family"]] = met.get(prompt["family"], 0) + 1
        if met[prompt["family"]] <= count:
            chosen.append(prompt)
    return chosen


def as_data(families: Mapping[str, Acceptance]) -> dict[str, Any]:
    """Acceptance by family as data for JSON."""
    return {
        "draft_length": DRAFT_LENGTH,
        "new_tokens": NEW_TOKENS,
        "temperature": 0,
        "mean_rate": round(mean_rate(dict(families)), 4),
        "families": {
            name: {
                "rate": round(counts.rate, 4),
                "accepted": counts.accepted,
                "drafted": counts.drafted,
                "rounds": counts.rounds,
                "mean_length": round(counts.accepted / max(1, counts.rounds) + 1, 3),
            }
            for name, counts in families.items()
        },
    }


def examples(target: Mapping[str, Figure], drafter: Mapping[str, Figure]) -> list[dict[str, str]]:
    """A few questions that the target answers right and the drafter wrong."""
    found = []
    for name in EXAMPLES_OF:
        pairs = zip(target[name].said, drafter[name].said, strict=True)
        wrong = [(prompt, right, other) for (prompt, right, a), (_, other, b) in pairs if a and not b]
        found += [{"prompt": p, "target": right, "drafter": other} for p, right, other in wrong[:MOST_EXAMPLES]]
    return found


def held_out_texts(target: Path) -> dict[str, list[str]]:
    """Held-out texts of both halves: the Python files that this interpreter has as the target's split names them, and
    generated documents."""
    split = json.loads((target / "split.json").read_text(encoding="utf-8"))
    known = {row["path"]: row["sha256"] for row in split["held_out"]}
    python = [
        document.text
        for document in collect(split["seed"]).held_out
        if known.get(document.path) == hashlib.sha256(document.text.encode()).hexdigest()
    ]
    return {"python": python, "english": [d.text for d in documents(0, ENGLISH_CHARACTERS, held_out=True)]}
