"""A draft made by a model of the drafter's own: its cache, its passes, and how the previous round went.

    text ─► catch up ─► tree policy asks, stop policy ends ─► tree, passes, draft logits

The cache keeps what the target accepted and feeds only what it has not seen. After a wholly accepted draft two tokens
are missing (the last candidate was never fed), otherwise one. The accepted path is found again by comparing tokens with
the text. What a drafter does with the tree is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor

from specviz.core.clock import now
from specviz.core.draws import Chooser
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, Proposal, by_model
from specviz.drafters.drafting.growing import GrowingDraft, LastDraft, PlainChains
from specviz.lm.base import Chain, GivesHidden, LanguageModel, WritesChains
from specviz.lm.vocabulary import TranslatedModel
from specviz.options import Options
from specviz.stop_policies.base import StopOptions, StopPolicy
from specviz.trace.cautions import DRAFTER_FULL
from specviz.trace.events import Pass
from specviz.tree_policies.base import TreePolicy


class DraftCache:
    """Rows of the text and of this round's tree. Nodes with the same text share a row."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._writes = model if isinstance(model, WritesChains) else None
        self._vocab_size = model.info.vocab_size
        self._rows = model.new_cache()
        self._row_of: dict[tuple[int, int], int] = {}
        """(row of the parent, token) → row, of the rows beyond the settled text"""
        self._row_of_node: dict[int, int] = {}
        self.keeps_hidden = False
        """whether the model's last hidden states are kept for `hidden`; only where it is a `GivesHidden`"""
        self._hidden: dict[int, Tensor] = {}
        """row → last hidden state [H], of the rows of this round"""
        self._is_chain = False
        """whether the rows of this round were written by one call, one behind the other: then nothing above is kept"""

    @property
    def length(self) -> int:
        return self._rows.length

    def room(self, tokens: Sequence[int]) -> int:
        """How deep a draft below this text may be before the drafter's own context ends; below 1 where it cannot draft
        any more."""
        return self._model.info.context_length - len(self._own(tokens)) + 1

    def begin(self, tokens: Sequence[int]) -> None:
        """Read the prompt, its last token left out (it is the first root)."""
        known = list(self._own(tokens)[:-1])
        if known and self.room(tokens) >= 1:
            self._feed(known, None, last_only=True)
            self._rows.keep(range(len(known)))

    def settle(self, tokens: Sequence[int]) -> int:
        """Keep the rows of the last draft that became text, drop the others; rows cached now."""
        tokens = self._own(tokens)
        self._rewind(tokens)
        if self._is_chain:
            self._rows.keep(self._text_of_chain(tokens))
            self._is_chain = False
        else:
            self._rows.keep(self._text_of_tree(tokens))
            self._row_of.clear()
            self._row_of_node.clear()
            self._hidden.clear()
        return self._rows.length

    def _text_of_chain(self, tokens: Sequence[int]) -> Sequence[int]:
        cached, first = self._rows.tokens, self._rows.base
        row, stop = first, min(len(cached), len(tokens) - 1)
        while row < stop and cached[row] == tokens[row]:
            row += 1
        return range(first, row)

    def _text_of_tree(self, tokens: Sequence[int]) -> Sequence[int]:
        row, kept = self._rows.base - 1, list[int]()
        for position in range(self._rows.base, len(tokens) - 1):
            following = self._row_of.get((row, tokens[position]))
            if following is None:
                break
            kept.append(following)
            row = following
        return kept

    def catch_up(self, tokens: Sequence[int]) -> Tensor:
        """Feed the text's tokens that are not cached, the root last; logits [1, V] after the root."""
        start = self._rows.length
        missing = list(self._own(tokens)[start:])
        logits = self._forward(missing, None, last_only=True)
        for offset, token in enumerate(missing):
            self._row_of[start + offset - 1, token] = start + offset
        self._row_of_node[ROOT] = self._rows.length - 1
        return self._shared(logits)

    def extend(self, nodes: Sequence[tuple[int, int, int]]) -> Tensor:
        """Feed a level of the tree, given as (parent node, node, token); logits [len(nodes), V]."""
        start = self._rows.length
        tokens, parents, rows = list[int](), list[int](), list[int]()
        for parent, node, token in nodes:
            key = (self._row_of_node[parent], token)
            if key not in self._row_of:
                self._row_of[key] = start + len(tokens)
                tokens.append(token)
                parents.append(key[0])
            self._row_of_node[node] = self._row_of[key]
            rows.append(self._row_of[key] - start)
        logits = self._shared(self._forward(tokens, parents, last_only=False))
        return logits if len(rows) == len(tokens) else logits[rows]

    def write_chain(self, tokens: Sequence[int], chooser: Chooser) -> Chain | None:
        """`catch_up`, and `extend` along a chain, by one call; None where it takes several."""
        if self._writes is None:
            return None
        chain = self._writes.write_chain(tokens[self._rows.length :], self._rows, chooser)
        self._is_chain = chain is not None
        return chain

    def _shared(self, logits: Tensor) -> Tensor:
        """Of the model's logits [n, …] those of the vocabulary [n, V]; a view costs as much as a small operation."""
        return logits if logits.shape[1] == self._vocab_size else logits[:, : self._vocab_size]

    def hidden(self, node: int) -> Tensor | None:
        """The last hidden state [H] at a node that was fed in this round; None where none is kept."""
        row = self._row_of_node.get(node)
        return None if row is None else self._hidden.get(row)

    def _forward(self, tokens: Sequence[int], parents: Sequence[int] | None, last_only: bool) -> Tensor:
        if not self.keeps_hidden:
            return self._feed(tokens, parents, last_only)
        assert isinstance(self._model, GivesHidden), "this model gives no hidden states."
        logits, hidden = self._model.forward_hidden(tokens, self._rows, parents, last_only)
        first = self._rows.length - len(hidden)
        self._hidden.update(enumerate(hidden.unbind(0), start=first))
        return logits

    def _own(self, tokens: Sequence[int]) -> Sequence[int]:
        """The target's text as the drafter's model reads it: the same, where they share a vocabulary."""
        return tokens

    def _rewind(self, own: Sequence[int]) -> None:
        """Forget cached text that is no longer the beginning of this one: where they share a vocabulary, none."""

    def _feed(self, own: Sequence[int], parents: Sequence[int] | None, last_only: bool) -> Tensor:
        return self._model.forward(own, self._rows, parents, last_only)


