"""What an audit holds a recorded head against: its probabilities, its rest, and what it leaves out."""

import numpy as np
import pytest
import torch

from specviz.live.audit.laws import Law, Tally, law
from specviz.protocol.audits import TARGET_HEADS
from specviz.trace.events import TopK
from specviz.trace.header import SamplingCard

NEAR = 2e-6
"""of every number: what single precision may have cost the run"""


def differences(head: TopK, probs: list[float]) -> list[str]:
    tally = Tally(1, ())
    row = np.array(probs)
    tally.head(TARGET_HEADS, "head", head, Law(row, np.where(row > 1e-3, NEAR, 1e-12)))
    return [one.place for one in tally.so_far(1).differences]


@pytest.mark.parametrize(
    ("head", "probs", "wrong"),
    [
        (TopK([0, 1], [0.6, 0.3], 0.1), [0.6, 0.3, 0.1], []),
        (TopK([0, 1], [0.6, 0.3], 0.1), [0.6, 0.2, 0.2], ["head.probs[1]", "head.rest", "head.tokens"]),
        (TopK([0, 1], [0.6, 0.1], 0.3), [0.6, 0.1, 0.3], ["head.tokens"]),  # token 2 is likelier than token 1
        # the rest lost a millionth to the other probabilities' rounding: one token outside may still have it
        (TopK([0, 1], [0.999997, 2e-6], 0.0), [0.9999972, 2e-6, 7.3e-7], []),
        (TopK([0, 1], [0.9, 0.1], 0.0), [0.9, 0.09999, 1e-5], ["head.probs[1]", "head.rest", "head.tokens"]),
    ],
)
def test_a_head_says_what_its_law_says_and_leaves_out_nothing_likelier(
    head: TopK, probs: list[float], wrong: list[str]
) -> None:
    assert differences(head, probs) == wrong


@pytest.mark.parametrize(
    ("kept", "holds"),
    [
        ([0, 1], True),
        ([0, 2], True),  # so near to token 1 that in the run's number format it may have come first
        ([0, 3], False),
        ([1, 2], False),
    ],
)
def test_of_tokens_too_close_to_call_at_the_edge_of_top_k_the_run_may_have_kept_any(
    kept: list[int], holds: bool
) -> None:
    logits = torch.tensor([3.0, 1.0, 0.9, 0.0], dtype=torch.float64)
    recomputed = law(logits, SamplingCard(1.0, 2, 1.0), 2.0**-4, None)
    run = torch.full_like(logits, -torch.inf)
    run[kept] = logits[kept]
    assert all(recomputed[token].holds(prob) for token, prob in enumerate(run.softmax(-1).tolist())) is holds


def test_where_nobody_contests_the_edge_of_top_k_the_last_token_kept_has_its_probability() -> None:
    logits = torch.tensor([3.0, 1.0, 0.9, 0.0], dtype=torch.float64)
    recomputed = law(logits, SamplingCard(1.0, 2, 1.0), 2.0**-15, None)
    assert recomputed[1].holds(float(logits[:2].softmax(-1)[1]))
    assert not recomputed[1].holds(0.0)
    assert not recomputed[2].holds(float(logits[[0, 2]].softmax(-1)[1]))
