"""Whether a text says what is true in the small world: sums worked out, statements and answers looked up.

Place in the flow: over `facts`; the search for the page's opening asks it, and so do the tests of what
ships. It knows no other facts than these tables: what they do not speak of is neither true nor false here.
"""

import re
from collections.abc import Iterator
from functools import cache

from specviz.corpus.plain_english.facts import KINDS, Kind

EQUATION = re.compile(r"(?<![\d+-] )(?<![\d.])(\d+(?: [+-] \d+)+) = (\d+)(?![\d.]\d)")
ASKED_SUM = re.compile(r"(\d+) (plus|minus|\+|-) (\d+)(?=\?| =\s*$)")
WORDS = r"[A-Za-z][A-Za-z' -]*?"


def untrue(prompt: str, answer: str) -> list[str]:
    """What is wrong in an answer, a sentence for each fault; empty: nothing that the tables know of."""
    return [*_wrong_sums(prompt + answer), *_wrong_statements(answer), *_missed(prompt, answer)]


def _wrong_sums(text: str) -> Iterator[str]:
    for terms, result in EQUATION.findall(text):
        right = worked_out(terms)
        if right != int(result):
            yield f"{terms} is {right}, not {result}."


def worked_out(terms: str) -> int:
    """`6 - 3 - 1` as a number."""
    first, *others = terms.split()
    signed = zip(others[::2], others[1::2], strict=True)
    return int(first) + sum(int(number) if sign == "+" else -int(number) for sign, number in signed)


def _wrong_statements(answer: str) -> Iterator[str]:
    """A subject of a kind of fact with another subject's answer; anything else is no statement of that kind."""
    for kind in KINDS:
        answers = {value.lower() for value in kind.pairs.values()}
        for match in _matches((kind.statement, *kind.others), answer):
            subject = _subject(kind, match["x"])
            said = match["y"].lower()
            if subject is not None and said in answers and said != kind.pairs[subject].lower():
                yield f"{kind.name} of {subject} is {kind.pairs[subject]}, not {match['y']}."


def _missed(prompt: str, answer: str) -> Iterator[str]:
    """What the prompt asks for and the answer does not hold."""
    for a, sign, b in ASKED_SUM.findall(prompt):
        right = worked_out(f"{a} {'+' if sign in ('+', 'plus') else '-'} {b}")
        if not re.search(rf"(?<!\d){right}(?!\d)", answer):
            yield f"{a} {sign} {b} is {right}, which the answer does not say."
    for kind in KINDS:
        for match in _matches((*kind.questions, *kind.indirect), prompt):
            subject = _subject(kind, match["x"])
            right_word = "" if subject is None else kind.pairs[subject]
            if not re.search(rf"\b{re.escape(right_word)}\b", answer, re.IGNORECASE):
                yield f"{kind.name} of {subject} is {right_word}, which the answer does not say."


def _matches(wordings: tuple[str, ...], text: str) -> Iterator[re.Match[str]]:
    for wording in wordings:
        yield from _pattern(wording).finditer(text)


@cache
def _pattern(wording: str) -> re.Pattern[str]:
    """A wording as a pattern of its subject `x` and answer `y`, to the end of its clause."""
    parts = re.split(r"(\{[xy](?::a)?\})", wording)
    named = [f"(?:an? )?(?P<{part[1]}>{WORDS})" if part.startswith("{") else re.escape(part) for part in parts]
    return re.compile(rf"(?<![A-Za-z]){''.join(named)}(?=[.,;!?\"\n]|$)", re.IGNORECASE)


def _subject(kind: Kind, said: str) -> str | None:
    return next((pair for pair in kind.pairs if pair.lower() == said.lower()), None)
