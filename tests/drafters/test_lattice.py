"""The lattice against all of its paths, the static tree against all trees, and trees that are planned."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
import torch

from specviz.core.tree import DraftTree
from specviz.drafters.learned.head_networks import Bigram, Lattice, lattice_note, shown_lattice
from specviz.drafters.learned.heads import PlannedTree, expected_length, static_paths

PLACES, WIDTH = 3, 3


@pytest.fixture(params=range(5))
def lattice(request) -> Lattice:
    rng = np.random.default_rng(request.param)
    tokens = np.stack([rng.permutation(10)[:WIDTH] for _ in range(PLACES)])
    first = np.log(rng.dirichlet(np.ones(WIDTH + 1)))[:WIDTH]
    steps = np.log(rng.dirichlet(np.ones(WIDTH + 1), (PLACES - 1, WIDTH)))[..., :WIDTH]
    return Lattice(tokens, first, steps)


def worth(lattice: Lattice, ranks) -> float:
    total = lattice.first[ranks[0]]
    for place, (before, after) in enumerate(pairwise(ranks)):
        total += lattice.steps[place, before, after]
    return float(total)


def all_paths(length: int):
    return list(product(range(WIDTH), repeat=length))


def named(lattice: Lattice, ranks) -> tuple[int, ...]:
    return tuple(int(lattice.tokens[place, rank]) for place, rank in enumerate(ranks))


@pytest.mark.parametrize("most", [1, 4, 9, 100])
def test_the_prefixes_are_the_most_probable_of_all(lattice, most):
    every = [ranks for length in (1, 2, 3) for ranks in all_paths(length)]
    expected = sorted(every, key=lambda ranks: -worth(lattice, ranks))[:most]
    assert lattice.prefixes(most) == [named(lattice, ranks) for ranks in expected]


def test_every_prefix_comes_after_its_own_beginning(lattice):
    seen = {()}
    for path in lattice.prefixes(30):
        assert path[:-1] in seen
        seen.add(path)


def test_viterbi_finds_the_most_probable_path(lattice):
    best = max(all_paths(PLACES), key=lambda ranks: worth(lattice, ranks))
    path, log_prob = lattice.best_path()
    assert tuple(path) == named(lattice, best)
    assert log_prob == pytest.approx(worth(lattice, best))


def test_a_max_marginal_is_the_best_path_through_its_token(lattice):
    found = lattice.max_marginals()
    for place in range(PLACES):
        for rank in range(WIDTH):
            through = max(worth(lattice, ranks) for ranks in all_paths(PLACES) if ranks[place] == rank)
            assert found[place, rank] == pytest.approx(through)


def test_a_bigrams_lattice_holds_the_probabilities_of_the_whole_vocabulary():
    torch.manual_seed(0)
    bigram = Bigram(7, 2).double()
    torch.nn.init.normal_(bigram.after)
    logits = torch.randn(3, 7, dtype=torch.float64)
    with torch.no_grad():
        lattice = bigram.lattice(logits, root=4, width=3)
        for place in range(3):
            assert lattice.tokens[place].tolist() == logits[place].topk(3).indices.tolist()
        first = (logits[0] + bigram(torch.tensor(4))).log_softmax(-1)
        assert lattice.first.tolist() == pytest.approx(first[lattice.tokens[0].tolist()].tolist())
        for place, rank in product((1, 2), range(3)):
            before = torch.tensor(int(lattice.tokens[place - 1, rank]))
            row = (logits[place] + bigram(before)).log_softmax(-1)[lattice.tokens[place].tolist()]
            assert lattice.steps[place - 1, rank].tolist() == pytest.approx(row.tolist())
        blind = bigram.lattice(logits, root=4, width=3, steps=False)
        assert np.allclose(blind.steps, blind.steps[:, :1])
        assert blind.first.tolist() == pytest.approx(logits[0].log_softmax(-1)[blind.tokens[0].tolist()].tolist())


def test_the_exhibit_marks_what_was_drafted_and_names_its_nodes():
    lattice = Lattice(np.array([[5, 6], [7, 8]]), np.log([0.5, 0.25]), np.log([[[0.5, 0.5], [0.25, 0.75]]]))
    tree = DraftTree.from_root(1)
    top = tree.add(0, 5, "point_mass", None, "markov")
    tree.add(top, 8, "point_mass", None, "markov")
    exhibit, note = shown_lattice(tree, lattice), lattice_note(lattice)
    first, second, best = exhibit.rows
    assert (first.tokens, first.marks, first.nodes, first.scores) == ([5, 6], [0], [1], [0.25, 0.1875])
    assert (second.tokens, second.marks, second.nodes, second.scores) == ([7, 8], [1], [2], [0.25, 0.25])
    assert best.tokens == [5, 7]
    assert note == {"lattice_width": 2, "best_path_probability": 0.25}


RATES = [[0.6, 0.2, 0.1], [0.4, 0.3, 0.05], [0.3, 0.1, 0.02]]


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5])
def test_the_static_tree_is_the_best_of_all_trees_of_its_size(nodes):
    every = [ranks for length in (1, 2, 3) for ranks in product(range(3), repeat=length)]
    trees = [chosen for chosen in combinations(every, nodes) if all(not p[:-1] or p[:-1] in chosen for p in chosen)]
    best = max(expected_length(RATES, tree) for tree in trees)
    assert expected_length(RATES, static_paths(RATES, nodes)) == pytest.approx(best)


def test_a_static_tree_is_known_by_hand():
    """Worths 0.6, 0.6 · 0.4, 0.2, 0.6 · 0.3, 0.1; then 0.08 and 0.072."""
    assert static_paths(RATES, 5) == [(0,), (0, 0), (1,), (0, 1), (2,)]
    assert expected_length(RATES, [(0,), (0, 0)]) == pytest.approx(0.84)
    assert static_paths(RATES, 0) == []
    assert static_paths([], 3) == []


class Fake:
    """A draft whose answers are given per node."""

    def __init__(self, silent=()):
        self.tree, self.silent = DraftTree.from_root(0), silent

    def expand(self, nodes):
        asked = [node for node in nodes if node not in self.silent]
        return asked, torch.tensor([[0.0, 3.0, 1.0, 2.0]] * len(asked))

    def add(self, parent, token, kind, proposal, source=None):
        return self.tree.add(parent, token, kind, proposal, "fake")


def test_ranks_become_the_tokens_that_are_likely_there():
    draft = Fake()
    PlannedTree([(0,), (2,), (0, 1)], by_rank=True).grow(draft)
    assert (draft.tree.tokens, draft.tree.parents) == ([0, 1, 2, 3], [-1, 0, 0, 1])


def test_tokens_stay_what_they_are_and_nothing_is_asked_where_nothing_is_planned():
    draft = Fake(silent=(1,))
    PlannedTree([(9,), (7,), (9, 8), (7, 6)]).grow(draft)
    assert (draft.tree.tokens, draft.tree.parents) == ([0, 9, 7, 6], [-1, 0, 0, 2])


def test_ranks_beyond_the_vocabulary_are_left_out():
    draft = Fake()
    PlannedTree([(0,), (5,)], by_rank=True).grow(draft)
    assert draft.tree.tokens == [0, 1]
