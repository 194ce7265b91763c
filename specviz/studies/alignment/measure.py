"""Every loss on every kind of text for equally many tokens, measured before and after on held-out prompts.

Place in the flow: `specviz study alignment` runs it on the shipped pair. Each finished cell is a file in the work
folder, so an interrupted study goes on where it stopped.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from specviz.bench.core.report import origin_here
from specviz.corpus.prompt_set import PYTHON
from specviz.errors import OptionError, TrainingError
from specviz.resources import ROOT
from specviz.studies.alignment.result import (
    DOMAINS,
    AlignmentCell,
    AlignmentFigures,
    AlignmentStart,
    AlignmentStudy,
    Measured,
)
from specviz.studies.study import Workplace
from specviz.theory.formulas import memory_bound_speedup
from specviz.training.alignment.align import LOSSES, Recipe, aligned, source_of, weights_key
from specviz.training.alignment.measure import JudgedText, WrittenText, judged, measured
from specviz.training.alignment.texts import BOTH, DATA, TOKENS_PER_STEP, Diet, Source
from specviz.training.generation import continue_batch
from specviz.training.options import TrainOptions
from specviz.training.pair_report import first_of_each
from specviz.training.publication import prompts_of
from specviz.training.publish import load_exported
from specviz.training.windows import load_tokenizer

GAMMA = 4
TEMPERATURES = (0.0, 0.7, 1.0)
TOKENS = 49_152
MIXTURE = "+".join(DATA)
WEAK, SHIPPED = "drafter-weak", "drafter"
LEARNING_RATES = {WEAK: 3e-3, SHIPPED: 1e-3}
"""the best for `fkl` on target-written text of 0.001, 0.003 and 0.01"""
PROMPTS = {"english": 4, "python": 6}
"""of each family; Python has fewer families"""
FEW = ("ce-hard", "fkl", "tvd")
"""losses that go first where all would take too long"""
NEW_TOKENS = 64
"""of a held-out text, written after its prompt"""
ROWS = 16
"""prompts of similar length that are written together"""


@dataclass(frozen=True)
class Plan:
    """One cell before it has run."""

    part: str
    start: str
    loss: str
    data: str
    domain: str = BOTH
    temperatures: tuple[float, ...] = TEMPERATURES

    @property
    def name(self) -> str:
        """Its file's name."""
        by_temperature = "-".join(f"{temperature:g}" for temperature in self.temperatures)
        return f"{self.start}.{self.loss}.{self.data}.{self.domain}.{by_temperature}"


def plans() -> list[Plan]:
    """All cells, the most telling first: every loss on every kind of text from a drafter that never met the target, and
    from the shipped one, which was distilled from it, both domains and each alone."""
    rest = [loss for loss in LOSSES if loss not in FEW]
    return [
        *(Plan("grid", WEAK, loss, "target") for loss in LOSSES),
        *(Plan("domains", SHIPPED, loss, "target", domain) for loss in FEW[1:] for domain in (BOTH, *DOMAINS)),
        *(Plan("domains", WEAK, loss, "target", domain) for loss in FEW[1:] for domain in DOMAINS),
        *(Plan("grid", WEAK, loss, "drafter") for loss in FEW),
        *(Plan("grid", WEAK, loss, "corpus") for loss in LOSSES),
        *(Plan("grid", WEAK, loss, MIXTURE) for loss in FEW),
        *(Plan("grid", WEAK, loss, data) for data in ("drafter", MIXTURE) for loss in rest),
    ]


