"""llama.cpp's two forms that are JSON: our counts written as `timings` and read back, and its dump of drafts."""

import json
from dataclasses import replace
from typing import Any

import pytest

from specviz.doctor.read import loads
from specviz.doctor.responses import timings_of, to_timings
from specviz.errors import TraceError
from specviz.protocol.acceptance import Acceptance
from tests.trace.changing import sample


def step(number: int, made: int, kept: int, seq: int = 0) -> dict[str, Any]:
    """One verified draft, as the pull request that adds the dump shows it."""
    entries = [
        {"i": i, "tok": 292 + i, "p": 0.75, "logp": -0.287682, "acc": i < kept, "top": [{"tok": 292 + i, "p": 0.75}]}
        for i in range(made)
    ]
    return {"step": number, "seq": seq, "n_draft": made, "n_accepted": kept, "pmin_drop": 0, "pos": entries}


def dump(*steps: dict[str, Any]) -> bytes:
    return "\n".join(map(json.dumps, steps)).encode()


def test_our_counts_come_back_from_llama_cpps_field_names() -> None:
    written = to_timings(Acceptance(10, 40, 25, output_tokens=35), decode_s=0.5)
    assert written == {
        "timings": {
            "predicted_n": 35, "predicted_ms": 500.0, "predicted_per_second": 70.0, "draft_n": 40,
            "draft_n_accepted": 25,
        }
    }  # fmt: skip
    record = loads(json.dumps(written).encode())
    assert (record.engine, record.drafted, record.accepted, record.steps) == ("llama.cpp", 40, 25, 10)
    assert (record.output_tokens, record.decode_s, record.tokens_per_s) == (35, 0.5, 70.0)


def test_a_pass_that_went_beyond_the_end_counts_its_tokens_as_llama_cpp_does() -> None:
    """Eight passes, 20 tokens, and behind the end one of 14 accepted candidates and a bonus."""
    record = loads(json.dumps(timings_of(sample())).encode())
    assert (record.output_tokens, record.accepted, record.steps, record.broken) == (22, 14, 8, ())
    this = sample().rounds[5]
    cut = replace(this.committed, tokens=this.committed.tokens[:1], trimmed="eos", trimmed_tokens=4)
    finished = replace(sample().finished, output_ids=[cut.tokens[0].token])
    short = replace(sample(), rounds=[replace(this, committed=cut)], finished=finished)
    assert loads(json.dumps(timings_of(short)).encode()).broken == (), "4 candidates of an answer of one token"


def test_a_run_without_drafts_writes_none_as_llama_cpp_does() -> None:
    written = to_timings(Acceptance(0, 0, 0, output_tokens=5), decode_s=0.5)
    assert "draft_n" not in written["timings"]
    assert loads(json.dumps(written).encode()).speculates is False


def test_an_answer_that_nobody_counted_has_no_timings() -> None:
    with pytest.raises(TraceError, match="how many tokens the answer has"):
        to_timings(Acceptance(10, 40, 25), decode_s=0.5)


def test_a_dump_is_counted_by_position() -> None:
    record = loads(dump(step(1, 3, 2), step(2, 3, 0), step(3, 2, 2, seq=1), step(4, 3, 3, seq=1)))
    assert (record.drafted, record.accepted, record.steps, record.requests) == (11, 7, 4, 2)
    assert record.by_position == (0.75, 0.75, 0.25)
    assert record.broken == ()


def test_a_dump_whose_labels_and_counts_differ_contradicts_itself() -> None:
    wrong = step(2, 3, 1) | {"n_accepted": 2}
    assert loads(dump(step(1, 3, 2), wrong)).broken == ("step 2 tells 2 of 3 accepted, but its labels tell 1 of 3.",)


def test_a_dump_with_damaged_entries_is_no_crash() -> None:
    assert loads(dump(step(1, 1, 1) | {"pos": [3]})).broken == (
        "step 1 tells 1 of 1 accepted, but its labels tell 0 of 0.",
    )
