"""MTP modules, DFlash blocks and Gemma assistants under `generate`: the same text, and a sound trace of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import specviz
from specviz.errors import RecordError
from specviz.trace.check import check
from specviz.trace.events import Trace
from tests.record.generating import generate
from tests.record.tiny_assistants import with_dflash, with_gemma_assistant, with_mtp

Pairs = Mapping[str, tuple[Any, dict[str, Any]]]
NEW = 16
HOW = {
    "greedy": {},
    "sampled": {"do_sample": True, "top_k": 0},
    "sharpened and cut": {"do_sample": True, "temperature": 0.6, "top_k": 9, "top_p": 0.9},
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    mtp = with_mtp(tmp_path_factory.mktemp("mtp"))
    return {"mtp": mtp, "dflash": with_dflash(), "gemma_assistant": with_gemma_assistant()}


def recorded(pairs: Pairs, tokenizer: Any, name: str, **settings: Any) -> tuple[list[int], Trace]:
    model, drafts = pairs[name]
    with specviz.record.transformers(model, tokenizer) as recording:
        ids = generate(model, **drafts, **settings, max_new_tokens=NEW)
    return ids, recording.trace


@pytest.mark.parametrize(
    ("name", "how"), [(name, how) for name in ("mtp", "dflash") for how in HOW] + [("gemma_assistant", "greedy")]
)
def test_the_text_is_that_of_generate_and_the_trace_is_sound(
    pairs: Pairs, tokenizer: Any, name: str, how: str, tmp_path: Path
) -> None:
    model, drafts = pairs[name]
    unwatched = generate(model, **drafts, **HOW[how], max_new_tokens=NEW)
    ids, trace = recorded(pairs, tokenizer, name, **HOW[how])
    assert ids == unwatched
    assert trace.started.prompt_ids + trace.finished.output_ids == ids
    assert trace.started.drafter.name == f"transformers.{name}"
    assert trace.started.verifier.name == ("greedy" if how == "greedy" else "sequential")
    assert check(trace) == []
    path = tmp_path / "run.json"
    specviz.write(trace, path)
    assert specviz.read(path) == trace


def test_a_greedy_text_is_the_targets_own(pairs: Pairs, tokenizer: Any) -> None:
    for name, (model, _) in pairs.items():
        assert recorded(pairs, tokenizer, name)[0] == generate(model, max_new_tokens=NEW), name


@pytest.mark.parametrize(
    ("name", "passes", "options"),
    [
        ("mtp", [(8, 0, None)], {"num_mtp_layers": 2}),  # the text but its first token, each with the state before it
        ("dflash", [(4, 0, None)], {"block_size": 4}),  # the whole block at once
        ("gemma_assistant", [(1, 0, 1), (1, 0, 2), (1, 0, 3), (1, 0, 4)], {"num_assistant_tokens": 4}),
    ],
)
def test_the_first_round_only_reads_the_prompt_and_the_second_drafts_from_the_targets_states(
    pairs: Pairs, tokenizer: Any, name: str, passes: list[tuple[int, int, int | None]], options: dict[str, int]
) -> None:
    _, trace = recorded(pairs, tokenizer, name)
    first, second = trace.rounds[:2]
    assert (len(first.nodes), first.drafted.passes, len(first.committed.tokens)) == (1, [], 1)
    assert [(each.rows, each.cached_rows, each.depth) for each in second.drafted.passes] == passes
    assert trace.started.drafter.options == options
    assert all(node.draft_raw is not None for node in second.nodes[:-1])
    assert (trace.started.drafter.model is None) == (name == "mtp")  # its weights are the target's own


def test_candidates_of_a_sampled_run_are_judged_by_the_probability_they_were_drawn_with(
    pairs: Pairs, tokenizer: Any
) -> None:
    for name in ("mtp", "dflash"):
        _, trace = recorded(pairs, tokenizer, name, do_sample=True, top_k=0)
        assert trace.summary.num_accepted_draft_tokens > 0, name
        trials = [trial for this in trace.rounds for trial in this.judged.trials]
        assert all(trial.accepted == (trial.u < trial.threshold) for trial in trials)
        assert any(trial.draft_prob not in (0.0, 1.0) for trial in trials)


def test_a_sampled_gemma_assistant_is_refused_for_its_candidates_were_not_drawn(pairs: Pairs, tokenizer: Any) -> None:
    with pytest.raises(RecordError, match="takes its most probable token and is judged as if it had drawn it"):
        recorded(pairs, tokenizer, "gemma_assistant", do_sample=True)
