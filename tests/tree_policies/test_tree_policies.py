"""What each tree policy makes of known distributions, by values worked out by hand or by brute force."""

import json
import math
import random
from collections import Counter
from itertools import product

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling, transform
from specviz.core.tree import DraftTree
from specviz.drafters.base import DraftContext, DraftPolicies
from specviz.drafters.drafting.growing import ShapeOptions
from specviz.drafters.model import ModelDrafter
from specviz.errors import OptionError
from specviz.lm.load import load
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import EnumeratedRandom
from specviz.proof.planted import Grown, Stale
from specviz.resources import ACCEPTANCE_VECTOR, asset_path
from specviz.trace.tree_shape import touched_tiles
from specviz.tree_policies.acceptance_vector import measure_ranks, measure_vector, parse_vector
from specviz.tree_policies.base import Pair, StepCosts
from specviz.tree_policies.chain import ChainOptions, ChainTreePolicy
from specviz.tree_policies.dyspec import DySpecOptions, DySpecTreePolicy, depth_first
from specviz.tree_policies.eagle2 import Eagle2Options, Eagle2TreePolicy
from specviz.tree_policies.levels import LevelsOptions, LevelsTreePolicy
from specviz.tree_policies.rsd_c import RsdCOptions, RsdCTreePolicy
from specviz.tree_policies.rsd_s import RsdSOptions, RsdSTreePolicy
from specviz.tree_policies.sequoia import Plans, SequoiaOptions, SequoiaTreePolicy

COLD, WARM = Sampling(0.0), Sampling(1.0)


def propose(tree_policy, model=None, sampling=COLD, randomness=None, depth=9):
    drafter = ModelDrafter(ShapeOptions())
    drafter.use(model or TableModel(6, seed=2))
    drafter.follow(DraftPolicies(tree_policy))
    return drafter.propose(DraftContext([1, 2], 0, depth, sampling, randomness or SeededRandom(3)))


class Fixed(TableModel):
    """The same distribution after every text."""

    def __init__(self, *probs: float) -> None:
        super().__init__(len(probs), seed=0)
        self.row = torch.tensor(probs, dtype=torch.float64).log()

    def exact_logits(self, context):
        return self.row


def paths(tree):
    return [tuple(tree.token_path(node)) for node in range(1, len(tree))]


def test_only_chains_drawn_in_the_shipped_ways_may_be_written_without_asking_the_policy():
    """By one call of the model, which knows no other way of drawing."""
    assert ChainTreePolicy(ChainOptions(length=3)).chain(WARM) == (3, "iid")
    assert LevelsTreePolicy(LevelsOptions(branching=(1, 1))).chain(COLD) == (2, "point_mass")
    assert RsdCTreePolicy(RsdCOptions(branching=(1, 1))).chain(WARM) == (2, "without_replacement")
    assert RsdCTreePolicy(RsdCOptions(branching=(1, 2))).chain(WARM) is None
    assert ChainTreePolicy(ChainOptions(length=3, budget=2)).chain(WARM) is None
    assert LevelsTreePolicy(LevelsOptions(branching=(1, 2))).chain(WARM) is None
    assert Grown((1, 1), Stale()).chain(WARM) is None


def test_dyspec_fills_the_slots_most_likely_to_be_reached():
    """0.6/0.3/0.1: below the root 0.6 is worth 0.6 and its sibling's slot 0.4, so the chain goes on first, then
    0.36 loses to 0.4, and so on."""
    tree_policy = DySpecTreePolicy(DySpecOptions(budget=4))
    drawn = propose(tree_policy, Fixed(0.6, 0.3, 0.1))
    assert set(paths(drawn.tree)) == {(0,), (0, 0), (1,), (0, 0, 0)}
    assert [one.rows for one in drawn.passes] == [2, 1, 1]


def test_dyspec_with_a_threshold_makes_one_pass_per_level():
    tree_policy = DySpecTreePolicy(DySpecOptions(budget=20, threshold=0.3))
    drawn = propose(tree_policy, Fixed(0.6, 0.3, 0.1))
    assert set(paths(drawn.tree)) == {(0,), (1,), (0, 0), (0, 0, 0), (1, 0), (0, 0, 0)}
    assert [one.rows for one in drawn.passes] == [2, 2, 1]


