"""Pictures in live runs: a request's scene shown to every model that sees, and the prompt that begins with it."""

from __future__ import annotations

from dataclasses import replace

import torch

from specviz.engine.header import Participants
from specviz.errors import PromptError
from specviz.lm.base import SeesPictures
from specviz.lm.load import LoadedModel
from specviz.lm.text import TextCodec
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
