"""The study of branches counts what the target rules out, and what belongs to another branch, on trees written out."""

from types import SimpleNamespace

import pytest

from specviz.errors import TraceError
from specviz.studies.branches.measure import counted, said
from specviz.studies.branches.result import FORMAT, NAMES, STUDY, VERSION, BranchesFile, Depth, Example, markdown, view
from specviz.trace.events import TopK

WORDS = ["of", "course", "no", "problem", "way"]


def node(number: int, parent: int, depth: int, token: str, **says: float) -> SimpleNamespace:
    tokens = [WORDS.index(word) for word in says]
    head = TopK(tokens, list(says.values()), rest=round(1.0 - sum(says.values()), 6))
    return SimpleNamespace(
        id=number, parent=parent, depth=depth, token=WORDS.index(token), target=head, target_raw=None
    )


def tree() -> SimpleNamespace:
    """Behind the root `of` and `no`; behind each `course` and `problem`, which exclude each other; and `way`, which the
    target says nowhere."""
    nodes = [
        node(0, -1, 0, "way", of=0.5, no=0.45),
        node(1, 0, 1, "of", course=0.995),
        node(2, 0, 1, "no", problem=0.6, way=0.3),
        node(3, 1, 2, "course", way=1.0),
        node(4, 1, 2, "problem", way=1.0),
        node(5, 2, 2, "course", way=1.0),
        node(6, 2, 2, "problem", way=1.0),
        node(7, 3, 3, "no", way=1.0),
    ]
    return SimpleNamespace(nodes=nodes, judged=SimpleNamespace(path=[1, 3]))


def decoded(tokens) -> str:
    return " ".join(WORDS[token] for token in tokens)


def test_a_candidate_that_the_target_rules_out_is_held_against_the_other_branches_of_its_tree() -> None:
    """Of five behind another two are ruled out: `of problem`, which would be right behind `no`, and `of course no`.
    `no course` is not: it may have all of the 0.1 that the trace keeps of no token."""
    alone = SimpleNamespace(nodes=[node(0, -1, 0, "way", of=1.0)], judged=SimpleNamespace(path=[]))
    found = counted("marginals", [[tree(), alone]], decoded)
    assert (found.rounds, found.accepted) == (1, 2)
    assert found.depths == (Depth(4, 1, 1), Depth(1, 1, 0))
    assert found.example == Example("way of problem", "way no problem")
    assert (found.share("against"), found.share("of_others")) == (2 / 5, 1 / 5)


def test_of_a_token_beyond_those_kept_the_target_says_at_most_what_the_least_of_them_has() -> None:
    head = node(0, -1, 0, "way", of=0.9, no=0.005)
    assert (said(head, WORDS.index("no")), said(head, WORDS.index("way"))) == (0.005, 0.005)
    assert said(node(0, -1, 0, "way", of=0.98, no=0.015), WORDS.index("way")) == pytest.approx(0.005)


def test_what_the_target_believes_before_sampling_counts() -> None:
    """At temperature 0 it says one token alone, and would rule every other out."""
    cold = node(0, -1, 0, "way", of=1.0)
    cold.target_raw = TopK([WORDS.index("of"), WORDS.index("no")], [0.6, 0.4], rest=0.0)
    assert said(cold, WORDS.index("no")) == 0.4


def test_the_example_is_the_first_whose_branch_the_target_may_well_say() -> None:
    """In the first tree the target would not say `no`, behind which `course` is ruled out."""
    unlikely = SimpleNamespace(
        nodes=[
            node(0, -1, 0, "way", of=0.95, no=0.05),
            node(1, 0, 1, "of", course=1.0),
            node(2, 0, 1, "no", problem=1.0),
            node(3, 2, 2, "course", way=1.0),
        ],
        judged=SimpleNamespace(path=[1]),
    )
    later = tree()
    later.nodes[1], later.nodes[2] = node(1, 0, 1, "of", problem=1.0), node(2, 0, 1, "no", course=1.0)
    found = counted("marginals", [[unlikely, tree(), later]], decoded)
    assert found.depths[0].of_others == 1 + 1 + 2
    assert found.example == Example("way of problem", "way no problem")


def sample() -> BranchesFile:
    trees = [counted(name, [[tree()]], decoded) for name in NAMES]
    return BranchesFile(FORMAT, VERSION, tuple(trees), 12, 1, 48, (950_400, 950_784), {"target": "0" * 64})


def test_the_page_and_the_documentation_say_what_was_counted() -> None:
    said = view(sample())
    assert said.sentence.startswith("Of the candidates that stand behind another, 20.0% belong to another branch of")
    assert [[line.name for line in panel.series] for panel in said.chart.panels] == [list(NAMES.values())] * 2
    assert said.chart.panels[0].series[0].y == [0.25, 0.0]
    assert "| trained causal | 5 | 40% | 20.0% | 3.00 |" in markdown(sample())
    assert "| not causal | way of problem | way no problem |" in markdown(sample())


def test_a_file_that_counts_more_than_there_is_cannot_be_written(tmp_path) -> None:
    file = sample()
    wrong = BranchesFile(FORMAT, VERSION, file.trees[:2], 12, 1, 48, (0, 0), {})
    with pytest.raises(TraceError, match="its trees are not the four"):
        STUDY.codec.write(wrong, tmp_path / "file.json")