def test_dyspec_counts_the_blocks_of_its_mask():
    note = propose(DySpecTreePolicy(DySpecOptions(budget=12, tile=2)), sampling=WARM).note
    assert 0 < note["mask_tiles"] <= note["mask_tiles_all"] == 49
    assert note["mask_tiles_as_drawn"] > 0


def test_blocks_of_a_mask():
    """Two chains of two below the root, laid out level by level and subtree by subtree."""
    tree = DraftTree.from_root(0)
    for parent, token in ((0, 1), (0, 2), (1, 3), (2, 4)):
        tree.add(parent, token, "point_mass", None, "test")
    assert depth_first(tree) == [0, 1, 3, 2, 4]
    assert touched_tiles([-1, 0, 1, 0, 3], 1) == 1 + 2 + 3 + 2 + 3
    assert touched_tiles([-1, 0, 1, 0, 3], 5) == 1


def test_eagle2_keeps_the_most_probable_of_all_it_scored():
    tree_policy = Eagle2TreePolicy(Eagle2Options(budget=4, depth=2, width=2))
    drawn = propose(tree_policy, Fixed(0.6, 0.3, 0.1))
    assert paths(drawn.tree) == [(0,), (1,), (0, 0), (0, 1)]
    assert drawn.note["scored"] == 6
    assert [one.rows for one in drawn.passes] == [2, 2]


def test_eagle2_never_keeps_a_child_without_its_parent():
    """A certain continuation is worth exactly as much as its parent; ties go to the node nearer the root."""
    tree_policy = Eagle2TreePolicy(Eagle2Options(budget=3, depth=4, width=2))
    assert paths(propose(tree_policy, Fixed(1.0, 0.0, 0.0)).tree) == [(0,), (0, 0), (0, 0, 0)]


def test_a_node_of_eagle2_is_worth_the_product_of_its_path_and_of_equal_ones_the_first_is_expanded_and_kept():
    """0.5, 0.3; below them 0.25, 0.15, 0.15, 0.09; below the best two of these, (0, 0) and (0, 1), 0.125, 0.075, …"""
    model, scored = Fixed(0.5, 0.3, 0.2), [(0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0)]
    for budget, kept in ((6, scored), (5, scored[:5]), (4, scored[:4]), (2, scored[:2])):
        drawn = propose(Eagle2TreePolicy(Eagle2Options(budget=budget, depth=3, width=2)), model)
        assert paths(drawn.tree) == kept
        assert (drawn.note["scored"], [one.rows for one in drawn.passes]) == (10, [2, 2, 2])


def test_eagle2_draws_nothing_at_any_temperature():
    assert set(propose(Eagle2TreePolicy(Eagle2Options()), sampling=WARM, randomness=None).tree.kinds[1:]) == {
        "point_mass"
    }


def test_beam_search_at_temperature_zero():
    tree_policy = RsdSTreePolicy(RsdSOptions(width=2, depth=2))
    assert set(paths(propose(tree_policy, Fixed(0.6, 0.3, 0.1)).tree)) == {(0,), (1,), (0, 0), (0, 1)}


def keyed_tree(model: TableModel, width: int, depth: int, rng: random.Random):
    """Stochastic beam search as published, with Gumbel keys conditioned on their parent's (2402.14160, algorithm 4)."""

    def gumbel() -> float:
        return -math.log(-math.log(rng.random()))

    beam, found = [((), 0.0, 0.0)], []
    for _ in range(depth):
        extended = []
        for path, phi, key in beam:
            probs = model.exact_probs([1, 2, *path]).tolist()
            phis = [phi + math.log(q) for q in probs]
            raw = [one + gumbel() for one in phis]
            top = max(raw)
            for token, (one, g) in enumerate(zip(phis, raw, strict=True)):
                inner = math.exp(-key) - math.exp(-top) + math.exp(-g)
                extended.append(((*path, token), one, -math.log(inner)))
        beam = sorted(extended, key=lambda one: -one[2])[:width]
        found += [path for path, _, _ in beam]
    return tuple(found)


