"""`specviz bench trees`: shapes, rungs, error bars and rows against values worked out by hand or by enumeration."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from specviz.bench.core.contest import ContestRun, Measured
from specviz.bench.core.report import check_section, write_between
from specviz.bench.core.rows import ranked
from specviz.bench.trees import rules
from specviz.bench.trees.plan import TreeCase, TreePlan, branchings, cases, plain_name, shapes_of_budget
from specviz.bench.trees.rules import LevelAcceptance, Setup, judge_all
from specviz.bench.trees.table import _tree_table, classes, rows, varied
from specviz.core.randomness import SeededRandom
from specviz.drafters.base import DraftContext, DraftPolicies
from specviz.drafters.capabilities import policies_of, with_model
from specviz.drafters.drafting.growing import ShapeOptions
from specviz.drafters.model import ModelDrafter
from specviz.errors import SpecVizError
from specviz.live.plan import make_plan
from specviz.live.source import LiveSource
from specviz.lm.table import TableModel
from specviz.protocol.runs import PromptCard, RunRequest
from specviz.protocol.sweeps.intervals import differences, mean, ratio_of_sums
from specviz.theory.rows import counts_of
from tests.fake_source import make_round

PLAN = TreePlan((2,), (6, 14), (0.0, 1.0), 3, (0.6, 0.2, 0.1), RunRequest(prompt="", max_new_tokens=8))


def found(plan: TreePlan = PLAN) -> list[TreeCase]:
    return cases(LiveSource(measure=False), plan)


def test_branchings_of_six_candidates() -> None:
    assert branchings(6) == [(2, 1, 1), (2, 2), (3, 1), (6,)]


def test_every_case_of_a_budget_drafts_exactly_that_many_candidates() -> None:
    for case in found():
        kind, _, size = case.experiment.partition(" ")
        plan = make_plan(case.request)
        drafter = ModelDrafter(ShapeOptions())
        drafter.use(TableModel(32, seed=1, spread=0.3))
        drafter.follow(DraftPolicies(policies_of(plan.drafter).tree_policy))
        tree = drafter.propose(DraftContext([1, 2], 0, 30, plan.sampling, SeededRandom(3))).tree
        if kind == "budget":
            assert tree.drafted == int(size), case.name
        else:
            assert max(tree.depths) == int(size), case.name


def test_all_tree_policies_are_crossed_with_all_verifiers_that_may_judge_them() -> None:
    pairs = {
        (case.tree_policy, case.verifier) for case in found() if case.experiment == "budget 6" and case.temperature
    }
    assert {tree_policy for tree_policy, _ in pairs} == {
        "chain",
        "ddtree",
        "dyspec",
        "eagle2",
        "levels",
        "rsd_c",
        "rsd_s",
        "sequoia",
    }
    judges = {tree_policy: {judge for one, judge in pairs if one == tree_policy} for tree_policy, _ in pairs}
    assert judges["chain"] >= {"block", "naive", "sequential", "traversal", "kseq", "specinfer"}
    assert judges["levels"] == {"coupled", "gls", "kseq", "naive", "sequential", "specinfer", "traversal"}
    assert judges["rsd_s"] == {"coupled", "naive", "sequential", "traversal"}
    assert {case.verifier for case in found() if case.temperature == 0.0} == {"greedy"}


def test_shapes_with_more_expected_tokens_come_first() -> None:
    levels = next(one for one in LiveSource(measure=False).catalog().tree_policies if one.name == "rsd_c")
    assert [name for name, _ in shapes_of_budget(levels, 6, PLAN)] == ["2,1,1", "2,2", "3,1"]


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(SpecVizError, match="nothing to compare"):
        found(replace(PLAN, temperatures=()))


def test_rungs_by_hand() -> None:
    """p = (0.5, 0.5), q = (0.8, 0.2). One: 0.5 + 0.2. After a rejection only token 1 is left of p: 0.3 · 0.2 more
    i.i.d., 0.3 · 1 more without replacement, where token 0 was rejected and token 1 is certain."""
    p, q = np.array([0.5, 0.5]), np.array([0.8, 0.2])
    assert rules.one_after_the_other(p, q, 1) == pytest.approx(0.7)
    assert rules.one_after_the_other(p, q, 2) == pytest.approx(0.76)
    assert rules.pair_recursive(p, q) == pytest.approx(1.0)
    assert rules.looked_up(p, q, 2) == pytest.approx(0.5 * 0.96 + 0.5 * 0.36)


def test_a_pair_without_replacement_agrees_with_every_rejection_taken_one_by_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        p, q = rng.dirichlet([1.5] * 5), rng.dirichlet([1.5] * 5)
        rest = np.maximum(p - q, 0.0)
        total = np.minimum(p, q).sum()
        for token in np.flatnonzero(q > p):
            left = np.where(np.arange(5) == token, 0.0, q) / (1.0 - q[token])
            total += (q - p)[token] * np.minimum(rest / rest.sum(), left).sum()
        assert rules.pair_recursive(p, q) == pytest.approx(total)


def test_each_rule_stays_below_its_bound_and_equal_models_accept_everything() -> None:
    rng = np.random.default_rng(2)
    rows = LevelAcceptance([2])
    rows.add(*(torch.tensor(rng.dirichlet([0.5] * 9, size=20)) for _ in range(2)))
    accepted = {one.name.split(" (")[0]: one.acceptance.value for one in rows.rows()}
    assert len(accepted) == 8
    assert accepted["i.i.d., the target's sample looked up"] < accepted["i.i.d., one after the other"]
    assert accepted["i.i.d., one after the other"] <= accepted["i.i.d., no rule accepts more"]
    assert accepted["i.i.d., K-SEQ"] <= accepted["i.i.d., no rule accepts more"]
    below, bound = (
        accepted[f"without replacement, {rule}"] for rule in ("recursive rejection", "no rule accepts more")
    )
    assert accepted["i.i.d., one after the other"] < below <= bound
    same = LevelAcceptance([3])
    same.add(torch.tensor([[0.5, 0.5]]), torch.tensor([[0.5, 0.5]]))
    exact = {one.name: one.acceptance.value for one in same.rows()}
    assert exact["one candidate"] == exact["without replacement, recursive rejection"] == 1.0


def test_intervals_come_from_drawing_whole_prompts_anew() -> None:
    """Two prompts with 0 and 1: a resample's mean is 0, ½ or 1, each end with a probability of a quarter."""
    assert mean([0.0, 1.0]) == (0.5, 0.0, 1.0)
    assert ratio_of_sums([(3.0, 2.0), (3.0, 2.0)]) == (1.5, 1.5, 1.5)
    by_prompt = [(2.0, 1.0), (20.0, 10.0), (200.0, 100.0)]
    assert ratio_of_sums(by_prompt) == (2.0, 2.0, 2.0), "a prompt's two sums are drawn together"
    assert ratio_of_sums([(1.0, 10.0), (9.0, 10.0)], seed=1) == ratio_of_sums([(1.0, 10.0), (9.0, 10.0)], seed=1)
    assert ratio_of_sums([(0.0, 0.0)]) is None
    with pytest.raises(SpecVizError, match="no runs"):
        mean([])


