"""Every file, or marked part of a file, that follows from the code alone: where it lies and what it must say.

Each part is a function that gives file → text. Parts are computed one after the other, so that two of them may write
different marked sections of one page.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from specviz.app.look.glossary import GLOSSARY_FILE, glossary_json
from specviz.app.page import settings as space
from specviz.app.runs.gallery import INDEX, index_text
from specviz.cli import analysis_report
from specviz.live import catalog
from specviz.proof.document import filled
from specviz.protocol.sweeps import store as sweep_store
from specviz.resources import HASHES, hashes_text
from specviz.resources import ROOT as ASSETS
from specviz.trace import codec
from specviz.trace.declared_method import METHODS_FILE
from specviz.trace.declared_rule import RULES_FILE
from specviz.verifiers.base import declared_rules
from tests.generate import (
    flags,
    machines,
    method_pages,
    methods,
    pair,
    picture,
    predicted,
    script_types,
    studies,
    systems,
)
from tests.proof import planted_list

ROOT = Path(__file__).resolve().parents[2]
Files = Mapping[Path, str]


def catalogue() -> Files:
    """The methods and their options, for a page that opens before torch is loaded."""
    return {ASSETS / "catalog.json": catalog.catalog_to_json(catalog.build())}


def schemas() -> Files:
    """The formats of traces and sweep results, from their types."""
    return {codec.SCHEMA_FILE: codec.schema_text(), sweep_store.SCHEMA_FILE: sweep_store.schema_text()}


def types_of_scripts() -> Files:
    """What `tsc` reads of the trace and of the scripts' namespace."""
    return {script_types.TRACE: script_types.trace_types(), script_types.NAMES: script_types.names()}


def rules() -> Files:
    """What every verifier declares of its rule, for the check of a trace and the player."""
    return {ASSETS / RULES_FILE: declared_rules()}


def hashes() -> Files:
    """What the shipped weights are, so that a damaged file is not run."""
    return {ASSETS / HASHES: hashes_text()}


def glossary() -> Files:
    """The terms that the page explains, from the table of `docs/glossary.md`."""
    table = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    return {ASSETS / GLOSSARY_FILE: glossary_json(table)}


def declared_methods() -> Files:
    """What every drafter, tree policy and stop policy declares of its drafts, for the check of a trace."""
    return {ASSETS / METHODS_FILE: methods.text()}


def space_card() -> Files:
    """The Space's card in the README's front matter, from `spaces_config.yaml`."""
    readme = ROOT / "README.md"
    return {readme: space.front_matter() + space.body(readme.read_text(encoding="utf-8"))}


def recorded_runs() -> Files:
    """What the page's chooser says of each recorded run, from the traces."""
    folder = ASSETS / "traces"
    openings = tomllib.loads((folder / "recordings.toml").read_text(encoding="utf-8"))["openings"]
    return {folder / INDEX: index_text(folder, [f"{name}.json.gz" for name in openings])}


def why_drafts_failed() -> Files:
    """Each drafter's kinds of failure in the recorded runs, from the traces."""
    page = ROOT / "docs" / "analysis.md"
    text = analysis_report.section(ASSETS / "traces", messages=False)
    return {page: filled(page.read_text(encoding="utf-8"), {analysis_report.SECTION: text.rstrip()})}


def planted_bugs() -> Files:
    """Which test catches which planted bug, from the tests."""
    page = planted_list.DOCUMENT
    return {page: filled(page.read_text(encoding="utf-8"), {"planted": planted_list.section()})}


def imports() -> Files:
    """Which folder imports which, from the imports."""
    page = ROOT / "docs" / "architecture.md"
    return {page: filled(page.read_text(encoding="utf-8"), {"imports": picture.section()})}


def method_flags() -> Files:
    """The flags of `specviz run` that come from methods, from the methods."""
    page = ROOT / "docs" / "cli.md"
    return {page: filled(page.read_text(encoding="utf-8"), {"method flags": flags.section()})}


def list_of_studies() -> Files:
    """The index of studies and their flags, from their declarations."""
    page, commands = ROOT / "docs" / "studies.md", ROOT / "docs" / "cli.md"
    return {
        page: filled(page.read_text(encoding="utf-8"), {"studies": studies.index()}),
        commands: filled(commands.read_text(encoding="utf-8"), {"study flags": studies.flags()}),
    }


def pages_of_methods() -> Files:
    """The options on each method's page, and a first page for a method that has none."""
    return method_pages.pages(catalog.own(catalog.build()), ROOT / "docs" / "methods")


def list_of_systems() -> Files:
    """Every published system with the commands that run it, from the method map."""
    page = ROOT / "docs" / "systems.md"
    return {page: filled(page.read_text(encoding="utf-8"), {"systems": systems.section()})}


def predictions() -> Files:
    """Predicted beside measured speedups, from the sweep that the When-it-pays tab opens with."""
    page = ROOT / "docs" / "theory.md"
    return {page: filled(page.read_text(encoding="utf-8"), {predicted.SECTION: predicted.section()})}


def kinds_of_machine() -> Files:
    """The shipped sweep beside what was kept of it on another kind of machine."""
    page = ROOT / "docs" / "bench_sweep.md"
    return {page: filled(page.read_text(encoding="utf-8"), {machines.SECTION: machines.section()})}


def pair_in_short() -> Files:
    """The bundled pair in two sentences."""
    page = ROOT / "docs" / "pair.md"
    return {page: filled(page.read_text(encoding="utf-8"), {pair.SECTION: pair.section()})}


PARTS: tuple[Callable[[], Files], ...] = (
    catalogue, schemas, types_of_scripts, rules, hashes, glossary, declared_methods, space_card, recorded_runs,
    why_drafts_failed, planted_bugs, imports, method_flags, list_of_studies, pages_of_methods, list_of_systems,
    predictions, kinds_of_machine, pair_in_short,
)  # fmt: skip


def stale() -> Iterator[tuple[Path, str]]:
    """Each file that does not say what it must, with what it must say."""
    for part in PARTS:
        for path, text in part().items():
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                yield path, text
