"""Passes of fixed widths, padded and at fixed addresses, say what the plain ones say: here without being recorded."""

import random

import pytest
import torch

from specviz.drafters.eagle import EagleModule
from specviz.drafters.learned.eagle_network import EagleShape
from specviz.drafters.learned.module import TargetParts, fresh
from specviz.lm.base import Blocks
from specviz.lm.llama.replay import FEW, WIDTHS
from tests.lm.tiny_models import error, random_parents, random_tokens

CLOSE = 1e-5
TEXT = 7


def caches_of(models, text):
    """A cache for each, holding the same text."""
    caches = [model.new_cache() for model in models]
    for model, cache in zip(models, caches, strict=True):
        model.forward(text, cache, last_only=True)
        cache.keep(range(len(text)))
    return caches


def both(models, caches, tokens, parents=None, last_only=False):
    return [model.forward(tokens, cache, parents, last_only) for model, cache in zip(models, caches, strict=True)]


def same_rows(caches):
    plain, fixed = caches
    assert plain.tokens == fixed.tokens
    length = plain.length
    return error(plain.room(length)[:, :, :length], fixed.room(length)[:, :, :length]) < CLOSE


@pytest.mark.parametrize("n", sorted({*range(1, 18), 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256}))
@pytest.mark.parametrize("shape", ["chain", "tree"])
def test_a_pass_of_any_width_has_the_logits_and_leaves_the_rows_of_a_plain_one(models, n, shape):
    caches = caches_of(models, random_tokens(0, TEXT))
    parents = None if shape == "chain" else random_parents(n, TEXT, TEXT, n)
    plain, fixed = both(models, caches, random_tokens(n, n), parents)
    assert fixed.shape == plain.shape == (n, 60)
    assert error(plain, fixed) < CLOSE
    assert same_rows(caches)


def test_a_wider_pass_than_the_widest_is_a_plain_one(models, recorded):
    plain, fixed = both(models, caches_of(models, random_tokens(0, TEXT)), random_tokens(1, WIDTHS[-1] + 1))
    assert error(plain, fixed) < CLOSE
    assert recorded["passes"] == 1  # the text


@pytest.mark.parametrize("n", [FEW, FEW + 1, WIDTHS[-1], WIDTHS[-1] + 1, 2 * WIDTHS[-1], 2 * WIDTHS[-1] + 70])
def test_a_long_text_is_read_in_parts_of_the_widest_and_its_last_row_is_that_of_a_plain_pass(models, recorded, n):
    caches = [model.new_cache() for model in models]
    for model, cache in zip(models, caches, strict=True):
        model.watch(cache, [0, 2])
    plain, fixed = both(models, caches, random_tokens(n, n), last_only=True)
    assert fixed.shape == (1, 60)
    assert error(plain, fixed) < CLOSE
    assert same_rows(caches)
    seen = [model.seen(cache) for model, cache in zip(models, caches, strict=True)]
    assert seen[0].shape == seen[1].shape == (n, 2, 24), "of every row, whichever part it was read in"
    assert error(*seen) < CLOSE
    assert recorded["passes"] == len({part_of(n, start) for start in range(0, n, WIDTHS[-1])})


def part_of(n: int, start: int) -> int:
    """Rows of the pass that reads the part of a text of n rows from `start` on."""
    rows = min(n - start, WIDTHS[-1])
    return next(width for width in WIDTHS if width >= rows)


def test_a_short_text_is_read_by_the_pass_that_drafts_are(models, recorded):
    both(models, [model.new_cache() for model in models], random_tokens(0, 60), last_only=True)
    both(models, [model.new_cache() for model in models], random_tokens(0, 62))
    assert recorded["passes"] == 1


