"""What training at anchor-offset positions brings: two `longspec` networks, trained alike but for that, measured within
the context that the target was trained for and beyond it.

Place in the flow: half of `specviz study long-context`. Both networks begin with fresh weights and learn from the same
batches in the same order, for as many tokens; the shipped network may have learnt before, from another target, so it is
neither of them.

Within its context both are measured on held-out text that the target wrote. Beyond it the target writes nothing worth
drafting, so the texts are held-out documents: the larger rotary base that serves the target best is chosen, and drafts
are judged by the target so raised. Queries of the networks on the target's rows turn as the target's own do, by the
raised base; their own rows see a window, at the distances that they were trained at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from specviz.drafters.learned.cross_network import WINDOW
from specviz.drafters.learned.module import DrafterModule
from specviz.errors import TrainingError
from specviz.lm.checkpoint import read_config
from specviz.lm.llama.shape import LlamaShape, raised_base, write_raised
from specviz.lm.place import locate
from specviz.options import Options
from specviz.protocol.sweeps.intervals import mean
from specviz.studies.long_context.result import Beyond, BeyondContext, ContextAcceptance, RaisedLoss
from specviz.training.modules.measure import DRAFT_LENGTH, HeldOut
from specviz.training.modules.teacher import Reading, Teacher
from specviz.training.modules.texts import Amount, TextOptions, held_out_here
from specviz.training.modules.train import ModuleTraining, Training, Wanted
from specviz.training.windows import TokenStream


@dataclass(frozen=True)
class RaisedOptions:
    """What is measured, at which lengths."""

    context: int
    """that the target is raised to"""
    places: tuple[tuple[int, int], ...] = ((1, 1024), (1025, 2048), (2049, 4096), (4097, 8192))
    """stretches of positions that ways of raising are compared on, the first within what the target was trained for"""
    times: tuple[float, ...] = (1.0, 4.0, 8.25, 16.0, 32.0, 64.0, 128.0)
    """the base is that of contexts so many times as long; 1: as it was trained"""
    contexts: tuple[int, ...] = (256, 512, 1024, 2048, 4096, 8192)
    drafts: int = 192
    """begun in each text at the end of each context"""
    texts: int = 16
    """drafted in, half English, half Python"""
    loss_texts: int = 4
    """that the base is chosen by, likewise"""
    characters: int = 400_000
    """of held-out English that they are cut from"""


def beyond(
    target: str, modules: Mapping[bool, DrafterModule[Options]], options: RaisedOptions, say: Callable[[str], None]
) -> Beyond:
    """Choose the base by the target's loss beyond its own context, then measure both networks (False: without anchors)
    at every context. Raises TrainingError where there is too little held-out text."""
    trained = LlamaShape.from_config(read_config(locate(target), target))
    with TemporaryDirectory() as folder:

        def raised(times: float) -> Teacher:
            path = Path(folder) / f"{times:g}"
            if not path.is_dir():
                write_raised(locate(target), path, options.context, times)
            return Teacher.from_folder(path, "cpu", torch.float32)

        plain = raised(1.0)
        streams = [one[0] for one in held_out_here(plain.tokenizer, Amount(options.characters, 0))]
        texts = spread_texts(streams, options.places[-1][1] + 1, options.loss_texts)
        losses = []
        for times in options.times:
            nats = losses_at(raised(times), texts, options.places)
            losses.append(RaisedLoss(raised_base(trained, times), 1.0, nats))
            say(f"base {losses[-1].base:,.0f}  nats {nats}")
        division = options.context / trained.context_length
        nats = losses_at(plain, texts, options.places, division)
        say(f"positions / {division:g}  nats {nats}")
        chosen = min(range(len(losses)), key=lambda one: sum(losses[one].nats[1:]))
        losses.append(RaisedLoss(trained.rope_theta, division, nats))
        ends = spread_texts(streams, options.places[-1][1] + DRAFT_LENGTH - 1, options.texts)
        best, found = raised(options.times[chosen]), []
        for context in options.contexts:
            for teacher in (plain, best) if context <= trained.context_length else (best,):
                found.append(_at(teacher, teacher is best, modules, ends, context, options.drafts))
                say(_line(found[-1]))
    return Beyond(options.places, tuple(losses), losses[chosen].base, options.texts, options.drafts, tuple(found))


def _line(beyond_context: BeyondContext) -> str:
    how = "raised" if beyond_context.raised else "as trained"
    return (
        f"{beyond_context.context} tokens, {how}  nats {beyond_context.nats:.3f}  "
        f"without anchors {beyond_context.without_anchors[0]:.4f}  "
        f"with {beyond_context.with_anchors[0]:.4f}"
    )


def spread_texts(streams: Sequence[TokenStream], length: int, count: int) -> list[Tensor]:
    """`count` texts [length] int64, as many of each stream, whose ends are spread evenly over it. Raises TrainingError
    for a shorter stream."""
    each, found = count // len(streams), []
    for stream in streams:
        if len(stream) < length:
            raise TrainingError(
                f"A text of {length} tokens is asked for, but only {len(stream)} are held out: add text."
            )
        ends = [length + (one + 1) * (len(stream) - length) // each for one in range(each)]
        found += [torch.from_numpy(stream[end - length : end].astype("int64")) for end in ends]
    return found


@torch.inference_mode()
def losses_at(
    teacher: Teacher, texts: Sequence[Tensor], places: Sequence[tuple[int, int]], divided_by: float = 1.0
) -> tuple[float, ...]:
    """Nats per token of the target over all texts, of its answers at these positions (from 1, both ends in); its
    positions are divided by `divided_by` first."""
    sums = torch.zeros(len(places))
    for text in texts:
        positions = None if divided_by == 1 else torch.arange(len(text) - 1) / divided_by
        reading = teacher.read(text[None, :-1], (), positions=positions)
        nats = functional.cross_entropy(reading.logits[0], text[1:], reduction="none")
        sums += torch.stack([nats[first - 1 : last].mean() for first, last in places])
    return tuple(round(float(one), 4) for one in sums / len(texts))


def _at(
    teacher: Teacher,
    is_raised: bool,
    modules: Mapping[bool, DrafterModule[Options]],
    texts: Sequence[Tensor],
    context: int,
    drafts: int,
) -> BeyondContext:
    """Both networks at one context: of each text the last `context` tokens are read, and the few that depths are
    measured on."""
    nats: list[float] = []
    found: dict[bool, list[tuple[float, ...]]] = {anchors: [] for anchors in modules}
    for reading, said in _read(teacher, texts, context, drafts):
        nats.append(said)
        held_out, last = HeldOut(reading, reading.logits.softmax(-1), 0), reading.tokens.shape[1] - DRAFT_LENGTH + 1
        for anchors, module in modules.items():
            found[anchors] += held_out.by_context(module, [(last - drafts + 1, last)])
    without, with_anchors = (
        tuple(sum(depth) / len(texts) for depth in zip(*found[anchors], strict=True)) for anchors in (False, True)
    )
    gain = mean([one[0] - other[0] for one, other in zip(found[True], found[False], strict=True)])
    assert gain is not None, "a text drafted nothing."
    return BeyondContext(context, is_raised, sum(nats) / len(nats), without, with_anchors, gain)


@torch.inference_mode()
def _read(teacher: Teacher, texts: Sequence[Tensor], context: int, drafts: int) -> Iterator[tuple[Reading, float]]:
    """Of each text what the target answers over its last drafts and what their window sees, with all of its rows
    (`TargetRows`), and its loss per token at the drafts' roots."""
    for text in texts:
        tokens = text[-(context + DRAFT_LENGTH - 1) :]
        whole = teacher.read(tokens[None], (), rows=True)
        roots = slice(context - drafts, context)
        nats = functional.cross_entropy(whole.logits[0, roots], tokens[context - drafts + 1 : context + 1])
        kept = min(len(tokens), drafts + WINDOW + DRAFT_LENGTH)
        yield (
            replace(
                whole, tokens=whole.tokens[:, -kept:], final=whole.final[:, -kept:], logits=whole.logits[:, -kept:]
            ),
            float(nats),
        )