@dataclass(frozen=True)
class Material:
    """What every cell works with."""

    models: Path
    """folder of the exported models"""
    source: Source
    texts: Mapping[float, Sequence[JudgedText]]
    dtype: torch.dtype
    folder: Path
    tokens: int = TOKENS

    def start(self, name: str) -> AlignmentStart:
        """A drafter before its alignments."""
        drafter = load_exported(self.models / name)
        ratio = bytes_per_pass(self.source.target) / bytes_per_pass(drafter)
        return AlignmentStart(ratio, LEARNING_RATES[name], self.figures(drafter, ratio))

    def figures(self, drafter: LlamaForCausalLM, ratio: float) -> Measured:
        """The drafter on all held-out texts."""
        found: dict[str, dict[str, AlignmentFigures]] = {}
        for temperature, texts in self.texts.items():
            for domain, counts in measured(drafter, texts, temperature, GAMMA).items():
                tau = counts.block_efficiency
                found.setdefault(f"{temperature:g}", {})[domain] = AlignmentFigures(
                    alpha=counts.alpha / counts.tokens,
                    block_efficiency=tau,
                    mbsu=memory_bound_speedup(tau, GAMMA, ratio),
                    coverage=counts.covered / counts.tokens,
                    by_position=tuple(counts.by_position),
                )
        return found

    def file(self, plan: Plan) -> Path:
        """Where a finished cell is kept."""
        return self.folder / "cells" / f"{plan.name}.json"

    def cell(self, plan: Plan, ratio: float) -> AlignmentCell:
        """One alignment, or its file where it has been done."""
        path = self.file(plan)
        if path.is_file():
            return TypeAdapter(AlignmentCell).validate_json(path.read_bytes())
        drafter = load_exported(self.models / plan.start).train()
        diet = Diet(plan.data, plan.domain, plan.temperatures, self.tokens)
        recipe = Recipe(plan.loss, diet, LEARNING_RATES[plan.start])
        run_folder = self.folder / "runs" / plan.name
        model, run = aligned(drafter, recipe, self.source, self.dtype, run_folder, lambda row: None)
        if run["tokens"] != self.tokens:
            raise TrainingError(f"{plan.name} learnt from {run['tokens']} tokens and not from {self.tokens}.")
        cell = AlignmentCell(
            plan.part,
            plan.start,
            plan.loss,
            plan.data,
            plan.domain,
            plan.temperatures,
            run["seconds"],
            self.figures(model, ratio),
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(cell)) + "\n", encoding="utf-8")
        (run_folder / "checkpoint.pt").unlink()
        return cell


def measure(workplace: Workplace) -> AlignmentStudy:
    """The shipped pair; goes on from the work folder."""
    args = workplace.args
    disable_progress_bar()
    tokens = args.tokens or TOKENS
    if tokens % TOKENS_PER_STEP:
        raise OptionError(
            f"--tokens {tokens} ends within a step: choose a multiple of {TOKENS_PER_STEP}, such as {TOKENS}."
        )
    material = material_of(ROOT / "models", ROOT / "prompts" / "prompts.json", args.work_dir, tokens)
    wanted = [plan for plan in plans()[: args.cells] if not args.finished or material.file(plan).is_file()]
    starts: dict[str, AlignmentStart] = {}
    cells: list[AlignmentCell] = []
    for found in workplace.progress(run_study(material, wanted, workplace.row), "cells", len(wanted) + 2):
        if isinstance(found, AlignmentCell):
            cells.append(found)
        else:
            starts[found[0]] = found[1]
    words = [f"--{name} {value}" for name, value in (("cells", args.cells), ("tokens", args.tokens)) if value]
    words += ["--finished"] * args.finished
    command = " ".join(["specviz study alignment", *words, "--write"])
    origin = origin_here(*(workplace.model(name) for name in ("target", *starts)))
    first = next(iter(material.texts.values()))
    prompts = {domain: sum(judged.text.domain == domain for judged in first) for domain in DOMAINS}
    return AlignmentStudy(
        GAMMA, tokens, prompts, starts, tuple(cells), len(plans()), origin.weights, command, str(origin)
    )


def material_of(models: Path, prompts: Path, folder: Path, tokens: int) -> Material:
    """The exported pair's training texts, and the held-out texts with the target's distributions."""
    options = TrainOptions(work_dir=folder, out_dir=models, prompts=prompts)
    target, tokenizer = load_exported(models / "target"), load_tokenizer(models / "target")
    chosen = held_out_prompts(prompts_of(options))
    texts = {
        heat: judged(target, held_out_texts(target, tokenizer, chosen, heat, folder / "held_out"), heat)
        for heat in TEMPERATURES
    }
    source = source_of(options)
    key = weights_key(*(models / name for name in ("target", WEAK, SHIPPED)))
    return Material(models, source, texts, source.target.dtype, folder / f"study-{key}-{tokens}", tokens)


