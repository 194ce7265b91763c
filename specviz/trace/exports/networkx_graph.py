"""One round's draft tree as a networkx graph: checked to be a tree, exported for other tools."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import networkx as nx

from specviz.errors import TraceError
from specviz.trace.events import Node, Round, Trace
from specviz.trace.replay import token_bytes


def to_graph(this: Round, trace: Trace | None = None) -> nx.DiGraph[int]:
    """Nodes carry token, depth, fate, kind, probabilities and place; with `trace`, the token's text too.

    Edges run from parent to child and carry `order`, the draw order among siblings, and `accepted`.
    Raises TraceError where the parents do not make a tree rooted at node 0.
    """
    graph: nx.DiGraph[int] = nx.DiGraph(round=this.index, base_length=this.base_length, rule=this.judged.rule)
    children: dict[int, int] = {}
    for node in this.nodes:
        graph.add_node(node.id, **_attributes(node, trace))
    for node in this.nodes:
        if node.parent >= 0:
            order = children[node.parent] = children.get(node.parent, -1) + 1
            graph.add_edge(node.parent, node.id, order=order, accepted=node.fate == "accepted")
    if not nx.is_arborescence(graph) or graph.in_degree(0) != 0:
        raise TraceError(f"rounds[{this.index}].nodes do not form one tree under node 0; check their parents.")
    return graph


def _attributes(node: Node, trace: Trace | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "token": node.token,
        "depth": node.depth,
        "fate": node.fate,
        "kind": node.kind,
        "source": node.source,
        "x": node.x,
        "y": node.y,
    }
    if trace is not None:
        attributes["text"] = token_bytes(trace, node.token).decode(errors="replace")
    for name in ("target_prob", "draft_prob"):
        if (value := getattr(node, name)) is not None:
            attributes[name] = value
    return attributes


def node_link_json(graph: nx.DiGraph[int]) -> str:
    """networkx's node-link JSON, read back by `nx.node_link_graph(json.loads(...), edges="edges")`."""
    return json.dumps(nx.node_link_data(graph, edges="edges"), sort_keys=True, allow_nan=False)


def graphml(graph: nx.DiGraph[int]) -> bytes:
    """GraphML, opened by Gephi, yEd or Cytoscape. Control characters, which XML cannot hold, show as U+FFFD."""
    printable = graph.copy()
    for _, attributes in printable.nodes(data=True):
        if "text" in attributes:
            attributes["text"] = "".join(_xml_character(character) for character in attributes["text"])
    buffer = BytesIO()
    nx.write_graphml_xml(printable, buffer, encoding="utf-8")
    return buffer.getvalue()


def _xml_character(character: str) -> str:
    allowed = character in "\t\n\r" or " " <= character < "\ufffe" or character > "\uffff"
    return character if allowed else "\ufffd"
