"""The study of blocks counts how far rounds were accepted, and says it of each way, on numbers written out."""

from types import SimpleNamespace

import pytest

from specviz.errors import TraceError
from specviz.studies.blocks.measure import asked, counted
from specviz.studies.blocks.result import (
    CHAIN,
    FORMAT,
    READ_AGAIN,
    STUDY,
    TREE,
    VERSION,
    WAYS,
    BlockRow,
    BlocksFile,
    markdown,
    view,
)


def round_of(candidates: int, accepted: int) -> SimpleNamespace:
    return SimpleNamespace(nodes=[None] * (1 + candidates), judged=SimpleNamespace(path=list(range(accepted))))


def sample(**changes: tuple[int, ...]) -> BlocksFile:
    """Every way accepts 2 candidates in one of two rounds; at temperature 0 those of `changes` another number."""
    rows = [
        BlockRow(trained, shape, temperature, 2, (1, 1) if temperature else changes.get(f"{trained}_{shape}", (1, 1)))
        for temperature in (0.0, 0.8)
        for trained, shape in WAYS
    ]
    return BlocksFile(FORMAT, VERSION, tuple(rows), 7, 12, 1, 48, {"target": "0" * 64})


def test_rounds_without_candidates_are_left_out_and_the_others_counted_by_how_far_they_were_accepted() -> None:
    runs = [[round_of(3, 2), round_of(0, 0)], [round_of(3, 0), round_of(2, 1)]]
    assert counted(runs) == (3, (2, 1))
    assert BlockRow("usual", CHAIN, 0.0, 3, (2, 1)).per_round == 2.0


def test_a_chain_has_the_length_that_is_asked_for_and_a_tree_its_budget() -> None:
    chain = asked("a", "selector", CHAIN, 0.8, gamma=7, budget=12, max_new_tokens=48)
    assert (chain.drafter.options, chain.tree_policy.name) == ({"trained": "selector", "gamma": 7}, "auto")
    assert (chain.prompt, chain.temperature, chain.max_new_tokens) == ("a", 0.8, 48)
    tree, again = (asked("a", "causal", shape, 0.8, 7, 12, 48) for shape in (TREE, READ_AGAIN))
    assert tree.drafter.options == {"trained": "causal"}
    assert tree.tree_policy.options == {"budget": 12, "rescore": False}
    assert again.tree_policy.options == {"budget": 12, "rescore": True}


def test_the_page_says_what_each_way_brings_and_which_brings_most() -> None:
    """(1 + 1) / 2 candidates of the usual ones, (2 + 1) / 2 with the selector, (2 + 2 + 1) / 2 read again."""
    file = sample(selector_chain=(2, 1), causal_read_again=(2, 2, 1))
    said = view(file, "0")
    assert said.sentence == (
        "Temperature 0: a chain has 2.50 tokens per round with the selector, 2.00 without it; a tree has 2.00 tokens "
        "per round with the selector, 2.00 without it, 2.00 with causal rows, and 3.50 where its branches are read "
        "again. Most: trained causal, as a tree, branches read again."
    )
    chain, tree = said.chart.panels
    assert [(line.name, line.y) for line in chain.series[:2]] == [
        ("usual", [0.5, 0.5]),
        ("with the selector", [1.0, 0.5]),
    ]
    assert (tree.series[-1].name, tree.series[-1].y) == ("trained causal, read again", [1.0, 1.0, 0.5])
    assert "| trained causal | as a tree, branches read again | 3.50 | 2.00 |" in markdown(file)


def test_a_file_that_counts_what_cannot_be_is_not_written(tmp_path) -> None:
    with pytest.raises(TraceError, match="causal, tree accepts further candidates in more rounds"):
        STUDY.codec.write(sample(causal_tree=(1, 2)), tmp_path / "file.json")
    with pytest.raises(TraceError, match="usual, chain accepts further candidates in more rounds"):
        STUDY.codec.write(sample(usual_chain=(3,)), tmp_path / "file.json")
    less = sample()
    fewer = BlocksFile(FORMAT, VERSION, less.rows[1:], 7, 12, 1, 48, less.models)
    with pytest.raises(TraceError, match="its rows are not the 7 that are compared at each temperature"):
        STUDY.codec.write(fewer, tmp_path / "file.json")
