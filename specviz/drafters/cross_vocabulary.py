"""Drafts for a target with any model, whatever its tokenizer: the text is encoded anew for it, and it drafts the tokens
that both have.

Which tokens those are is in `specviz/lm/vocabulary.py`, the model in the target's ids in `specviz/lm/vocabulary.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal
from specviz.drafters.capabilities import Begins, Translates
from specviz.drafters.drafting.draft_model import ModelDraft, ReencodedCache
from specviz.drafters.drafting.growing import GrowingDrafter, ShapeOptions
from specviz.lm.base import LanguageModel
from specviz.lm.text import TextCodec
from specviz.lm.vocabulary import Reencoder, TranslatedModel, token_pairs
from specviz.trace.declared_method import Candidates


@DRAFTERS.register("cross_vocabulary")
class CrossVocabularyDrafter(GrowingDrafter[ShapeOptions], Translates, Begins):
    """A smaller model with a tokenizer of its own drafts the tokens that both vocabularies have.

    For targets without a small sister. The text is encoded anew for it each round; its distribution is cut to the
    shared tokens and made whole, so a candidate is a token of the target drawn from a known distribution, and the text
    keeps the target's law. Everything else is the drafter `model`.
    Timor et al. 2502.05202, Algorithm 4 (token-level intersection).
    """

    candidates: ClassVar[Candidates] = Candidates(sources=("cross_vocabulary", "model"), own_tokens=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="a smaller language model of another vocabulary",
        training="the small model's",
        memory="the small model's weights and cache",
    )
    pass_reads: ClassVar[str] = "all weights of its model"

    def use(self, model: LanguageModel) -> None:
        self._model = model

    def translate(self, target: TextCodec, own: TextCodec, vocab_size: int) -> None:
        rows = self._model.info.vocab_size
        pairs = [(their, mine) for their, mine in token_pairs(target, own) if their < vocab_size and mine < rows]
        theirs, mine = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        self._shared = len(pairs)
        translated = TranslatedModel(self._model, theirs, mine, vocab_size)
        self._draft = ModelDraft(translated, self.name, ReencodedCache(translated, Reencoder(target, own)))

    def drafting_model(self) -> LanguageModel:
        return self._draft.model

    def begin(self, tokens: Sequence[int]) -> None:
        self._draft.begin(tokens, self.draft_policies.stop_policy)

    def propose(self, context: DraftContext) -> Proposal:
        proposal = self._draft.propose(context, self.tree_policy, self.draft_policies.stop_policy)
        proposal.note["shared_tokens"] = self._shared
        return proposal
