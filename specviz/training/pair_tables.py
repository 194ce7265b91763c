"""The pair's figures as Markdown, for the cards and for docs/pair.md.

Place in the flow: behind `pair_report`; every number comes from its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    families = dict.fromkeys(name for found in acceptance.values() for name in found["families"])
    rows = [[family, *(_rate(found["families"].get(family)) for found in acceptance.values())] for family in families]
    means = [f"{found['mean_rate']:.2f}" for found in acceptance.values()]
    return table(["family", *acceptance], [*rows, ["mean over families", *means]])


def _rate(row: Mapping[str, Any] | None) -> str:
    return (
        "–" if row is None else f"{row['rate']:.2f} ({row['accepted']} of {row['drafted']}), {row['mean_length']:.2f}"
    )


def history_table(history: Sequence[Mapping[str, Any]]) -> str:
    """One column per checkpoint that was measured."""
    rows = [[words, *(cell(name, one.get(name)) for one in history)] for name, words, _ in (*ROWS, *BITS)]
    return table(["figure", *(f"{one['tokens'] / 1e6:.2f} M tokens" for one in history)], rows)


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