def test_trees_that_are_rolled_back_to_any_path_leave_nothing_behind(models):
    """Forty rounds of trees of 1 to 12 rows, each kept along a random path."""
    choose = random.Random(3)
    caches = caches_of(models, random_tokens(0, TEXT))
    for turn in range(40):
        start, n = caches[0].length, choose.randrange(1, 13)
        parents = random_parents(turn, start, start, n)
        plain, fixed = both(models, caches, random_tokens(turn, n), parents)
        assert error(plain, fixed) < CLOSE
        path, at = [], start - 1
        while children := [start + i for i, parent in enumerate(parents) if parent == at]:
            if choose.random() < 0.3:
                break
            at = choose.choice(children)
            path.append(at)
        for cache in caches:
            cache.keep(path)
        assert same_rows(caches)


def test_a_text_cut_short_goes_on_from_there(models):
    caches = caches_of(models, random_tokens(0, 9))
    for cache in caches:
        cache.truncate(4)
    plain, fixed = both(models, caches, [1, 2, 3])
    assert error(plain, fixed) < CLOSE


def test_a_text_that_outgrows_its_storage_moves_to_a_larger_one(models):
    caches = caches_of(models, random_tokens(0, 254))
    assert caches[1].storage.kv.shape[3] == 256
    plain, fixed = both(models, caches, [1, 2, 3, 4, 5], [253, 254, 254, 255, 255])
    assert caches[1].storage.kv.shape[3] == 512
    assert error(plain, fixed) < CLOSE
    assert same_rows(caches)


def test_a_pass_is_recorded_once_for_each_width_and_over_again_for_the_next_run(models, recorded):
    _, fixed = models
    cache = fixed.new_cache()
    for n in (3, 4, 1, 3, 2, 4):
        fixed.forward(random_tokens(n, n), cache)
    assert recorded["passes"] == 3  # of one, two and four rows
    held = cache.storage
    del cache
    again = fixed.new_cache()
    assert again.storage is held
    fixed.forward([5, 6, 7], again)
    assert recorded["passes"] == 3
    assert fixed.new_cache().storage is not held


def test_what_a_run_before_left_in_a_storage_is_not_seen(models):
    plain, fixed = models
    cache = fixed.new_cache()
    fixed.forward(random_tokens(5, 60), cache)
    del cache
    caches = [plain.new_cache(), fixed.new_cache()]
    assert error(*both(models, caches, [4, 5, 6])) < CLOSE


def test_logits_of_a_pass_are_kept_when_the_next_one_writes_over_its_results(models):
    _, fixed = models
    cache = fixed.new_cache()
    first = fixed.forward([1], cache)
    kept = first.clone()
    fixed.forward([2], cache)
    assert torch.equal(first, kept)


def test_states_on_the_way_are_those_of_a_plain_pass(models):
    caches = caches_of(models, random_tokens(0, TEXT))
    for depths in ([2], [0, 1, 2], [1]):
        for model, cache in zip(models, caches, strict=True):
            model.watch(cache, depths)
        both(models, caches, [3, 4, 5], [TEXT - 1, TEXT, TEXT])
        seen = [model.seen(cache) for model, cache in zip(models, caches, strict=True)]
        assert seen[0].shape == seen[1].shape == (3, len(depths), 24)
        assert error(*seen) < CLOSE
        for cache in caches:
            cache.keep([])


