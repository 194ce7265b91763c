"""Where numbers come from: the models, the machine and the moment behind a report, and the sentence that says so."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from specviz.trace.header import Machine, ModelCard, Started, in_role

if TYPE_CHECKING:
    from specviz.lm.load import LoadedModel


@dataclass(frozen=True, slots=True)
class Origin:
    """What was measured, on what, and when."""

    target: ModelCard
    drafters: tuple[ModelCard, ...]
    """the models that drafted, each once"""
    machine: Machine
    created: str
    """UTC, ISO 8601"""

    def __str__(self) -> str:
        """A sentence for the end of a report. It names the processor, never the host."""
        machine = self.machine
        models = ", ".join([_model("target", self.target), *(_model("drafter", drafter) for drafter in self.drafters)])
        return (
            f"{machine.processor}, {machine.cores} cores, {machine.threads} thread{'s' * (machine.threads != 1)}, "
            f"{machine.device}, {self.target.dtype}; Python {machine.python}, torch {machine.torch}, transformers "
            f"{machine.transformers}, {machine.system}. {self.created}. {models}."
        )


def origin_of(headers: Sequence[Started]) -> Origin:
    """The origin of runs, by their headers, of which there is at least one."""
    models = (header.drafter.model for header in headers)
    drafters = {card.weights_sha256: card for card in models if card is not None}
    first = headers[0]
    return Origin(first.target, tuple(drafters.values()), first.machine, first.created)


def origin_here(target: LoadedModel, *drafters: LoadedModel) -> Origin:
    """The origin of what was measured without a run: these models, this machine, now."""
    from specviz.engine.header import model_card
    from specviz.lm.step_time import machine

    here = machine(target.model.device, target.info.dtype)
    return Origin(model_card(target.info), tuple(model_card(drafter.info) for drafter in drafters), here, now_utc())


def machine_load() -> float | None:
    """Programs that wanted to compute, mean of the last minute, this one among them; None where no system says."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def now_utc() -> str:
    """The moment as `2026-01-31T12:00:00Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _model(role: str, card: ModelCard) -> str:
    return f"{in_role(role, card.name)} ({card.parameters:,} parameters, sha256 {card.weights_sha256[:12]})"
