"""One trace as flat facts: a line per candidate and a line per round, from which every table is counted.

Nodes that only ride along are no candidates and have no line, nor have those behind the end of the text. A number that
the trace does not carry is None. Place in the flow: the first step of the analysis, and the only one that walks a
trace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from specviz.theory.metrics import accepted_drafts, counted
from specviz.trace.characters import decoded, token_alone, token_bytes
from specviz.trace.events import Agreement, Node, Round, TopK, Trace
from specviz.trace.summary import behind_the_end


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
    """-log2 of what the drafter's model gave the token that ended the round; None: its word there is not recorded, or
    that token did not stay"""
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
        return DIGIT if all(letter.isdigit() or letter in ".,:-/" for letter in bare) else OTHER
    if not any(letter.isalnum() for letter in bare):
        return PUNCTUATION
    if not _NAME.fullmatch(bare.replace("'", "").replace("’", "")):
        return OTHER
    if "_" in bare or any(letter.isdigit() for letter in bare) or _INNER_CAPITAL.search(bare):
        return IDENTIFIER
    return WORD_START if text[0].isspace() or bare[0].isupper() else WORD_PART


def is_word(kind: str) -> bool:
    """Whether tokens of the class are made of letters."""
    return kind in (WORD_START, WORD_PART, IDENTIFIER)


BEFORE = 2
"""a token is copied where it stood before in the text after the same two tokens"""
CONTEXT = 12
"""tokens of text before an example"""
LEAST = 0.5e-6
"""what a probability may be that is recorded as 0"""


def facts_of(name: str, trace: Trace) -> RunFacts:
    """Everything the tables count, of one trace."""
    candidates: list[Candidate] = []
    rounds: list[RoundFacts] = []
    text = list(trace.started.prompt_ids)
    seen = _grams(text, 0)
    for this in trace.rounds:
        here = _Place(name, trace, this, text, seen)
        candidates += here.candidates()
        rounds.append(here.facts())
        start = len(text)
        text += [token.token for token in this.committed.tokens]
        seen |= _grams(text, start)
    started = trace.started
    return RunFacts(
        name,
        drafter_of(trace),
        started.sampling.temperature,
        trace.version,
        started.source == "simulated",
        tuple(candidates),
        tuple(rounds),
    )


def _grams(text: Sequence[int], start: int) -> set[tuple[int, ...]]:
    """Every run of two tokens and a third one that ends at `start` or later."""
    return {tuple(text[end - BEFORE : end + 1]) for end in range(max(start, BEFORE), len(text))}


class _Place:
    """One round with the text before it."""

    def __init__(self, name: str, trace: Trace, this: Round, text: Sequence[int], seen: set[tuple[int, ...]]) -> None:
        self.name, self.trace, self.this, self.text, self.seen = name, trace, this, text, seen
        behind = behind_the_end(this)
        self.visited = [0, *(node for node in this.judged.path if node not in behind)]
        self.drafts = counted(this)
        self.start = this.base_length - len(trace.started.prompt_ids)

    def candidates(self) -> list[Candidate]:
        offered: set[int] = set()
        facts = []
        for node in self.drafts:
            facts.append(self._candidate(node, first=node.parent not in offered))
            offered.add(node.parent)
        return facts

    def _candidate(self, node: Node, first: bool) -> Candidate:
        parent = self.this.nodes[node.parent]
        wanted = self._wanted(node)
        text, wanted_text = self._text(node.token), "" if wanted is None else self._text(wanted)
        prob, draft_rank = self._in_draft(node, parent)
        return Candidate(
            run=self.name,
            round=self.this.index,
            node=node.id,
            depth=node.depth,
            position=self.start + node.depth - 1,
            token=node.token,
            text=text,
            kind=node.kind,
            source=node.source,
            fate=node.fate,
            token_class=token_class(text),
            copied=self._copied(parent, node.token),
            in_text=node.parent in self.visited,
            first=first,
            draft_prob=prob,
            target_prob=node.target_prob,
            target_share=_share(parent.target_raw or parent.target, node.token),
            rank=node.rank,
            draft_rank=draft_rank,
            belief=parent.agreement_raw or parent.agreement,
            judged=parent.agreement,
            wanted=wanted,
            wanted_text=wanted_text,
            wanted_class="" if wanted is None else token_class(wanted_text),
            wanted_copied=wanted is not None and self._copied(parent, wanted),
            context=self._context(parent) if node.fate == "rejected" else "",
        )

    def facts(self) -> RoundFacts:
        this, nodes = self.this, self.this.nodes
        fates = [node.fate for node in self.drafts]
        tested_parents = {node.parent for node in self.drafts if node.fate in ("accepted", "rejected")}
        accepted_parents = {node.parent for node in self.drafts if node.fate == "accepted"}
        end = this.judged.final_node
        failed = end in tested_parents and end not in accepted_parents
        surprise, at_least = self._surprise()
        return RoundFacts(
            run=self.name,
            index=this.index,
            position=self.start,
            room=self.trace.started.max_new_tokens - self.start,
            drafted=len(self.drafts),
            deepest=max((node.depth for node in self.drafts), default=0),
            tested=fates.count("accepted") + fates.count("rejected"),
            accepted=accepted_drafts(this),
            committed=len(this.committed.tokens),
            origin=this.judged.origin,
            context=self._context(nodes[0]),
            last=self._text(this.judged.token),
            failed_at=nodes[end].depth + 1 if failed else None,
            saved_by_sibling=any(node.fate == "rejected" and node.parent in accepted_parents for node in self.drafts),
            surprise_bits=surprise,
            surprise_at_least=at_least,
        )

    def _wanted(self, node: Node) -> int | None:
        """What became text where the candidate stands, which a round that left its last token open did not decide."""
        output, position = self.trace.finished.output_ids, self.start + node.depth - 1
        return output[position] if node.parent in self.visited and position < len(output) else None

    def _in_draft(self, node: Node, parent: Node) -> tuple[float | None, int | None]:
        """The drafter's probability of a candidate, and its rank there, as far as they are recorded."""
        drawn = node.kind != "point_mass"
        head, prob = (parent.draft, node.draft_prob) if drawn else (parent.draft_raw, None)
        if head is None or node.token not in head.tokens:
            return prob, None
        index = head.tokens.index(node.token)
        return (prob if drawn else head.probs[index]), index + 1

    def _surprise(self) -> tuple[float | None, bool]:
        end = self.this.nodes[self.this.judged.final_node]
        head = end.draft_raw or (end.draft if self._drawn(end) else None)
        token = self.this.judged.token
        if head is None or not head.tokens or self.this.committed.trimmed is not None:
            return None, False
        if token in head.tokens:
            return -log2(max(head.probs[head.tokens.index(token)], LEAST)), False
        return -log2(max(min(head.probs[-1], head.rest), LEAST)), True

    def _drawn(self, parent: Node) -> bool:
        return any(node.parent == parent.id and node.kind != "point_mass" for node in self.drafts)

    def _copied(self, parent: Node, token: int) -> bool:
        return (*self._tokens_to(parent)[-BEFORE:], token) in self.seen

    def _tokens_to(self, parent: Node) -> list[int]:
        """The text up to and including a node, at least its end."""
        path: list[int] = []
        while parent.id > 0:
            path.append(parent.token)
            parent = self.this.nodes[parent.parent]
        return [*self.text[-CONTEXT:], *reversed(path)]

    def _context(self, parent: Node) -> str:
        return decoded(b"".join(token_bytes(self.trace, token) for token in self._tokens_to(parent)[-CONTEXT:]))

    def _text(self, token: int) -> str:
        return token_alone(self.trace, token)


def _share(head: TopK, token: int) -> float | None:
    """A token's probability ÷ that of the head's first."""
    if token not in head.tokens or head.probs[0] <= 0:
        return None
    return head.probs[head.tokens.index(token)] / head.probs[0]
