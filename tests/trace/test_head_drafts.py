"""What the check of a trace holds drafters with trained heads to."""

from dataclasses import replace

import pytest

from specviz.drafters.eagle import EagleModule
from specviz.drafters.learned.eagle_network import EagleShape
from specviz.drafters.learned.module import MODULES, TargetParts, fresh
from specviz.drafters.learned.weights import write_module
from specviz.options import from_mapping
from specviz.trace.check import check
from tests.proof.letters import toy_loader, toy_run, toy_source

source = pytest.fixture(toy_source, scope="module")


def traced(source, drafter="medusa", **options):
    options = {"weights": "untrained", **options}
    return toy_run(source, drafter=drafter, drafter_options=options, temperature=0.8, max_new_tokens=12)


def changed(trace, **values):
    """The trace with the first round's draft otherwise."""
    first = trace.rounds[0]
    return replace(trace, rounds=[replace(first, **values), *trace.rounds[1:]])


def sentences(trace):
    return " ".join(problem.sentence for problem in check(trace))


def test_a_pass_that_claims_rows_of_its_own_is_found(source):
    trace = traced(source, nodes=4)
    drafted = trace.rounds[0].drafted
    passes = [replace(one, cached_rows=3) for one in drafted.passes]
    assert "is 3, but 'medusa' keeps none" in sentences(changed(trace, drafted=replace(drafted, passes=passes)))


@pytest.mark.parametrize(
    ("ran", "said", "sentence"),
    [
        ({"nodes": 4}, {"nodes": 2}, "hold 4 candidates, but 'medusa' ran with nodes 2"),
        ({"nodes": 0, "gamma": 3}, {"gamma": 4}, "has 0 children, but the options give 1 at its level"),
    ],
    ids=["more candidates than the static tree has", "a chain shorter than its heads"],
)
def test_a_draft_of_another_size_than_the_header_says_is_found(source, ran, said, sentence):
    trace = traced(source, **ran)
    card = replace(trace.started.drafter, options={**trace.started.drafter.options, **said})
    assert sentence in sentences(replace(trace, started=replace(trace.started, drafter=card)))


def test_a_static_tree_holds_point_masses_and_a_chain_is_drawn(source):
    assert {node.kind for this in traced(source, nodes=4).rounds for node in this.nodes[1:]} == {"point_mass"}
    chain = traced(source, nodes=0, gamma=3)
    assert {node.kind for this in chain.rounds for node in this.nodes[1:]} == {"iid"}
    nodes = [replace(node, kind="point_mass") if node.id else node for node in chain.rounds[0].nodes]
    assert "by the header's options it is drawn as 'iid'" in sentences(changed(chain, nodes=nodes))


def test_a_pass_over_placeholders_has_a_row_for_all_of_the_text(source, tmp_path):
    target = TargetParts.of(toy_loader()("target", "cpu", "float32").model)
    write_module(fresh(EagleModule, target, EagleShape(parallel=2)), tmp_path, {})
    trace = traced(source, "eagle", weights=str(tmp_path), gamma=3)
    drafted = trace.rounds[1].drafted
    (made,) = drafted.passes
    assert made.depth is None
    assert made.cached_rows + made.rows == trace.rounds[1].base_length
    short = replace(trace.rounds[1], drafted=replace(drafted, passes=[replace(made, rows=0)]))
    wrong = replace(trace, rounds=[trace.rounds[0], short, *trace.rounds[2:]])
    assert f"makes {made.cached_rows} cached rows, but the text has" in sentences(wrong)


@pytest.mark.parametrize(("name", "shape"), [("eagle", {"parallel": 2}), ("dflash", {"slots": 2})])
@pytest.mark.parametrize(
    "asked",
    [
        {"drafter_options": {"branching": (2, 1, 1)}},
        {"tree_policy": "chain", "tree_policy_options": {"length": 6}},
        {"tree_policy": "ddtree", "tree_policy_options": {"budget": 40}},
        {"stop_policy": "fixed", "stop_policy_options": {"longest": 6}},
        {"stop_policy": "heuristic"},
    ],
    ids=["branching", "chain", "ddtree", "longest", "heuristic"],
)
def test_a_draft_is_no_deeper_than_its_pass_has_slots_whatever_asks_for_more(source, name, shape, asked, tmp_path):
    kind = MODULES.get(name)
    target = TargetParts.of(toy_loader()("target", "cpu", "float32").model)
    write_module(fresh(kind, target, from_mapping(kind.options_type, shape)), tmp_path, {})
    options = {"weights": str(tmp_path), **asked.get("drafter_options", {})}
    trace = toy_run(source, **{**asked, "drafter": name, "drafter_options": options, "max_new_tokens": 12})
    (which,) = {place for place, this in enumerate(trace.rounds) if len(this.nodes) > 1} & {1}
    drafted = trace.rounds[which].drafted
    assert drafted.note["slots"] == 2 == max(node.depth for node in trace.rounds[which].nodes)
    told = replace(trace.rounds[which], drafted=replace(drafted, note={**drafted.note, "slots": 1}))
    wrong = replace(trace, rounds=[*trace.rounds[:which], told, *trace.rounds[which + 1 :]])
    assert f"hold 2 levels, but '{name}' ran with slots 1" in sentences(wrong)
