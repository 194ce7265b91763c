"""One trace as flat facts: a line per candidate and a line per round, from which every table is counted.

Nodes that only ride along are no candidates and have no line, nor have those behind the end of the text. A number that
the trace does not carry is None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from specviz.trace.events import Agreement, Trace


@dataclass(frozen=True, slots=True)
class Candidate:
    """One drafted token and what became of it."""

    run: str
    """name of its trace"""
    round: int
    node: int
    depth: int
    position: int
    """of the output token it is a candidate for, counted from 0"""
    token: int
    text: str
    kind: str
    """as in `trace.events.Node`"""
    source: str
    fate: str
    token_class: str
    copied: bool
    """it stood before in the text, after the same two tokens"""
    in_text: bool
    """its parent became text, so that the target's word there is about this text"""
    first: bool
    """no sibling was offered before it"""
    draft_prob: float | None
    """q: at temperature 0 what the drafter's model believes; None where nothing was drawn from a distribution, or the
    token lies outside the recorded head"""
    target_prob: float | None
    """p after the sampling transform"""
    target_share: float | None
    """p of the target's own belief ÷ that of the token it likes best; None outside the recorded head"""
    rank: int | None
    """in the target, 1 for its favourite; None before format 1.1"""
    draft_rank: int | None
    """in the drafter, as far as the recorded head shows it"""
    belief: Agreement | None
    """both models' own beliefs for this place; None before format 1.1"""
    judged: Agreement | None
    """the distributions that the verdict was about; None at temperature 0 and before format 1.1"""
    wanted: int | None
    """the token that became text in its place; None where the place is not in the text"""
    wanted_text: str
    wanted_class: str
    wanted_copied: bool
    context: str
    """the end of the text before it; of rejected candidates alone"""

    @property
    def tested(self) -> bool:
        """Accepted or rejected; an unreached candidate is neither."""
        return self.fate in ("accepted", "rejected")

    @property
    def accepted(self) -> bool:
        return self.fate == "accepted"


@dataclass(frozen=True, slots=True)
class RoundFacts:
    """One round."""

    run: str
    index: int
    position: int
    """of the first output token that the round writes, counted from 0"""
    room: int
    """output tokens that were still allowed; a draft makes sense from 2 on"""
    drafted: int
    deepest: int
    tested: int
    accepted: int
    """candidates on the path"""
    committed: int
    origin: str
    """of the last token: correction, bonus, target, forced"""
    context: str
    """the end of the text before the round"""
    last: str
    """the token that ended it"""
    failed_at: int | None
    """the depth at which candidates were tried and none was accepted; None: there was none"""
    saved_by_sibling: bool
    """a sibling of a rejected candidate was accepted"""
    surprise_bits: float | None
    """-log2 of what the drafter's model gave the token that ended the round; None: its word there is not recorded"""
    surprise_at_least: bool
    """the token lies outside the recorded head, and the surprise is at least the number"""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One trace."""

    name: str
    drafter: str
    """its group: the drafter, and its model where it has one"""
    temperature: float
    version: str
    simulated: bool
    candidates: tuple[Candidate, ...]
    rounds: tuple[RoundFacts, ...]


def drafter_of(trace: Trace) -> str:
    """What traces are grouped by: `ngram`, `model (drafter-weak)`."""
    card = trace.started.drafter
    model = card.model
    return card.name if model is None or model.name == "drafter" else f"{card.name} ({model.name})"


WHITESPACE = "whitespace"
DIGIT = "digit"
PUNCTUATION = "punctuation"
IDENTIFIER = "identifier"
WORD_START = "word start"
WORD_PART = "word part"
OTHER = "other"

CLASSES = (WORD_START, WORD_PART, IDENTIFIER, DIGIT, PUNCTUATION, WHITESPACE, OTHER)
"""in the order in which tables show them"""

_NAME = re.compile(r"[^\W\d]\w*")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")


def token_class(text: str) -> str:
    """The class of a token that shows as `text`.

    `whitespace`: nothing else in it. `digit`: a number, signs and points inside allowed. `identifier`: a name that no
    word of a language is, with an underscore, a digit or a capital inside. `word start`: letters after a space, or
    beginning with a capital. `word part`: other letters. `punctuation`: neither letters nor digits. `other`: the rest,
    such as pieces of a character.
    """
    bare = text.strip()
    if not bare:
        return WHITESPACE if text else OTHER
    if "\ufffd" in bare:
        return OTHER
    if bare[0].isdigit():
        return DIGIT if all(one.isdigit() or one in ".,:-/" for one in bare) else OTHER
    if not any(one.isalnum() for one in bare):
        return PUNCTUATION
    if not _NAME.fullmatch(bare.replace("'", "").replace("’", "")):
        return OTHER
    if "_" in bare or any(one.isdigit() for one in bare) or _INNER_CAPITAL.search(bare):
        return IDENTIFIER
    return WORD_START if text[0].isspace() or bare[0].isupper() else WORD_PART


def is_word(kind: str) -> bool:
    """Whether tokens of the class are made of letters."""
    return kind in (WORD_START, WORD_PART, IDENTIFIER)
