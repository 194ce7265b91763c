"""How often greedy captions name what is in the picture, on scenes that training never had.

A caption is right where the shapes that it names with size, colour and kind are those of the scene, none missing and
none added; the looser figure asks for colours and kinds alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from specviz.lm.base import SeesPictures
from specviz.lm.load import LoadedModel
from specviz.scenes.captions import named, shown
from specviz.scenes.generator import Split, scene_of
from specviz.scenes.scene import Scene, pixels

MOST_TOKENS = 48
SPLITS: tuple[Split, ...] = ("chance", "combination")


def accuracy(captioner: LoadedModel, scenes: int) -> dict[str, Any]:
    """Per split: scenes, and how many captions name all shapes rightly, with and without their sizes, and which not."""
    found: dict[str, Any] = {}
    for split in SPLITS:
        told = [(one, greedy_caption(captioner, one)) for one in (scene_of(split, seed) for seed in range(scenes))]
        wrong = [f"{scene}: {text.strip()}" for scene, text in told if named(text) != shown(scene)]
        found[split] = {
            "scenes": scenes,
            "right": scenes - len(wrong),
            "right_without_sizes": sum(_unsized(named(text)) == _unsized(shown(scene)) for scene, text in told),
            "errs": wrong[:3],
        }
    return found


def greedy_caption(captioner: LoadedModel, scene: Scene) -> str:
    """The text of the most probable token at every place, to the end of the caption."""
    return captioner.tokenizer.decode(_tokens(captioner, scene))


def _tokens(captioner: LoadedModel, scene: Scene) -> Iterator[int]:
    model = captioner.model
    assert isinstance(model, SeesPictures), "only a model with eyes captions a scene."
    seeing = model.seeing(torch.from_numpy(pixels(scene)))
    cache, new = seeing.new_cache(), list(model.picture_ids)
    for _ in range(MOST_TOKENS):
        token = int(seeing.forward(new, cache, last_only=True)[-1].argmax())
        cache.keep(range(cache.base, cache.length))
        if token in captioner.info.eos_ids:
            return
        yield token
        new = [token]


def _unsized(shapes: Counter[tuple[str, str, str]]) -> Counter[tuple[str, str]]:
    without: Counter[tuple[str, str]] = Counter()
    for (_, colour, shape), times in shapes.items():
        without[colour, shape] += times
    return without
