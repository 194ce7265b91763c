"""Several models, one tree: what merges, what stays twice and why, and which noise each draft uses."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Self

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.tree import DraftTree
from specviz.drafters.base import DraftPolicies
from specviz.drafters.capabilities import with_model
from specviz.drafters.merged import SOURCES, MergedDrafter, MergedOptions, merge
from specviz.engine.pairing import check_pairing, follow
from specviz.engine.scoring import Foresight
from specviz.errors import ModelError, OptionError, PairingError
from specviz.live.source import LiveSource, collect
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import WARM, ProofCase, branches
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.stop_policies.heuristic import HeuristicOptions, HeuristicStopPolicy
from specviz.stop_policies.oracle import OracleOptions, OracleStopPolicy
from specviz.trace.check import check
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS
from tests.drafters.asking import context, proposed
from tests.proof.letters import toy_run
from tests.proof.walked import error


def tree_of(*nodes: tuple[int, int], kind: str = "point_mass", source: str = "model") -> DraftTree:
    """(parent, token) per candidate."""
    tree = DraftTree.from_root(9)
    for parent, token in nodes:
        proposal = None if kind == "point_mass" else torch.full((9,), 1 / 9)
        tree.add(parent, token, kind, proposal, source)
    return tree


def test_chosen_candidates_with_the_same_text_are_one_node_and_what_follows_hangs_below_it() -> None:
    tree = tree_of((0, 1), (1, 2), (0, 3))
    home = merge(tree, tree_of((0, 1), (1, 4), (0, 5), (1, 2), source="model_2"))
    assert tree.tokens == [9, 1, 2, 3, 4, 5]
    assert tree.parents == [-1, 0, 1, 0, 1, 0]
    assert tree.sources[1:] == ["model", "model", "model", "model_2", "model_2"]
    assert home == [0, 1, 4, 5, 2]


def test_a_drawn_candidate_that_is_there_already_stays_and_its_children_go_below_the_other() -> None:
    tree = tree_of((0, 1), kind="iid")
    home = merge(tree, tree_of((0, 1), (1, 4), kind="iid", source="model_2"))
    assert tree.tokens == [9, 1, 1, 4]
    assert tree.parents == [-1, 0, 0, 1]
    assert tree.children(2) == []
    assert home == [0, 1, 3]


def test_a_candidate_drawn_twice_by_one_model_joins_two_others_or_keeps_its_own_children() -> None:
    tree = tree_of((0, 1), kind="iid")
    merge(tree, tree_of((0, 1), (0, 1), (1, 4), (2, 5), kind="iid", source="model_2"))
    assert [(tree.parents[node], tree.tokens[node]) for node in range(4, 6)] == [(1, 4), (3, 5)]


def drafter(**options: object) -> MergedDrafter:
    made = MergedDrafter.of(options)
    with_model(made, TableModel(6, seed=2), [TableModel(6, seed=3)])
    made.begin([1, 2])
    return made


def test_each_model_draws_its_own_tree_with_noise_of_its_own() -> None:
    keys: list[tuple[str, int, int]] = []
    noise = SeededRandom(7)

    def draw(probs, key):
        keys.append(key)
        return noise.draw(probs, key)

    made = drafter(branching=(2, 1))
    made.propose(replace(context([1, 2], temperature=1.0), randomness=SimpleNamespace(draw=draw)))
    assert keys == [("draft", 0, index) for index in range(8)]


def test_candidates_keep_their_source_kind_and_distribution() -> None:
    tree = proposed(drafter(branching=(2, 1)), [1, 2], temperature=1.0).tree
    own, other = (TableModel(6, seed).exact_logits((1, 2)).float().softmax(-1) for seed in (2, 3))
    for node in tree.children(0):
        due = own if tree.sources[node] == SOURCES[0] else other
        assert tree.kinds[node] == "without_replacement"
        assert tree.proposals[node].tolist() == pytest.approx(due.tolist(), abs=1e-6)
    assert set(tree.sources[1:]) == {"model", "model_2"}


def test_the_note_says_what_both_had_and_the_passes_are_those_of_both() -> None:
    found = proposed(drafter(branching=(2, 1)), [1, 2])
    assert found.tree.drafted == 2 * 4 - found.note["merged"]
    assert [one.depth for one in found.passes] == [1, 2, 1, 2]


def test_each_model_has_a_stop_policy_of_its_own_that_learns_from_its_own_drafts() -> None:
    """Nothing is accepted: five levels become four of both models, then three. One for both would learn twice."""
    made = MergedDrafter.of({"branching": ()})
    with_model(made, TableModel(6, seed=2), [TableModel(6, seed=3)])
    made.follow(DraftPolicies(stop_policy=HeuristicStopPolicy(HeuristicOptions(start_levels=5))))
    made.begin([1, 2])
    text, seen = [1, 2], []
    for number in range(3):
        found = proposed(made, text, round=number)
        seen.append([found.note["stop_levels"], found.note["model_2_stop_levels"]])
        text = [*text, 5]
    assert seen == [[5, 5], [4, 4], [3, 3]]


@pytest.mark.parametrize("branching", [(), (2, 1, 1)])
def test_the_levels_of_each_model_are_bounded_by_what_its_own_policy_learnt(branching: tuple[int, ...]) -> None:
    trace = toy_run(
        drafter="merged", stop_policy="heuristic", drafter_options={"branching": branching}, temperature=0.0,
        max_new_tokens=40,
    )  # fmt: skip
    notes = [this.drafted.note for this in trace.rounds]
    which = next(i for i, note in enumerate(notes) if note.get("stop_levels") != note.get("model_2_stop_levels"))
    this = trace.rounds[which]
    deepest = max(node.depth for node in this.nodes if node.source == "model_2")
    lower = replace(this.drafted, note={**this.drafted.note, "model_2_stop_levels": deepest - 1})
    rounds = [*trace.rounds[:which], replace(this, drafted=lower), *trace.rounds[which + 1 :]]
    assert any("but the stop policy allowed" in one.sentence for one in check(replace(trace, rounds=rounds)))


def test_the_oracle_of_each_model_asks_the_one_target() -> None:
    class Whole(TableModel):
        def __deepcopy__(self, memo: object) -> Self:
            raise AssertionError("a target was copied, with all its weights")

    made, oracle = MergedDrafter.of({"branching": ()}), OracleStopPolicy(OracleOptions())
    with_model(made, TableModel(6, seed=2), [TableModel(6, seed=3)])
    oracle.consult(Foresight(Whole(6, seed=1)))
    made.follow(DraftPolicies(stop_policy=oracle))
    made.begin([1, 2])
    found = proposed(made, [1, 2])
    assert {"stop_asked_target", "model_2_stop_asked_target"} <= found.note.keys()


@pytest.mark.parametrize("others", ["", " , ", "a,b,c,d"])
def test_a_wrong_number_of_models_is_refused(others: str) -> None:
    with pytest.raises(OptionError, match="others names"):
        MergedOptions(others=others)


def test_a_model_that_is_not_there_is_named_with_the_cure_before_anything_is_loaded() -> None:
    request = RunRequest("abc", drafter=Choice("merged", {"others": "no-such-model"}))
    reason = LiveSource().explain(request)
    assert reason is not None
    assert "there is no model 'no-such-model'" in reason
    with pytest.raises(ModelError, match="no-such-model"):
        collect(LiveSource(), request)


def test_rules_that_need_one_distribution_and_policies_that_begin_with_the_target_are_refused() -> None:
    made = MergedDrafter.of({"branching": (2,), "draw": "iid"})
    with pytest.raises(PairingError, match="several distributions"):
        check_pairing(made, VERIFIERS.get("kseq"), WARM)
    check_pairing(made, VERIFIERS.get("specinfer"), WARM)
    follow(made := MergedDrafter.of({}), DraftPolicies(TREE_POLICIES.get("target_init").of({})))
    with pytest.raises(PairingError, match="choose another tree policy"):
        check_pairing(made, VERIFIERS.get("longest_path"), WARM)


def test_leaving_out_a_token_that_both_drew_would_bias_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug that merging invites: the enumeration sees it."""
    case = ProofCase("merged", "sequential", (("branching", (1,)), ("draw", "iid")), WARM, length=2)
    assert error(case) < 1e-12

    def merge_all(tree: DraftTree, other: DraftTree) -> list[int]:
        once = DraftTree.from_root(other.tokens[0])
        there = {tree.tokens[node] for node in tree.children(0)}
        for node in range(1, len(other)):
            if other.tokens[node] not in there:
                once.add(0, other.tokens[node], other.kinds[node], other.proposals[node], other.sources[node])
        merge(tree, once)
        return [0] * len(other)

    monkeypatch.setattr("specviz.drafters.merged.merge", merge_all)
    assert error(case) > 1e-5


@pytest.mark.parametrize("verifier", ["sequential", "traversal"])
def test_what_hangs_below_a_candidate_may_depend_on_a_later_sibling(verifier: str) -> None:
    case = ProofCase("merged", verifier, (("branching", (1, 1)), ("draw", "iid")), WARM)
    shapes: dict[int, set[tuple[int, ...]]] = {}
    for branch in branches(case, (), 0):
        tree = branch.records[0].proposal.tree
        shapes.setdefault(tree.tokens[1], set()).add(tuple(tree.parents))
    assert all(len(found) > 1 for found in shapes.values())
    assert error(case) < 1e-12


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("tree_policy", ["auto", "levels", "dyspec", "rsd_s"])
def test_runs_give_sound_traces_that_name_every_model(temperature: float, tree_policy: str) -> None:
    trace = toy_run(drafter="merged", tree_policy=tree_policy, temperature=temperature)
    assert [one.name for one in trace.started.drafter.further_models] == ["table-6-3"]
    assert trace.started.drafter.options["others"] == "table-6-3"
    assert {node.source for one in trace.rounds for node in one.nodes[1:]} >= {"model", "model_2"}
    if temperature == 0.0:
        assert trace.finished.output_ids == toy_run(drafter="none").finished.output_ids
