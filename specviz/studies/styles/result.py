"""What a measurement of prompt styles says: in sentences that are computed, and hypotheses beside what was found.

Place in the flow: reads the rows of `theory.styles`; the command's report, the documentation and the page say these
words. Nothing is said of a style that the target does not write.
"""

from __future__ import annotations

from collections.abc import Sequence

from specviz.protocol.styles import CHAIN, CLOCKS, DIRECT, DRAFT, PLAIN, SEARCH, SKETCH, TITLES, TREE, StyleFile
from specviz.studies.styles.numbers import Group, StyleRow, cheapest, told

LOOKUP = ("ngram", "suffix", "rest")
"""drafters that copy what was written before"""
BUSY = 0.5
"""above its own threads, from which load on a machine did other work too"""


def sentence(group: Group) -> str:
    """Which styles are followed, and what is cheapest per correct answer among them and no style."""
    asked = [one for one in group.rows if one.drafter == PLAIN and one.style != DIRECT]
    follows = [TITLES[one.style] for one in asked if one.follows]
    lost = [f"{TITLES[one.style]} {one.followed.hits}/{one.followed.of}" for one in asked if not one.follows]
    said = f"The target follows {_list(follows)}" if follows else "The target follows none of these styles"
    said += f"; texts in the form that was asked for: {', '.join(lost)}. " if lost else ". "
    best, bare = cheapest(group), group.row(DIRECT, PLAIN)
    if best is None:
        return f"{said}No answer was right."
    said += f"Fewest seconds per correct answer: {TITLES[best.style]} with {_by(best.drafter)}, {_bill(best)}"
    if bare is None or (best.style, best.drafter) == (DIRECT, PLAIN):
        return f"{said}."
    return f"{said}; {TITLES[DIRECT]} with {_by(PLAIN)}, {_bill(bare)}."


def hypotheses(group: Group) -> tuple[tuple[str, str], ...]:
    """(what is supposed, what was measured here)."""
    drafting = [name for name in group.drafters if name != PLAIN]
    lookups = [name for name in drafting if name in LOOKUP]
    return (
        ("Terser answers than CoT's (SoT, CoD, or no steps at all) lower α and win by their few tokens.",
         _beside_chain(group, (DIRECT, SKETCH, DRAFT), drafting, terser=True)),
        ("Styles that repeat phrases (ToT, AoT) raise α of drafters that copy earlier text.",
         _beside_chain(group, (TREE, SEARCH), lookups)),
        ("The shortest answers are not the cheapest right ones.", _shortest(group)),
    )  # fmt: skip


def _beside_chain(group: Group, styles: Sequence[str], drafters: Sequence[str], terser: bool = False) -> str:
    """Each style beside CoT, as far as the target follows both; what was not tested is said."""
    tested, untested, parts = [], [], []
    for style in styles:
        plain, chain = group.row(style, PLAIN), group.row(CHAIN, PLAIN)
        if plain is None or chain is None:
            continue
        if not plain.follows:
            untested.append(f"{TITLES[style]}, which the target does not write")
        elif not chain.follows:
            untested.append(f"{TITLES[style]}, because the target does not write CoT to compare with")
        elif terser and plain.tokens.value >= chain.tokens.value:
            untested.append(f"{TITLES[style]}, which is as long as CoT")
        else:
            tested.append(style)
    for style in tested:
        for name in drafters:
            own, chain = group.row(style, name), group.row(CHAIN, name)
            if own is not None and chain is not None:
                line = f"{TITLES[style]} with {name}: α {_alpha(own)} against CoT's {_alpha(chain)}"
                parts.append(f"{line}; {_bill(own)}, against CoT's {_bill(chain)}" if terser else line)
    if not drafters:
        untested.append("no such drafter was measured")
    found = [f"{part}." for part in parts]
    return " ".join([*found, f"Not tested: {'; '.join(untested)}."] if untested else found)


def _shortest(group: Group) -> str:
    plain = [one for one in group.rows if one.drafter == PLAIN and one.follows]
    right = [one for one in plain if one.cost is not None]
    if not right or len(plain) < 2:
        return "Not tested: no two of these ways of asking are followed, or nothing was right."
    short = min(plain, key=lambda one: one.tokens.value)
    best = min(right, key=lambda one: one.cost.value if one.cost else 0.0)
    verdict = "Not so here" if short.style == best.style else "So here"
    others = [one for one in plain if one.style != short.style]
    return (
        f"{verdict}, decoded plainly: {TITLES[short.style]} is the shortest, {_bill(short)}; "
        + "; ".join(f"{TITLES[one.style]}, {_bill(one)}" for one in others)
        + "."
    )


def how(file: StyleFile) -> str:
    """How it was measured."""
    questions = len({(one.cell.kind, one.cell.number) for one in file.runs})
    repeats = len({one.repeat for one in file.runs})
    load = "" if file.load is None else f", load {file.load:g} as it ended"
    if file.load is not None and file.load > file.machine.threads + BUSY:
        load += " (times are provisional: other programs ran beside it)"
    return (
        f"{questions} held-out questions, the same in every style, at most {file.max_new_tokens} tokens an answer, "
        f"temperature 0, {repeats} repeat{'s' * (repeats != 1)}, {CLOCKS[file.clock]}{load}"
    )


def _alpha(row: StyleRow) -> str:
    """α of a row."""
    return "–" if row.alpha is None else f"{row.alpha.value:.2f} [{row.alpha.low:.2f}–{row.alpha.high:.2f}]"


def _bill(row: StyleRow) -> str:
    """Tokens, right answers and what a right one costs."""
    cost = "" if row.cost is None else f", {told(row.cost)} s per correct answer"
    return f"{row.tokens.value:.0f} tokens, {row.accuracy.hits} of {row.accuracy.of} right{cost}"


def _by(drafter: str) -> str:
    return "plain decoding" if drafter == PLAIN else f"drafter {drafter}"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
