"""A recorded measurement of prompt styles as a chart, a table and sentences can say it. Reads the shipped file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specviz.app.parts.shipped_file import read_shipped
from specviz.errors import OptionError
from specviz.protocol import styles
from specviz.protocol.styles import StyleFile
from specviz.resources import STYLES
from specviz.studies.styles.numbers import Group, example, names
from specviz.studies.styles.numbers import group as measured
from specviz.studies.styles.result import how, hypotheses, sentence


@dataclass(frozen=True, slots=True)
class StylesView:
    """One group of questions."""

    group: Group
    sentence: str
    hypotheses: tuple[tuple[str, str], ...]
    """(what is supposed, what was measured)"""
    written: tuple[tuple[str, str, str], ...]
    """(style, prompt, what the target wrote) of one question"""
    origin: str


def shipped(file: Path = STYLES) -> StyleFile | None:
    """The shipped measurement; None where there is none. A damaged file is only logged: the page can do without."""
    return read_shipped(file, styles.read)


def styles_view(file: StyleFile, name: str) -> StylesView:
    """One group of a file. Raises OptionError for one that was not measured."""
    if name not in names(file):
        raise OptionError(f"'{name[:40]}' was not measured; choose {'; '.join(names(file))}.")
    group = measured(file, name)
    written = tuple((one.cell.style, one.prompt, one.text) for one in example(file, group.kind, group.asked))
    machine = file.machine
    origin = (
        f"Recorded {file.created} on {machine.processor}, {machine.cores} cores, {machine.threads} "
        f"thread{'s' * (machine.threads != 1)}, {machine.device}, {machine.dtype}; {file.target.name}"
        f"{''.join(f' and {one.name}' for one in file.drafters)}; {how(file)}."
    )
    return StylesView(group, sentence(group), hypotheses(group), written, origin)