def outcome(name: str, accepted: int, seconds: float = 4.0) -> ContestRun:
    done = (make_round(0, 4, accepted, 1.0), make_round(1, 4, accepted, 1.0))
    return ContestRun(name, "one", "code", 0, Measured(list(range(8)), seconds, 0.0, counts_of(done, 8)))


def case(shape: str) -> TreeCase:
    return TreeCase("budget 4", 1.0, "levels", shape, "naive", RunRequest(prompt=""))


def test_rows_count_accepted_candidates() -> None:
    """Two rounds of 4 candidates each: 3 accepted in each is a length of 4, a rate of ¾; 8 tokens in half the time."""
    shapes = [case("4"), case("2,1")]
    plain = outcome(plain_name(1.0), 0, seconds=8.0)
    _, long = rows(shapes, [plain, outcome(shapes[0].name, 1), outcome(shapes[1].name, 3)])
    assert (long.statistics.mean_acceptance_length, long.statistics.acceptance_rate) == (
        (4.0, 4.0, 4.0),
        (0.75, 0.75, 0.75),
    )
    counts = long.statistics
    assert (counts.nodes_per_pass, counts.target_passes, counts.tokens_per_pass) == ((4.0,) * 3, (2.0,) * 3, (4.0,) * 3)
    assert long.speedup == (2.0, 2.0, 2.0)
    assert rows(shapes, [outcome(shapes[0].name, 1)])[0].speedup is None
    line = "| – | levels | 2,1 | naive | 4.00 [4.00–4.00] | – | 0.75 [0.75–0.75] | – | 4.0 | 2.0 | 2.00 [2.00–2.00] |"
    assert line in _tree_table([long])


