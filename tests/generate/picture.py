"""The picture of the package, drawn from its imports: folders, and how many modules of one import from another.

An arrow that follows from two others is left out of the drawing (transitive reduction) and stands in the table.
"""

from __future__ import annotations

from collections import Counter

import grimp
import networkx as nx

from specviz.proof.document import table

GROUND = "ground"
"""the single modules that everything stands on, drawn as one"""
DOORS = ("specviz", "specviz.__main__")


def folders() -> nx.DiGraph[str]:
    """Folder → folder, `count`: modules of the first that import from the second; `size`: modules of a folder."""
    imports = grimp.build_graph("specviz", cache_dir=None)
    modules = sorted(imports.modules - set(DOORS))
    packages = {name.split(".")[1] for name in modules if name.count(".") > 1}

    def folder(module: str) -> str:
        name = module.split(".")[1]
        return name if name in packages else GROUND

    sizes = Counter(folder(module) for module in modules)
    pairs = Counter(
        (folder(module), other)
        for module in modules
        for other in {folder(one) for one in imports.find_modules_directly_imported_by(module) if one not in DOORS}
        if other != folder(module)
    )
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from((name, {"size": sizes[name]}) for name in sorted(sizes))
    graph.add_edges_from((*pair, {"count": count}) for pair, count in sorted(pairs.items()))
    return graph


def section() -> str:
    """A mermaid drawing and the table of all imports between folders."""
    graph = folders()
    drawn = nx.transitive_reduction(graph)
    order = list(nx.lexicographical_topological_sort(graph))
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'  {name}["{_title(name)}<br/>{graph.nodes[name]["size"]} modules"]' for name in order]
    lines += [f"  {a} -->|{graph.edges[a, b]['count']}| {b}" for a in order for b in order if drawn.has_edge(a, b)]
    rows = [[_title(name), str(graph.nodes[name]["size"]), _imports(graph, name, order)] for name in order]
    return "\n".join([*lines, "```", "", table(["folder", "modules", "imports from (modules that do)"], rows)])


def _title(name: str) -> str:
    return "errors, options, registry, …" if name == GROUND else name


def _imports(graph: nx.DiGraph[str], name: str, order: list[str]) -> str:
    found = [f"{_title(other)} {graph.edges[name, other]['count']}" for other in order if graph.has_edge(name, other)]
    return " · ".join(found) or "–"
