"""The cache of a model that drafts: it keeps what the target accepted and feeds only what it has not seen.

After a wholly accepted draft two tokens are missing (the last candidate was never fed), otherwise one. The accepted
path is found again by comparing tokens with the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from specviz.core.tree import ROOT
from specviz.lm.base import GivesHidden, LanguageModel


class DraftCache:
    """Rows of the text and of this round's tree. Nodes with the same text share a row."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._vocab_size = model.info.vocab_size
        self._rows = model.new_cache()
        self._row_of: dict[tuple[int, int], int] = {}
        """(row of the parent, token) → row, of the rows beyond the settled text"""
        self._row_of_node: dict[int, int] = {}
        self.keeps_hidden = False
        """whether the model's last hidden states are kept for `hidden`; only where it is a `GivesHidden`"""
        self._hidden: dict[int, Tensor] = {}
        """row → last hidden state [H], of the rows of this round"""

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
        row, kept = self._rows.base - 1, list[int]()
        for position in range(self._rows.base, len(tokens) - 1):
            following = self._row_of.get((row, tokens[position]))
            if following is None:
                break
            kept.append(following)
            row = following
        self._rows.keep(kept)
        self._row_of.clear()
        self._row_of_node.clear()
        self._hidden.clear()
        return self._rows.length

    def catch_up(self, tokens: Sequence[int]) -> Tensor:
        """Feed the text's tokens that are not cached, the root last; logits [1, V] after the root."""
        start = self._rows.length
        missing = list(self._own(tokens)[start:])
        logits = self._forward(missing, None, last_only=True)
        for offset, token in enumerate(missing):
            self._row_of[start + offset - 1, token] = start + offset
        self._row_of_node[ROOT] = self._rows.length - 1
        return logits[:, : self._vocab_size]

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
        logits = self._forward(tokens, parents, last_only=False)[:, : self._vocab_size]
        return logits if len(rows) == len(tokens) else logits[rows]

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
