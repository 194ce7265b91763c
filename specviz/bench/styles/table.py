"""The report of `specviz bench styles`: by group of questions a sentence, hypotheses, a table, and what was written."""

from __future__ import annotations

from specviz.bench.core.provenance import Origin
from specviz.bench.core.report import markdown_table, with_interval
from specviz.protocol.styles import PLAIN, TITLES, StyleFile
from specviz.studies.styles.numbers import Group, StyleRow, example, groups, names, told
from specviz.studies.styles.result import how, hypotheses, sentence

HEAD = (
    "style", "drafter", "in its form", "accuracy", "N tokens", "α", "τ", "tokens/s", "× plain", "s per correct answer",
    "same text",
)  # fmt: skip
EXAMPLES = ("asked", "style", "prompt", "what the target wrote", "right answer")
LONGEST = 160
"""of a text that is shown"""


def report(file: StyleFile) -> str:
    """Markdown."""
    parts = [f"{how(file)}."]
    for group in groups(file):
        said = "\n".join(f"* *Hypothesis:* {what} *Measured:* {found}" for what, found in hypotheses(group))
        parts += [f"### {group.name.capitalize()}", f"**{sentence(group)}**", said, _table(group)]
    origin = Origin(file.target, file.drafters, file.machine, file.created)
    return "\n\n".join([*parts, "### What it writes", _examples(file), f"{origin} `{file.command}`"])


def _table(group: Group) -> str:
    return markdown_table(HEAD, [_line(one) for one in group.rows], words=2)


def _line(one: StyleRow) -> tuple[str, ...]:
    accuracy = one.accuracy
    return (
        TITLES[one.style] if one.drafter == PLAIN else "", one.drafter, f"{one.followed.hits}/{one.followed.of}",
        f"{accuracy.hits}/{accuracy.of} [{accuracy.low or 0:.0%}–{accuracy.high or 0:.0%}]", f"{one.tokens.value:.1f}",
        with_interval(one.alpha), with_interval(one.length), f"{one.tokens_per_s.value:.0f}",
        with_interval(one.speedup), told(one.cost), f"{one.same}/{one.runs}",
    )  # fmt: skip


def _examples(file: StyleFile) -> str:
    """One question of each group in every style."""
    body = [
        (f"{one.cell.kind}, {one.cell.asked}", TITLES[one.cell.style], _code(one.prompt), _code(one.text),
         str(one.truth))
        for kind, asked in names(file).values() for one in example(file, kind, asked)
    ]  # fmt: skip
    return markdown_table(EXAMPLES, body, words=4)


def _code(text: str) -> str:
    """A model's text as code on one line: what it may hold of Markdown or HTML is shown and not obeyed."""
    line = " ↵ ".join(text.strip().splitlines()).replace("`", "ˋ")
    return f"`{line[:LONGEST]}{'…' if len(line) > LONGEST else ''}`" if line else "–"
