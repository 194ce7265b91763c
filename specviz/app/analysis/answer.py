"""The tab's first screen: why tokens are rejected, in a sentence, and its three most frequent kinds with examples.

Text of models and files is hostile: everything goes through `html.escape`.
"""

from __future__ import annotations

from html import escape

from specviz.theory.analysis.analyse import Analysis
from specviz.theory.analysis.failures import Failure
from specviz.theory.analysis.pairs import Example
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


FEW_WORDS = "Few rounds failed here: take the shares for examples, not for rates. More runs of the drafter tell more."


def first_sentence(analysis: Analysis) -> str:
    """Why this drafter's tokens are rejected."""
    if not analysis.drafted:
        return f"{analysis.drafter} drafted nothing, so nothing of it could be rejected."
    if not analysis.failures:
        return f"Nothing of {analysis.drafter} was rejected: every round's draft was accepted as far as it was tested."
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
        f'<li class="sv-failure"><h4>{escape(share(kind.share))} <span class="sv-kind">{escape(kind.kind)}</span></h4>'
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
    """A button that opens the player. `content` is HTML."""
    at = f'data-run="{escape(run, quote=True)}" data-round="{round_index}" data-node="{"" if node is None else node}"'
    label = f'title="{escape(said, quote=True)}" aria-label="{escape(said, quote=True)}"'
    mark = ' data-found="1"' if found else ""
    return f'<button type="button" class="sv-open" data-open="1" {at}{mark} {label}>{content}</button>'


def visible(text: str) -> str:
    """Spaces and line breaks as signs."""
    return text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
