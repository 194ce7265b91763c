"""Records of every engine, made by hand in the documented forms (docs/doctor.md): counts come out, identities hold."""

import json
from pathlib import Path

import pytest

from specviz.doctor.read import loads
from specviz.doctor.record import Record
from specviz.errors import TraceError
from specviz.resources import ROOT
from specviz.theory.simulation import Simulation, simulate
from specviz.theory.what_if import Clock, Shape
from specviz.trace.codec import dumps, read
from specviz.trace.files import UPLOAD

RECORDS = Path(__file__).parent / "records"
VLLM_LOG = (RECORDS / "vllm.log").read_text()
VLLM_METRICS = (RECORDS / "vllm_metrics.txt").read_text()
LLAMA_LOG = (RECORDS / "llama.log").read_text()
LLAMA_OLD_LOG = (RECORDS / "llama_old.log").read_text()
SGLANG_LOG = (RECORDS / "sglang.log").read_text()


def of(data: object) -> Record:
    return loads(json.dumps(data).encode(), UPLOAD)


def test_vllm_log_lines_are_added_and_each_position_is_counted_by_its_steps() -> None:
    record = loads(VLLM_LOG.encode())
    assert (record.engine, record.drafted, record.accepted, record.steps) == ("vLLM", 600, 200, 200)
    assert record.by_position == pytest.approx((0.6, 0.3, 0.1))
    assert record.conditional == pytest.approx((0.6, 0.5, 1 / 3))
    assert (record.longest, record.tokens_per_step, record.broken) == (3, 2.0, ())


def test_a_vllm_line_whose_rate_is_not_its_counts_is_broken() -> None:
    record = loads(VLLM_LOG.replace("rate: 40.0%", "rate: 48.0%").encode())
    assert record.broken == ("Avg Draft acceptance rate is told as 0.48, but the counts give 0.400.",)


def test_a_vllm_log_without_a_line_on_drafts_says_that_speculation_is_off() -> None:
    record = loads(VLLM_LOG.splitlines()[0].encode())
    assert (record.drafted, record.speculates) == (None, False)


def test_prometheus_counters_of_all_engines_are_added() -> None:
    record = loads(VLLM_METRICS.encode())
    assert (record.steps, record.drafted, record.accepted, record.output_tokens) == (100, 200, 90, 190)
    assert record.by_position == (0.7, 0.2)
    assert record.broken == ()


def test_prometheus_positions_that_do_not_sum_up_are_broken() -> None:
    record = loads(VLLM_METRICS.replace('position="1"} 20.0', 'position="1"} 25.0').encode())
    assert record.broken == ("the counters by position sum to 95 accepted tokens, but 90 are counted.",)


def test_a_newer_llama_log_tells_positions_and_seconds_of_drafting() -> None:
    record = loads(LLAMA_LOG.encode())
    assert (record.drafted, record.accepted, record.steps, record.output_tokens) == (250, 150, 100, 250)
    assert record.by_position == (0.8, 0.5, 0.2)
    assert (record.decode_s, record.draft_s, record.tokens_per_s) == (2.0, 0.5, 125.0)


def test_an_older_llama_log_tells_counts_and_its_passes_are_the_tokens_less_the_accepted_ones() -> None:
    record = loads(LLAMA_OLD_LOG.encode())
    assert (record.drafted, record.accepted, record.steps, record.by_position) == (80, 40, 40, None)
    assert "positions" in record.untold


def test_totals_of_a_llama_server_stand_for_requests_that_the_log_lacks() -> None:
    record = loads(LLAMA_LOG.splitlines()[-1].encode())
    seen = (record.form, record.drafted, record.accepted, record.steps, record.draft_s)
    assert seen == ("totals of a server", 250, 150, 100, 0.5)


def test_the_prompts_pass_of_a_llama_log_is_no_decoding() -> None:
    assert loads(LLAMA_LOG.splitlines()[0].encode() + b"\n" + LLAMA_LOG.splitlines()[2].encode()).decode_s is None


def test_sglang_lines_are_counted_by_their_running_requests() -> None:
    record = loads(SGLANG_LOG.encode())
    assert (record.stated_length, record.stated_rate, record.drafted) == (2.5, 0.75, None)


def test_sglang_lines_without_a_length_say_that_speculation_is_off() -> None:
    assert loads(SGLANG_LOG.replace(" accept len: 2.00,", "").splitlines()[0].encode()).speculates is False


def test_llama_timings() -> None:
    timings = {"predicted_n": 200, "predicted_ms": 4000.0, "draft_n": 300, "draft_n_accepted": 100}
    record = of({"choices": [], "timings": timings})
    assert (record.engine, record.drafted, record.accepted, record.steps) == ("llama.cpp", 300, 100, 100)
    assert (record.decode_s, record.silent) == (4.0, 0)


def test_llama_timings_without_drafts_say_that_speculation_was_idle() -> None:
    record = of([{"timings": {"predicted_n": 200, "predicted_ms": 4000.0}}])
    assert (record.drafted, record.speculates, record.silent) == (0, False, 1)


def test_mlx_timings_tell_their_rounds() -> None:
    record = of({"draft_kind": "mtp", "draft_rounds": 50, "draft_n": 150, "draft_n_accepted": 60, "predicted_n": 110})
    assert (record.engine, record.steps, record.tokens_per_step) == ("mlx-vlm", 50, 2.2)


