"""The tab's tables as HTML: rejected pairs, how far two distributions agree, rounds of a pattern, two runs aligned.

Text of models and files is hostile: everything goes through `html.escape`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.app.analysis.answer import MOST_FREQUENT, interval, open_button, plural, share, visible
from specviz.app.look.notices import blocks_table
from specviz.theory.analysis.analyse import PATTERNS, Analysis
from specviz.theory.analysis.compare import Comparison
from specviz.theory.analysis.facts import RoundFacts
from specviz.theory.analysis.failures import Failure
from specviz.theory.analysis.pairs import Pair

MOST_PAIRS = 15
MOST_ROUNDS = 240
NO_PAIRS = "No rejected candidate has another token in its place here."


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already; rows become blocks on a phone."""
    return blocks_table(heads, [[f"<span>{cell}</span>" for cell in row] for row in rows], caption)


def drafters_table(found: Sequence[Analysis]) -> str:
    """Every drafter with its most frequent kinds of failure, each with an example; nothing where there is one drafter
    alone."""
    if len(found) < 2:
        return ""
    rows = []
    for analysis in found:
        failed = analysis.failures[0].share.of if analysis.failures else 0
        kinds = [_kind(kind) for kind in analysis.failures[:MOST_FREQUENT]]
        rows.append(
            (
                escape(analysis.drafter),
                share(analysis.acceptance),
                f"{failed:,}",
                *kinds,
                *[NONE] * (MOST_FREQUENT - len(kinds)),
            )
        )
    caption = "Every drafter's most frequent kinds of failure, each as a share of its failed rounds; a press opens one."
    return table(caption, ("drafter", "accepted of tested", "failed rounds", "most often", "then", "and then"), rows)


NONE = "–"


def _kind(kind: Failure) -> str:
    told = f"{share(kind.share)} {kind.kind}"
    if not kind.examples:
        return escape(told)
    first = kind.examples[0]
    said = f"{told}: {kind.words}; {first.run}, round {first.round + 1}; open it in the player"
    return open_button(first.run, first.round, first.node, escape(told), said)


def pairs_table(pairs: Sequence[Pair]) -> str:
    """Drafted → wanted with counts; each number opens an example."""
    if not pairs:
        return f'<p class="sv-note">{NO_PAIRS}</p>'
    rows = [
        (
            f"<del>{escape(visible(pair.drafted))}</del>",
            f"<ins>{escape(visible(pair.wanted))}</ins>",
            f"{pair.count:,}",
            " ".join(_numbered(index, pair) for index in range(len(pair.examples))),
        )
        for pair in pairs[:MOST_PAIRS]
    ]
    rest = len(pairs) - len(rows)
    caption = "Rejected and what became text in its place, the most frequent first." + (
        f" {plural(rest, 'rarer pair')} not shown." if rest else ""
    )
    return table(caption, ("drafted", "became", "times", "examples"), rows)


def _numbered(place: int, pair: Pair) -> str:
    one = pair.examples[place]
    said = f"{one.run}, round {one.round + 1}, after “{visible(one.context[-40:])}”; open it in the player"
    return open_button(one.run, one.round, one.node, str(place + 1), said)


def agreement_table(analysis: Analysis) -> str:
    """What both models' distributions say of acceptance, beside what was measured."""
    rows = _agreement_rows(analysis)
    if not rows:
        return '<p class="sv-note">These traces hold no place with both distributions; see below what they lack.</p>'
    cells = [tuple(map(escape, row)) for row in rows]
    return table("How far target and draft agree, over the places of the text.", ("", "value", "what it is"), cells)


def _agreement_rows(analysis: Analysis) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    far = analysis.distances
    if far is not None:
        places = plural(far.places, "place")
        endless = f"; at {far.infinite} more it is infinite" if far.infinite else ""
        rows += [
            ("Σ min(p, q)", f"{far.overlap:.3f}", f"mean overlap of the models' own beliefs, {places}"),
            ("total variation", f"{far.total_variation:.3f}", "1 − Σ min(p, q)"),
            ("KL(target‖draft)", _bits(far.kl_bits), f"what the draft misses of the target{endless}"),
            ("entropy of the target", _bits(far.target_bits), "how open the text is to the target"),
            ("entropy of the draft", _bits(far.draft_bits), "the same to the drafter"),
        ]
        if far.expected is not None:
            rows.append(
                (
                    "promised and measured",
                    f"{far.expected:.3f} and {share(far.measured)}",
                    "Σ min(p, q) after the sampling transform, the acceptance that theory promises for a drawn "
                    f"candidate that is tested first, beside the acceptance of those ({interval(far.measured)})",
                )
            )
    if analysis.calibration is not None:
        told = f"mean |q − p| over tenths of q, {plural(analysis.calibration.candidates, 'candidate')}"
        rows.append(("calibration error", f"{analysis.calibration.error:.3f}", told))
    return rows


def _bits(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} bits"


def rounds_list(found: Sequence[RoundFacts], of: int, pattern: str) -> str:
    """The rounds of a pattern, by run; a press opens the player, which then steps through those of its run."""
    words, _ = PATTERNS[pattern]
    head = f'<p class="sv-note">{escape(pattern)} ({escape(words)}): {len(found):,} of {plural(of, "round")}.</p>'
    if not found:
        return head
    runs: dict[str, list[RoundFacts]] = {}
    for this in found[:MOST_ROUNDS]:
        runs.setdefault(this.run, []).append(this)
    lines = "".join(
        f"<li><b>{escape(run)}</b> {' '.join(map(_chip, rounds))}</li>" for run, rounds in runs.items()
    )  # fmt: skip
    rest = len(found) - MOST_ROUNDS
    more = f'<p class="sv-note">{plural(rest, "more round")} not listed.</p>' if rest > 0 else ""
    return f'{head}<ul class="sv-found-rounds">{lines}</ul>{more}'


def _chip(this: RoundFacts) -> str:
    surprise = ""
    if this.surprise_bits is not None:
        surprise = f", surprise {'at least ' if this.surprise_at_least else ''}{this.surprise_bits:.1f} bits"
    told = f"{this.accepted} of {plural(this.drafted, 'candidate')} accepted{surprise}"
    said = f"{this.run}, round {this.index + 1}: {told}; open it in the player"
    return open_button(this.run, this.index, None, f"round {this.index + 1}", said, found=True)


def comparison_table(both: Comparison) -> str:
    """Two runs side by side, their rounds aligned by position."""
    if both.difference is None:
        head = "Both wrote the same text."
    else:
        first, second = (visible(word) or "the end" for word in (both.difference.first, both.difference.second))
        place = f"output token {both.difference.position + 1}, after “{visible(both.difference.before)}”"
        head = f"The texts part at {place}: {first} and {second}."
    if not both.same_prompt:
        head = "These runs have different prompts, so that positions mean nothing together. " + head
    rows = [
        (
            f"{row.position + 1}{'' if row.same_text else ' ≠'}",
            _round_cell(row.first),
            _round_cell(row.second),
        )
        for row in both.rows
    ]
    caption = "A line per position at which a round of either run begins; ≠: the texts differ before it."
    heads = ("output token", both.first, both.second)
    return f'<p class="sv-answer">{escape(head)}</p>' + table(caption, heads, rows)


def _round_cell(this: RoundFacts | None) -> str:
    if this is None:
        return '<span class="sv-note">inside a round</span>'
    told = f"round {this.index + 1}: {this.accepted} of {this.drafted} accepted, {plural(this.committed, 'token')}"
    return open_button(this.run, this.index, None, escape(told), f"{this.run}, {told}; open it in the player")
