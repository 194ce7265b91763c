"""The tree policy `paths`: the tree is the list, whatever is drawn; what cannot be one is refused by name."""

import pytest

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DraftContext, DraftPolicies
from specviz.drafters.drafting.growing import ShapeOptions
from specviz.drafters.model import ModelDrafter
from specviz.errors import OptionError
from specviz.lm.table import TableModel
from specviz.options import from_mapping
from specviz.trace.tree_shape import read_paths
from specviz.tree_policies.paths import PathsOptions, PathsTreePolicy

MODEL = TableModel(6, seed=2)
SHAPE = "0; 1; 0,0; 0,1; 1,0; 0,0,0"


def drafted(sampling, **options):
    drafter = ModelDrafter(ShapeOptions())
    drafter.use(MODEL)
    drafter.follow(DraftPolicies(PathsTreePolicy(from_mapping(PathsOptions, options))))
    return drafter.propose(DraftContext([1, 2], 0, 9, sampling, SeededRandom(3))).tree


def paths_of(parents):
    """Per node but the root its path, a child's rank being its place among its siblings."""
    paths, children = [()], [0] * len(parents)
    for parent in parents[1:]:
        paths.append((*paths[parent], children[parent]))
        children[parent] += 1
    return paths[1:]


def by_probability(tokens):
    """The model's tokens after this text, the most probable first."""
    return MODEL.exact_logits(tokens).argsort(descending=True).tolist()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("draw", ["auto", "top_k", "iid", "without_replacement"])
def test_the_tree_has_the_shape_of_the_list(temperature, draw):
    if temperature == 0.0 and draw == "without_replacement":
        return  # a point mass has one outcome
    tree = drafted(Sampling(temperature), paths=SHAPE, draw=draw)
    assert sorted(paths_of(tree.parents)) == sorted(read_paths(SHAPE))


def test_a_rank_is_a_place_in_the_drafters_own_order_where_the_most_probable_are_taken():
    tree = drafted(Sampling(1.0), paths="0; 3; 3,1", draw="top_k")
    below_root = by_probability([1, 2])
    third = below_root[3]
    assert tree.tokens[1:] == [below_root[0], third, by_probability([1, 2, third])[1]]
    assert tree.parents == [-1, 0, 0, 2]
    assert set(tree.kinds[1:]) == {"point_mass"}


def test_ranks_may_be_left_out_only_where_nothing_is_drawn():
    with pytest.raises(OptionError, match="paths leaves out 1, but siblings are drawn one after the other"):
        PathsOptions(paths="0; 2")
    assert PathsOptions(paths="0; 2", draw="top_k")


def test_a_rank_beyond_the_vocabulary_is_no_candidate_and_neither_is_what_hangs_below():
    tree = drafted(Sampling(0.0), paths="0; 9; 9,0; 0,0", draw="top_k")
    assert tree.parents == [-1, 0, 1]


def test_a_budget_cuts_the_list_level_by_level_or_goes_on_below_its_last_level():
    assert drafted(Sampling(1.0), paths=SHAPE, budget=3).parents == [-1, 0, 0, 1]
    assert drafted(Sampling(1.0), paths="0; 1; 0,0", budget=5).parents == [-1, 0, 0, 1, 3, 4]


@pytest.mark.parametrize(
    ("paths", "sentence"),
    [
        ("; ".join(",".join(["0"] * depth) for depth in range(1, 34)), "which is 33 deep, but at most 32 levels"),
        ("; ".join(map(str, range(33))), "paths lists 32, but ranks below a node go from 0 to 31 at most"),
        (
            "; ".join([*map(str, range(32)), *(f"{one},{two}" for one in range(16) for two in range(31))]),
            "paths lists 528 candidates, but at most 512 are allowed",
        ),
    ],
)
def test_what_is_too_large_is_refused_before_anything_runs(paths, sentence):
    with pytest.raises(OptionError, match=sentence):
        PathsOptions(paths=paths)
