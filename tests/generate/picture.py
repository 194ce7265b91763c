"""The picture of the package, drawn from its imports: which folder imports from which.

An arrow that follows from two others is left out (transitive reduction). Modules are not counted: a new one that
imports nothing new shall change nothing here.
"""

from __future__ import annotations

import grimp
import networkx as nx

GROUND = "ground"
"""the single modules that everything stands on, drawn as one"""
DOORS = ("specviz", "specviz.__main__")


def folders() -> nx.DiGraph[str]:
    """Folder → folder, where a module of the first imports from the second."""
    imports = grimp.build_graph("specviz", cache_dir=None)
    modules = sorted(imports.modules - set(DOORS))
    packages = {name.split(".")[1] for name in modules if name.count(".") > 1}

    def folder(module: str) -> str:
        name = module.split(".")[1]
        return name if name in packages else GROUND

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(sorted({folder(module) for module in modules}))
    for module in modules:
        for one in sorted(imports.find_modules_directly_imported_by(module) - set(DOORS)):
            if folder(one) != folder(module):
                graph.add_edge(folder(module), folder(one))
    return graph


def section() -> str:
    """A mermaid drawing."""
    graph = folders()
    drawn = nx.transitive_reduction(graph)
    order = list(nx.lexicographical_topological_sort(graph))
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'  {name}["{_title(name)}"]' for name in order]
    lines += [f"  {a} --> {b}" for a in order for b in order if drawn.has_edge(a, b)]
    return "\n".join([*lines, "```"])


def _title(name: str) -> str:
    return "errors, options, registry, …" if name == GROUND else name
