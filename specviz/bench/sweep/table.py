"""A measured sweep as a Markdown table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from specviz.bench.core.report import DASH, markdown_table, or_dash
from specviz.bench.core.texts import NONE, Text, counted, texts_table
from specviz.protocol.sweeps.points import (
    BASELINE,
    Best,
    SweepPoint,
    SweepRow,
    best_by_family,
    summarise,
    title,
)
from specviz.protocol.sweeps.result import SweepResult
from specviz.theory.repetition import MOST, repeats_itself, varied

HEAD = (
    "setting", "γ", "temperature", "× plain, decoding", "95 % interval", "acceptance rate", "mean acceptance length",
    "MBSU (c)", "candidates per pass", "tokens/s", "same output",
)  # fmt: skip

NOTE = (
    "Speedup: median over the prompts (each the median of its repeats) of tokens per second ÷ plain decoding's on the "
    "same prompt in the same repeat; interval: central 95 % over 2000 resamples of the prompts. MBSU: speedup if "
    "reading weights were all that costs, tokens per target pass × c ÷ (drafter passes per round + c) with c = target "
    "bytes ÷ drafter bytes, the weights that one pass reads: what a drafter has of its own, layers of the target that "
    "it runs, and the head it reads out through; no cache, and of tables that are looked up nothing. No c: its drafts "
    "read no weights. – where nobody counted them, or its passes run beside the target's."
)

SPREAD = (
    "Each prompt's runs are of one worker, so each ratio is of one machine; tokens per second are of the machines "
    "above, and workers on one machine share its memory and caches."
)


def report(points: Sequence[SweepPoint]) -> str:
    """One line per case and temperature over the texts that do not repeat themselves, the fastest of every family, the
    cases over the other texts, each text's repetition, and what the numbers are."""
    held, apart = varied(points), [point for point in points if repeats_itself(point)]
    parts = [table(summarise(held)) if held else NONE, winners(held)]
    if apart:
        parts += [f"Texts that repeat more than {MOST:.0%} of their 4-grams:", table(summarise(apart))]
    found = [
        (temperature, _texts(points, temperature))
        for temperature in dict.fromkeys(point.temperature for point in points)
    ]
    parts += [f"Temperature {temperature:g}: {counted(texts)}" for temperature, texts in found if texts]
    parts += [texts_table(found)] if any(texts for _, texts in found) else []
    return "\n\n".join([*filter(None, parts), NOTE]) + "\n"


def table(rows: Sequence[SweepRow]) -> str:
    """One line per case and temperature."""
    return markdown_table(HEAD, list(map(_cells, rows)))


def workers_table(result: SweepResult) -> str:
    """Who measured, where several did; empty where one process did."""
    about = result.provenance.workers
    if not about:
        return ""
    runs = Counter(point.worker for point in result.points)
    body = [
        [
            str(number + 1), one.host, f"{one.machine.processor}, {one.machine.threads} of {one.machine.cores} cores",
            one.ended or DASH, str(runs[number]),
        ]
        for number, one in enumerate(about)
    ]  # fmt: skip
    return f"\n{markdown_table(('worker', 'machine', 'processor', 'gone', 'runs'), body, words=4)}\n\n{SPREAD}\n"


def winners(points: Sequence[SweepPoint]) -> str:
    """Family by family the fastest case at each temperature; empty where nothing was measured."""
    temperatures = list(dict.fromkeys(point.temperature for point in points))
    best = {(one.family, one.temperature): one for one in best_by_family(points)}
    families = dict.fromkeys(point.family for point in points)
    body = [[family, *(_best(best.get((family, temperature))) for temperature in temperatures)] for family in families]
    head = ["family", *(f"fastest, temperature {temperature:g}" for temperature in temperatures)]
    different = [
        f"{len({case.case.drafter for case in best.values() if case.temperature == temperature} - {BASELINE})} at "
        f"temperature {temperature:g}"
        for temperature in temperatures
    ]
    said = f"Different drafters among them: {', '.join(different)}."
    return f"{markdown_table(head, body, words=len(head))}\n\n{said}" if body else ""


def _best(one: Best | None) -> str:
    if one is None:
        return DASH
    length = "" if one.case.gamma is None else f" γ={one.case.gamma}"
    return f"{_name(one.case)}{length} {one.case.ratio_median:.2f}×"


def _texts(points: Sequence[SweepPoint], temperature: float) -> list[Text]:
    """What plain decoding wrote, where its repetition was counted."""
    return [
        Text(point.prompt, point.family, point.repeat, point.output_tokens, point.repetition)
        for point in points
        if point.drafter == BASELINE and point.temperature == temperature and point.repetition is not None
    ]


def _name(row: SweepRow) -> str:
    return "plain decoding" if row.drafter == BASELINE else title(row)


def _cells(row: SweepRow) -> list[str]:
    plain = row.drafter == BASELINE
    return [
        _name(row),
        "–" if row.gamma is None else str(row.gamma),
        f"{row.temperature:g}",
        f"{row.ratio_median:.2f}",
        "–" if plain or row.prompts == 1 else f"{row.ratio_low:.2f} to {row.ratio_high:.2f}",
        or_dash(row.acceptance_rate, "{:.2f}"),
        or_dash(row.mean_acceptance_length, "{:.2f}"),
        or_dash(row.mbsu, "{:.2f}") + (f" ({row.memory_ratio:.2f})" if row.mbsu and row.memory_ratio else ""),
        f"{row.drafted_per_round:.1f}",
        f"{row.tokens_per_s_median:.0f}",
        f"{row.same_output}/{row.runs}",
    ]