PLACES = ((2, 96), (97, 192), (193, 384), (385, 640), (641, 960))
"""contexts of the drafts, shortest and longest; up to 192 is what the networks were trained on"""
ROWS = 4
NEVER = 1e9
TOKENS = 110_592
LABELS = {False: "without_anchors", True: "with_anchors"}


def trainings_of(target: str, work_dir: Path, tokens: int = TOKENS) -> dict[bool, ModuleTraining]:
    """Without anchors (False) and with them; each goes on from `work_dir` where it was interrupted."""
    return {
        anchors: ModuleTraining(
            (Wanted("cross_kv", {"preset": "longspec", "anchors": "on" if anchors else "off"}, label),),
            target=target,
            minutes=0.0,
            tokens=tokens,
            texts=TextOptions(),
            lr=0.02,
            work_dir=work_dir,
            measure_every_s=NEVER,
        )
        for anchors, label in LABELS.items()
    }


@dataclass(frozen=True)
class Networks:
    """Both, trained on the same batches in the same order for as many tokens, ready to be measured."""

    under_way: Training
    by_anchors: Mapping[bool, DrafterModule[Options]]
    """False: without anchors"""


def both_networks(trainings: Mapping[bool, ModuleTraining], report: Callable[[dict[str, Any]], None]) -> Networks:
    """Train both, one after the other: a module with positions of its own is trained alone."""
    found: dict[bool, Training] = {}
    for anchors, training in trainings.items():
        found[anchors] = Training(training)
        found[anchors].run(report)
    return Networks(
        found[False], {anchors: module for anchors, one in found.items() for module in one.modules.values()}
    )


def within(networks: Networks, places: Sequence[tuple[int, int]] = PLACES) -> Iterator[ContextAcceptance]:
    """Both by context on what the target writes within its own, shortest first, without anchors first."""
    held_out = networks.under_way.held_out_text(ROWS, places[-1][1])
    for anchors, module in networks.by_anchors.items():
        for (shortest, longest), found in zip(places, held_out.by_context(module, places), strict=True):
            yield ContextAcceptance(anchors, shortest, longest, found)
