"""The report behind a page of `specviz bench drafters`, kept as JSON beside it.

So one drafter can be measured anew without losing the others.

Place in the flow: read before a measurement that writes, written after it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specviz.bench.drafters.table import DrafterReport, DrafterRow, Part, Section, marked
from specviz.errors import BenchError
from specviz.protocol.sweeps.points import BASELINE

_ADAPTER = TypeAdapter(DrafterReport)
_SETTING = ("prompts", "warm_up_prompts", "repeats", "max_new_tokens", "temperatures", "seed")
"""what rows must have in common to stand in one table"""


def place_of_report(page: Path) -> Path:
    """Where the report of a page lies."""
    return page.with_suffix(".json")


def read_report(path: Path) -> DrafterReport | None:
    """None where there is no file. Raises BenchError where it holds no such report."""
    try:
        return _ADAPTER.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BenchError(f"{path.name}: cannot be read ({error.strerror}); check the path.") from None
    except ValidationError:
        raise BenchError(
            f"{path.name} holds no report of `specviz bench drafters` of this release; run all drafters once with "
            "--write, which writes it anew."
        ) from None


def write_report(report: DrafterReport, path: Path) -> None:
    """As JSON, indented, so that a change is read line by line."""
    path.write_bytes(_ADAPTER.dump_json(report, indent=1) + b"\n")


def merged(kept: DrafterReport, fresh: DrafterReport) -> DrafterReport:
    """The kept rows, with those of the drafters that were measured anew replaced.

    Plain decoding keeps its row: every other one was measured against the plain runs beside it. Raises BenchError
    where the two were measured differently, or on other machines or models.
    """
    check_mergeable(kept, fresh)
    anew = {row.drafter for part in fresh.parts for row in _rows_of(part)} | set(fresh.absent)
    anew -= {BASELINE}
    absent = {name: why for name, why in kept.absent.items() if name not in anew} | fresh.absent
    later = {name: when for name, when in kept.later.items() if name not in anew}
    later |= dict.fromkeys(sorted(anew - set(fresh.absent)), fresh.origin.created)
    drafters = {card.weights_sha256: card for card in (*kept.origin.drafters, *fresh.origin.drafters)}
    return replace(
        kept,
        parts=tuple(_part(*both, anew) for both in zip(kept.parts, fresh.parts, strict=True)),
        absent=absent,
        origin=replace(kept.origin, drafters=tuple(drafters.values())),
        later=later,
        unequal=(*kept.unequal, *fresh.unequal),
        complete=kept.complete and fresh.complete,
    )


def check_mergeable(kept: DrafterReport, fresh: DrafterReport) -> None:
    """Raises BenchError where rows of the two cannot stand in one table."""
    pairs = [(name, getattr(kept, name), getattr(fresh, name)) for name in _SETTING]
    old, new = kept.origin, fresh.origin
    pairs += [("machine", old.machine, new.machine), ("weights of the target", old.target, new.target)]
    pairs += [("families", _families(kept), _families(fresh))]
    other = next((what for what, before, now in pairs if before != now), None)
    if other is not None:
        raise BenchError(
            f"the other rows of the page were measured with other {other}, so they cannot stand beside these; measure "
            "as they were, or all drafters anew by leaving --drafters out."
        )


def _families(report: DrafterReport) -> list[list[str]]:
    return [[section.family for section in part.sections] for part in report.parts]


def _rows_of(part: Part) -> list[DrafterRow]:
    return [row for section in (*part.sections, part.repeating) for row in section.rows]


def _part(before: Part, now: Part, anew: set[str]) -> Part:
    pairs = zip((*before.sections, before.repeating), (*now.sections, now.repeating), strict=True)
    *sections, repeating = (_section(*pair, anew) for pair in pairs)
    return replace(before, sections=tuple(sections), repeating=repeating)


def _section(before: Section, now: Section, anew: set[str]) -> Section:
    rows = [row for row in before.rows if row.drafter not in anew]
    rows += [row for row in now.rows if row.drafter in anew]
    return Section(before.family, marked(sorted(rows, key=_order)))


def _order(row: DrafterRow) -> tuple[bool, str, str]:
    """Plain decoding first, then by name, cold before warm."""
    return row.drafter != BASELINE, row.drafter, row.memory
