"""The alignment study as Markdown, for the documentation and the terminal.

Place in the flow: `specviz study alignment` prints it and writes it between the marks of docs/alignment.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from specviz.bench.core.report import markdown_table
from specviz.studies.alignment.result import (
    DOMAINS,
    AlignmentCell,
    AlignmentFigures,
    AlignmentStudy,
    Measured,
    mean_over_domains,
)

BEFORE = "before"


def markdown(study: AlignmentStudy) -> str:
    """The grid by data and loss at every temperature, the positions, the domains, and where the numbers come from."""
    parts = []
    for start, known in study.starts.items():
        grid = _by_texts([cell for cell in study.cells if cell.part == "grid" and cell.start == start])
        if grid:
            parts += [f"**From `{start}`, both domains (c = {known.memory_ratio:.2f})**", _grid(known.before, grid)]
            parts += [f"**Acceptance by position, from `{start}`, temperature 0**", _positions(known.before, grid)]
    for start, known in study.starts.items():
        domains = [cell for cell in study.cells if cell.part == "domains" and cell.start == start]
        if domains:
            parts += [
                f"**From `{start}` (c = {known.memory_ratio:.2f}): one domain alone**",
                _domains(known.before, domains),
            ]
    return "\n\n".join([*parts, _provenance(study)]) + "\n"


def _by_texts(cells: Sequence[AlignmentCell]) -> Sequence[AlignmentCell]:
    """Those on the same texts together; the study ran the most telling first."""
    met = list(dict.fromkeys(cell.data for cell in cells))
    return sorted(cells, key=lambda cell: met.index(cell.data))


def _grid(before: Measured, cells: Sequence[AlignmentCell]) -> str:
    head = ["texts", "loss"]
    for temperature in before:
        head += [f"{what} T={temperature}" for what in ("α", "τ", "MBSU", "coverage")]
    rows = [[BEFORE, "–", *_numbers(before)]]
    rows += [[_texts(cell), cell.loss, *_numbers(cell.after)] for cell in cells]
    return markdown_table(head, rows, words=2)


def _numbers(measured: Measured) -> list[str]:
    cells = []
    for one in map(mean_over_domains, measured.values()):
        cells += [f"{one.alpha:.3f}", f"{one.block_efficiency:.2f}", f"{one.mbsu:.2f}", f"{one.coverage:.3f}"]
    return cells


def _positions(before: Measured, cells: Sequence[AlignmentCell]) -> str:
    first = next(iter(before))
    deepest = len(mean_over_domains(before[first]).by_position)
    head = ["texts", "loss", *(f"draft {place}" for place in range(1, deepest + 1))]
    rows = [[BEFORE, "–", *_by_position(before[first])]]
    rows += [[_texts(cell), cell.loss, *_by_position(cell.after[first])] for cell in cells]
    return markdown_table(head, rows, words=2)


def _by_position(measured: Mapping[str, AlignmentFigures]) -> list[str]:
    return [f"{value:.3f}" for value in mean_over_domains(measured).by_position]


def _domains(before: Measured, cells: Sequence[AlignmentCell]) -> str:
    """alpha and tau on each domain, and what of alpha was gained or lost."""
    head = ["aligned on", "loss"]
    for temperature in before:
        head += [f"α {domain} T={temperature}" for domain in DOMAINS]
    rows = [[BEFORE, "–", *_each(before, lambda t, d: f"{before[t][d].alpha:.3f}")]]
    rows += [[cell.domain, cell.loss, *_each(before, _changes(before, cell))] for cell in cells]
    return markdown_table(head, rows, words=2)


def _changes(before: Measured, cell: AlignmentCell) -> Callable[[str, str], str]:
    def text(temperature: str, domain: str) -> str:
        now = cell.after[temperature][domain].alpha
        return f"{now:.3f} ({now - before[temperature][domain].alpha:+.3f})"

    return text


def _each(before: Measured, text: Callable[[str, str], str]) -> list[str]:
    return [text(temperature, domain) for temperature in before for domain in DOMAINS]


def _texts(cell: AlignmentCell) -> str:
    return cell.data.replace("+", " + ")


def _provenance(study: AlignmentStudy) -> str:
    prompts = " and ".join(f"{count} {domain}" for domain, count in study.prompts.items())
    rates = ", ".join(f"{one.lr:g} for `{name}`" for name, one in study.starts.items())
    return (
        f"{len(study.cells)} of the study's {study.planned} cells. "
        f"Every row learnt from {study.tokens:,} tokens; peak learning rate {rates}. Measured on what the target "
        f"writes after {prompts} held-out prompts, drafts of γ = {study.gamma}, exactly; means of the two domains. "
        f"`{study.command}`. {study.origin}"
    )
