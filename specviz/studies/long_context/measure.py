"""Time and bytes of a drafting pass at growing contexts, of all drafters on one cache of the target, in turn; then what
anchor-offset training brings (`training`).

The text is random tokens and the networks are untrained: neither changes how long a pass takes or what it keeps.
Time is that which the processor worked for the thread, so that other programs on the machine disturb less; a draft of
several tokens less a draft of one, shared out, is what one more pass takes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import quantiles

import torch
from transformers.utils.logging import disable_progress_bar

from specviz.bench.core.report import origin_here
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter
from specviz.drafters.cross_kv import CrossKVDrafter
from specviz.drafters.learned.cross_network import PRESETS
from specviz.drafters.model import ModelDrafter
from specviz.lm.base import Cache, GivesFeatures, LanguageModel
from specviz.lm.llama.shape import write_raised
from specviz.lm.place import locate
from specviz.options import Options
from specviz.protocol.trainings import UNTRAINED
from specviz.studies.long_context.result import STUDY, TARGET, ContextCost, LongContexts
from specviz.studies.long_context.training import RaisedOptions, beyond, both_networks, trainings_of, within
from specviz.studies.study import Workplace
from specviz.training.modules.train import Lines

CONTEXTS = (256, 512, 1024, 2048, 4096, 8192)
DRAFT = 5
"""tokens of a longer draft; what the first one takes besides its pass (reading the new text) falls out"""
PART = 512
"""rows that the target reads at once"""
SEED = 20
PAIR = (TARGET, "drafter")
RAISED = 8448
"""the longest text, and room for a draft"""


def measure(workplace: Workplace) -> LongContexts:
    """The study. Interrupted, the training goes on from its work folder."""
    args = workplace.args
    disable_progress_bar()
    kept: LongContexts | None = None
    if args.keep_costs or args.costs:
        assert STUDY.codec is not None, "the study keeps its result."
        kept = STUDY.codec.read(STUDY.path)
    if kept is not None and args.costs:
        return _costs_anew(workplace, kept)
    passes = kept.costs if kept else _all_costs(workplace)
    workplace.make_way()
    trainings = trainings_of(TARGET, args.work_dir)
    networks = both_networks(trainings, Lines(workplace.row))
    acceptance = tuple(within(networks))
    further = beyond(TARGET, networks.by_anchors, RaisedOptions(RAISED), workplace.say)
    origin = origin_here(*(workplace.model(name) for name in PAIR))
    return LongContexts(
        passes,
        kept.repeats if kept else args.repeats,
        acceptance,
        trainings[True].tokens,
        trainings[True].texts.length,
        origin.target.context_length,
        RAISED,
        origin.weights,
        "specviz study long-context --write",
        kept.origin if kept else str(origin),
        further,
        str(origin) if kept else "",
    )


def _costs_anew(workplace: Workplace, kept: LongContexts) -> LongContexts:
    """The kept result with times and bytes of today."""
    return replace(
        kept,
        costs=_all_costs(workplace),
        repeats=workplace.args.repeats,
        origin=str(origin_here(*(workplace.model(name) for name in PAIR))),
        acceptance_origin=kept.acceptance_origin or kept.origin,
    )


def _all_costs(workplace: Workplace) -> tuple[ContextCost, ...]:
    """Of target and drafter with their contexts raised."""
    with tempfile.TemporaryDirectory() as folder:
        raised = [str(write_raised(locate(name), Path(folder) / name, RAISED)) for name in PAIR]
        target, drafter = (workplace.model(name).model for name in raised)
        found = []
        for cost in costs(target, drafter, workplace.args.repeats):
            workplace.say(f"{cost.context} tokens  {cost.drafter}  {cost.median_ms:.2f} ms  {cost.bytes} bytes")
            found.append(cost)
        return tuple(found)


def bytes_of(model: GivesFeatures, rows: int) -> int:
    """Keys and values of so many rows in all layers, by what a cache of one row holds."""
    cache = model.new_cache()
    model.forward([0], cache)
    kept = [one for layer in range(model.info.layers) for one in model.keys_values(cache, layer)]
    return rows * sum(one.numel() * one.element_size() for one in kept)


@torch.inference_mode()
def costs(
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
    for reader in readers.values():
        assert isinstance(reader, CrossKVDrafter), "the registry gave another class."
        reader.attach(target, cache)
    depths = sorted({depth for reader in readers.values() for depth in reader.depths()})
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
        for cross_kv_drafter in readers:
            if wanted := [depths.index(depth) for depth in cross_kv_drafter.depths()]:
                cross_kv_drafter.read_features(part, states[:, wanted])


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
        low, median, high = (round(1000 * quantile, 4) for quantile in quantiles(each, n=4, method="inclusive"))
        yield ContextCost(name, len(text), median, low, high, held[name])


def _worked(work: Callable[[], object]) -> float:
    """Seconds that the processor worked for this thread."""
    began = time.thread_time()
    work()
    return time.thread_time() - began