class ReencodedCache(DraftCache):
    """Rows are the model's own tokens; nodes come and logits go in the target's."""

    def __init__(self, model: TranslatedModel, encode: Callable[[Sequence[int]], list[int]]) -> None:
        super().__init__(model)
        self._translated = model
        self._encode = encode
        self._read: tuple[int, list[int]] = (0, [])
        """(length of the target's text, that text in own ids), of the last text asked for: texts only grow"""

    def extend(self, nodes: Sequence[tuple[int, int, int]]) -> Tensor:
        """See `DraftCache.extend`."""
        own = self._translated.own_id
        return super().extend([(parent, node, own(token)) for parent, node, token in nodes])

    def _own(self, tokens: Sequence[int]) -> Sequence[int]:
        if self._read[0] != len(tokens):
            self._read = len(tokens), self._encode(tokens) or [self._translated.stand_in]
        return self._read[1]

    def _rewind(self, own: Sequence[int]) -> None:
        """Forget the rows that the encoding of the longer text no longer has; its last token is always fed anew."""
        rows, limit = self._rows, min(self._rows.base, len(own) - 1)
        agree = next((i for i in range(limit) if rows.tokens[i] != own[i]), limit)
        if agree < rows.base:
            rows.truncate(agree)
            self._row_of.clear()

    def _feed(self, own: Sequence[int], parents: Sequence[int] | None, last_only: bool) -> Tensor:
        return self._translated.forward_own(own, self._rows, parents, last_only)


class ModelDraft:
    """One model and its cache, for one run."""

    def __init__(self, model: LanguageModel, source: str, cache: DraftCache | None = None) -> None:
        """`source` is what candidates are marked with; `cache` stands in for the usual one."""
        self.model = model
        self._source = source
        self._cache = cache or DraftCache(model)
        self._last, self._chains = LastDraft(), PlainChains(source)
        self._reads = by_model(model)
        self.draws = 0
        """the first index of a draw that the round has not used yet, after `propose`"""

    def begin(self, tokens: Sequence[int], stop_policy: StopPolicy[StopOptions]) -> None:
        """Read the prompt."""
        self._cache.keeps_hidden = stop_policy.needs_hidden
        self._cache.begin(tokens)

    def propose(
        self,
        context: DraftContext,
        tree_policy: TreePolicy[Options],
        stop_policy: StopPolicy[StopOptions],
        draws: int = 0,
    ) -> Proposal:
        """The tree that the model makes of the text, as tree policy and stop policy say; `draws` draws of the round
        were made by others before."""
        proposal, room = Proposal(DraftTree.from_root(context.tokens[-1])), self._cache.room(context.tokens)
        self.draws, longest, chain = draws, min(room, context.max_depth), partial(self._chain, context, proposal)
        if self._chains.drawn((tree_policy, stop_policy), context, proposal, longest, chain, draws):
            self.draws += 0 if proposal.tree.block is None else proposal.tree.drafted
            return proposal
        if stop_policy.rests():
            return proposal
        self._last.report(stop_policy, context)
        wanted = stop_policy.levels()
        depth = min(room, context.max_depth, room if wanted is None else wanted)
        if depth >= 1:
            draft = GrowingDraft(
                context,
                proposal,
                stop_policy,
                depth,
                lambda nodes, at: self._forward(context, proposal, nodes, at),
                self._source,
                self._cache.hidden,
                draws,
            )
            tree_policy.grow(draft)
            self.draws = draft.draws
            proposal.note.update(stop_policy.state())
        else:
            proposal.note[DRAFTER_FULL] = room < 1
        self._last.remember(proposal.tree, context.tokens)
        return proposal

    def _chain(self, context: DraftContext, proposal: Proposal, chooser: Chooser) -> Chain | None:
        """A chain below the root by one call of the model, where it can."""
        cached = self._cache.settle(context.tokens)
        chain = self._cache.write_chain(context.tokens, chooser)
        if chain is not None:
            rows = self._cache.length - cached - chooser.steps + 1
            for depth, seconds in enumerate(chain.seconds, 1):
                proposal.passes.append(Pass(rows, cached, seconds, depth, self._reads))
                cached, rows = cached + rows, 1
        return chain

    def _forward(self, context: DraftContext, proposal: Proposal, level: Sequence[int], depth: int) -> Tensor:
        """Logits [len(level), V] after the nodes of a level; the root's pass also catches up with the text."""
        device = self.model.device
        began = now(device)
        cached = self._cache.length
        if level == [ROOT]:
            cached = self._cache.settle(context.tokens)
            logits = self._cache.catch_up(context.tokens)
        else:
            tree = proposal.tree
            logits = self._cache.extend([(tree.parents[node], node, tree.tokens[node]) for node in level])
        seconds = now(device) - began
        rows = self._cache.length - cached
        proposal.passes.append(Pass(rows, cached, seconds, depth, self._reads))
        return logits
