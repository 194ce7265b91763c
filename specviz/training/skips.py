"""Searches the sub-layers that a target can miss while it drafts for itself, and keeps the result beside the models.

Place in the flow: the last stage of `specviz train`, on the exported target, with training text only. Draft & Verify
(Zhang et al., 2309.08168, section 3.3) minimises the time per generated token; so does this, by random starts and
climbing instead of Bayesian optimisation.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path

import numpy as np
import torch

from specviz.errors import TrainingError
from specviz.lm.base import Blocks, Cache, SplitModel
from specviz.lm.load import load
from specviz.resources import take_over
from specviz.training.loop import Report
from specviz.training.options import TrainOptions
from specviz.training.stages import target_batches

TEXTS = 12
PREFIX = 48
CONTINUATION = 48
STARTS = 4
REPEATS = 15
DRAFT_LENGTHS = (1, 2, 3, 4)
Entries = dict[str, Mapping[str, object]]
"""by the hash of the weights that they are for"""


@dataclass(frozen=True)
class Sample:
    """A text of the target's own, cached, and what the target says after each of its tokens from `first` on."""

    cache: Cache
    tokens: list[int]
    first: int
    wanted: list[int]


@dataclass(frozen=True)
class Costs:
    """Shares of a whole pass over one token, measured; `wide[g]`: a pass over g + 1 tokens."""

    attention: float
    mlp: float
    rest: float
    wide: dict[int, float]

    def of(self, blocks: Blocks) -> float:
        """One drafted token."""
        return self.rest + self.attention * len(blocks.attention) + self.mlp * len(blocks.mlp)


@dataclass(frozen=True)
class Found:
    """A set of skipped sub-layers (layers from 0), how often it agrees with the target, and what a token costs."""

    attention: frozenset[int]
    mlp: frozenset[int]
    agreement: float
    cost: float
    gamma: int


def search_skips(options: TrainOptions, report: Report) -> None:
    """Runs the search and writes `skips.json` in the folder above the models."""
    loaded = load(str(options.out_dir / "target"), device=options.device, dtype="float32")
    target = loaded.model
    if not isinstance(target, SplitModel):
        raise TrainingError(f"{loaded.info.name} runs through an adapter that cannot skip layers; take another target.")
    reason = target.why_not_split(Blocks(frozenset(range(loaded.info.layers)), frozenset()))
    if reason is not None:
        raise TrainingError(f"layers of {loaded.info.name} cannot be skipped because {reason}; take another target.")
    samples = own_texts(target, own_beginnings(options))
    best = climb(
        target.info.layers,
        lambda blocks: share_of_agreement(target, samples, blocks),
        costs(target),
        options.seed,
        report,
    )
    path = options.out_dir.parent / "skips.json"
    known: Entries = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    entry = {
        "model": loaded.info.name,
        "skip_attention": sorted(layer + 1 for layer in best.attention),
        "skip_mlp": sorted(layer + 1 for layer in best.mlp),
        "agreement": round(best.agreement, 4),
        "expected_cost_of_a_token": round(best.cost, 4),
        "gamma": best.gamma,
        "command": "specviz train skips",
        "seed": options.seed,
    }
    write(path, with_entry(known, loaded.info.weights_sha256, entry))
    take_over(path)
    report({"skips": entry})


def with_entry(known: Entries, weights_sha256: str, entry: Mapping[str, object]) -> Entries:
    """The entries with this one in place of all that stand for earlier weights of the same model."""
    others = {sha256: one for sha256, one in known.items() if one["model"] != entry["model"]}
    return {**others, weights_sha256: entry}


def write(path: Path, known: Entries) -> None:
    """The file, whole or not at all."""
    unfinished = path.with_name(path.name + ".partial")
    unfinished.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)


def own_beginnings(options: TrainOptions) -> list[list[int]]:
    """The first tokens of training windows, plain English and Python in the target's shares."""
    windows, rows = target_batches(options), list[list[int]]()
    for step in range(ceil(TEXTS / options.batch_size)):
        rows += windows.batch(step).ids[:, :PREFIX].tolist()
    return rows[:TEXTS]


def own_texts(target: SplitModel, beginnings: Sequence[list[int]]) -> list[Sample]:
    """Greedy continuations of training text: what a draft will have to predict."""
    samples = []
    for tokens in beginnings:
        cache, wanted, fresh = target.new_cache(), list[int](), tokens
        while len(wanted) < CONTINUATION:
            wanted.append(int(target.forward(fresh, cache, last_only=True)[-1].argmax()))
            fresh = [wanted[-1]]
        cache.keep(range(cache.length))
        samples.append(Sample(cache, [*tokens, *wanted[:-1]], PREFIX - 1, wanted))
    return samples


