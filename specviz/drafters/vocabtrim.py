"""The drafter `model` with a smaller output head: only the most frequent tokens can be drafted, and a step costs less.

Which tokens those are is in `specviz/lm/frequencies.py`, the smaller head in `specviz/lm/trimmed.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import Shape
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Proposal
from specviz.drafters.parts.shape import ShapeOptions
from specviz.errors import OptionError
from specviz.lm.base import LanguageModel, ModelInfo
from specviz.lm.frequencies import CALIBRATIONS, kept_by, most_frequent, table_of
from specviz.lm.trimmed import TrimmedModel
from specviz.options import Options, option
from specviz.trace.events import CandidateKind

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
            f"there is no frequency table for the tokenizer of {info.name}; write one with `specviz frequencies "
            f"--write`, or set calibration to '{BY_ID}'."
        )
    return kept_by(table, calibration, size, info.eos_ids)


@DRAFTERS.register("vocabtrim")
class VocabTrimDrafter(Drafter):
    """A smaller model drafts, its output head cut down to the most frequent tokens.

    In a small drafter the head is a large share of every step, and most of its rows are hardly ever chosen. Rare tokens
    can no longer be drafted, so a little is accepted less often; probabilities outside the kept tokens are exactly
    zero, and the text keeps the target's law. Everything else is the drafter `model`.
    VocabTrim 2506.22694; FR-Spec 2502.14856 (calibration `raw`).
    """

    name: ClassVar[str] = "vocabtrim"
    options_type: ClassVar[type[Options]] = VocabTrimOptions
    lossless: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True
    grows: ClassVar[bool] = True

    def __init__(self, options: Options, model: LanguageModel | None) -> None:
        assert isinstance(options, VocabTrimOptions)
        assert model is not None, "this drafter needs a model."
        super().__init__(options, model)
        self._kept = kept_tokens(model.info, options.head_size, options.calibration)
        self._inner = DRAFTERS.get("model")(
            ShapeOptions(gamma=options.gamma, branching=options.branching, draw=options.draw),
            TrimmedModel(model, self._kept),
        )

    @property
    def model(self) -> LanguageModel | None:
        return self._inner.model

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        assert isinstance(options, VocabTrimOptions)
        return options.growth.kinds(sampling)

    @classmethod
    def shape(cls, options: Options, sampling: Sampling) -> Shape:
        assert isinstance(options, VocabTrimOptions)
        return options.growth.shape(sampling)

    def begin(self, tokens: Sequence[int]) -> None:
        self._inner.habit = self.habit
        self._inner.begin(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        proposal = self._inner.propose(context)
        proposal.note["head_size"] = len(self._kept)
        return proposal
