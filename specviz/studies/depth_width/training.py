"""Both families of small models, trained from one reading of the target: the same texts, places, seed and tokens for
every network, so that what differs is depth and width alone; and once more from the same texts without the target, so
that between two networks of one shape only what was learnt differs.

Place in the flow: half of `specviz study depth-width`. It goes on from its work folder and leaves a folder of weights
for each network, which the drafter `small_model` calls by name; `measure` times and replays them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from specviz.drafters.learned.weights import read_module
from specviz.drafters.small_model import BLOCKS, STUDIED, WHOLE, SmallModelModule, SmallModelShape, members, shape_of
from specviz.lm.base import GivesFeatures
from specviz.lm.load import load
from specviz.training.mixture import DocumentWindows
from specviz.training.modules.measure import HELD_OUT_SEED
from specviz.training.modules.texts import TextOptions
from specviz.training.modules.train import KL, TEXT, ModuleTraining, Training, Wanted

MOST_TOKENS = 20_000_000
TABLES_ONLY = 10
"""all matrices of all networks learn by the same optimiser, those between the target's width and the narrowest too"""
LENGTH = 192
TEXTS = 32
"""held-out texts: of the corpus of each kind, and that the target writes"""


@dataclass(frozen=True, slots=True)
class Quality:
    """One network on held-out text, as its weights are written."""

    parameters: int
    """that were trained"""
    perplexity: float
    """per token of the corpus"""
    agreement: float
    acceptance: float
    """both at depth 1, as `measure.Acceptance`"""


def wanted() -> tuple[Wanted, ...]:
    """Every network of both families."""
    return tuple(
        Wanted(SmallModelModule.name, {"size": size, "layers": layers}, folder_of(name))
        for name in STUDIED
        for layers, size in [shape_of(name)]
    )


def folder_of(network: str) -> str:
    """The folder of its weights."""
    layers, size = shape_of(network)
    return SmallModelModule.folder_name(SmallModelShape(size=size, layers=layers))


def training_of(minutes: float, tokens: int, target: str, work_dir: Path, loss: str = KL) -> ModuleTraining:
    """All of them from the same batches; ends when minutes (0: no limit) or tokens are used."""
    return ModuleTraining(
        wanted(),
        target=target,
        minutes=minutes,
        tokens=tokens,
        loss=loss,
        characters=3_000_000,
        texts=TextOptions(length=LENGTH),
        lr=0.02,
        work_dir=work_dir,
        measure_every_s=300.0,
        table_ratio=TABLES_ONLY,
        same_draws=True,
    )


class DepthStudy:
    """The training, and the networks on held-out text."""

    def __init__(self, training: ModuleTraining, out: Path, like: DepthStudy | None = None) -> None:
        """`out`: where the folders of weights go; `like`: a trained study, whose batches and learning rates it takes.
        Raises what `Training` does."""
        self.training, self.out = training, out
        self._under_way: Training = Training(training, like=None if like is None else like._under_way)

    def from_the_text(self, out: Path) -> DepthStudy:
        """The same networks once more, trained, after this one is, by cross entropy to the text's own next tokens. Its
        weights go to `out`. Raises TrainingError where this one is not finished."""
        return DepthStudy(replace(self.training, loss=TEXT), out, self)

    def train(self, report: Callable[[dict[str, Any]], None]) -> int:
        """Train on from where it was left, write every network, and return the tokens that each learnt from. The
        checkpoint stays, so that the same study finds it finished."""
        self._under_way.run(report)
        self._under_way.export(self.out)
        return self.tokens

    @property
    def tokens(self) -> int:
        """That each network has learnt from."""
        return self._under_way.loop.progress.tokens

    @property
    def written_share(self) -> float:
        """Of those tokens: in rows that the target wrote."""
        return self._under_way.texts.written_share(self._under_way.loop.progress.step)

    def qualities(self) -> Iterator[tuple[str, Quality]]:
        """Folder and quality of every network as it was written, which is as it will draft."""
        target = load(self.training.target, device="cpu", dtype="float32").model
        assert isinstance(target, GivesFeatures), "this target gives no states."
        read = self._under_way.held_out_text(TEXTS, self.training.texts.length)
        corpus = self._corpus()
        for label in self._under_way.modules:
            module = read_module(self.out / label, target)
            assert isinstance(module, SmallModelModule), f"{label} holds a '{module.name}'."
            found = read.measure(module, most=1)
            perplexity = _perplexity(module.logits, corpus)
            yield label, Quality(module.parameter_count(), perplexity, found.agreement[0], found.acceptance[0])

    def target_perplexity(self) -> float:
        """Of the target on the same text of the corpus."""
        return _perplexity(lambda tokens: self._under_way.teacher.read(tokens, []).logits, self._corpus())

    def _corpus(self) -> Tensor:
        """Held-out windows, tokens [texts of both kinds, length]."""
        rows = []
        for domain in self._under_way.texts.domains:
            windows = DocumentWindows(domain.held_out, self.training.texts.length - 1, HELD_OUT_SEED)
            rows += [windows.window(number) for number in range(TEXTS)]
        return torch.from_numpy(np.stack(rows).astype(np.int64))


@torch.no_grad()
def _perplexity(logits: Callable[[Tensor], Tensor], tokens: Tensor) -> float:
    """e to the mean nats of every token but the texts' first."""
    nats = [
        functional.cross_entropy(logits(row)[0, :-1].float(), row[0, 1:], reduction="sum") for row in tokens.split(1)
    ]
    return exp(float(torch.stack(nats).sum()) / (tokens.shape[0] * (tokens.shape[1] - 1)))


def by_family(found: Mapping[str, Quality]) -> Iterator[tuple[str, str, Quality]]:
    """(family, network, quality), family by family, the shallowest first."""
    for family in (BLOCKS, WHOLE):
        for name in members(family):
            yield family, name, found[folder_of(name)]
