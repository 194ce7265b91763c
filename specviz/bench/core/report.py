"""How reports are written: tables in Markdown, data for JSON, and where numbers come from (models, machine, moment).

Place in the flow: every experiment's `table.py` puts its report together from these.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.errors import BenchError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.protocol.sweeps.points import Quartiles
from specviz.trace.header import Machine, ModelCard, Started, in_role

if TYPE_CHECKING:
    from specviz.lm.load import LoadedModel

DASH = "–"
CLOCKS = {"process": "by the time that the processor worked", "wall": "by the clock on the wall"}
"""the clocks of `core.passes.work_clock`, in words"""


def plain_data(value: Any) -> Any:
    """Dicts and lists all the way down, for JSON: dataclasses and named tuples by the names of their fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain_data(part) for name, part in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: plain_data(part) for name, part in value.items()}
    return [plain_data(part) for part in value] if isinstance(value, list | tuple) else value


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]], words: int = 1) -> str:
    """A table whose first `words` columns are words and whose others are numbers."""
    lines = [head, [*["---"] * words, *["---:"] * (len(head) - words)], *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def spread(value: Quartiles | None) -> str:
    """The median with its quartiles."""
    return DASH if value is None else f"{value.median:.2f} [{value.low:.2f}–{value.high:.2f}]"


def with_interval(estimate: Estimate | None, digits: int = 2) -> str:
    """The value with its interval."""
    if estimate is None:
        return DASH
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}–{estimate.high:.{digits}f}]"


def value_of(estimate: Estimate | None, form: str = "{:.2f}") -> str:
    """The value alone, where a table has no room for more."""
    return or_dash(None if estimate is None else estimate.value, form)


def or_dash(value: float | None, form: str) -> str:
    """The number in that form, or a dash where there is none."""
    return DASH if value is None else form.format(value)


def check_section(page: Path, name: str) -> None:
    """Raises BenchError where the comments are missing: asked before a long measurement, not after it."""
    _parts(page, name)


def write_between(page: Path, name: str, text: str) -> None:
    """Put `text` between `<!-- name -->` and `<!-- /name -->` of a page. Raises BenchError where they are missing."""
    head, tail = _parts(page, name)
    page.write_text(f"{head}<!-- {name} -->\n{text.rstrip()}\n<!-- /{name} -->{tail}", encoding="utf-8")


def between(page: Path, name: str) -> str:
    """What stands between the marks. Raises BenchError where they are missing."""
    head, tail = _parts(page, name)
    text = page.read_text(encoding="utf-8")
    return text[len(head) : len(text) - len(tail)].removeprefix(f"<!-- {name} -->\n").removesuffix(f"<!-- /{name} -->")


def _parts(page: Path, name: str) -> tuple[str, str]:
    """What stands before and after the marked part."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    head, opened, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not opened or not closed:
        raise BenchError(
            f"{page.name} has no place for the tables, which stand between '{begin.strip()}' and '{end}'; "
            "give a page that has these marks."
        )
    return head, tail


@dataclass(frozen=True, slots=True)
class Origin:
    """What was measured, on what, and when."""

    target: ModelCard
    drafters: tuple[ModelCard, ...]
    """the models that drafted, each once"""
    machine: Machine
    created: str
    """UTC, ISO 8601"""

    @property
    def weights(self) -> dict[str, str]:
        """Model → SHA-256 of its weights, which `specviz remake` compares."""
        return {card.name: card.weights_sha256 for card in (self.target, *self.drafters)}

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