@pytest.mark.parametrize("last_only", [False, True])
def test_hidden_states_and_last_rows_are_those_of_a_plain_pass(models, last_only):
    caches = caches_of(models, random_tokens(0, TEXT))
    plain, fixed = (
        model.forward_hidden([3, 4, 5], cache, None, last_only) for model, cache in zip(models, caches, strict=True)
    )
    assert [len(one) for one in fixed] == [1 if last_only else 3] * 2
    assert all(error(one, other) < CLOSE for one, other in zip(plain, fixed, strict=True))
    assert error(*both(models, caches, [6, 7], None, last_only)) < CLOSE


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 17])
@pytest.mark.parametrize("shape", ["chain", "tree"])
def test_some_layers_alone_and_the_others_after_them_leave_what_plain_passes_do(models, recorded, n, shape):
    """Three rounds: the first layer drafts, its rows are finished by the second, and a path of them stays."""
    caches, first = caches_of(models, random_tokens(0, TEXT)), Blocks.first(1)
    for model, cache in zip(models, caches, strict=True):
        model.watch(cache, [1, 2])
    before, drafted = recorded["passes"], list[tuple[torch.Tensor, torch.Tensor]]()
    for turn in range(3):
        start = caches[0].length
        parents = None if shape == "chain" else random_parents(turn, start, start, n)
        tokens = random_tokens(turn, n)
        states = [model.partial(tokens, cache, parents, first) for model, cache in zip(models, caches, strict=True)]
        assert error(*states) < CLOSE
        drafted.append((states[1], states[1].clone()))
        finished = []
        for model, cache, state in zip(models, caches, states, strict=True):
            aside = model.set_aside(cache, list(range(n)), state, 1)
            finished.append(model.finish(tokens, cache, parents, aside))
        assert finished[0].shape == finished[1].shape == (n, 60)
        assert error(*finished) < CLOSE
        assert same_rows(caches)
        assert error(*(model.seen(cache) for model, cache in zip(models, caches, strict=True))) < CLOSE
        for cache in caches:
            cache.keep([start] if parents is None or parents[0] == start - 1 else [])
    assert all(torch.equal(*pair) for pair in drafted), "what was drafted from is written over"
    # the first layer alone from its second time on, and the second; some of the drawn trees are chains
    assert recorded["passes"] == before + 2 if shape == "chain" else before + 2 <= recorded["passes"] <= before + 4


def test_layers_that_a_search_tries_once_are_not_recorded(models, recorded):
    caches = caches_of(models, random_tokens(0, TEXT))
    before = recorded["passes"]
    for blocks in (Blocks.first(1), Blocks(frozenset({1}), frozenset({0, 1})), Blocks(frozenset(), frozenset({1}))):
        states = [model.partial([3, 4], cache, None, blocks) for model, cache in zip(models, caches, strict=True)]
        assert error(*states) < CLOSE
        for cache in caches:
            cache.keep([])
    assert recorded["passes"] == before


def test_rows_that_wait_for_their_other_layers_are_there_after_a_text_outgrows_its_storage(models):
    caches = caches_of(models, random_tokens(0, 253))
    tokens, logits = random_tokens(1, 5), []
    for model, cache in zip(models, caches, strict=True):
        states = model.partial(tokens[:3], cache, None, Blocks.first(1))
        aside = model.set_aside(cache, [253, 254, 255], states, 1)
        logits.append(model.finish(tokens[:3], cache, None, aside))
    assert caches[1].storage.kv.shape[3] == 512, "three rows are padded to four"
    assert error(*logits) < CLOSE
    assert same_rows(caches)


def test_a_trimmed_head_is_no_other_heads_pass(models):
    caches = caches_of(models, random_tokens(0, TEXT))
    both(models, caches, [1, 2])
    trimmed = [model.with_head([3, 9, 30]) for model in models]
    found = both(trimmed, caches, [3, 4])
    assert found[0].shape == found[1].shape == (2, 3)
    assert error(*found) < CLOSE
    assert error(*both(models, caches, [3, 4])) < CLOSE


@torch.inference_mode()
@pytest.mark.parametrize("shape", [EagleShape(), EagleShape(wiring="eagle3", depths=(0, 1, 2), heads=4, kv_heads=2)])
def test_a_drafter_that_goes_on_from_states_makes_the_same_steps(models, shape):
    plain, fixed = models
    lean = [fresh(EagleModule, TargetParts.of(plain), shape).lean() for _ in models]
    lean[1].replay_as(fixed)
    caches = [one.new_cache() for one in lean]
    states = torch.randn(3, 24, generator=torch.Generator().manual_seed(0))
    for tokens, parents in (([4, 5, 6], None), ([7, 8], [2, 2]), ([9], [4]), ([1, 2, 3], [3, 3, 5])):
        found = [
            one.run(tokens, states[: len(tokens)], cache, parents) for one, cache in zip(lean, caches, strict=True)
        ]
        assert found[0].shape == found[1].shape
        assert error(*found) < CLOSE
    assert lean[1].block.replays is not None
    lean[1].replay_as(plain)
    assert lean[1].block.replays is None
