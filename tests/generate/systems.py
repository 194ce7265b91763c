"""The list of systems in `docs/systems.md`: status, one command, recording and page of each, from the method map."""

from collections.abc import Iterator

from specviz.app.map import NEW, Preset, System, is_new, recordings, systems
from specviz.bench.core.report import markdown_table
from tests.generate.as_typed import command

HEAD = ("system", "first paper", "papers", "status", "what to type", "recording", "page")


def section() -> str:
    return markdown_table(HEAD, [row for one in systems() for row in _rows(one)], words=len(HEAD))


def commands() -> list[str]:
    """Every command of the list, once."""
    return list(dict.fromkeys(line for one in systems() for line in (*map(_run_of, one.presets), *one.commands)))


def _rows(one: System) -> Iterator[tuple[str, ...]]:
    """One row a preset or command; the system's own cells stand in the first of them."""
    papers = " ".join(f"[{number}](https://arxiv.org/abs/{number})" for number in one.arxiv)
    date = f"{one.date}, **{NEW}**" if is_new(one) else one.date
    head = (one.name, date, papers, one.status)
    tails = [_preset(preset) for preset in one.presets] + [(f"`{line}`", "", "") for line in one.commands]
    for number, tail in enumerate(tails or [("", "", "")]):
        yield (*(head if number == 0 else ("",) * len(head)), *tail)


def _preset(preset: Preset) -> tuple[str, str, str]:
    return (
        f"{preset.label}: `{_run_of(preset)}`",
        f"`{preset.recording}`",
        f"[{preset.page}](methods/{preset.page}.md)",
    )


def _run_of(preset: Preset) -> str:
    return command(recordings()[preset.recording])
