"""The pages of docs/methods: the table of options on each, and a first page for a method that has none yet."""

from collections.abc import Mapping
from pathlib import Path

from specviz.cli.method_flags import option_help
from specviz.proof.document import filled, table
from specviz.protocol.runs import Catalog, MethodDescription

MARK = "<!-- options: "


def pages(catalog: Catalog, folder: Path) -> Mapping[Path, str]:
    """File → text, for every method whose page is missing or has a marked table of options."""
    methods = (*catalog.drafters, *catalog.tree_policies, *catalog.stop_policies, *catalog.verifiers)
    found: dict[Path, str] = {}
    for method in methods:
        path = folder / f"{method.name}.md"
        text = path.read_text(encoding="utf-8") if path.is_file() else _first_page(method)
        if MARK in text:
            found[path] = filled(text, {"options": _options(method)})
    return found


def _options(method: MethodDescription) -> str:
    rows = [[f"`{one.name}`", option_help(one).replace("|", "\\|")] for one in method.options]
    return table(["option", "meaning"], rows) if rows else "It has no options."


def _first_page(method: MethodDescription) -> str:
    head, _, rest = method.description.partition("\n\n")
    marks = f"{MARK}written by `make generate` -->\n<!-- /options -->"
    return "\n\n".join([f"# `{method.name}`", head, *([rest] if rest else []), marks]) + "\n"
