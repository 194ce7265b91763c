"""Acceptance records of other engines are read as they document them, held against themselves, and written alike."""

import json
from pathlib import Path
from typing import Any

import pytest

from specviz.errors import TraceError
from specviz.protocol.acceptance import (
    WRITERS,
    Acceptance,
    from_aiperf,
    from_sglang,
    from_vllm,
    of_trace,
    pooled,
    read,
    to_vllm,
)
from specviz.trace import codec
from tests.protocol.acceptance.records import aiperf, sglang, vllm

GOLDEN = Path(__file__).parents[2] / "golden" / "trace-1.0-sample.json"


def test_a_vllm_response_is_read_with_all_it_tells() -> None:
    told = from_vllm(vllm())
    assert told == Acceptance(43, 129, 10, (39, 1, 0, 3), 53, 3)
    assert told.reached == (4 / 43, 3 / 43, 3 / 43)
    steps = {
        "per_step_accepted": [0, 3],
        "per_step_drafted": [3, 3],
        "num_spec_steps": 2,
        "num_accepted_draft_tokens": 3,
    }
    detailed = vllm(
        **steps,
        num_draft_tokens=6,
        acceptance_histogram=[1, 0, 0, 1],
        mean_acceptance_length=2.5,
        draft_acceptance_rate=0.5,
    )
    assert from_vllm(detailed).per_step == ((3, 0), (3, 3))
    assert from_vllm({"metrics": {"speculative_decoding": None}}) is None


def test_a_sglang_response_is_read_by_its_names_old_and_new() -> None:
    told = from_sglang(sglang())
    assert told == Acceptance(5, 15, 6, (1, 3, 0, 1), 12)
    meta = sglang()["meta_info"]
    older = {
        name: meta[name] for name in ("completion_tokens", "spec_verify_ct", "spec_accept_rate", "spec_accept_length")
    }
    older |= {"spec_accept_token_num": 6, "spec_draft_token_num": 15, "spec_accept_histogram": [1, 3, 0, 1]}
    assert from_sglang({"meta_info": older}) == told
    assert from_sglang({"meta_info": {"completion_tokens": 1}}) is None


def test_an_aiperf_line_has_a_sparse_histogram() -> None:
    assert from_aiperf(aiperf()) == Acceptance(2, 8, 4, (1, 0, 0, 0, 1), None, 4)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (vllm(num_spec_steps=42), "the counts give 1.2381"),
        (vllm(acceptance_histogram=[38, 1, 0, 3]), "the histogram sums to 42, but there are 43 steps"),
        (vllm(acceptance_histogram=[39, 2, 0, 2]), "the histogram holds 8 accepted tokens, but 10 are told"),
        (vllm(num_draft_tokens="129"), "num_draft_tokens is '129', but must be a whole number"),
        (vllm(draft_acceptance_rate=0.5), "draft_acceptance_rate is 0.5, but the counts give 0.0775194"),
        (vllm(num_accepted_draft_tokens=True), "num_accepted_draft_tokens is True"),
        (sglang(spec_accept_length=3.0), "spec_accept_length is 3, but the counts give 2.4"),
        (sglang(spec_num_correct_drafts=None), "spec_num_correct_drafts is missing"),
        (aiperf(acceptance_histogram={"1e9": 2}), "has the key '1e9'"),
        (aiperf(acceptance_histogram={"99999999": 2}), "has the key '99999999'"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused_with_its_line(tmp_path: Path, record: Any, told: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(record)}\n{json.dumps(record)}\n")
    with pytest.raises(TraceError, match=r"^log\.jsonl: line 1: ") as refused:
        read(path)
    assert told in str(refused.value)


@pytest.mark.parametrize("form", ["lines", "list", "one"])
def test_a_file_is_one_response_a_list_or_one_per_line(tmp_path: Path, form: str) -> None:
    rows = [vllm(), vllm()] if form != "one" else [vllm()]
    text = {"lines": "\n".join(map(json.dumps, rows)), "list": json.dumps(rows), "one": json.dumps(rows[0], indent=1)}
    path = tmp_path / "log.json"
    path.write_text(text[form])
    run = read(path)
    assert (run.engine, len(run.requests), run.traced) == ("vllm", len(rows), False)
    assert run.total.spec_steps == 43 * len(rows)


def test_requests_without_speculation_are_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "profile_export.jsonl"
    path.write_text("\n".join(map(json.dumps, [aiperf(), {"metadata": {}, "metrics": {}}])))
    run = read(path)
    assert (run.engine, len(run.requests), run.silent) == ("vllm, by AIPerf", 1, 1)
    path.write_text("\n".join(map(json.dumps, [{"metrics": {}}, {"metrics": {}}])))
    with pytest.raises(TraceError, match="its 2 requests tell nothing of speculative decoding"):
        read(path)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 1}', "[" * 99])
def test_whatever_else_is_handed_in_is_refused_with_the_files_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(text)
    with pytest.raises(TraceError, match=r"^log\.json: "):
        read(path)


def test_several_requests_are_added_step_by_step() -> None:
    total = pooled([Acceptance(2, 4, 2, (1, 0, 1), 5, 2), Acceptance(1, 3, 3, (0, 0, 0, 1), 4, 3)])
    assert total == Acceptance(3, 7, 5, (1, 0, 1, 1), 9, None)
    assert pooled([Acceptance(2, 4, 2, (1, 0, 1)), Acceptance(1, 3, 3)]).histogram is None


def test_a_trace_counts_as_its_summary_does(tmp_path: Path) -> None:
    trace = codec.read(GOLDEN)
    counts, summary = of_trace(trace), trace.summary
    assert (counts.spec_steps, counts.draft_tokens, counts.accepted_tokens) == (
        summary.num_spec_steps,
        summary.num_draft_tokens,
        summary.num_accepted_draft_tokens,
    )
    assert list(counts.histogram or ()) == summary.acceptance_histogram
    assert read(GOLDEN).traced


@pytest.mark.parametrize("engine", WRITERS)
def test_our_own_runs_are_written_in_the_engines_words_and_read_again(tmp_path: Path, engine: str) -> None:
    counts = of_trace(codec.read(GOLDEN))
    path = tmp_path / "own.json"
    path.write_text(json.dumps(WRITERS[engine](counts)))
    again = read(path).requests[0]
    assert (again.spec_steps, again.draft_tokens, again.accepted_tokens) == (7, 36, 14)
    assert (again.histogram, again.output_tokens) == (counts.histogram, 20)


def test_drafts_of_each_length_stand_apart_as_in_vllm() -> None:
    counts = Acceptance(3, 7, 3, (1, 1, 1), 6, 3, ((3, 2), (3, 0), (1, 1)))
    told = to_vllm(counts)["metrics"]["speculative_decoding"]
    assert told["acceptance_histogram_by_draft_length"] == {"1": [0, 1], "3": [1, 0, 1, 0]}
    assert (told["per_step_drafted"], told["per_step_accepted"]) == ([3, 3, 1], [2, 0, 1])


def test_a_run_that_drafted_nothing_has_no_acceptance_to_write() -> None:
    with pytest.raises(TraceError, match="drafted nothing"):
        to_vllm(Acceptance(0, 0, 0, (0,)))
