"""The second set of the study of depth against width as Markdown, beside the first, and both together."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.bench.core.report import markdown_table, or_dash
from specviz.protocol.depth_widths import DISTILLED, TEXT, DepthWidths, TextSet
from specviz.theory.depth_widths import Modelled, by_set, correlations

SHOWN = (1, 2, 4, 8)
"""γ of the tables"""


def second_set(study: DepthWidths) -> list[str]:
    """Paragraphs and tables; nothing where there is one set."""
    second = study.text_set
    if second is None:
        return []
    sets = by_set(study)
    return [
        f"**The second set, {TEXT}**",
        _what(study, second),
        "Rank correlations over a set's networks, each at its best γ, of throughput with step time and with "
        "perplexity, and of layers with perplexity:",
        _correlations(sets),
        f"The networks of {TEXT}; tokens per second are *modelled* from the times of the same shapes, those of "
        f"*{DISTILLED}* stand beside them, modelled likewise. Matched tokens are *replayed* [95 % over resampled "
        "prompts].",
        _networks(study, sets[DISTILLED], sets[TEXT]),
        f"The second set: {second.origin} Made by `{second.command}`.",
    ]


def _what(study: DepthWidths, second: TextSet) -> str:
    return (
        f"The same twelve shapes from the same batches, places, seed, optimiser and learning rates, {second.tokens:,} "
        f"tokens each, by cross entropy to the text's own next token (`{second.loss}`): the target is not asked. "
        f"{second.written_share:.0%} of those tokens stand in rows that the target had written behind beginnings of "
        "the corpus, as for the first set, so that this is no drafter that never met its target; the rest is the "
        "corpus'. Perplexity, agreement, α and matched tokens are measured as those of the first set, on the same "
        f"texts ({study.replayed_tokens:,} tokens after {study.replayed_prompts} prompts). **Nothing of this set was "
        "timed or run in the engine**: networks of one shape take one time, so step and passes are the first set's."
    )


def _correlations(sets: dict[str, list[Modelled]]) -> str:
    both = [one for found in sets.values() for one in found]
    rows = []
    for name, found in {**sets, "both": both}.items():
        seen = correlations(found)
        count = len({(one.network.name, one.network.perplexity) for one in found})
        rows.append([name, str(count), *(or_dash(one, "{:+.2f}") for one in (seen.step, seen.perplexity, seen.depth))])
    return markdown_table(("set", "networks", "step time", "perplexity", "layers and perplexity"), rows)


def _networks(study: DepthWidths, first: Sequence[Modelled], second: Sequence[Modelled]) -> str:
    gammas = [gamma for gamma in SHOWN if gamma in study.gammas]
    rows = []
    for beside, one in zip(first, second, strict=True):
        own = one.network
        matched = [own.matched[gamma - 1] for gamma in gammas]
        rows.append(
            [f"{own.family} `{own.name}`", f"{own.perplexity:.1f}", f"{own.agreement:.3f}", f"{own.acceptance:.3f}",
             *(f"{found.value:.2f} [{found.low:.2f}–{found.high:.2f}]" for found in matched), str(one.gamma),
             f"{one.tokens_per_s.value:.0f} [{one.tokens_per_s.low:.0f}–{one.tokens_per_s.high:.0f}]",
             f"{one.speedup:.2f}", f"{beside.tokens_per_s.value:.0f}"]
        )  # fmt: skip
    head = ("network", "perplexity", "agreement", "α", *(f"matched, γ = {gamma}" for gamma in gammas), "best γ",
            "tokens/s", "× plain", DISTILLED)  # fmt: skip
    return markdown_table(head, rows)
