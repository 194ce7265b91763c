"""Suffix decoding: the end of the text is looked up in all that came before, and what followed there is drafted.

    text ─► automaton ─► matches of every length ─► a trie each, its size by the match's length ─► the best one

A second automaton holds the outputs of earlier runs, where a run is given them; a model drafts where a match promises
too little, if that is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree, Shape
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, DraftPolicies, Needs, Proposal, RoundOutcome
from specviz.drafters.capabilities import Begins, Observes, Remembers, UsesModel
from specviz.drafters.drafting.draft_model import ModelDraft
from specviz.drafters.drafting.matching import Cursor, Found, SuffixAutomaton, best_first, matched_before, plant, rows
from specviz.errors import MemoryFileError
from specviz.lm.base import LanguageModel
from specviz.options import Options, from_mapping, option, to_mapping
from specviz.trace.declared_method import Candidates
from specviz.trace.events import CandidateKind, Option
from specviz.trace.header import SEEN_BEFORE, Exhibit, ExhibitRow
from specviz.tree_policies.levels import LevelsOptions, LevelsTreePolicy

MOST_REMEMBERED = 20_000
"""tokens of earlier outputs; the oldest outputs are forgotten first"""
TEXT, MEMORY, MODEL = "text", "memory", "model"


@dataclass(frozen=True)
class SuffixOptions(Options):
    """How large a draft may be, and how sure."""

    max_nodes: int = option(16, help="most candidates of a draft", minimum=1, maximum=64)
    max_match: int = option(24, help="longest suffix of the text that is looked up", minimum=1, maximum=64)
    factor: float = option(
        1.0, help="a match of m tokens may draft m times this many candidates", minimum=0.1, maximum=8.0
    )
    min_share: float = option(
        0.1, help="no candidate that followed less often than this share of the times", minimum=0.0, maximum=1.0
    )
    tree: bool = option(True, help="several continuations as a tree; false: the most frequent one as a chain")
    fallback: str = option(
        "none",
        help="who drafts where the match promises too little; model: the drafter's model",
        choices=("none", "model"),
    )
    threshold: float = option(
        1.0,
        help="expected accepted candidates below which the fallback drafts",
        minimum=0.0,
        maximum=64.0,
        needs="fallback",
    )
    gamma: int = option(
        4,
        help="tokens that the fallback drafts, at most max_nodes, as a chain",
        minimum=1,
        maximum=32,
        needs="fallback",
    )


@dataclass(frozen=True, slots=True)
class Match:
    """A suffix of the text that occurs in an automaton, and what to draft because of it."""

    length: int
    state: int
    automaton: SuffixAutomaton
    source: str
    found: list[Found]

    @property
    def score(self) -> float:
        """Expected accepted candidates, were the shares the probabilities."""
        return sum(one.share for one in self.found)


@DRAFTERS.register("suffix")
class SuffixDrafter(Drafter[SuffixOptions], Remembers, Begins, Observes):
    """Drafts what most often followed the end of the text, in the text itself and in outputs of earlier runs.

    The longer the match, the larger the draft. Of the matches of all lengths the one whose candidates' shares sum up
    to most is taken. Shares are frequencies, so candidates are point masses. Agents, tables, edited code: wherever
    texts repeat. SuffixDecoding (Oliaro et al., 2411.04975).
    """

    candidates: ClassVar[Candidates] = Candidates(most="max_nodes", hybrid=True, shows=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the text so far and earlier outputs", memory="suffix trees of the text and of earlier outputs"
    )

    def __init__(self, options: SuffixOptions) -> None:
        super().__init__(options)
        self._score = 0.0
        """of the last draft; 0 where nothing matched"""
        self._text, self._past = SuffixAutomaton(), SuffixAutomaton()
        self._in_past = Cursor(self._past)
        self._outputs: list[list[int]] = []
        self._tokens: Sequence[int] = []
        self._read = 0
        self._prompt_length = 0

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> SuffixDrafter:
        chosen = from_mapping(SuffixOptions, options)
        return (SuffixDrafter if chosen.fallback == "none" else SuffixWithModel)(chosen)

    def shape(self, sampling: Sampling) -> Shape:
        return "tree" if self.options.tree else "chain"

    def remembered_for(self) -> Mapping[str, Option]:
        return to_mapping(self.options)

    def recall(self, memory: bytes) -> None:
        """`memory` is a JSON list of outputs, each a list of token ids, the oldest first."""
        try:
            outputs = json.loads(memory)
            self._outputs = [[int(token) for token in output] for output in outputs]
        except (ValueError, TypeError):
            raise MemoryFileError("what 'suffix' is to remember is no list of outputs; begin with a reset.") from None
        for number, output in enumerate(self._outputs):
            for token in output:
                self._past.extend(token)
            self._past.extend(-1 - number)  # occurs nowhere else, so that no match goes from one output to the next

    def memory(self) -> bytes:
        kept: list[list[int]] = []
        room = MOST_REMEMBERED
        for output in reversed([*self._outputs, list(self._tokens[self._prompt_length :])]):
            if room <= 0:
                break
            kept.insert(0, output[-room:])
            room -= len(output)
        return json.dumps(kept).encode()

    def begin(self, tokens: Sequence[int]) -> None:
        self._prompt_length = len(tokens)
        self._follow(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        self._follow(context.tokens)
        tree = DraftTree.from_root(context.tokens[-1])
        matches = list(self._matches(context))
        self._score = max((match.score for match in matches), default=0.0)
        if not matches:
            return Proposal(tree, note={"match_length": 0})
        best = max(matches, key=lambda match: (match.score, match.source == TEXT, match.length))
        note: dict[str, Option] = {
            "match_length": best.length,
            "match_source": best.source,
            "expected": round(best.score, 6),
        }
        nodes = plant(tree, best.found, self.name)
        return Proposal(tree, note=note, exhibits=list(_exhibits(best, nodes, context.tokens)))

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        self._tokens = outcome.tokens
        return []

    def _follow(self, tokens: Sequence[int]) -> None:
        """Read what the text has grown by."""
        for token in tokens[self._read :]:
            self._text.extend(token)
            self._in_past.step(token)
        self._read = len(tokens)
        self._tokens = tokens

    def _matches(self, context: DraftContext) -> Iterator[Match]:
        """Every suffix of the text that was followed by something, the text's own matches first."""
        options, marks = self.options, (context.ends, context.unsaid)
        text, past, cursor = self._text, self._past, self._in_past
        earlier = text.shorter[text.whole]
        for automaton, source, suffixes in (
            (text, TEXT, text.suffixes(earlier, options.max_match)),
            (past, MEMORY, past.suffixes(cursor.state, min(options.max_match, cursor.length))),
        ):
            for length, state in suffixes:
                most = min(options.max_nodes, int(length * options.factor))
                width = 0 if options.tree else 1
                found = best_first(state, automaton.after, most, context.max_depth, options.min_share, width, *marks)
                if found:
                    yield Match(length, state, automaton, source, found)


