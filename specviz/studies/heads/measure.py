"""How likely a candidate from a smaller output head is accepted, and what such a head saves in each draft step.

Along a text that is already there the probability of a candidate is known exactly at every place, so nothing is drawn
and all heads are judged alike. Whole passes over one token are timed, as a draft step is; heads take turns, and ratios
are of one run.

`--count` first counts the tokens by which heads are cut down: of raw text, of the drafter's text and of the target's.
Raw text and the beginnings that the models go on from are training text of both halves, never held-out; the held-out
text goes on from the prompt set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from specviz.bench.core.contest import first_prompts
from specviz.bench.core.passes import pass_clock
from specviz.bench.core.report import origin_here
from specviz.core.clock import seconds_of
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling, transform
from specviz.corpus import standard_library as corpus
from specviz.corpus.plain_english import generator
from specviz.corpus.standard_library import Document, position_of
from specviz.drafters.base import DRAFTERS
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import BenchError, OptionError, TrainingError
from specviz.lm.base import Cache, LanguageModel
from specviz.lm.load import LoadedModel
from specviz.lm.step_time import CACHED_ROWS, filled_cache
from specviz.lm.text import TextCodec, check_vocabularies
from specviz.lm.vocabulary import TrimmedModel
from specviz.protocol.runs import PromptCard
from specviz.protocol.sweeps.points import Quartiles, quartiles
from specviz.resources import ROOT
from specviz.studies.heads.result import HeadsStudy
from specviz.studies.study import Workplace
from specviz.theory import token_frequencies as frequencies
from specviz.theory.rows import repetition
from specviz.theory.token_frequencies import HELD_OUT, TITLES, FrequencyTable, TokenCounts
from specviz.verifiers.base import VERIFIERS

ENGLISH = "english"
"""kind of the documents in plain English"""
PREFIX_CHARS = 400
"""of a file, from a place that depends on its name alone"""


@dataclass(frozen=True, slots=True)
class CountPlan:
    """How much text."""

    texts: int = 200
    """beginnings that each model goes on from"""
    tokens: int = 96
    """that it writes after each"""
    raw_bytes: int = 8_000_000
    """of training text"""
    seed: int = 0
    """chooses files, places and samples"""
    temperature: float = 1.0
    """models write by their own law"""


def count_all(
    target: LoadedModel,
    drafter: LoadedModel,
    documents: Sequence[Document],
    prompts: Sequence[str],
    plan: CountPlan,
    done: Callable[[str], None] = lambda what: None,
) -> FrequencyTable:
    """The whole table; `done` hears what was counted. Raises TrainingError where there is no text."""
    if not documents or not prompts:
        raise TrainingError("there is no text to count; give at least one document and one prompt.")
    text = target.tokenizer
    starts = beginnings(documents, plan)
    texts = {"raw": _raw(text, documents, plan)}
    done("raw")
    for name, model, held in (("drafter", drafter, starts), ("target", target, starts), (HELD_OUT, target, prompts)):
        what = "prompts of the set" if name == HELD_OUT else "beginnings cut from training text"
        written = f"text of {model.info.name} at temperature {plan.temperature:g}, {plan.tokens} tokens after each of "
        counts = _counted((new for _, new in continuations(model, held, plan)), text.size)
        texts[name] = TokenCounts(f"{written}{len(held)} {what}", counts, model.info.weights_sha256)
        done(name)
    return FrequencyTable(text.sha256, text.name, text.special_ids, texts)


def beginnings(documents: Sequence[Document], plan: CountPlan) -> list[str]:
    """Cuts of training text, one per document, as many of each half; documents and places chosen by the seed. The
    first part of a short one."""
    cuts = []
    for half, share in halves(documents, plan.texts):
        for document in sorted(half, key=lambda document: position_of(document.path, plan.seed + 1))[:share]:
            length = min(PREFIX_CHARS, max(1, len(document.text) // 2))
            room = len(document.text) - length if length == PREFIX_CHARS else 1
            start = int(position_of(document.path, plan.seed + 2) * room)
            cuts.append(document.text[start : start + length])
    return cuts


def halves(documents: Sequence[Document], amount: int) -> list[tuple[list[Document], int]]:
    """The documents in plain English and the others, each with its part of an amount; one alone takes it all."""
    found = [[document for document in documents if (document.kind == ENGLISH) is english] for english in (True, False)]
    filled = [half for half in found if half]
    return [(half, ceil(amount / len(filled))) for half in filled]


def _raw(text: TextCodec, documents: Sequence[Document], plan: CountPlan) -> TokenCounts:
    """Training documents in the seed's order, as many bytes of each half, up to the limit."""
    ids, total, files = Counter[int](), 0, 0
    for half, most in halves(documents, plan.raw_bytes):
        read = 0
        for document in sorted(half, key=lambda document: position_of(document.path, plan.seed + 3)):
            if read >= most:
                break
            ids.update(text.encode(document.text))
            read, files = read + document.n_bytes, files + 1
        total += read
    counts = tuple(ids[token] for token in range(text.size))
    return TokenCounts(f"{files} training documents, {total} bytes", counts)