def held_out_prompts(prompts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The first prompts of every family, about as many of each domain."""
    python = {family.name for family in PYTHON}
    halves = {
        domain: [prompt for prompt in prompts if (prompt["family"] in python) == (domain == "python")]
        for domain in DOMAINS
    }
    return [dict(one) for domain, half in halves.items() for one in first_of_each(half, PROMPTS[domain])]


def run_study(
    material: Material, wanted: Sequence[Plan], report: Callable[[dict[str, Any]], None]
) -> Iterator[tuple[str, AlignmentStart] | AlignmentCell]:
    """First (name, start) of every drafter, then the cells in order."""
    starts = {name: material.start(name) for name in dict.fromkeys(plan.start for plan in wanted)}
    yield from starts.items()
    for number, plan in enumerate(wanted, start=1):
        cell = material.cell(plan, starts[plan.start].memory_ratio)
        heat = {t: {d: round(one.alpha, 4) for d, one in by.items()} for t, by in cell.after.items()}
        report({"cell": f"{number}/{len(wanted)}", "name": plan.name, "seconds": round(cell.seconds, 1), "alpha": heat})
        yield cell


def bytes_per_pass(model: LlamaForCausalLM) -> int:
    """Bytes of weights that one pass reads: all but an input embedding that is no head too, for it gathers rows."""
    size = sum(parameter.numel() for parameter in model.parameters())
    if not model.config.tie_word_embeddings:
        size -= model.model.embed_tokens.weight.numel()
    return 2 * size  # both models are published in bfloat16


def held_out_texts(
    target: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[dict[str, Any]],
    temperature: float,
    folder: Path,
) -> list[WrittenText]:
    """Each prompt with up to 64 tokens of the target's, in fp32; the file's name holds what it was made from."""
    weights = sum(float(parameter.detach().double().abs().sum()) for parameter in target.parameters())
    made_from = json.dumps([[prompt["text"] for prompt in prompts], temperature, NEW_TOKENS, weights])
    path = folder / f"{hashlib.sha256(made_from.encode()).hexdigest()[:16]}.json"
    if not path.is_file():
        found = [tokens for batch in _batches(prompts) for tokens in _written(target, tokenizer, batch, temperature)]
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), encoding="utf-8")
    rows = json.loads(path.read_text(encoding="utf-8"))
    python = {family.name for family in PYTHON}
    ordered = [one for batch in _batches(prompts) for one in batch]
    return [
        WrittenText(
            one["family"], "python" if one["family"] in python else "english", torch.tensor(row["ids"]), row["start"]
        )
        for one, row in zip(ordered, rows, strict=True)
    ]


def _batches(prompts: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    ordered = sorted(prompts, key=lambda prompt: (int(prompt["tokens"]), str(prompt["id"])))
    for first in range(0, len(ordered), ROWS):
        yield ordered[first : first + ROWS]


def _written(
    target: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, batch: list[dict[str, Any]], temperature: float
) -> list[dict[str, Any]]:
    """ids and length of the prompt, a text for each prompt, ended after end-of-text."""
    given = [list(tokenizer(one["text"])["input_ids"]) for one in batch]
    length = max(map(len, given)) + NEW_TOKENS - 1
    generator = torch.Generator().manual_seed(len(given[0]))
    rows = continue_batch(target, [repeat(ids) for ids in given], length, temperature, generator).ids.tolist()
    found = []
    for ids, row in zip(given, rows, strict=True):
        new = row[len(ids) : len(ids) + NEW_TOKENS]
        end = target.config.eos_token_id
        found.append({"ids": ids + (new[: new.index(end) + 1] if end in new else new), "start": len(ids)})
    return found
