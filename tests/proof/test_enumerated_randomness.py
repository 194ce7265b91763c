"""The random source of the proof: a number that several draws share is one number."""

import pytest
import torch

from specviz.errors import ProofError
from specviz.proof.exhaustive import EnumeratedRandom

KEY = ("target", 3, 0)
FIRST, SECOND = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.75, 0.25]).double()


def every_way(play):
    """(result, weight) of every sequence of outcomes."""
    script = ()
    while script is not None:
        randomness = EnumeratedRandom(script)
        result = play(randomness)
        yield result, randomness.weight()
        script = randomness.next_script(0)


def test_two_looks_and_the_draw_are_joined_as_one_uniform_number_joins_them():
    found = dict(every_way(lambda d: (d.peek(FIRST, KEY), d.peek(SECOND, KEY), d.draw(FIRST, KEY).token)))
    assert found == {(0, 0, 0): 0.5, (1, 0, 1): 0.25, (1, 1, 1): 0.25}


def test_other_keys_have_other_noise():
    found = dict(every_way(lambda d: (d.peek(FIRST, KEY), d.peek(FIRST, ("guess", 3, 0)))))
    assert found == {(0, 0): 0.25, (0, 1): 0.25, (1, 0): 0.25, (1, 1): 0.25}


def test_a_decision_is_made_once_and_not_peeked_at_afterwards():
    randomness = EnumeratedRandom(())
    randomness.peek(FIRST, KEY)
    randomness.draw(FIRST, KEY)
    with pytest.raises(ProofError, match="is used twice"):
        randomness.draw(FIRST, KEY)
    with pytest.raises(ProofError, match="is looked at after it was used"):
        randomness.peek(FIRST, KEY)