def test_every_shape_has_a_row_of_its_own_and_a_rank_only_where_a_difference_is_shown() -> None:
    """On each of 12 prompts `2,1` accepts one or two more than `4`; `1,1` is now one better and now one worse."""
    shapes = [case("4"), case("2,1"), case("1,1")]
    found = []
    for number in range(12):
        for shape, accepted in zip(shapes, (1, 2 + number % 2, 2 + (number + 1) % 2), strict=True):
            found.append(replace(outcome(shape.name, accepted), prompt=f"p{number}"))
    low, high, other = rows(shapes, found)
    assert (low.standing.rank, high.standing.rank, other.standing.rank) == (3, 1, 1)
    behind = low.standing.behind
    assert behind is not None
    assert (behind.value, behind.low > 0.0) == (1.5, True)
    table = _tree_table([low, high, other]).splitlines()[2:]
    assert [line.split(" | ")[:3] for line in table] == [
        ["| 1", "levels", "1,1"],
        ["| 1", "levels", "2,1"],
        ["| 3", "levels", "4"],
    ]
    assert "no difference shown" in table[0]
    few = rows(shapes, [one for one in found if int(one.prompt[1:]) < 9])
    assert [row.standing.rank for row in few] == [None, None, None], "9 prompts are too few to rank"


def test_what_a_prompt_does_to_both_rows_cancels_out() -> None:
    """Prompts differ a hundredfold; one row is 0.1 or 0.2 higher on each. Apart the intervals overlap, paired not."""
    low = [(float(10**power), 1.0) for power in (0, 1, 2)] * 4
    high = [(value + 0.1 + 0.1 * (place % 2), 1.0) for place, (value, _) in enumerate(low)]
    apart = [ratio_of_sums(row) for row in (low, high)]
    assert apart[0] is not None
    assert apart[1] is not None
    assert apart[0].high > apart[1].low
    paired = differences([low, high])[1][0]
    assert 0.1 < paired.low < paired.value < paired.high < 0.2
    assert differences([low, low])[0][1] == (0.0, 0.0, 0.0)
    assert differences([low[:1], high[:1]])[1][0].low == -math.inf, "one prompt says nothing about others"


def test_intervals_hold_for_all_pairs_of_a_table_at_once() -> None:
    """Rows of noise alone: on their own one pair in twenty would seem to differ; together hardly any table has one."""
    rng = np.random.default_rng(5)
    shown = 0
    for _ in range(40):
        noise = [[(float(value), 1.0) for value in rng.normal(3.0, 1.0, 20)] for _ in range(8)]
        shown += any(standing.rank != 1 for standing in ranked(noise, 0))
    assert shown <= 4