def continuations(model: LoadedModel, starts: Sequence[str], plan: CountPlan) -> Iterable[tuple[list[int], list[int]]]:
    """(the beginning, what the model writes after it by plain decoding) of each; an over-long beginning loses its
    head."""
    plain, verifier = DRAFTERS.get("none"), VERIFIERS.get("sequential")
    room = model.info.context_length - plan.tokens
    for number, start in enumerate(starts):
        method = Method(
            plain.of({}),
            verifier.of({}),
            Sampling(plan.temperature),
            SeededRandom(plan.seed + number),
        )
        ids = model.tokenizer.encode(start)[-room:]
        ending = Ending(Limits(plan.tokens, frozenset(model.info.eos_ids)), lambda token: b"")
        session = Session(model.model, method, Start(ids), ending)
        session.begin()
        while session.finished is None:
            session.round()
        yield ids, session.tokens[len(ids) :]


def _counted(texts: Iterable[list[int]], size: int) -> tuple[int, ...]:
    ids = Counter[int]()
    for text in texts:
        ids.update(text)
    return tuple(ids[token] for token in range(size))


ENGLISH_SEED = 1
SPLIT_SEED = 0
"""of the bundled models' split: what they held out is not counted"""
TEMPERATURES = (1.0, 0.0)
"""at which acceptance is measured: the models' own law, and greedy"""
WHOLE = ("", 0)
"""in place of a calibration text and a head size: the whole head"""


def measure(workplace: Workplace) -> HeadsStudy:
    """Raises OptionError for sizes that are none, and where the tokenizer has no table of frequencies."""
    args = workplace.args
    sizes = _sizes(args.sizes)
    target, drafter = workplace.pair()
    catalog = workplace.source().catalog()
    if args.count:
        _count(workplace, target, drafter, [card.text for card in catalog.prompts])
    table = frequencies.table_of(target.tokenizer.sha256)
    if table is None:
        raise OptionError(
            f"there is no frequency table for the tokenizer of {args.target}; write one with `specviz study heads "
            "--count`."
        )
    sizes = tuple(size for size in sizes if size < table.vocab_size)
    prompts = first_prompts(catalog, args.prompts)
    alphas_of, repeated = _acceptance(workplace, table, sizes, target, drafter, prompts) if prompts else ({}, {})
    origin = origin_here(target, drafter)
    return HeadsStudy(
        vocab_size=table.vocab_size,
        sizes=sizes,
        texts={name: f"{text.total} tokens, {text.what}" for name, text in table.texts.items()},
        coverage={name: dict(frequencies.coverage_curve(table, name, sizes)) for name in TITLES},
        alpha={
            temperature: {name: {size: alpha[name, size] for size in sizes} for name in TITLES}
            for temperature, alpha in alphas_of.items()
        },
        whole={temperature: alpha[WHOLE] for temperature, alpha in alphas_of.items()},
        step_ratio={} if args.no_times else _ratios(drafter, table, sizes),
        prompts=len(prompts),
        tokens=args.tokens,
        repetition=repeated,
        models={model.info.name: model.info.weights_sha256 for model in (target, drafter)},
        origin=str(origin),
        created=origin.created,
    )


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = sorted({int(part) for part in text.split(",")})
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < 1:
        raise OptionError(
            f"sizes is '{text}', but must be whole numbers above 0 separated by commas, such as 256,1024."
        )
    return tuple(sizes)