def test_rsd_s_draws_ordered_trees_with_the_law_of_the_published_keys():
    """The exact law of our draws against 6000 trees drawn with keys: G-test, false-alarm rate 1e-3, fixed seed."""
    model = TableModel(3, seed=2, spread=0.7)
    law: dict[object, float] = Counter()
    script: tuple[int, ...] | None = ()
    while script is not None:
        randomness = EnumeratedRandom(script)
        tree = propose(
            RsdSTreePolicy(RsdSOptions(width=2, depth=3)), TableModel(3, seed=2, spread=0.7), WARM, randomness
        ).tree
        law[tuple(paths(tree))] += randomness.weight()
        script = randomness.next_script(0)
    assert sum(law.values()) == pytest.approx(1.0)
    rng, count = random.Random(5), 6000
    seen = Counter(keyed_tree(model, 2, 3, rng) for _ in range(count))
    assert set(seen) <= set(law)
    rare = [cell for cell, prob in law.items() if prob * count < 5]
    expected = {cell: prob * count for cell, prob in law.items() if prob * count >= 5}
    cells = [(seen[cell], value) for cell, value in expected.items()]
    cells.append((sum(seen[cell] for cell in rare), sum(law[cell] for cell in rare) * count))
    g = 2 * sum(n * math.log(n / value) for n, value in cells if n)
    freedom = len(cells) - 1
    # Wilson and Hilferty's normal approximation to the upper 1e-3 point of chi squared
    critical = freedom * (1 - 2 / (9 * freedom) + 3.0902 * math.sqrt(2 / (9 * freedom))) ** 3
    assert freedom > 30
    assert g < critical


def all_shapes(nodes: int, depth: int):
    """Every ordered tree of this many nodes and levels at most, as nested tuples."""
    if nodes == 1:
        yield ()
    if depth == 0 or nodes <= 1:
        return

    def forests(left: int):
        if left == 0:
            yield ()
        for first in range(1, left + 1):
            for child, rest in product(list(all_shapes(first, depth - 1)), list(forests(left - first))):
                yield (child, *rest)

    yield from (shape for shape in forests(nodes - 1) if shape)


def tokens_of(shape, vector) -> float:
    if len(shape) > len(vector):
        return 0.0
    return 1.0 + sum(p * tokens_of(child, vector) for p, child in zip(vector, shape, strict=False))


def nested(planned):
    return tuple(nested(child) for child in planned.children)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("nodes", [2, 4, 6])
def test_sequoia_finds_the_best_of_all_shapes(nodes, depth):
    vector = (0.5, 0.3, 0.1)
    plans = Plans(vector, nodes, depth)
    best = max(tokens_of(shape, vector) for size in range(1, nodes + 1) for shape in all_shapes(size, depth))
    assert plans.expected(nodes, depth) == pytest.approx(best)
    assert tokens_of(nested(plans.shape(nodes, depth)), vector) == pytest.approx(best)


def test_sequoia_drafts_the_planned_shape():
    tree_policy = SequoiaTreePolicy(SequoiaOptions(budget=3, depth=2, acceptance="0.5,0.3"))
    tree = propose(tree_policy, sampling=WARM).tree
    assert tree.parents == [-1, 0, 0, 1]


def test_sequoia_takes_fewer_candidates_where_the_target_gets_slower_with_each():
    cheap = StepCosts([(1, 0.010), (32, 0.011)], 0.001)
    dear = StepCosts([(1, 0.010), (32, 0.320)], 0.001)
    sizes = []
    for costs in (cheap, dear):
        tree_policy = SequoiaTreePolicy(SequoiaOptions(budget=16, depth=6, fit=True))
        tree_policy.tune(costs)
        sizes.append(tree_policy.options.budget)
        assert not tree_policy.options.fit
    assert sizes[0] > 8 > sizes[1]


def test_sequoia_goes_less_deep_where_the_drafter_is_dear():
    tree_policy = SequoiaTreePolicy(SequoiaOptions(budget=16, depth=6, fit=True))
    tree_policy.tune(StepCosts([(1, 0.010), (32, 0.011)], 0.010))
    assert tree_policy.options.depth == 1


