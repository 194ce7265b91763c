"""What an audit holds a recorded head against: its probabilities, its rest, and what it leaves out."""

import numpy as np
import pytest

from specviz.live.audit.laws import Law, Tally
from specviz.protocol.audits import TARGET_HEADS
from specviz.trace.events import TopK

NEAR = 2e-6
"""of every number: what single precision may have cost the run"""


def differences(head: TopK, probs: list[float]) -> list[str]:
    tally = Tally(1, ())
    law = np.array(probs)
    tally.head(TARGET_HEADS, "head", head, Law(law, np.where(law > 1e-3, NEAR, 1e-12)))
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
