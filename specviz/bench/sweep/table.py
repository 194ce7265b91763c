"""A measured sweep as a Markdown table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from specviz.bench.core.report import DASH, markdown_table, value_of
from specviz.bench.core.rows import NONE, Text, counted, texts_table
from specviz.protocol.sweeps.points import BASELINE, SweepPoint, title
from specviz.protocol.sweeps.result import SweepResult
from specviz.theory.rows import MOST, Best, SweepRow, best_by_family, repeats_itself, summarise, varied

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
    by_temperature = [
        (temperature, _texts(points, temperature))
        for temperature in dict.fromkeys(point.temperature for point in points)
    ]
    parts += [f"Temperature {temperature:g}: {counted(texts)}" for temperature, texts in by_temperature if texts]
    parts += [texts_table(by_temperature)] if any(texts for _, texts in by_temperature) else []
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
            str(number + 1),
            worker.host,
            f"{worker.machine.processor}, {worker.machine.threads} of {worker.machine.cores} cores",
            worker.ended or DASH,
            str(runs[number]),
        ]
        for number, worker in enumerate(about)
    ]
    return f"\n{markdown_table(('worker', 'machine', 'processor', 'gone', 'runs'), body, words=4)}\n\n{SPREAD}\n"


def at_best(points: Sequence[SweepPoint]) -> str:
    """Every drafter at the length, tree and policies at which it is fastest, at each temperature, the fastest first at
    the lowest; over the texts that do not repeat themselves, tokens per pass over all their rounds."""
    held = varied(points)
    temperatures = sorted({point.temperature for point in held})
    best: dict[str, dict[float, SweepRow]] = {}
    for row in sorted(summarise(held), key=lambda row: (row.temperature, -row.ratio.value)):
        if row.drafter != BASELINE:
            best.setdefault(row.drafter, {}).setdefault(row.temperature, row)
    head = [part for warmth in temperatures for part in (f"at {warmth:g}", "× plain", "95 %", "tokens per pass")]
    body = [[f"`{name}`", *_at_each(rows, temperatures)] for name, rows in best.items()]
    texts = [f"{len({p.prompt for p in held if p.temperature == warmth})} at {warmth:g}" for warmth in temperatures]
    return f"{markdown_table(['drafter', *head], body)}\n\nTexts that do not repeat themselves: {', '.join(texts)}."


def _at_each(rows: Mapping[float, SweepRow], temperatures: Sequence[float]) -> Iterator[str]:
    for temperature in temperatures:
        row = rows.get(temperature)
        if row is None:
            yield from (DASH,) * 4
            continue
        length = "" if row.gamma is None else f"γ = {row.gamma}"
        yield ", ".join(filter(None, (length, str(row.policies)))) or DASH
        yield f"{row.ratio.value:.2f}"
        yield f"{row.ratio.low:.2f} to {row.ratio.high:.2f}"
        yield value_of(row.statistics.tokens_per_pass)


def winners(points: Sequence[SweepPoint]) -> str:
    """Family by family the fastest case at each temperature; empty where nothing was measured."""
    temperatures = list(dict.fromkeys(point.temperature for point in points))
    best = {(fastest.family, fastest.temperature): fastest for fastest in best_by_family(points)}
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


def _best(best: Best | None) -> str:
    if best is None:
        return DASH
    length = "" if best.case.gamma is None else f" γ={best.case.gamma}"
    return f"{_name(best.case)}{length} {best.case.ratio.value:.2f}×"


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
    plain, counted = row.drafter == BASELINE, row.statistics
    return [
        _name(row),
        "–" if row.gamma is None else str(row.gamma),
        f"{row.temperature:g}",
        f"{row.ratio.value:.2f}",
        "–" if plain or counted.prompts == 1 else f"{row.ratio.low:.2f} to {row.ratio.high:.2f}",
        value_of(counted.acceptance_rate),
        value_of(counted.mean_acceptance_length),
        value_of(counted.mbsu) + (f" ({row.memory_ratio:.2f})" if counted.mbsu and row.memory_ratio else ""),
        value_of(counted.nodes_per_pass, "{:.1f}"),
        f"{row.tokens_per_s:.0f}",
        f"{counted.same_output}/{counted.runs}",
    ]
