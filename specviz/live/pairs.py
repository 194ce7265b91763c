"""Whether the models of a request go together, asked of their small files alone: said when they are chosen, not after
their weights are there.

Place in the flow: `source.explain` asks. A model that is only on the hub has its configuration and tokenizer
downloaded for it, a few megabytes, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from specviz.live.seeing import check_scene
from specviz.lm.checkpoint import read_config
from specviz.lm.hub.files import is_hub_id
from specviz.lm.place import is_local, locate
from specviz.lm.text import TextCodec, shared_ids
from specviz.protocol.runs import RunRequest

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
