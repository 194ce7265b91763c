"""The proof as Markdown: tables for the terminal and for docs/losslessness.md, each between its own comments.

Place in the flow: rows and findings go in, text comes out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from specviz.errors import ProofError
from specviz.proof.exhaustive import ProofCase
from specviz.proof.planted import CAUGHT, Finding
from specviz.proof.sampled import Comparison, Sample
from specviz.proof.table import EXACT, Row, names_of, options_of

Cells = Sequence[str]
HEAD = (
    *("drafter", "tree policy", "stop policy", "verifier", "options", "T:", "toy"),
    *("candidates per round:", "max. error:", "law"),
)
METHOD_CELLS = 5


def table(head: Cells, lines: Sequence[Cells]) -> str:
    """A Markdown table; columns whose head ends in `:` are right-aligned."""
    rule = ["---:" if cell.endswith(":") else "---" for cell in head]
    shown = [[cell.rstrip(":") for cell in head], rule, *lines]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in shown)


def method_cells(names: Sequence[str], options: str) -> list[str]:
    """The cells that name a method: drafter, tree policy, stop policy, verifier, options."""
    drafter, tree_policy, stop_policy, verifier = (f"`{name}`" for name in names)
    grown = "own" if tree_policy == "`auto`" else tree_policy
    return [drafter, grown, "–" if stop_policy == "`fixed`" else stop_policy, verifier, options or "–"]


def rows_table(rows: Sequence[Row]) -> str:
    """Every method with the largest error of the joint law; lossy ones marked."""
    return table(HEAD, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    toy = f"{row.vocab_size} tokens, text of {row.tokens}"
    names = (row.drafter, row.tree_policy, row.stop_policy, row.verifier)
    numbers = [f"{row.per_round:.2f}", f"{row.error:.1e}"]
    return [*method_cells(names, row.options), f"{row.temperature:g}", toy, *numbers, law_of(row)]


def renewed(before: str, rows: Sequence[Row], cases: Sequence[ProofCase]) -> str:
    """The table of all cases in their order: new rows where there are any, the lines of the table before elsewhere."""
    lines = {_key(line): line for line in before.splitlines()}
    lines |= {_key(line): line for line in rows_table(rows).splitlines()[2:]}
    keys = [_key("| " + " | ".join(method_cells(names_of(case), options_of(case))) + " |") for case in cases]
    return "\n".join([*table(HEAD, []).splitlines(), *(lines[key] for key in keys if key in lines)])


def _key(line: str) -> tuple[str, ...]:
    """The cells of a line that name its method."""
    return tuple(cell.strip() for cell in line.strip("|").split("|")[:METHOD_CELLS])


def law_of(row: Row) -> str:
    """What the row's numbers say in a word."""
    if row.missing:
        return f"**NOT PROVED**: {', '.join(row.missing)}"
    note = " (nothing to judge: by its declaration it drafts no candidates)" if row.per_round == 0.0 else ""
    if not row.lossless:
        return f"**lossy**: total variation {row.total_variation:.4f}{note}"
    return f"the target's{note}" if row.error < EXACT else f"**BROKEN**: total variation {row.total_variation:.4f}"


def findings_table(findings: Sequence[Finding]) -> str:
    """What happens to the law when a bug is planted."""
    lines = []
    for finding in findings:
        if finding.distance is None:
            lines.append([finding.bug, finding.summary, "–", f"refused: {finding.refusal}"])
        else:
            verdict = "caught" if finding.caught else f"**NOT CAUGHT** (error below {CAUGHT:g})"
            lines.append([finding.bug, finding.summary, f"{finding.distance.error:.1e}", verdict])
    return table(["planted bug", "what it does", "max. error:", "the proof"], lines)


def samples_table(samples: Sequence[Sample], wrong: Sequence[Sample]) -> str:
    """Large trees: how far the counts are from the law, and what noise alone would give."""
    lines = []
    for sample in samples:
        case, verdict = sample.case, "**rejected**" if sample in wrong else "not rejected"
        distances = [f"{sample.total_variation:.3f}", f"{sample.noise:.3f}", f"{sample.p_value:.3f}", verdict]
        sizes = [f"{sample.runs}", f"{len(sample.probs)}", f"{sample.nodes:.1f}", f"{sample.rounds:.2f}"]
        lines.append([*method_cells(names_of(case), options_of(case)), *sizes, *distances])
    sizes_head = ["texts:", "cells:", "candidates per round:", "rounds per text:"]
    return table([*HEAD[:METHOD_CELLS], *sizes_head, "total variation:", "noise alone:", "p:", "Holm"], lines)


def comparisons_table(comparisons: Sequence[Comparison]) -> str:
    """Greedy texts: how many differ from plain decoding."""
    lines = [
        [
            *method_cells(names_of(comparison.case), options_of(comparison.case)),
            f"{comparison.prompts} × {comparison.tokens // comparison.prompts}",
            f"{comparison.tokens / comparison.passes:.2f}",
            "none" if not comparison.different else f"**{comparison.different}**",
        ]
        for comparison in comparisons
    ]
    return table([*HEAD[:METHOD_CELLS], "prompts × tokens:", "tokens per target pass:", "different texts:"], lines)


def section(document: str, name: str) -> str:
    """What stands between a section's marks. Raises ProofError where they are missing."""
    start, end = _span(document, name)
    return document[start:end].strip()


def filled(document: str, sections: Mapping[str, str]) -> str:
    """The document with each section's text between `<!-- NAME -->` and `<!-- /NAME -->`.

    Raises ProofError where a pair of marks is missing.
    """
    for name, text in sections.items():
        start, end = _span(document, name)
        document = f"{document[:start]}{text}\n{document[end:]}"
    return document


def _span(document: str, name: str) -> tuple[int, int]:
    match = re.search(rf"<!-- {name}\b[^>]*-->\n(.*?)<!-- /{name} -->", document, re.DOTALL)
    if not match:
        raise ProofError(f"the document has no marks <!-- {name} --> and <!-- /{name} -->; put them where it belongs.")
    return match.span(1)
