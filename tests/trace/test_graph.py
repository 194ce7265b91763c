"""A round's tree in networkx: a real tree, with the trace's facts on it, for other tools."""

import json
from dataclasses import replace
from io import BytesIO

import networkx as nx
import pytest

from specviz.errors import TraceError
from specviz.trace.exports.tables import graphml, node_link_json, to_graph
from tests.trace.changing import sample

TREE = 1


def test_every_round_of_the_sample_is_an_arborescence_of_the_right_depth() -> None:
    for this in sample().rounds:
        graph = to_graph(this)
        assert nx.is_arborescence(graph)
        assert nx.dag_longest_path_length(graph, weight=None, default_weight=1) == max(
            node.depth for node in this.nodes
        )


def test_branching_three_two_one() -> None:
    graph = to_graph(sample().rounds[TREE])
    assert [graph.out_degree(node) for node in (0, 1, 4, 10)] == [3, 2, 1, 0]
    assert [graph.edges[0, child]["order"] for child in (1, 2, 3)] == [0, 1, 2]


def test_nodes_carry_what_the_trace_says() -> None:
    graph = to_graph(sample().rounds[TREE], sample())
    node = graph.nodes[1]
    assert (node["text"], node["fate"], node["kind"]) == (" *", "rejected", "without_replacement")
    assert (node["target_prob"], node["draft_prob"]) == (0.15, 0.5)
    assert "target_prob" not in graph.nodes[0], "the root was not drawn"


def test_a_second_root_is_refused() -> None:
    this = sample().rounds[0]
    nodes = [*this.nodes[:2], replace(this.nodes[2], parent=-1), *this.nodes[3:]]
    with pytest.raises(TraceError, match=r"rounds\[0\].nodes do not form one tree under node 0"):
        to_graph(replace(this, nodes=nodes))


def test_node_link_json_is_read_back_by_networkx() -> None:
    graph = to_graph(sample().rounds[TREE], sample())
    again = nx.node_link_graph(json.loads(node_link_json(graph)), edges="edges")
    assert nx.utils.graphs_equal(again, graph)


def test_graphml_is_read_back_even_with_hostile_tokens() -> None:
    for this in sample().rounds:
        graph = to_graph(this, sample())
        again = nx.read_graphml(BytesIO(graphml(graph)), node_type=int)
        assert sorted(again.edges) == sorted(graph.edges)
        assert [again.nodes[n]["fate"] for n in sorted(again)] == [node.fate for node in this.nodes]


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    graph = to_graph(sample().rounds[4], sample())
    graph.nodes[0]["text"] = "a\x00\x1b[1m<\ufffe"
    assert nx.read_graphml(BytesIO(graphml(graph)), node_type=int).nodes[0]["text"] == "a\ufffd\ufffd[1m<\ufffd"
    assert graph.nodes[0]["text"] == "a\x00\x1b[1m<\ufffe", "the graph itself stays as it was"
