"""A measured sweep as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.bench.core.report import markdown_table, or_dash
from specviz.protocol.sweeps.points import BASELINE, SweepRow, title

HEAD = (
    "setting", "γ", "temperature", "× plain, decoding", "95 % interval", "acceptance rate", "mean acceptance length",
    "candidates per pass", "tokens/s", "same output",
)  # fmt: skip


def table(rows: Sequence[SweepRow]) -> str:
    """One line per case and temperature, and what the numbers are."""
    note = (
        "\n\nSpeedup: median over the prompts (each the median of its repeats) of tokens per second ÷ plain decoding's "
        "on the same prompt in the same repeat; interval: central 95 % over 2000 resamples of the prompts.\n"
    )
    return markdown_table(HEAD, list(map(_cells, rows))) + note


def _cells(row: SweepRow) -> list[str]:
    plain = row.drafter == BASELINE
    return [
        "plain decoding" if plain else title(row),
        "–" if row.gamma is None else str(row.gamma),
        f"{row.temperature:g}",
        f"{row.ratio_median:.2f}",
        "–" if plain or row.prompts == 1 else f"{row.ratio_low:.2f} to {row.ratio_high:.2f}",
        or_dash(row.acceptance_rate, "{:.2f}"),
        or_dash(row.mean_acceptance_length, "{:.2f}"),
        f"{row.drafted_per_round:.1f}",
        f"{row.tokens_per_s_median:.0f}",
        f"{row.same_output}/{row.runs}",
    ]
