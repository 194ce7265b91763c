"""The Analysis tab as HTML. Its first screen: why tokens are rejected, in a sentence, and the three most frequent kinds
with examples. Its tables: rejected pairs, how far two distributions agree, rounds of a pattern, two runs aligned.

Text of models and files is hostile: everything goes through `html.escape`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from specviz.app.look.notices import blocks_table
from specviz.theory.analysis.analyse import PATTERNS, Analysis, Comparison
from specviz.theory.analysis.facts import RoundFacts
from specviz.theory.analysis.failures import Example, Failure, Pair
from specviz.theory.analysis.rates import Rate

MOST_FREQUENT = 3
FEW = 20
"""failed rounds below which shares are hardly more than examples"""
LONGEST = 60
"""characters of an example's context"""


def answer(analysis: Analysis) -> str:
    """The sentence, the counts behind it, a card per kind."""
    cards = "".join(map(_card, analysis.failures[:MOST_FREQUENT]))
    few = f'<p class="sv-note">{FEW_WORDS}</p>' if analysis.failures and analysis.failures[0].share.of < FEW else ""
    return (
        f'<p class="sv-answer">{escape(first_sentence(analysis))}</p>'
        f'<p class="sv-note">{escape(counted(analysis))}</p>{few}'
        + (f'<ol class="sv-failures">{cards}</ol>' if cards else "")
    )


FEW_WORDS = "Few rounds failed here: read the shares as examples, not as rates. More runs of the drafter tell more."


def first_sentence(analysis: Analysis) -> str:
    """Why this drafter's tokens are rejected."""
    if not analysis.drafted:
        return f"{analysis.drafter} drafted nothing, so nothing could be rejected."
    if not analysis.failures:
        return f"No token of {analysis.drafter} was rejected: every round's draft was accepted as far as it was tested."
    first, *others = analysis.failures[:MOST_FREQUENT]
    told = [f"in {share(first.share)} of its {plural(first.share.of, 'failed round')} {first.words}"]
    told += [f"in {share(kind.share)} {kind.words}" for kind in others]
    return f"Why are the tokens of {analysis.drafter} rejected? {'; '.join(told)[:1].upper()}{'; '.join(told)[1:]}."


def counted(analysis: Analysis) -> str:
    """Numbers of all rounds, with what each is a share of."""
    rate = analysis.acceptance
    tested = "" if rate.value is None else f" {rate.of:,} were tested, of which {share(rate)} were accepted;"
    return (
        f"{plural(analysis.drafted, 'candidate')} in {plural(analysis.rounds, 'round')} of "
        f"{plural(len(analysis.runs), 'run')}:"
        f"{tested} {analysis.unreached:,} were unreached, and are in no rate."
    )


def share(rate: Rate) -> str:
    """`38 %`; what it is counted from stands beside it."""
    return "–" if rate.value is None else f"{100 * rate.value:.0f} %"


def interval(rate: Rate) -> str:
    """`43 of 112, 30–48 %`: the counts and the interval."""
    if rate.low is None or rate.high is None:
        return "no cases"
    return f"{rate.hits:,} of {rate.of:,}, {100 * rate.low:.0f}–{100 * rate.high:.0f} %"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _card(kind: Failure) -> str:
    examples = "".join(f"<li>{example_button(example)}</li>" for example in kind.examples)
    words = kind.words[:1].upper() + kind.words[1:]
    return (
        f'<li class="sv-failure"><h3>{escape(share(kind.share))} <span class="sv-kind">{escape(kind.kind)}</span></h3>'
        f'<p>{escape(words)}.</p><p class="sv-note">{escape(interval(kind.share))}</p>'
        f'<ul class="sv-cases">{examples}</ul></li>'
    )


def example_button(example: Example) -> str:
    """A place in its text; a press opens the player there."""
    context = example.context if len(example.context) <= LONGEST else f"…{example.context[-LONGEST:]}"
    drafted = f"<del>{escape(visible(example.drafted))}</del>" if example.node is not None else "<i>nothing drafted</i>"
    wanted = f"<ins>{escape(visible(example.wanted))}</ins>"
    arrow = '<span aria-hidden="true"> → </span>'
    content = f'<span class="sv-context">{escape(visible(context))}</span>{drafted}{arrow}{wanted}'
    change = f"drafted {visible(example.drafted) or 'nothing'}, became {visible(example.wanted)}"
    said = f"{example.run}, round {example.round + 1}: {change}; open it in the player"
    return open_button(example.run, example.round, example.node, content, said)


def open_button(run: str, round_index: int, node: int | None, content: str, said: str, found: bool = False) -> str:
    """A button that opens the player, named by its `content`, which is HTML; `said` describes it."""
    at = f'data-run="{escape(run, quote=True)}" data-round="{round_index}" data-node="{"" if node is None else node}"'
    label = f'title="{escape(said, quote=True)}"'
    mark = ' data-found="1"' if found else ""
    return f'<button type="button" class="sv-open" data-open="1" {at}{mark} {label}>{content}</button>'


def visible(text: str) -> str:
    """Spaces and line breaks as signs."""
    return text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")


# --- tables ----------------------------------------------------------------------------------------------------------


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
    lines = "".join(f"<li><b>{escape(run)}</b> {' '.join(map(_chip, rounds))}</li>" for run, rounds in runs.items())
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
        head = "These runs have different prompts, so their positions cannot be compared. " + head
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
