"""The law of the next token after one drafted candidate, on numbers that fit on paper."""

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.proof import lossy
from specviz.proof.lossy import law
from specviz.verifiers.base import VERIFIERS

P, Q = torch.tensor([0.2, 0.8]), torch.tensor([0.8, 0.2])
PLAIN = Sampling(1.0)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("sequential", {}, [0.2, 0.8]),
        # 0 is drawn 0.8 of the time and passes with 0.2 / (0.5 · 0.8) = 0.5; all else comes out as 1
        ("lenience", {"lenience": 0.5}, [0.4, 0.6]),
        # 0.8 · 0.25 + 0.2 pass; the other 0.6 is drawn from p: 0.2 + 0.6 · 0.2
        ("longest_path", {}, [0.32, 0.68]),
        # both pass: 0.2 and 0.8 are above 0.09
        ("typical", {}, [0.8, 0.2]),
        # with epsilon 0.5 and delta 1 the bar is min(0.5, e^-0.5004) = 0.5: only 1 passes, and is the most probable
        ("typical", {"epsilon": 0.5, "delta": 1.0}, [0.0, 1.0]),
    ],
)
def test_the_law_of_the_next_token(name, options, expected):
    kind = VERIFIERS.get(name)
    found = law(kind(kind.options_type(**options)), P.log(), Q, PLAIN)
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_a_fork_of_one_moves_nothing():
    assert lossy.moved(torch.tensor([0.2, 0.8]), torch.tensor([0.5, 0.5]), width=1).abs().max() < 1e-12
