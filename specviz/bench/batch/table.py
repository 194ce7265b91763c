"""The report of `specviz bench batch`: what was compared, a table, the sentence that follows from it, the origin."""

from __future__ import annotations

from specviz.bench.core.provenance import Origin
from specviz.bench.core.report import DASH, markdown_table, or_dash, spread, value_of, with_interval
from specviz.studies.batches.result import BatchFile, name_of
from specviz.theory.batches import how, rows, sentence

HEAD = (
    "draft", "B", "× plain in the same batch", "× by passes alone", "tokens/s", "accepted / drafted",
    "tokens per round", "texts per pass", "same text",
)  # fmt: skip


def report(file: BatchFile) -> str:
    """Markdown."""
    found = rows(file)
    body = [
        (
            name_of(one.shape), str(one.size), spread(one.speedup), or_dash(one.pass_speedup, "{:.2f}"),
            f"{one.tokens_per_s:.0f}", with_interval(one.acceptance), value_of(one.length),
            f"{one.texts_per_pass:.1f}" if one.texts_per_pass else DASH, f"{one.same}/{one.texts}",
        )
        for one in found
    ]  # fmt: skip
    said = (
        f"{how(file)}. Speedups are medians over repeats with quartiles, acceptance has the central 95 % over prompts."
    )
    origin = Origin(file.target, (file.drafter,), file.machine, file.created)
    return f"**{sentence(found)}**\n\n{said}\n\n{markdown_table(HEAD, body)}\n\n{origin}"
