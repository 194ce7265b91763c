"""From one trace to its facts: every candidate and round, with the text that stood before it.

Place in the flow: the first step of the analysis, and the only one that walks a trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from specviz.theory.analysis.facts import Candidate, RoundFacts, RunFacts, drafter_of, token_class
from specviz.theory.metrics import accepted_drafts, counted
from specviz.trace.events import Node, Round, TopK, Trace
from specviz.trace.replay import decoded, token_bytes
from specviz.trace.summary import behind_the_end, ends_text

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
        found = _Place(name, trace, this, text, seen)
        candidates += found.candidates()
        rounds.append(found.facts())
        start = len(text)
        text += [token.token for token in this.committed.tokens]
        seen |= _grams(text, start)
    started = trace.started
    return RunFacts(
        name, drafter_of(trace), started.sampling.temperature, trace.version, started.source == "simulated",
        tuple(candidates), tuple(rounds),
    )  # fmt: skip


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
        found = []
        for node in self.drafts:
            found.append(self._candidate(node, first=node.parent not in offered))
            offered.add(node.parent)
        return found

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
        """What became text where the candidate stands: the next accepted one, or the round's last token."""
        if node.parent not in self.visited:
            return None
        place = self.visited.index(node.parent) + 1
        return self.this.nodes[self.visited[place]].token if place < len(self.visited) else self.this.judged.token

    def _in_draft(self, node: Node, parent: Node) -> tuple[float | None, int | None]:
        """The drafter's probability of a candidate, and its rank there, as far as they are recorded."""
        drawn = node.kind != "point_mass"
        head, prob = (parent.draft, node.draft_prob) if drawn else (parent.draft_raw, None)
        if head is None or node.token not in head.tokens:
            return prob, None
        place = head.tokens.index(node.token)
        return (prob if drawn else head.probs[place]), place + 1

    def _surprise(self) -> tuple[float | None, bool]:
        end = self.this.nodes[self.this.judged.final_node]
        head = end.draft_raw or (end.draft if self._drawn(end) else None)
        token = self.this.judged.token
        if head is None or not head.tokens or ends_text(self.this):
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
        return self.trace.vocab[str(token)].text


def _share(head: TopK, token: int) -> float | None:
    """A token's probability ÷ that of the head's first."""
    if token not in head.tokens or head.probs[0] <= 0:
        return None
    return head.probs[head.tokens.index(token)] / head.probs[0]
