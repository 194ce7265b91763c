"""Time and bytes of a drafting pass at growing contexts, of all drafters on one cache of the target, in turn.

The text is random tokens and the networks are untrained: neither changes how long a pass takes or what it keeps.
Time is that which the processor worked for the thread, so that other programs on the machine disturb less; a draft of
several tokens less a draft of one, shared out, is what one more pass takes.
Place in the flow: half of `specviz study long-context`; the other half is `training`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from statistics import quantiles

import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter
from specviz.drafters.cross_kv import CrossKVDrafter
from specviz.drafters.learned.cross_network import PRESETS
from specviz.drafters.model import ModelDrafter
from specviz.lm.base import Cache, GivesFeatures, LanguageModel
from specviz.options import Options
from specviz.protocol.trainings import UNTRAINED
from specviz.studies.long_context.result import TARGET, ContextCost

CONTEXTS = (256, 512, 1024, 2048, 4096, 8192)
DRAFT = 5
"""tokens of a longer draft; what the first one takes beside its pass (reading what is new of the text) falls out"""
PART = 512
"""rows that the target reads at once"""
SEED = 20


def bytes_of(model: GivesFeatures, rows: int) -> int:
    """Keys and values of so many rows in all layers, by what a cache of one row holds."""
    cache = model.new_cache()
    model.forward([0], cache)
    kept = [one for layer in range(model.info.layers) for one in model.keys_values(cache, layer)]
    return rows * sum(one.numel() * one.element_size() for one in kept)


@torch.inference_mode()
def measure(
    target: LanguageModel, drafter: LanguageModel, repeats: int, contexts: Sequence[int] = CONTEXTS
) -> Iterator[ContextCost]:
    """One row for each of target, presets and model, context by context."""
    assert isinstance(target, GivesFeatures), "this target gives no rows."
    assert isinstance(drafter, GivesFeatures), "this drafter gives no rows."
    generator = torch.Generator().manual_seed(SEED)
    vocabulary = min(target.info.vocab_size, drafter.info.vocab_size)
    text: list[int] = torch.randint(vocabulary, (max(contexts),), generator=generator).tolist()
    cache = target.new_cache()
    readers = {
        preset: CrossKVDrafter.of({"weights": UNTRAINED, "preset": preset, "gamma": DRAFT}) for preset in PRESETS
    }
    for one in readers.values():
        assert isinstance(one, CrossKVDrafter), "the registry gave another class."
        one.attach(target, cache)
    depths = sorted({depth for one in readers.values() for depth in one.depths()})
    target.watch(cache, depths)
    for context in contexts:
        _read_on(target, cache, text[: context - 1], list(readers.values()), depths)
        separate = DRAFTERS.get("model").of({"gamma": DRAFT})
        assert isinstance(separate, ModelDrafter), "the registry gave another class."
        separate.use(drafter)
        separate.begin(text[:context])
        yield from _costs(target, cache, {**readers, "model": separate}, drafter, text[:context], repeats)


def _read_on(
    target: GivesFeatures, cache: Cache, known: list[int], readers: Sequence[CrossKVDrafter], depths: Sequence[int]
) -> None:
    """Bring the target's cache, and who reads along, up to `known`."""
    while cache.length < len(known):
        start = cache.length
        part = known[start : start + PART]
        target.forward(part, cache, last_only=True)
        cache.keep(range(start, start + len(part)))
        states = target.seen(cache)
        for one in readers:
            if wanted := [depths.index(depth) for depth in one.depths()]:
                one.read_features(part, states[:, wanted])


def _costs(
    target: GivesFeatures,
    cache: Cache,
    drafters: dict[str, Drafter[Options]],
    model: GivesFeatures,
    text: list[int],
    repeats: int,
) -> Iterator[ContextCost]:
    """All of them in turn, `repeats` times."""
    seconds: dict[str, list[float]] = {name: [] for name in (TARGET, *drafters)}

    def drafted(drafter: Drafter[Options], tokens: int) -> float:
        return _worked(lambda: drafter.propose(DraftContext(text, 0, tokens, Sampling(0.0), SeededRandom(0))))

    for _ in range(repeats):
        seconds[TARGET].append(_worked(lambda: target.forward([text[-1]], cache)))
        cache.keep([])
        for name, drafter in drafters.items():
            one, several = drafted(drafter, 1), drafted(drafter, DRAFT)
            seconds[name].append((several - one) / (DRAFT - 1))
    held = {TARGET: bytes_of(target, len(text) - 1), "model": bytes_of(model, len(text) - 1)}
    held |= {name: one.cache_bytes for name, one in drafters.items() if isinstance(one, CrossKVDrafter)}
    for name, each in seconds.items():
        low, median, high = (round(1000 * one, 4) for one in quantiles(each, n=4, method="inclusive"))
        yield ContextCost(name, len(text), median, low, high, held[name])


def _worked(work: Callable[[], object]) -> float:
    """Seconds that the processor worked for this thread."""
    began = time.thread_time()
    work()
    return time.thread_time() - began