def test_lm_studio_drafts_are_accepted_rejected_and_ignored() -> None:
    stats = {
        "predictedTokensCount": 100,
        "tokensPerSecond": 50.0,
        "totalDraftTokensCount": 120,
        "acceptedDraftTokensCount": 60,
        "rejectedDraftTokensCount": 30,
        "ignoredDraftTokensCount": 30,
    }
    record = of({"stats": stats})
    assert (record.drafted, record.accepted, record.steps, record.decode_s) == (120, 60, 40, 2.0)
    assert of({"stats": stats | {"ignoredDraftTokensCount": 31}}).broken == (
        "accepted, rejected and ignored drafts sum to 121, but 120 are told in total.",
    )


def test_iterations_of_tensorrt_are_added_and_their_length_is_held() -> None:
    counts = {"numDraftTokens": 30, "numAcceptedTokens": 15, "numRequestsWithDraftTokens": 10}
    row = {**counts, "acceptanceLength": 2.5, "iterLatencyMS": 2.0}
    rows = [{"iter": 1, "specDecodingStats": row}, {"iter": 2, "specDecodingStats": row}]
    record = of(rows)
    assert (record.drafted, record.accepted, record.steps, record.draft_s) == (60, 30, 20, 0.004)
    rows[1] = {"iter": 2, "specDecodingStats": row | {"acceptanceLength": 1.5}}
    assert of(rows).broken == ("acceptanceLength is told as 1.5, but the counts give 2.500.",)


def test_metrics_of_a_tensorrt_request() -> None:
    metrics = {"acceptance_rate": 0.4, "total_draft_tokens": 50, "total_accepted_draft_tokens": 20}
    record = of({"request_perf_metrics": {"speculative_decoding": metrics}})
    assert (record.engine, record.drafted, record.accepted, record.rate) == ("TensorRT-LLM", 50, 20, 0.4)


def test_a_sglang_server_tells_its_mean_length() -> None:
    states = [{"avg_spec_accept_length": 2.9}]
    server = {"speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": 5, "internal_states": states}
    record = of(server)
    assert (record.tokens_per_step, record.longest, record.speculates) == (2.9, 4, True)


def test_ollama_says_nothing_on_drafts() -> None:
    record = of({"model": "m", "done": True, "eval_count": 120, "eval_duration": 2_000_000_000})
    assert (record.tokens_per_s, record.speculates, record.drafted) == (60.0, None, None)


def test_mlx_lm_prints_tokens_and_their_speed() -> None:
    record = loads(b"Prompt: 8 tokens, 90.1 tokens-per-sec\nGeneration: 100 tokens, 50.0 tokens-per-sec\n")
    assert (record.engine, record.output_tokens, record.decode_s) == ("mlx-lm", 100, 2.0)


def test_records_per_request_are_read_by_the_reader_of_acceptance() -> None:
    counts = {"num_spec_steps": 10, "num_draft_tokens": 30, "num_accepted_draft_tokens": 15}
    stated = {**counts, "acceptance_histogram": [3, 3, 0, 4], "num_spec_tokens": 3}
    record = of({"metrics": {"speculative_decoding": stated}, "usage": {"completion_tokens": 25}})
    assert (record.engine, record.steps, record.by_position) == ("vLLM", 10, (0.7, 0.4, 0.4))
    broken = of({"metrics": {"speculative_decoding": stated | {"num_accepted_draft_tokens": 16}}})
    assert broken.broken == ("the histogram holds 15 accepted tokens, but 16 are told.",)


def test_responses_that_are_silent_say_that_speculation_is_off() -> None:
    record = of([{"metrics": {"speculative_decoding": None}}, {"metrics": None}])
    assert (record.engine, record.silent, record.speculates) == ("vLLM", 2, False)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "the file is empty; give a log, counters or responses that an engine wrote."),
        (b"hello", "no record that is known here"),
        (b"{}", "no record that is known here"),
        (b"[]", "the list is empty"),
        (b'{"timings": {"predicted_n": -1}}', "predicted_n is -1, but must be a whole number"),
        (b'{"timings": {"predicted_n": "x"}}', "predicted_n is 'x', but must be a whole number"),
        (b'{"timings": {"predicted_n": 1', "not valid JSON"),
        (b"[1]", "no object"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(raw: bytes, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        loads(raw, UPLOAD)


@pytest.mark.parametrize(("branching", "trees"), [((2, 1), True), ((1, 1), False)])
def test_a_trace_says_whether_its_drafts_are_trees(branching: tuple[int, ...], trees: bool) -> None:
    made = simulate(Simulation((0.7,), Shape(branching), Clock.of_ratio(0.1), "", rounds=4))
    record = loads(dumps(made).encode())
    assert (record.branches, record.gamma is None, record.candidates) == (trees, trees, sum(Shape(branching).widths))
    assert record.tokens_per_s is None, "modelled"


def test_a_trace_of_a_real_run_tells_its_speed() -> None:
    real = read(ROOT / "traces" / "opening.json.gz")
    assert loads(dumps(real).encode()).tokens_per_s == real.summary.tokens_per_second