def share_of_agreement(target: SplitModel, samples: Sequence[Sample], blocks: Blocks) -> float:
    """How often `blocks` alone have the same most likely next token, on the target's own cache of the text."""
    same = total = 0
    for sample in samples:
        tokens = sample.tokens[sample.first :]
        parents = range(sample.first - 1, sample.first - 1 + len(tokens))
        guessed = target.read_out(target.partial(tokens, sample.cache, parents, blocks)).argmax(-1).tolist()
        sample.cache.keep([])
        same += sum(a == b for a, b in zip(guessed, sample.wanted, strict=True))
        total += len(tokens)
    return same / total


def _partial_pass(target: SplitModel, cache: Cache, blocks: Blocks) -> torch.Tensor:
    return target.read_out(target.partial([1], cache, None, blocks))


@torch.inference_mode()
def costs(target: SplitModel) -> Costs:
    """Times passes over a text of medium length, interleaved; medians."""
    layers = target.info.layers
    every, none = frozenset(range(layers)), frozenset[int]()
    cache = target.new_cache()
    target.forward([1] * 128, cache)
    cache.keep(range(128))
    parts = {"whole": Blocks(every, every), "attention": Blocks(every, none), "mlp": Blocks(none, every)}
    seconds: dict[str, list[float]] = {name: [] for name in (*parts, *(f"wide {g}" for g in DRAFT_LENGTHS))}
    for _ in range(REPEATS):
        for name, blocks in parts.items():
            seconds[name].append(_timed(cache, partial(_partial_pass, target, cache, blocks)))
        for g in DRAFT_LENGTHS:
            seconds[f"wide {g}"].append(_timed(cache, partial(target.forward, [1] * (g + 1), cache)))
    median = {name: statistics.median(values) for name, values in seconds.items()}
    whole = median["whole"]
    mlp, attention = whole - median["attention"], whole - median["mlp"]
    return Costs(
        attention / whole / layers,
        mlp / whole / layers,
        max(0.0, 1 - (attention + mlp) / whole),
        {g: median[f"wide {g}"] / whole for g in DRAFT_LENGTHS},
    )


def _timed(cache: Cache, work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    cache.keep([])
    return seconds


def price(agreement: float, drafting: float, wide: dict[int, float]) -> tuple[float, int]:
    """(passes per token, speculation length) of the best speculation length: Leviathan's equation 1, acceptance
    `agreement`."""

    def at(gamma: int) -> float:
        tokens = sum(agreement**i for i in range(gamma + 1))
        return (gamma * drafting + wide[gamma]) / tokens

    gamma = min(wide, key=at)
    return at(gamma), gamma


def climb(layers: int, agreement: Callable[[Blocks], float], costs: Costs, seed: int, report: Report) -> Found:
    """The cheapest set found that skips something: from random sets, flip the one sub-layer that helps most until none
    helps. A cost above 1 says that no set pays."""
    draw = np.random.default_rng(seed)
    known: dict[frozenset[int], Found] = {}

    def judge(skipped: frozenset[int]) -> Found:
        """`skipped`: i for the attention of layer i, layers + i for its MLP."""
        if skipped not in known:
            attention = frozenset(i for i in skipped if i < layers)
            mlp = frozenset(i - layers for i in skipped if i >= layers)
            every = frozenset(range(layers))
            blocks = Blocks(every - attention, every - mlp)
            share = agreement(blocks)
            known[skipped] = Found(attention, mlp, share, *price(share, costs.of(blocks), costs.wide))
        return known[skipped]

    best: Found | None = None
    for start in range(STARTS):
        here = frozenset(int(i) for i in np.flatnonzero(draw.random(2 * layers) < (start + 1) / (STARTS + 1)))
        here = here or frozenset({0})
        while True:
            around = [here ^ {i} for i in range(2 * layers)]
            there = min((skipped for skipped in around if skipped), key=lambda skipped: judge(skipped).cost)
            if judge(there).cost >= judge(here).cost:
                break
            here = there
        best = judge(here) if best is None else min(best, judge(here), key=lambda found: found.cost)
        report({"start": start + 1, "sets_tried": len(known), "best_cost": round(best.cost, 4)})
    assert best is not None
    return best
