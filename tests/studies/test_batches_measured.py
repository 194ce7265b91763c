"""The comparison of batches on tiny checkpoints: every size in every way on the same texts."""

import pytest

from specviz.batch.budget import Budget, Prices
from specviz.core.sampling import Sampling
from specviz.engine.termination import Limits
from specviz.errors import OptionError
from specviz.lm.load import load
from specviz.studies.batches import measure as run
from specviz.studies.batches import result as batches
from specviz.studies.batches.measure import BatchPlan, compare
from specviz.studies.batches.points import FORMAT, VERSION, BatchFile, problems
from tests.lm.conftest import checkpoint, one_thread
from tests.studies.test_batches import STARTED

__all__ = ["checkpoint", "one_thread"]

PROMPTS = [("a", [1, 2, 3]), ("b", [4]), ("c", [5, 6, 7, 8]), ("d", [1, 2, 3])]


FREE = Budget(Prices.of(lambda texts, rows: 1.0, lambda texts, rows: 0.0, 4, 3))


def plan(temperature: float, sizes=(1, 2, 4), repeats: int = 1) -> BatchPlan:
    shapes = ((1, 1), (2, 1))
    return BatchPlan(PROMPTS, sizes, shapes, Sampling(temperature), 7, Limits(8), repeats)


@pytest.fixture
def pair(checkpoint):
    target = load(str(checkpoint("llama", num_key_value_heads=2)), adapter="lean-llama").model
    return target, load(str(checkpoint("llama", intermediate_size=32)), adapter="lean-llama").model


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_size_has_the_same_texts_and_the_same_acceptance(pair, temperature):
    lines: list[str] = []
    found = compare(*pair, plan(temperature, repeats=2), lines.append)
    assert all(text.same for text in found.texts)
    keys = {(one.shape, one.size) for one in found.points}
    assert keys == {(shape, size) for shape in ((), (1, 1), (2, 1)) for size in (1, 2, 4)}
    counts = {(one.shape, one.prompt, one.drafts, one.drafted, one.accepted, one.same) for one in found.texts}
    assert (len(found.texts), len(counts)) == (3 * 3 * 4, 3 * 4), "no size drafts or accepts anything else"
    assert {one.tokens for one in found.points} == {32}
    turns = ((1, 1), (1, 2), (1, 4), (2, 2), (2, 4), (2, 1))
    assert lines == ["each text alone", *(f"batches of {size}, repeat {repeat} of 2" for repeat, size in turns)]


def test_a_larger_batch_takes_fewer_passes(pair):
    points = {(one.shape, one.size): one for one in compare(*pair, plan(0.0)).points}
    assert [points[(), size].target_passes for size in (1, 2, 4)] == [32, 16, 8]
    assert [points[(), size].shares for size in (1, 2, 4)] == [32, 32, 32]
    assert {points[(), size].drafter_passes for size in (1, 2, 4)} == {0}
    assert points[(1, 1), 4].drafter_passes < points[(1, 1), 1].drafter_passes


def test_each_prompt_draws_with_a_seed_of_its_own(pair):
    """The first prompt and the last are the same text."""
    found = run._sessions(plan(1.0), (1, 1), FREE)
    first, last = (run._alone(*pair, found[place]) for place in (0, 3))
    assert first != last


def test_a_budget_writes_the_same_texts_and_its_time_is_modelled_from_measured_passes(pair):
    shapes = ((1, 1), (0, 0, 0))
    found = compare(*pair, BatchPlan(PROMPTS, (1, 2), shapes, Sampling(), 7, Limits(8), 1))
    assert all(text.same for text in found.texts)
    plain = {one.size: one.full_tokens for one in found.points if one.shape == ()}
    assert plain == {1: 32, 2: 32}, "all texts of 8 tokens end at once"
    assert all(one.modelled_s > 0.0 and 0 < one.full_tokens <= 32 for one in found.points)


def test_texts_that_do_not_fill_every_batch_are_refused():
    with pytest.raises(OptionError, match="4 texts do not fill batches of 3; every size is measured on the same texts"):
        plan(0.0, (1, 3))


def test_the_report_says_the_sentence_the_rows_and_the_origin(pair):
    found = compare(*pair, plan(0.0))
    file = BatchFile(
        FORMAT, VERSION, STARTED.machine, STARTED.target, STARTED.target, "2026-01-31T12:00:00Z",
        found.clock, 1.25, 0.0, 7, 8, found.points, found.texts,
    )  # fmt: skip
    assert list(problems(file)) == []
    text = batches.markdown(file)
    assert text.startswith("**With γ = 2 speculation pays ")
    assert "Acceptance is the same at every size.**" in text
    assert "4 texts of at most 8 tokens, the same at every batch size B, temperature 0, seed 7, 1 repeat, by " in text
    assert text.count("4/4") == 9
    assert "machine's load 1.2 on" in text
    assert text.endswith(f"sha256 {STARTED.target.weights_sha256[:12]}).")