class SuffixWithModel(SuffixDrafter, UsesModel):
    """The hybrid of the paper (2411.04975, §4): where the best match's score, the expected number of accepted
    candidates, is below a threshold, the drafter's model drafts a chain in its place."""

    pass_reads: ClassVar[str] = "all weights of the model that drafts where little was found"

    def __init__(self, options: SuffixOptions) -> None:
        super().__init__(options)
        length = min(options.gamma, options.max_nodes)
        self._tree_policy = LevelsTreePolicy(LevelsOptions(branching=(1,) * length))
        self._stop = DraftPolicies().stop_policy

    def use(self, model: LanguageModel) -> None:
        self._draft = ModelDraft(model, MODEL)

    def drafting_model(self) -> LanguageModel:
        return self._draft.model

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return super().kinds(sampling) | self._tree_policy.kinds(sampling)

    def begin(self, tokens: Sequence[int]) -> None:
        super().begin(tokens)
        self._draft.begin(tokens, self._stop)

    def propose(self, context: DraftContext) -> Proposal:
        """Who drafts depends on the text alone, never on what the model would draw."""
        found = super().propose(context)
        if self._score >= self.options.threshold:
            found.note["drafted_by"] = self.name
            return found
        proposal = self._draft.propose(context, self._tree_policy, self._stop)
        proposal.note.update(found.note, drafted_by=MODEL)
        return proposal


def _exhibits(best: Match, nodes: Mapping[int, int], tokens: Sequence[int]) -> Iterator[Exhibit]:
    span = matched_before(best.automaton, best.state, best.length, tokens)
    if best.source == MEMORY:
        span = ExhibitRow("in an earlier output", span.tokens)
    yield Exhibit(SEEN_BEFORE, [span])
    yield Exhibit(
        "what followed, by frequency",
        rows(best.found, nodes, lambda end: f"{best.found[end].count} of {_times(best)}"),
    )


def _times(best: Match) -> int:
    """How often the match was followed by anything; the end of the text itself is not."""
    return sum(times for _, times, _ in best.automaton.after(best.state))
