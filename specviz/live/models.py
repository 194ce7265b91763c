"""The models of a live source: loaded once, kept by name, device and dtype, and one lane in which they compute.

Runs of several visitors take turns in the lane round by round, so that every time in a trace is that of a machine doing
one thing.

Whether the models of a request go together is asked of their small files alone, when they are chosen: `source.explain`
does. A model that is only on the hub has its configuration and tokenizer downloaded for it, a few megabytes, once. A
request's scene is shown to every model that sees, and its prompt begins with that picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

import torch

from specviz.allocator import set_aside
from specviz.drafters.base import Drafter
from specviz.drafters.capabilities import Translates, UsesModel, further_models
from specviz.engine.header import Participants
from specviz.errors import ModelError, PromptError
from specviz.lm.base import SeesPictures
from specviz.lm.checkpoint import read_config
from specviz.lm.hub.files import is_hub_id
from specviz.lm.load import LoadedModel
from specviz.lm.place import is_local, locate, one_device
from specviz.lm.text import TextCodec, shared_ids
from specviz.lm.vocabulary import TranslatedModel
from specviz.options import Options
from specviz.protocol.runs import RunRequest
from specviz.scenes.captions import is_grounded, spelt, words
from specviz.scenes.scene import Scene, pixels
from specviz.trace.header import SceneCard


def shown(who: Participants, request: RunRequest) -> Participants:
    """The models of a run, those with eyes shown the request's scene. Raises PromptError where only one of the two is
    there: a scene, or a target that sees."""
    model = who.target.model
    check_scene(request, isinstance(model, SeesPictures))
    if not isinstance(model, SeesPictures):
        return who
    scene = Scene.parse(request.scene)
    card = _card(scene, model, who.target.tokenizer)
    drafter = None if who.drafter is None else _seeing(who.drafter, scene)
    further = [_seeing(loaded_model, scene) for loaded_model in who.further]
    return replace(who, target=_seeing(who.target, scene), drafter=drafter, further=further, scene=card)


def check_scene(request: RunRequest, sees: bool) -> None:
    """Raises PromptError where a scene is missing or too many, or cannot be."""
    if request.scene:
        Scene.parse(request.scene)
    if request.scene and not sees:
        raise PromptError(f"the target {request.target!r} sees no pictures; leave the scene out or choose 'captioner'.")
    if sees and not request.scene:
        raise PromptError(
            f"the target {request.target!r} captions a picture; name its scene, such as 'large red circle at 8,8'."
        )
    if sees and request.chat:
        raise PromptError("a picture is no chat message; leave chat off.")


def prompt_of(request: RunRequest, model: SeesPictures, text: TextCodec) -> list[int]:
    """The picture's tokens, then the beginning of the caption. Raises PromptError for words the model does not have."""
    ids = text.encode(spelt(request.prompt))
    special = {*text.special_ids}
    strange = [word for word in words(request.prompt) if special.intersection(text.encode(spelt(word)))]
    if strange or special.intersection(ids):
        named = ", ".join(repr(word[:40]) for word in strange[:3]) or "what is there"
        raise PromptError(
            f"{request.target} knows {text.size - len(special)} words and marks, and {named} is not among them; begin "
            "the caption otherwise, such as 'there is a', or leave the prompt empty."
        )
    return [*model.picture_ids, *ids]


def _card(scene: Scene, model: SeesPictures, text: TextCodec) -> SceneCard:
    """For the header."""
    grounded = [token for token in range(text.size) if is_grounded(text.token_text(token))]
    return SceneCard(scene.cards(), list(model.picture_ids), grounded)


def _seeing(loaded: LoadedModel, scene: Scene) -> LoadedModel:
    """A model without eyes reads the picture's tokens as words that say nothing."""
    model = loaded.model
    if not isinstance(model, SeesPictures):
        return loaded
    return replace(loaded, model=model.seeing(torch.from_numpy(pixels(scene))))


Loader = Callable[..., LoadedModel]
READY = "engine ready"
"""with the bundled models; a page may open on others, which a run loads and says so"""


class Models:
    """What is loaded, and what is to be said about it."""

    def __init__(self, load: Loader, device: str = "auto") -> None:
        """`device`: where a model goes whose request leaves it open."""
        self.lane = Lock()
        self.status = "models not loaded yet"
        self._load = load
        self._device = device
        self._held: dict[tuple[str, str, str], LoadedModel] = {}
        self._loading = Lock()

    def say(self, status: str) -> None:
        """How far the models are that a page opens with. Once they are ready, it is the run that loads another one that
        says so: whoever opens the page meanwhile would read of it for good."""
        if self.status != READY:
            self.status = status

    def get(self, name: str, request: RunRequest) -> LoadedModel:
        """The model of this name on the request's device, in its dtype. Raises ModelError where it cannot be loaded."""
        device = self._device if request.device == "auto" else request.device
        key = (name, device, request.dtype)
        with self._loading:
            if key not in self._held:
                self.say(f"loading {name}…")
                try:
                    self._held[key] = self._load(name, device=device, dtype=request.dtype)
                    set_aside()
                except ModelError as error:
                    self.say(f"{name} failed to load: {error}")
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


KEPT = 8
"""tokenizers held; those of large vocabularies take a second to read"""


def check_pair(request: RunRequest, drafters: Sequence[str], translates: bool = False) -> None:
    """Raises ModelError where one is no checkpoint, VocabularyMismatch where a drafter's tokens are not the target's,
    PromptError where a chat is asked for and the target has no template.

    With no drafters only the target is looked for. A drafter that `translates` may have other tokens."""
    target = request.target
    folder = _folder_of(target)
    check_scene(request, sees="eyes" in read_config(folder, target))
    if request.chat:
        _codec(folder, target).rendered(request.prompt)
    for name in drafters:
        own = _folder_of(name)
        read_config(own, name)
        if own != folder and not translates:
            _compare(folder, target, own, name)


def rendered(request: RunRequest) -> str:
    """The text that the target will read. Raises ModelError where it is no checkpoint, PromptError where a chat is
    asked for and the target has no template."""
    if not request.chat:
        return request.prompt
    return _codec(_folder_of(request.target), request.target).rendered(request.prompt)


def _folder_of(name: str) -> Path:
    return _on_the_hub(name) if is_hub_id(name) and not is_local(name) else locate(name)


@lru_cache(KEPT)
def _on_the_hub(name: str) -> Path:
    """Where the hub's answer was good, it is not asked again."""
    return locate(name)


@lru_cache(KEPT)
def _compare(target: Path, target_name: str, drafter: Path, name: str) -> None:
    shared_ids(_codec(target, target_name), _codec(drafter, name))


@lru_cache(KEPT)
def _codec(folder: Path, name: str) -> TextCodec:
    return TextCodec.from_folder(folder, name)