@pytest.mark.parametrize("text", ["", "a,b", "0.9,0.2", "-0.1", "1.5"])
def test_a_wrong_acceptance_vector_is_refused(text):
    with pytest.raises(OptionError, match="must be probabilities"):
        parse_vector(text)


def test_the_acceptance_vector_of_two_known_distributions():
    """p = (1, 0), q = (½, ½): the first candidate is accepted half of the time, else the second is certain."""
    p, q = torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])
    assert measure_vector([(p, q), (p, q)], 3, SeededRandom(0)) == pytest.approx([0.5, 0.5, 0.0])


def test_at_temperature_zero_the_rank_of_the_targets_choice_counts():
    """Of four choices of the target the draft has two in first place and one in second."""
    draft = torch.tensor([0.5, 0.3, 0.2])
    chosen = [torch.eye(3)[token] for token in (0, 1, 2, 0)]
    assert measure_ranks([(target, draft) for target in chosen], 2) == [0.5, 0.25]


def shipped_vectors():
    return json.loads(asset_path(ACCEPTANCE_VECTOR).read_text(encoding="utf-8"))


def test_the_shipped_vectors_were_measured_on_the_shipped_pair():
    shipped = shipped_vectors()
    for role in ("target", "drafter"):
        assert shipped[role]["weights_sha256"] == load(role).info.weights_sha256
    assert [one["temperature"] for one in shipped["vectors"]] == [0.0, 0.6, 0.8, 1.0]


@pytest.mark.parametrize(("temperature", "used"), [(0.0, 0.0), (0.5, 0.6), (0.85, 0.8), (2.0, 1.0)])
def test_sequoia_takes_the_vector_of_the_pair_at_the_nearest_temperature(temperature, used):
    shipped = shipped_vectors()
    target, drafter = (shipped[role]["weights_sha256"] for role in ("target", "drafter"))
    tree_policy = SequoiaTreePolicy(SequoiaOptions())
    tree_policy.prepare(Pair(target, drafter, temperature))
    (values,) = [one["vector"] for one in shipped["vectors"] if one["temperature"] == used]
    numbers = ",".join(map(str, values))
    assert tree_policy.options.acceptance == f"measured T={used:g} {drafter[:8]}: {numbers}"
    assert tree_policy.options.vector == tuple(values)


def test_sequoia_says_when_the_vector_is_another_pairs():
    tree_policy = SequoiaTreePolicy(SequoiaOptions())
    tree_policy.prepare(Pair("other", "weights", 0.8))
    assert tree_policy.options.acceptance.startswith("of another pair T=0.8 ")


def test_a_vector_that_was_given_stays():
    tree_policy = SequoiaTreePolicy(SequoiaOptions(acceptance="0.6,0.1"))
    tree_policy.prepare(Pair("other", "weights", 0.8))
    assert tree_policy.options.acceptance == "0.6,0.1"


def test_the_size_does_not_depend_on_the_clock_unless_asked_for():
    tree_policy = SequoiaTreePolicy(SequoiaOptions(budget=16, depth=6))
    tree_policy.tune(StepCosts([(1, 0.010), (32, 0.011)], 0.010))
    assert (tree_policy.options.budget, tree_policy.options.depth) == (16, 6)


@pytest.mark.parametrize(
    "tree_policy", [RsdSTreePolicy(RsdSOptions(width=4, depth=3, budget=5)), DySpecTreePolicy(DySpecOptions(budget=5))]
)
@pytest.mark.parametrize("sampling", [COLD, WARM])
def test_no_more_candidates_than_the_budget(tree_policy, sampling):
    assert propose(tree_policy, sampling=sampling).tree.drafted == 5


def test_candidates_carry_the_models_own_distribution():
    model = TableModel(6, seed=2)
    tree = propose(DySpecTreePolicy(DySpecOptions(budget=6)), model, WARM).tree
    for node in range(1, len(tree)):
        text = [1, 2, *tree.token_path(tree.parents[node])]
        assert torch.equal(tree.proposals[node], transform(model.exact_logits(text), WARM))
