"""The measured curve t(n): its shape as data. How fast anything is, is nobody's business here."""

import pytest
import torch

from specviz.lm import step_time
from specviz.lm.load import load
from specviz.lm.step_time import draft_pass_s, filled_cache, machine, pass_s, step_times, use_threads


@pytest.fixture
def model(checkpoint):
    step_time._measured.clear()
    step_time._draft_passes.clear()
    return load(str(checkpoint("llama"))).model


def test_row_counts_beyond_the_context_are_left_out(model):
    """A context of 48 leaves room for 24 rows beside the 24 cached ones."""
    curve = step_times(model, (1, 2, 24, 25), cached_rows=40, budget_s=0.01)
    assert [(t.rows, t.cached_rows) for t in curve] == [(1, 24), (2, 24), (24, 24)]


def test_a_pass_is_timed_over_a_binary_tree_whose_rows_are_dropped_again(model, monkeypatch):
    forward, asked = model.forward, []

    def noted(tokens, cache, parents, last_only):
        asked.append((cache.length, parents, last_only))
        return forward(tokens, cache, parents, last_only)

    cache = filled_cache(model, 4)
    monkeypatch.setattr(model, "forward", noted)
    assert pass_s(model, cache, 5) > 0
    assert pass_s(model, cache, 1) > 0
    assert asked == [(4, [3, 4, 4, 5, 5], False), (4, [3], False)]


def test_where_the_budget_is_over_three_passes_are_timed_all_the_same(model, monkeypatch):
    timed = []
    monkeypatch.setattr(step_time, "pass_s", lambda model, rows, n: timed.append(n) or 0.001)
    step_times(model, (1, 2), cached_rows=8, budget_s=-1.0)
    assert timed == [1, 2] + [2, 1] * 3, "once before anything is timed, and three times more, the widest first"


def test_quartiles_enclose_the_median(model):
    for t in step_times(model, (1, 4), cached_rows=8, budget_s=0.01):
        assert 0 < t.low_s <= t.median_s <= t.high_s


def test_the_same_model_is_measured_once(model, monkeypatch):
    first = step_times(model, (1, 2), cached_rows=8, budget_s=0.01)
    monkeypatch.setattr(step_time, "_measure", lambda *arguments: pytest.fail("measured again"))
    assert step_times(model, (1, 2), cached_rows=8, budget_s=0.01) == first


def test_on_other_threads_it_is_measured_anew(model):
    step_times(model, (1, 2), cached_rows=8, budget_s=0.01)
    use_threads(2)
    step_times(model, (1, 2), cached_rows=8, budget_s=0.01)
    use_threads(1)
    assert [threads for *_, threads, _, _ in step_time._measured] == [1, 2]


def test_drafter_passes_are_timed_four_at_a_time_behind_a_target_pass(model, checkpoint, monkeypatch):
    """Each round: one target pass over 5 rows, then passes over 2, 1, 1, 1 rows of 3, 1, 1, 1 s: 1.5 s each."""
    target, passes = load(str(checkpoint("gpt2"))).model, []
    seconds = iter([9.0, 9.0, *[9.0, 3.0, 1.0, 1.0, 1.0] * step_time.REPEATS])

    def timed(timed_model, rows, n):
        passes.append((timed_model is target, n))
        return next(seconds)

    monkeypatch.setattr(step_time, "pass_s", timed)
    assert draft_pass_s(model, target, cached_rows=8) == 1.5
    assert passes[2:7] == [(True, 5), (False, 2), (False, 1), (False, 1), (False, 1)]
    assert draft_pass_s(model, target, cached_rows=8) == 1.5, "measured once, or the seconds would have run out"


def test_the_machine_record_names_no_host(monkeypatch):
    import platform

    monkeypatch.setattr(platform, "node", lambda: pytest.fail("asked for the host name"))
    record = machine(torch.device("cpu"), "float32")
    assert (record.device, record.dtype, record.threads) == ("cpu", "float32", 1)
    assert record.torch == torch.__version__ or record.torch in torch.__version__


def test_threads_are_a_choice():
    use_threads(2)
    assert torch.get_num_threads() == 2
    use_threads(0)
    assert torch.get_num_threads() == 1
