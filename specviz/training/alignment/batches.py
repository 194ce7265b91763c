"""Which rows a step learns from: `corpus`, `target`, `drafter`, or several of them in turn, joined by a plus.

Place in the flow: between the texts and the loop. All but the drafter-written batches are a pure function of the step.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from transformers import LlamaForCausalLM

from specviz.errors import TrainingError
from specviz.training.alignment.texts import DOMAINS, Source, joined_rows
from specviz.training.drafter import TaughtWindows
from specviz.training.drafter_stages import GENERATED_LENGTH
from specviz.training.generation import TaughtRows, continue_batch
from specviz.training.target import layer_outputs, moved
from specviz.training.windows import Batch, Batches, Rotation

ROWS_PER_STEP = 8
BLOCK_ROWS = 48
"""that the drafter writes before it learns from them: few, so that the text is always nearly its own"""
TOKENS_PER_STEP = ROWS_PER_STEP * GENERATED_LENGTH
BOTH = "both"


@dataclass(frozen=True)
class Diet:
    """What an alignment learns from: names of `DATA` joined by `+`, one domain or both, temperatures of written text,
    tokens in all."""

    data: str
    domain: str
    temperatures: tuple[float, ...]
    tokens: int

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains in it. Raises TrainingError for one that there is not."""
        if self.domain != BOTH and self.domain not in DOMAINS:
            raise TrainingError(f"There is no domain '{self.domain}': choose {', '.join((*DOMAINS, BOTH))}.")
        return DOMAINS if self.domain == BOTH else (self.domain,)

    def rows(self, parts: int) -> int:
        """Rows that each of `parts` equal parts of one source gives."""
        return max(1, -(-self.tokens // (GENERATED_LENGTH * len(self.names) * parts)))

    @property
    def names(self) -> list[str]:
        """The sources. Raises TrainingError for one that there is not."""
        found = self.data.split("+")
        for name in found:
            if name not in DATA:
                raise TrainingError(f"There is no data '{name}': join {', '.join(DATA)} with a plus.")
        return found


def batches_of(diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> Batches:
    """The batches of every step; `drafter` is the model that learns, read anew for each block that it writes."""
    return Rotation([DATA[name](diet, source, drafter, seed) for name in diet.names])


def _corpus(diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> Batches:
    rows = diet.rows(len(diet.domains))
    parts = [source.corpus(domain, rows) for domain in diet.domains]
    return TaughtWindows(joined_rows(parts, [rows] * len(parts)), ROWS_PER_STEP, seed)


def _target(diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> Batches:
    kinds = [(domain, temperature) for domain in diet.domains for temperature in diet.temperatures]
    rows = diet.rows(len(kinds))
    parts = [source.written(domain, temperature, rows) for domain, temperature in kinds]
    return TaughtWindows(joined_rows(parts, [rows] * len(parts)), ROWS_PER_STEP, seed)


def _drafter(diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> Batches:
    return OnPolicy(diet, source, drafter, seed)


Maker = Callable[[Diet, Source, LlamaForCausalLM, int], Batches]
DATA: Mapping[str, Maker] = {"corpus": _corpus, "target": _target, "drafter": _drafter}


class OnPolicy:
    """Text that the drafter itself writes as it learns, read by the target (on-policy data of DistillSpec).

    The drafter of the moment writes a block of rows, domains side by side and the temperatures in turn from block to
    block; its steps are learnt from, and then it writes the next. A resumed run writes its block anew with the weights
    that it resumes with.
    """

    def __init__(self, diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> None:
        """Nothing is written before the first batch."""
        self.diet, self.source, self.drafter, self.seed = diet, source, drafter, seed
        self.block, self.windows = -1, None

    windows: TaughtWindows | None

    def batch(self, step: int) -> Batch:
        """Eight rows of the block that this step lies in."""
        per_block = BLOCK_ROWS // ROWS_PER_STEP
        block, place = divmod(step, per_block)
        if block != self.block or self.windows is None:
            self.block = block
            self.windows = TaughtWindows(self.written(block), ROWS_PER_STEP, self.seed + block)
        return self.windows.batch(place)

    @torch.inference_mode()
    def written(self, block: int) -> TaughtRows:
        """The block's rows, with the target's states."""
        temperature = self.diet.temperatures[block % len(self.diet.temperatures)]
        seed = 1 + self.seed + block  # never the seed that the target writes with
        given = [self.source.beginnings(domain, seed) for domain in self.diet.domains]
        rows = [given[row % len(given)][row] for row in range(BLOCK_ROWS)]
        writer = moved(copy.deepcopy(self.drafter), dtype=self.source.target.dtype).eval()
        generator = torch.Generator().manual_seed(seed)
        ids = continue_batch(writer, rows, GENERATED_LENGTH, temperature, generator).ids
        read = torch.from_numpy(ids.astype(np.int64))
        last = self.source.target.model.norm(layer_outputs(self.source.target, read[:, :-1])[-1])
        return TaughtRows(ids, last.half().numpy())
