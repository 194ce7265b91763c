"""The study: every loss on every kind of text for equally many tokens, measured before and after on held-out prompts.

Place in the flow: `specviz study alignment` runs it and keeps the result. Each finished cell is a file in the work
folder, so an interrupted study goes on where it stopped.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

from specviz.corpus.prompt_families import PYTHON
from specviz.errors import TrainingError
from specviz.studies.alignment.result import AlignmentCell, AlignmentFigures, AlignmentStart, Measured, cell_of
from specviz.theory.formulas import memory_bound_speedup
from specviz.training.alignment.align import Recipe, aligned, source_of, weights_key
from specviz.training.alignment.batches import BOTH, DATA, Diet
from specviz.training.alignment.held_out import held_out_texts
from specviz.training.alignment.losses import LOSSES
from specviz.training.alignment.measure import JudgedText, judged, measured
from specviz.training.alignment.texts import DOMAINS, Source
from specviz.training.options import TrainOptions
from specviz.training.pair_report import first_of_each
from specviz.training.publication import prompts_of
from specviz.training.publish import load_exported
from specviz.training.tokenizer import load_tokenizer

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
        heats = "-".join(f"{one:g}" for one in self.temperatures)
        return f"{self.start}.{self.loss}.{self.data}.{self.domain}.{heats}"


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
class Study:
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
            return cell_of(json.loads(path.read_text(encoding="utf-8")))
        drafter = load_exported(self.models / plan.start).train()
        diet = Diet(plan.data, plan.domain, plan.temperatures, self.tokens)
        recipe = Recipe(plan.loss, diet, LEARNING_RATES[plan.start])
        run_folder = self.folder / "runs" / plan.name
        model, run = aligned(drafter, recipe, self.source, self.dtype, run_folder, lambda row: None)
        if run["tokens"] != self.tokens:
            raise TrainingError(f"{plan.name} learnt from {run['tokens']} tokens and not from {self.tokens}.")
        cell = AlignmentCell(
            plan.part, plan.start, plan.loss, plan.data, plan.domain, plan.temperatures, run["seconds"],
            self.figures(model, ratio),
        )  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(cell)) + "\n", encoding="utf-8")
        (run_folder / "checkpoint.pt").unlink()
        return cell


def material(models: Path, prompts: Path, folder: Path, tokens: int) -> Study:
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
    return Study(models, source, texts, source.target.dtype, folder / f"study-{key}-{tokens}", tokens)


def held_out_prompts(prompts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The first prompts of every family, about as many of each domain."""
    python = {family.name for family in PYTHON}
    halves = {
        domain: [one for one in prompts if (one["family"] in python) == (domain == "python")] for domain in DOMAINS
    }
    return [dict(one) for domain, half in halves.items() for one in first_of_each(half, PROMPTS[domain])]


def run_study(
    study: Study, wanted: Sequence[Plan], report: Callable[[dict[str, Any]], None]
) -> Iterator[tuple[str, AlignmentStart] | AlignmentCell]:
    """First (name, start) of every drafter, then the cells in order."""
    starts = {name: study.start(name) for name in dict.fromkeys(plan.start for plan in wanted)}
    yield from starts.items()
    for number, plan in enumerate(wanted, start=1):
        cell = study.cell(plan, starts[plan.start].memory_ratio)
        heat = {t: {d: round(one.alpha, 4) for d, one in by.items()} for t, by in cell.after.items()}
        report({"cell": f"{number}/{len(wanted)}", "name": plan.name, "seconds": round(cell.seconds, 1), "alpha": heat})
        yield cell


def bytes_per_pass(model: LlamaForCausalLM) -> int:
    """Bytes of weights that one pass reads: all but an input embedding that is no head too, for it gathers rows."""
    size = sum(parameter.numel() for parameter in model.parameters())
    if not model.config.tie_word_embeddings:
        size -= model.model.embed_tokens.weight.numel()
    return 2 * size  # both models are published in bfloat16
