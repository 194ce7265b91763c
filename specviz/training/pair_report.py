"""What the pair can do, measured on its published weights: figures of each model, how often drafters are accepted, and
both as Markdown.

Place in the flow: `specviz bench pair` and the stage `measure`. Acceptance is measured exactly and cheaply: at
temperature 0 the emitted text is the target's own greedy text whatever the drafter says, so the rounds are replayed on
that text.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.corpus.plain_english.generator import documents
from specviz.corpus.standard_library import collect
from specviz.lm.hub.model import cache_argument, returned_cache
from specviz.training.loop import Report
from specviz.training.pair_figures import Figure, measured_figures, plain
from specviz.training.publish import held_out_bits
from specviz.training.windows import pack

DRAFT_LENGTH = 4
NEW_TOKENS = 64


@dataclass(frozen=True)
class Acceptance:
    """Counts of one run: rounds, drafted tokens, accepted drafts."""

    rounds: int
    drafted: int
    accepted: int

    @property
    def rate(self) -> float:
        """Accepted drafts over drafted tokens, in [0, 1]."""
        return self.accepted / max(1, self.drafted)


@torch.inference_mode()
def greedy_text(model: LlamaForCausalLM, ids: torch.Tensor, new_tokens: int, end: int | None = None) -> torch.Tensor:
    """The model's own greedy continuation appended, up to and with the token `end`. ids [1, p] -> [1, p + most]."""
    takes_cache, cache, fresh = cache_argument(model), None, ids
    for _ in range(new_tokens):
        result = model(input_ids=fresh, use_cache=True, **{takes_cache: cache})
        cache, fresh = returned_cache(result), result.logits[:, -1:].argmax(-1)
        ids = torch.cat([ids, fresh], dim=1)
        if int(fresh) == end:
            break
    return ids


@torch.inference_mode()
def replay_rounds(
    drafter: LlamaForCausalLM, text: torch.Tensor, start: int, draft_length: int, end: int | None = None
) -> Acceptance:
    """Counts the rounds of greedy speculative decoding that emit text[start:]; text [1, n].

    Each round drafts `draft_length` tokens from the true prefix (fewer behind the token `end` and where the text is
    over), keeps those that equal the text, and the target adds one token of its own (Leviathan et al. 2023, algorithm 1
    at temperature 0).
    """
    at, rounds, drafted, accepted = start, 0, 0, 0
    while at < text.shape[1]:
        guess = greedy_text(drafter, text[:, :at], min(draft_length, text.shape[1] - at), end)[0, at:]
        same = (guess == text[0, at : at + len(guess)]).long()
        kept = int(same.cumprod(0).sum())
        rounds, drafted, accepted = rounds + 1, drafted + len(guess), accepted + kept
        at += kept + 1
    return Acceptance(rounds, drafted, accepted)


def acceptance_by_family(
    target: LlamaForCausalLM,
    drafters: Mapping[str, LlamaForCausalLM],
    tokenizer: PreTrainedTokenizerFast,
    prompts: Iterable[Mapping[str, Any]],
) -> dict[str, dict[str, Acceptance]]:
    """Drafter → summed counts per prompt family; each prompt is continued to its end or by 64 tokens."""
    counts: dict[str, dict[str, list[Acceptance]]] = {name: defaultdict(list) for name in drafters}
    end = tokenizer.eos_token_id
    for prompt in prompts:
        ids = tokenizer(prompt["text"], return_tensors="pt")["input_ids"]
        text = greedy_text(target, ids, NEW_TOKENS, end)
        for name, drafter in drafters.items():
            counts[name][prompt["family"]].append(replay_rounds(drafter, text, ids.shape[1], DRAFT_LENGTH, end))
    return {name: {family: _summed(runs) for family, runs in count.items()} for name, count in counts.items()}


def _summed(runs: Sequence[Acceptance]) -> Acceptance:
    return Acceptance(sum(r.rounds for r in runs), sum(r.drafted for r in runs), sum(r.accepted for r in runs))


def mean_rate(families: dict[str, Acceptance]) -> float:
    """Unweighted mean over families of the acceptance rate, in [0, 1]."""
    return sum(acceptance.rate for acceptance in families.values()) / max(1, len(families))


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
        "acceptance": {name: as_data(families) for name, families in accepted.items()},
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
    differing = []
    for name in EXAMPLES_OF:
        pairs = zip(target[name].said, drafter[name].said, strict=True)
        wrong = [(prompt, right, other) for (prompt, right, a), (_, other, b) in pairs if a and not b]
        differing += [{"prompt": p, "target": right, "drafter": other} for p, right, other in wrong[:MOST_EXAMPLES]]
    return differing


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