def test_rows_over_other_prompts_cannot_be_compared() -> None:
    with pytest.raises(SpecVizError, match="rows over the same prompts"):
        differences([[(1.0, 1.0)], [(1.0, 1.0), (2.0, 1.0)]])
    with pytest.raises(SpecVizError, match="drafted nothing"):
        differences([[(1.0, 0.0)], [(1.0, 1.0)]])


def test_verifiers_judge_the_very_same_trees_with_the_same_draws() -> None:
    """The default one continues the text: its accepted candidates are those of its own run, round by round."""
    from specviz.engine.session import Method, Session, Start
    from specviz.engine.termination import Ending, Limits

    target, drafter = (TableModel(16, seed=seed, spread=1.0) for seed in (1, 2))

    def method_of(request: RunRequest) -> Method:
        plan = make_plan(request)
        return Method(with_model(plan.drafter, drafter), plan.verifier, plan.sampling, SeededRandom(request.seed))

    words: Any = SimpleNamespace(model=target, info=target.info, tokenizer=SimpleNamespace(encode=lambda text: [1, 2]))
    plan = replace(
        PLAN, lengths=(), budgets=(6,), temperatures=(1.0,), shapes=1, template=RunRequest("", max_new_tokens=30)
    )
    chosen = found(plan)
    judged = list(judge_all(Setup(words, method_of), chosen, [PromptCard("p", "code", "", "", "x")]))
    assert {one.tree[2] for one in judged} == {
        "chain", "ddtree", "dyspec", "eagle2", "levels", "rsd_c", "rsd_s", "sequoia",
    }  # fmt: skip
    for one in judged:
        request = next(
            case.request for case in chosen if case.tree_policy == one.tree[2] and case.verifier == "sequential"
        )
        alone = Session(target, method_of(request), Start([1, 2]), Ending(Limits(30), lambda token: b""))
        alone.begin()
        records = []
        while alone.finished is None:
            records.append(alone.round())
        drafted = [record for record in records if record.proposal.tree.drafted]
        assert one.rounds == len(drafted)
        assert one.accepted["sequential"] == sum(len(record.verdict.path) for record in drafted)
    chain = next(one for one in judged if one.tree[2] == "chain")
    assert chain.accepted["specinfer"] == chain.accepted["sequential"], "the same rule on a chain"
    assert chain.accepted["block"] >= chain.accepted["sequential"], "block verification accepts no fewer on any draw"


def test_tables_go_between_the_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- it -->\nold\n<!-- /it -->\nafter\n", encoding="utf-8")
    write_between(page, "it", "new\n")
    assert page.read_text(encoding="utf-8") == "before\n<!-- it -->\nnew\n<!-- /it -->\nafter\n"
    with pytest.raises(SpecVizError, match=r"page\.md has no place"):
        check_section(page, "other")


def test_the_shipped_page_has_its_marks() -> None:
    from specviz.cli.commands.bench import trees as bench_trees

    check_section(bench_trees.PAGE, bench_trees.MARK)


def test_rungs_of_unknown_sizes_are_left_out() -> None:
    empty: Any = LevelAcceptance([])
    assert empty.rows() == []


def test_prompts_whose_text_repeats_itself_are_in_tables_of_their_own() -> None:
    shapes = [case("4"), case("2,1")]
    found = []
    for prompt, ids in (("loops", [1] * 8), ("varied", list(range(8)))):
        plain = outcome(plain_name(1.0), 0)
        plain = replace(plain, prompt=prompt, measured=replace(plain.measured, output_ids=ids))
        found += [plain, *(replace(outcome(shape.name, 1), prompt=prompt) for shape in shapes)]
    found.append(replace(outcome(shapes[0].name, 1), prompt="cancelled before plain decoding"))
    held, apart = classes(shapes, found)
    assert ({one.prompt for one in held}, {one.prompt for one in apart}) == ({"varied"}, {"loops"})
    assert [row.statistics.prompts for row in rows(shapes, held)] == [1, 1]
    assert rows(shapes, held, timed=False)[0].speedup is None
    assert varied(shapes, found) == {(1.0, "varied")}
