"""Acceptance of drafts from smaller heads: by hand, against the drafter's own law, and greedily."""

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.errors import BenchError
from specviz.lm.table import TableModel
from specviz.lm.vocabulary import TrimmedModel
from specviz.studies.heads.measure import alphas

TARGET, DRAFTER = TableModel(4, 1), TableModel(4, 2)
TEXT = ([1, 2], [3, 0])
WARM = Sampling(1.0)


def rows(model):
    """What the model says where the two tokens were chosen."""
    return model.forward([1, 2, 3], model.new_cache())[1:].softmax(-1)


def test_alpha_is_the_mean_overlap_of_both_laws_at_the_places_after_the_beginning():
    expected = float(torch.minimum(rows(TARGET), rows(DRAFTER)).sum() / 2)
    assert alphas(TARGET, {"whole": DRAFTER}, [TEXT], WARM)["whole"] == pytest.approx(expected)


def test_a_smaller_head_is_judged_by_its_own_normalised_law():
    p, q = rows(TARGET), rows(DRAFTER)[:, [1, 3]]
    expected = float(torch.minimum(p[:, [1, 3]], q / q.sum(-1, keepdim=True)).sum() / 2)
    assert alphas(TARGET, {2: TrimmedModel(DRAFTER, [1, 3])}, [TEXT], WARM)[2] == pytest.approx(expected)


def test_greedily_it_is_how_often_both_prefer_the_same_token():
    best = rows(TARGET).argmax(-1).tolist()
    heads = {"itself": TARGET, "never": TrimmedModel(TARGET, [token for token in range(4) if token not in best])}
    assert alphas(TARGET, heads, [TEXT], Sampling(0.0)) == {"itself": 1.0, "never": 0.0}


def test_every_place_weighs_the_same_whatever_text_it_is_in():
    long, short = ([1], [2, 3, 0]), ([3], [1])
    both, first, second = (alphas(TARGET, {0: DRAFTER}, texts, WARM)[0] for texts in ([long, short], [long], [short]))
    assert both == pytest.approx((3 * first + second) / 4)


def test_texts_without_a_place_are_refused():
    with pytest.raises(BenchError, match="no place to draft at"):
        alphas(TARGET, {0: DRAFTER}, [([1], [])], WARM)
