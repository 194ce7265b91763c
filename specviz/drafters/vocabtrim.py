"""The drafter `model` with a smaller output head: only the most frequent tokens can be drafted, and a step costs less.

Which tokens those are is in `specviz/theory/token_frequencies.py`, the smaller head in `specviz/lm/vocabulary.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal
from specviz.drafters.capabilities import Begins, UsesModel
from specviz.drafters.drafting.draft_model import ModelDraft
from specviz.drafters.drafting.growing import GrowingDrafter, ShapeOptions
from specviz.errors import OptionError
from specviz.lm.base import LanguageModel, ModelInfo
from specviz.lm.vocabulary import TrimmedModel
from specviz.options import option
from specviz.theory.token_frequencies import CALIBRATIONS, kept_by, most_frequent, table_of
from specviz.trace.declared_method import Candidates

BY_ID = "ids"


@dataclass(frozen=True)
class VocabTrimOptions(ShapeOptions):
    """Shape of the draft, and which tokens it may hold."""

    head_size: int = option(
        2048, help="tokens that can be drafted, the special ones among them", minimum=1, maximum=262_144
    )
    calibration: str = option(
        "raw",
        help="text whose most frequent tokens are kept: the target's, the drafter's, or raw training text; ids: the "
        "lowest ids, for models without a frequency table",
        choices=(*CALIBRATIONS, BY_ID),
    )


def kept_tokens(info: ModelInfo, size: int, calibration: str) -> list[int]:
    """Ids, ascending, that a head of this size keeps: special tokens and the most frequent others.

    Raises OptionError where there is no frequency table for the model's tokenizer.
    """
    if calibration == BY_ID:
        return most_frequent([0] * info.vocab_size, size, info.eos_ids)
    table = table_of(info.tokenizer_sha256)
    if table is None or table.vocab_size > info.vocab_size:
        raise OptionError(
            f"there is no frequency table for the tokenizer of {info.name}; write one with `specviz study heads "
            f"--count`, or set calibration to '{BY_ID}'."
        )
    return kept_by(table, calibration, size, info.eos_ids)


@DRAFTERS.register("vocabtrim")
class VocabTrimDrafter(GrowingDrafter[VocabTrimOptions], UsesModel, Begins):
    """A smaller model drafts, its output head cut down to the most frequent tokens.

    In a small drafter the head is a large share of every step, and most of its rows are hardly ever chosen. Rare tokens
    can no longer be drafted, so a little is accepted less often; probabilities outside the kept tokens are exactly
    zero, and the text keeps the target's law. Everything else is the drafter `model`.
    VocabTrim 2506.22694; FR-Spec 2502.14856 (calibration `raw`).
    """

    candidates: ClassVar[Candidates] = Candidates(sources=("vocabtrim", "model"))
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="a smaller language model with a smaller head",
        training="the small model's; frequencies are counted for the head",
        memory="the small model's weights and cache",
    )
    pass_reads: ClassVar[str] = "all weights of its model, of its trimmed head the rows that are kept"

    def use(self, model: LanguageModel) -> None:
        self._kept = kept_tokens(model.info, self.options.head_size, self.options.calibration)
        self._draft = ModelDraft(TrimmedModel(model, self._kept), self.name)

    def drafting_model(self) -> LanguageModel:
        return self._draft.model

    def begin(self, tokens: Sequence[int]) -> None:
        self._draft.begin(tokens, self.draft_policies.stop_policy)

    def propose(self, context: DraftContext) -> Proposal:
        proposal = self._draft.propose(context, self.tree_policy, self.draft_policies.stop_policy)
        proposal.note["head_size"] = len(self._kept)
        return proposal
