"""Whether what a step makes is of the weights that are bundled now, and if not, why.

Place in the flow: `specviz remake` runs the steps for which there is a reason here, and asks again after each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from specviz.cli.remake.made_with import named
from specviz.cli.remake.steps import SWEEP, Output, Step
from specviz.errors import SpecVizError


def reasons(step: Step, root: Path, weights: Mapping[str, str]) -> list[str]:
    """Why the step has to be run, a sentence for each output; none where all of them are of these weights.

    `weights`: bundled model → the beginning of its hash. Raises SpecVizError where a model is missing that it needs.
    """
    missing = [name for name in step.rests_on if name not in weights]
    if missing:
        raise SpecVizError(f"the bundled model '{missing[0]}' has no weights here, on which '{step.name}' rests.")
    wanted = {name: weights[name] for name in step.rests_on}
    return [why for output in step.outputs for why in _of(output, root, wanted, set(weights.values()))]


def _of(output: Output, root: Path, wanted: Mapping[str, str], known: set[str]) -> Iterator[str]:
    place = Path(output.path)  # absolute where the study is of another package
    base = Path(place.anchor) if place.is_absolute() else root
    there = base.glob(str(place.relative_to(place.anchor)))
    paths = sorted(path for path in there if not (output.without and path.match(output.without)))
    if not paths:
        yield f"{output}: not there"
        return
    if output.keeps_others:
        found = set().union(*(named(path, output.section) for path in paths))
        yield from _lacking(str(output), found, wanted)
        return
    for path in paths:
        short = path.relative_to(root) if path.is_relative_to(root) else path
        name = f"{short}{f' ({output.section})' if output.section else ''}"
        found = named(path, output.section)
        foreign = sorted(found - known)
        if foreign:
            yield f"{name}: made with other weights ({', '.join(foreign)})"
        else:
            yield from _lacking(name, found, wanted)
        if path.name == Path(f"{SWEEP}.json.gz").name:
            yield from _unfinished(path, name)


def _lacking(name: str, found: set[str], wanted: Mapping[str, str]) -> Iterator[str]:
    if not found:
        yield f"{name}: names no weights"
        return
    for model, digits in wanted.items():
        if digits not in found:
            yield f"{name}: not made with the bundled {model} ({digits})"


def _unfinished(path: Path, name: str) -> Iterator[str]:
    from specviz.protocol.sweeps.definition import fingerprint
    from specviz.protocol.sweeps.store import read
    from specviz.protocol.sweeps.toml_file import read_definition

    result = read(path)
    if result.definition_sha256 != fingerprint(read_definition(path.with_name(f"{Path(SWEEP).name}.toml"))):
        yield f"{name}: the sweep file asks for other runs"
    elif not result.complete:
        yield f"{name}: {len(result.points)} of {result.planned_runs} runs are done"
