"""Passes of a batch of fixed widths over fixed lanes say what each sequence gets alone: here without being recorded."""

import random

import pytest

from specviz.lm.base import Share
from specviz.lm.llama import batch as llama_batch
from specviz.lm.llama import rows as llama_rows
from tests.lm.tiny_models import error, random_parents, random_tokens

CLOSE = 1e-5


class Sequence:
    """A text in a batch, and the same one alone."""

    def __init__(self, model, batch, number):
        self.model, text = model, random_tokens(number, 1 + 3 * number)
        self.lane, self.alone = batch.new_cache(), model.new_cache()
        for cache in (self.lane, self.alone):
            model.forward(text, cache)
            cache.keep(range(len(text)))

    def share(self, n, tree, seed, last_only=False):
        start = self.alone.length
        parents = random_parents(seed, start, start, n) if tree else None
        tokens = random_tokens(seed, n)
        self.expected = self.model.forward(tokens, self.alone, parents, last_only)
        return Share(tokens, self.lane, parents, last_only)

    def check(self, logits):
        assert logits.shape == self.expected.shape
        assert error(logits, self.expected) < CLOSE
        length = self.alone.length
        plain, fixed = (cache.room(length)[:, :, :length] for cache in (self.alone, self.lane))
        assert error(plain, fixed) < CLOSE

    def roll_back(self, choose):
        """Keep a path of the tree's rows, of any length, in both."""
        base, path = self.alone.base, []
        at = base - 1
        while children := [row for row in range(base, self.alone.length) if self.alone._parents[row] == at]:
            if choose.random() < 0.4:
                break
            at = choose.choice(children)
            path.append(at)
        for cache in (self.lane, self.alone):
            cache.keep(path)


def pass_(batch, asked):
    """(sequence, its share): the logits of each are those that it gets alone, and so are its keys and values."""
    for (sequence, _), logits in zip(asked, batch.forward([share for _, share in asked]), strict=True):
        sequence.check(logits)


@pytest.mark.parametrize("texts", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n", [*range(1, 10), 15, 16, 17, 31, 32])
def test_batches_of_any_size_and_width_with_ragged_chains_and_trees_get_what_each_gets_alone(models, texts, n):
    """The longest share has n rows, the others fewer; then each is rolled back along a path of its own, and goes on."""
    plain, fixed = models
    batch, choose = fixed.new_batch(), random.Random(100 * texts + n)
    sequences = [Sequence(plain, batch, number) for number in range(texts)]
    for step in range(2):
        widths = [n, *(choose.randrange(1, n + 1) for _ in range(texts - 1))]
        asked = [
            (one, one.share(width, (number + step) % 2, step + number, last_only=number == 1))
            for number, (one, width) in enumerate(zip(sequences, widths, strict=True))
        ]
        pass_(batch, asked)
        for one in sequences:
            one.roll_back(choose)


def test_who_asks_nothing_is_written_over_nowhere_that_it_reads(models):
    plain, fixed = models
    batch = fixed.new_batch()
    a, b, c = (Sequence(plain, batch, number) for number in range(3))
    pass_(batch, [(b, b.share(4, True, 1))])  # its tree stays while others ask
    pass_(batch, [(a, a.share(3, False, 2)), (c, c.share(7, True, 3))])
    pass_(batch, [(b, b.share(2, True, 4))])


def test_a_pass_is_recorded_once_for_each_width_and_number_of_lanes_and_over_again_for_the_next_batch(models, recorded):
    plain, fixed = models

    def whole_batch():
        batch = fixed.new_batch()
        sequences = [Sequence(plain, batch, number) for number in range(4)]
        for left in (4, 3, 2, 1):  # three in use are padded to four lanes
            for n in (3, 4, 1, 4):
                pass_(batch, [(one, one.share(n, False, n)) for one in sequences[:left]])
                for one in sequences[:left]:
                    one.roll_back(random.Random(n))
            batch.leave(sequences[left - 1].lane)

    whole_batch()
    assert recorded["passes"] == 2 * 3  # one and four rows, over four lanes, over two and over one
    whole_batch()
    assert recorded["passes"] == 6


def test_too_many_rows_in_all_are_launched_one_kernel_after_the_other(models, recorded, monkeypatch):
    monkeypatch.setattr(llama_batch, "MOST", 15)
    plain, fixed = models
    batch = fixed.new_batch()
    sequences = [Sequence(plain, batch, number) for number in range(4)]
    pass_(batch, [(one, one.share(3, False, 1)) for one in sequences])
    assert recorded["passes"] == 0  # four lanes of four rows are one too many
    pass_(batch, [(one, one.share(2, False, 2)) for one in sequences])
    assert recorded["passes"] == 1


def test_a_batch_that_outgrows_its_storage_moves_to_a_larger_one(models, monkeypatch):
    for module in (llama_batch, llama_rows):
        monkeypatch.setattr(module, "FIRST_ROWS", 8)
    monkeypatch.setattr("specviz.lm.llama.replay.FIRST_ROWS", 8)
    plain, fixed = models
    batch = fixed.new_batch()
    sequences = [Sequence(plain, batch, number) for number in range(3)]
    sizes = []
    for step in range(5):
        pass_(batch, [(one, one.share(5, False, step)) for one in sequences])
        sizes.append(batch.storage.shape[2:4])
    assert sizes == [(4, 16), (4, 32), (4, 32), (4, 32), (4, 64)]


def test_logits_are_kept_when_the_next_pass_writes_over_its_results(models):
    plain, fixed = models
    batch = fixed.new_batch()
    a, b = (Sequence(plain, batch, number) for number in range(2))
    first = batch.forward([a.share(2, False, 1), b.share(2, False, 1)])
    kept = [logits.clone() for logits in first]
    batch.forward([a.share(2, False, 2), b.share(2, False, 2)])
    assert all(error(one, other) == 0.0 for one, other in zip(first, kept, strict=True))