ROWS = (
    ("facts", "facts right in unseen phrasings", "95 %"),
    ("sums_two_digits_bare", "two-digit sums, bare (`34 + 28 =`)", "95 %"),
    ("sums_two_digits_asked", "two-digit sums, as a question", "95 %"),
    ("sums_two_digits_steps", "two-digit sums, step by step", "95 %"),
    ("sums_three_digits_bare", "three-digit sums, bare", "85 %"),
    ("sums_three_digits_asked", "three-digit sums, as a question (answered in steps)", "85 %"),
    ("sums_three_digits_steps", "three-digit sums, step by step", "85 %"),
    ("name_carried", "the story's person carried", "95 %"),
    ("thing_carried", "the story's thing carried", "95 %"),
    ("ends_by_itself", "plain-English texts that end by themselves", "95 %"),
    ("texts_above_a_quarter_repeated", "texts with more than a quarter of their 4-grams repeated", ""),
    ("repetition_mean", "share of repeated 4-grams, mean", ""),
)
"""figure, its words, what was wanted"""
BITS = (
    ("english_bits_per_byte_sampled", "plain English, bits per byte (64 windows)", ""),
    ("python_bits_per_byte_sampled", "Python, bits per byte (64 windows)", ""),
)


def cell(name: str, value: float | None) -> str:
    """A share in percent, bits with three digits."""
    if value is None:
        return "–"
    return f"{value:.3f}" if "bits" in name else f"{value:.0%}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown; the first column is words."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figures_table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """One row per figure, one column per model, and what was wanted of the target."""
    rows = [
        [words, *(cell(name, figure.get(name)) for figure in figures.values()), wanted]
        for name, words, wanted in (*ROWS, *BITS)
    ]
    return table(["figure, greedy, on held-out documents", *figures, "wanted of the target"], rows)


def acceptance_table(acceptance: Mapping[str, Mapping[str, Any]]) -> str:
    """One row per prompt family: each drafter's acceptance rate and tokens per round."""
    families = dict.fromkeys(name for counts in acceptance.values() for name in counts["families"])
    rows = [[family, *(_rate(counts["families"].get(family)) for counts in acceptance.values())] for family in families]
    means = [f"{counts['mean_rate']:.2f}" for counts in acceptance.values()]
    return table(["family", *acceptance], [*rows, ["mean over families", *means]])


def _rate(row: Mapping[str, Any] | None) -> str:
    return (
        "–" if row is None else f"{row['rate']:.2f} ({row['accepted']} of {row['drafted']}), {row['mean_length']:.2f}"
    )


def history_table(history: Sequence[Mapping[str, Any]]) -> str:
    """One column per checkpoint that was measured."""
    rows = [[words, *(cell(name, checkpoint.get(name)) for checkpoint in history)] for name, words, _ in (*ROWS, *BITS)]
    return table(["figure", *(f"{checkpoint['tokens'] / 1e6:.2f} M tokens" for checkpoint in history)], rows)


def example_lines(examples: Sequence[Mapping[str, str]], drafter: str) -> str:
    """What was asked, what the drafter said and what the target knows."""
    return "\n".join(
        f"* {_code(example['prompt'])}: the {drafter} said {_code(example['drafter'])}, "
        f"the target {_code(example['target'])}"
        for example in examples
    )


def _code(text: str) -> str:
    """One line of code; a line end is shown as an arrow."""
    shown = text.strip().replace("`", "'").replace("\n", " ↵ ")
    return f"`{shown[:140]}`" if shown else "nothing"


def markdown(pair: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> str:
    """Everything, for docs/pair.md."""
    length = next((found["draft_length"] for found in pair["acceptance"].values()), 0)
    parts = [
        f"Each figure is of up to {pair['cases']} held-out cases, half as many for sums; texts are greedy, weights as "
        f"published and computed in float32.\n\n{figures_table(pair['figures'])}",
        f"Greedy acceptance at speculation length {length}, prompts of each family, each to its end or 64 tokens: the "
        "rate, accepted and drafted tokens, tokens per round with the bonus.\n\n"
        + acceptance_table(pair["acceptance"]),
    ]
    for drafter, found in pair["examples"].items():
        if found:
            parts.append(f"Where the {drafter} errs and the target is right:\n\n{example_lines(found, drafter)}")
    if history:
        parts.append(f"What further tokens brought the target:\n\n{history_table(history)}")
    return "\n\n".join(parts)