def _count(workplace: Workplace, target: LoadedModel, drafter: LoadedModel, prompts: Sequence[str]) -> None:
    """Counts the tokens anew and keeps the table of the target's tokenizer."""
    args = workplace.args
    check_vocabularies(target.tokenizer, drafter.tokenizer)
    plan = CountPlan(args.texts, args.tokens)
    english = [
        corpus.Document(f"english/{number}", ENGLISH, document.text)
        for number, document in enumerate(generator.documents(ENGLISH_SEED, plan.raw_bytes // 2, held_out=False))
    ]
    documents = [*corpus.collect(SPLIT_SEED).train, *english]
    table = count_all(target, drafter, documents, prompts, plan, lambda what: workplace.say(f"counted: {what}"))
    path = frequencies.FOLDER / f"{Path(args.target).name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(frequencies.to_json(table), encoding="utf-8")
    frequencies.read.cache_clear()
    workplace.say(f"wrote {ROOT.name}/{path.parent.name}/{path.name}")


def _acceptance(
    workplace: Workplace,
    table: FrequencyTable,
    sizes: Sequence[int],
    target: LoadedModel,
    drafter: LoadedModel,
    prompts: Sequence[PromptCard],
) -> tuple[dict[float, dict[tuple[str, int], float]], dict[float, tuple[float, ...]]]:
    """By temperature: α of each head along what the target writes after the prompts, and how much each of these texts
    repeats itself."""
    heads: dict[tuple[str, int], LanguageModel] = {WHOLE: drafter.model}
    for name in TITLES:
        for size in sizes:
            kept = frequencies.kept_by(table, name, size, drafter.info.eos_ids)
            heads[name, size] = TrimmedModel(drafter.model, kept)
    by_temperature, repeated = {}, {}
    for temperature in TEMPERATURES:
        workplace.say(f"acceptance at temperature {temperature:g}: {len(prompts)} prompts…")
        plan = CountPlan(tokens=workplace.args.tokens, temperature=temperature)
        texts = list(continuations(target, [card.text for card in prompts], plan))
        by_temperature[temperature] = alphas(target.model, heads, texts, Sampling(temperature))
        repeated[temperature] = tuple(round(repetition(written), 2) for _, written in texts)
    return by_temperature, repeated


def _ratios(drafter: LoadedModel, table: FrequencyTable, sizes: Sequence[int]) -> dict[int, Quartiles]:
    """Head size → step time relative to the whole head, as it is kept."""
    trimmed = {size: TrimmedModel(drafter.model, frequencies.kept_by(table, "target", size)) for size in sizes}
    ratios = step_ratios(drafter.model, trimmed)
    return {size: Quartiles(*(round(value, 2) for value in ratio)) for size, ratio in ratios.items()}


Head = TypeVar("Head", bound=Hashable)
Text = tuple[Sequence[int], Sequence[int]]
"""(ids it begins with, ids after them): places are those where the latter were chosen"""


@torch.inference_mode()
def alphas(
    target: LanguageModel, heads: Mapping[Head, LanguageModel], texts: Iterable[Text], sampling: Sampling
) -> dict[Head, float]:
    """Head → alpha: the mean over all places of the sum of min(p, q) over the vocabulary (Leviathan et al. 2211.17192,
    Corollary 3.6); at temperature 0, how often both prefer the same token. All vocabularies are the target's.

    Raises BenchError where there is no place.
    """
    overlaps: dict[Head, list[Tensor]] = {head: [] for head in heads}
    for beginning, rest in texts:
        if beginning and rest:
            p = _rows(target, beginning, rest, sampling)
            for head, model in heads.items():
                overlaps[head].append(torch.minimum(p, _rows(model, beginning, rest, sampling)).sum(-1))
    if not all(overlaps.values()):
        raise BenchError("the texts have no place to draft at, so there is no acceptance; give longer ones.")
    return {head: float(torch.cat(sums).mean()) for head, sums in overlaps.items()}


def _rows(model: LanguageModel, beginning: Sequence[int], rest: Sequence[int], sampling: Sampling) -> Tensor:
    """What the model says at each place [len(rest), V]."""
    logits = model.forward([*beginning, *rest[:-1]], model.new_cache())
    return transform(logits[len(beginning) - 1 :, : model.info.vocab_size], sampling).cpu()


REPEATS = 60


def step_ratios(
    whole: LanguageModel, trimmed: Mapping[int, LanguageModel], repeats: int = REPEATS
) -> dict[int, Quartiles]:
    """Head size → time of a step with this head ÷ time of one with the whole head. Each repeat times all heads in
    turn and gives one ratio each."""
    cached_rows = max(1, min(CACHED_ROWS, whole.info.context_length // 2))
    models = {0: whole, **trimmed}
    caches = {size: filled_cache(model, cached_rows) for size, model in models.items()}
    for size, model in models.items():
        step_s(model, caches[size])  # the first pass of a shape sets up kernels and buffers
    ratios: dict[int, list[float]] = {size: [] for size in trimmed}
    for _ in range(repeats):
        seconds = {size: step_s(model, caches[size]) for size, model in models.items()}
        for size, ratio in ratios.items():
            ratio.append(seconds[size] / seconds[0])
    return {size: quartiles(ratio) for size, ratio in ratios.items()}


def step_s(model: LanguageModel, rows: Cache) -> float:
    """Seconds of one pass over one token, whose row is dropped again. On one thread of a CPU those it really worked, so
    that other programs disturb less."""
    clock, _ = pass_clock(model.device)
    took = seconds_of(lambda: model.forward([0], rows), model.device, clock)
    rows.keep([])
    return took
