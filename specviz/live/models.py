"""The models of a live source: loaded once, kept by name, device and dtype, and one lane in which they compute.

Runs of several visitors take turns in the lane round by round, so that every time in a trace is that of a machine doing
one thing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from specviz.allocator import set_aside
from specviz.drafters.base import Drafter
from specviz.drafters.capabilities import Translates, UsesModel, further_models
from specviz.engine.header import Participants
from specviz.errors import ModelError
from specviz.lm.load import LoadedModel
from specviz.lm.place import one_device
from specviz.lm.text import shared_ids
from specviz.lm.vocabulary import TranslatedModel
from specviz.options import Options
from specviz.protocol.runs import RunRequest

Loader = Callable[..., LoadedModel]


class Models:
    """What is loaded, and what is to be said about it."""

    def __init__(self, load: Loader) -> None:
        self.lane = Lock()
        self.status = "models not loaded yet"
        self._load = load
        self._held: dict[tuple[str, str, str], LoadedModel] = {}
        self._loading = Lock()

    def get(self, name: str, request: RunRequest) -> LoadedModel:
        """The model of this name on the request's device, in its dtype. Raises ModelError where it cannot be loaded."""
        key = (name, request.device, request.dtype)
        with self._loading:
            if key not in self._held:
                self.status = f"loading {name}…"
                try:
                    self._held[key] = self._load(name, device=request.device, dtype=request.dtype)
                    set_aside()
                except ModelError as error:
                    self.status = f"{name} failed to load: {error}"
                    raise
            return self._held[key]

    def participants(self, request: RunRequest, drafter: Drafter[Options]) -> Participants:
        """The target, and the models that this drafter needs: its own, and those that draft beside it.

        Raises VocabularyMismatch where they do not go together; a drafter that translates takes any model."""
        target = self.get(request.target, request)
        beside = replace(request, device=one_device(request.device))
        model = self.get(request.drafter_model, beside) if isinstance(drafter, UsesModel) else None
        if model is not None and not isinstance(drafter, Translates):
            model = in_the_targets_tokens(target, model)
        others = [in_the_targets_tokens(target, self.get(name, beside)) for name in further_models(drafter)]
        self.status = "models ready"
        return Participants(target, model, others)

    @property
    def held(self) -> list[LoadedModel]:
        """All that is loaded, in the order in which it was."""
        return list(self._held.values())


def in_the_targets_tokens(target: LoadedModel, drafter: LoadedModel) -> LoadedModel:
    """The drafter, its model answering in the target's ids; tokens that the two do not share cannot be drafted.

    Raises VocabularyMismatch where they do not go together."""
    if target.tokenizer.sha256 == drafter.tokenizer.sha256 and target.info.vocab_size == drafter.info.vocab_size:
        return drafter
    sizes = (target.info.vocab_size, drafter.info.vocab_size)
    shared = [token for token in shared_ids(target.tokenizer, drafter.tokenizer) if token < min(sizes)]
    if len(shared) == max(sizes):
        return drafter
    return replace(drafter, model=TranslatedModel(drafter.model, shared, shared, target.info.vocab_size))
