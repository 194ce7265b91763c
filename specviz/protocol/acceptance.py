"""What a serving engine tells of speculation per request: how many steps, drafts, acceptances. No tokens, no tree.

One record of this kind is what vLLM, SGLang and AIPerf reports are read into, and what our traces are counted as.
Only fields that these projects document or write are read and written; what an engine does not tell stays untold.
Sources: docs/other_engines.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from specviz.errors import ContradictionError, SilentError, TraceError, shown
from specviz.trace import codec
from specviz.trace.events import FORMAT, Trace
from specviz.trace.files import STANDARD, Limits, read_file
from specviz.trace.guard import rows_of, text_of, whole
from specviz.trace.summary import accepted_drafts, as_judged, branches, drafts

CLOSE = 1e-6
"""how far a reported fraction may lie from the one its counts give"""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One request's, or the sum of several."""

    spec_steps: int
    """verification steps with a draft"""
    draft_tokens: int
    accepted_tokens: int
    """accepted candidates, the token that ends a step not among them"""
    histogram: tuple[int, ...] | None = None
    """[j]: steps that accepted exactly j; None: not told"""
    output_tokens: int | None = None
    longest: int | None = None
    """most candidates of a step, as configured; None: not told, or not fixed"""
    per_step: tuple[tuple[int, int], ...] | None = None
    """(drafted, accepted) of every step in order; None: not told"""

    @property
    def rate(self) -> float | None:
        """accepted ÷ drafted; None where nothing was drafted."""
        return self.accepted_tokens / self.draft_tokens if self.draft_tokens else None

    @property
    def mean_length(self) -> float | None:
        """1 + accepted ÷ steps, the token that ends a step included; None without steps."""
        return 1 + self.accepted_tokens / self.spec_steps if self.spec_steps else None

    @property
    def reached(self) -> tuple[float, ...] | None:
        """[d-1]: share of the steps that accepted at least d candidates; None without a histogram or without steps."""
        if self.histogram is None or not self.spec_steps:
            return None
        return tuple(sum(self.histogram[depth:]) / self.spec_steps for depth in range(1, len(self.histogram)))


@dataclass(frozen=True, slots=True)
class AcceptanceRun:
    """What one file tells: several requests of one engine, or one of our traces."""

    name: str
    engine: str
    requests: tuple[Acceptance, ...]
    silent: int = 0
    """requests in the file that tell nothing of speculation"""
    traced: bool = False
    """there is a whole trace: tree, p, q and verdicts; else these counts are all"""
    branches: bool = False
    """drafts are known to be trees"""
    decode_s: float | None = None
    """seconds of decoding; None: not told"""

    @property
    def total(self) -> Acceptance:
        return pooled(self.requests)


def checked(counts: Acceptance) -> Acceptance:
    """The same record. Raises ContradictionError where its numbers contradict each other."""
    if counts.accepted_tokens > counts.draft_tokens:
        raise ContradictionError(
            f"{counts.accepted_tokens} candidates were accepted, but only {counts.draft_tokens} drafted."
        )
    if counts.histogram is not None:
        steps, accepted = sum(counts.histogram), sum(j * count for j, count in enumerate(counts.histogram))
        if steps != counts.spec_steps:
            raise ContradictionError(f"the histogram sums to {steps}, but there are {counts.spec_steps} steps.")
        if accepted != counts.accepted_tokens:
            raise ContradictionError(
                f"the histogram holds {accepted} accepted tokens, but {counts.accepted_tokens} are told."
            )
    if counts.per_step is not None:
        stated = (len(counts.per_step), *(sum(column) for column in zip(*counts.per_step, strict=True)))
        due = (counts.spec_steps, counts.draft_tokens, counts.accepted_tokens)
        if counts.per_step and stated != due:
            raise ContradictionError(
                f"the steps one by one are {stated} steps, drafts and acceptances, but {due} are told."
            )
    return counts


def agrees(name: str, stated: float | None, due: float | None) -> None:
    """Raises ContradictionError where a reported fraction is not the one that the counts give."""
    if stated is not None and due is not None and abs(stated - due) > CLOSE * max(1.0, abs(due)):
        raise ContradictionError(f"{name} is {stated:.6g}, but the counts give {due:.6g}.")


def pooled(requests: Sequence[Acceptance]) -> Acceptance:
    """All steps of all requests, each step counted once; what one request does not tell, the sum does not."""
    histograms = [acceptance.histogram for acceptance in requests if acceptance.histogram is not None]
    outputs = [acceptance.output_tokens for acceptance in requests if acceptance.output_tokens is not None]
    bounds = {acceptance.longest for acceptance in requests}
    return Acceptance(
        spec_steps=sum(acceptance.spec_steps for acceptance in requests),
        draft_tokens=sum(acceptance.draft_tokens for acceptance in requests),
        accepted_tokens=sum(acceptance.accepted_tokens for acceptance in requests),
        histogram=_added(histograms) if histograms and len(histograms) == len(requests) else None,
        output_tokens=sum(outputs) if len(outputs) == len(requests) else None,
        longest=bounds.pop() if len(bounds) == 1 else None,
    )


def _added(histograms: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip_longest(*histograms, fillvalue=0))


def of_trace(trace: Trace) -> Acceptance:
    """A trace's counts, as a serving engine has them: before the text was cut, what was accepted behind its end too.
    `longest` is the drafter's γ where the whole draft is one chain of that length."""
    steps = [as_judged(this) for this in trace.rounds if drafts(this)]
    per_step = tuple((len(drafts(this)), accepted_drafts(this)) for this in steps)
    gamma = trace.started.drafter.options.get("gamma")
    chains = trace.started.tree_policy is None and not any(branches(this) for this in steps)
    longest = gamma if chains and type(gamma) is int and all(drafted <= gamma for drafted, _ in per_step) else None
    most = max([longest or 0, *(accepted for _, accepted in per_step)])
    counted = [accepted for _, accepted in per_step]
    return Acceptance(
        spec_steps=len(steps),
        draft_tokens=sum(drafted for drafted, _ in per_step),
        accepted_tokens=sum(counted),
        histogram=tuple(counted.count(j) for j in range(most + 1)),
        output_tokens=len(trace.finished.output_ids),
        longest=longest,
        per_step=per_step,
    )


Data = Mapping[str, Any]
Row = tuple[str, Data]
"""place in its file, and the object"""
SGLANG_NAMES = {
    "spec_num_correct_drafts": ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num"),
    "spec_num_proposed_drafts": ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num"),
    "spec_correct_drafts_histogram": ("spec_correct_drafts_histogram", "spec_accept_histogram"),
}
"""SGLang renamed these; later name first"""


def from_vllm(response: Data) -> Acceptance | None:
    """A completion response's `metrics.speculative_decoding`; None where the response has none."""
    metrics = response.get("metrics")
    stated = metrics.get("speculative_decoding") if isinstance(metrics, dict) else None
    if stated is None:
        return None
    usage = response.get("usage")
    output = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return _of_fields(_object(stated, "metrics.speculative_decoding"), output)


def from_aiperf(line: Data) -> Acceptance | None:
    """One line of `profile_export.jsonl`, its `spec_decode_acceptance`; None where the line has none."""
    stated = line.get("spec_decode_acceptance")
    if stated is None:
        return None
    stated = _object(stated, "spec_decode_acceptance")
    return _of_fields(stated, stated.get("completion_tokens"))


def from_sglang(response: Data) -> Acceptance | None:
    """A `/generate` response's `meta_info`; None where it counts no verification.

    SGLang's `spec_accept_length` is output tokens ÷ steps, so that the token of the prompt's pass and a cut at the end
    are in it: it is held against these two and not taken over.
    """
    meta = _object(response.get("meta_info"), "meta_info")
    if not meta.get("spec_verify_ct"):
        return None
    fields = {name: next((meta[one] for one in names if one in meta), None) for name, names in SGLANG_NAMES.items()}
    steps, output = _count(meta, "spec_verify_ct"), meta.get("completion_tokens")
    counts = Acceptance(
        spec_steps=steps,
        draft_tokens=_count(fields, "spec_num_proposed_drafts"),
        accepted_tokens=_count(fields, "spec_num_correct_drafts"),
        histogram=_histogram(fields, "spec_correct_drafts_histogram"),
        output_tokens=None if output is None else _count(meta, "completion_tokens"),
    )
    agrees("spec_accept_rate", _fraction(meta, "spec_accept_rate"), counts.rate)
    if counts.output_tokens is not None:
        agrees("spec_accept_length", _fraction(meta, "spec_accept_length"), counts.output_tokens / steps)
    return checked(counts)


def _of_fields(stated: Data, output: object) -> Acceptance:
    """vLLM's fields, which AIPerf took over; its histogram is sparse and theirs is dense."""
    per_step = None
    if stated.get("per_step_drafted") is not None and stated.get("per_step_accepted") is not None:
        drafted, accepted = _counts(stated, "per_step_drafted"), _counts(stated, "per_step_accepted")
        if len(drafted) != len(accepted):
            raise ContradictionError(
                f"per_step_drafted has {len(drafted)} steps, but per_step_accepted has {len(accepted)}."
            )
        per_step = tuple(zip(drafted, accepted, strict=True))
    counts = Acceptance(
        spec_steps=_count(stated, "num_spec_steps"),
        draft_tokens=_count(stated, "num_draft_tokens"),
        accepted_tokens=_count(stated, "num_accepted_draft_tokens"),
        histogram=_histogram(stated, "acceptance_histogram"),
        output_tokens=None if output is None else _count({"completion_tokens": output}, "completion_tokens"),
        longest=None if stated.get("num_spec_tokens") is None else _count(stated, "num_spec_tokens"),
        per_step=per_step,
    )
    agrees("draft_acceptance_rate", _fraction(stated, "draft_acceptance_rate"), counts.rate)
    agrees("mean_acceptance_length", _fraction(stated, "mean_acceptance_length"), counts.mean_length)
    return checked(counts)


def to_vllm(counts: Acceptance) -> dict[str, Any]:
    """As vLLM's response has it at the level `detailed`. Raises TraceError where nothing was drafted."""
    return {"metrics": {"speculative_decoding": _fields(counts, dense=True)}, **_usage(counts)}


def to_aiperf(counts: Acceptance, engine: str = "specviz") -> dict[str, Any]:
    """As a line of AIPerf's `profile_export.jsonl`. Raises TraceError where nothing was drafted."""
    stated: dict[str, Any] = {"engine": engine, **_fields(counts, dense=False)}
    if counts.output_tokens is not None:
        stated["completion_tokens"] = counts.output_tokens
    return {"spec_decode_acceptance": stated}


def to_sglang(counts: Acceptance) -> dict[str, Any]:
    """As SGLang's `meta_info`. Raises TraceError where nothing was drafted."""
    _drafted(counts)
    meta: dict[str, Any] = {"spec_verify_ct": counts.spec_steps, "spec_accept_rate": counts.rate}
    if counts.output_tokens is not None:
        meta["completion_tokens"] = counts.output_tokens
        meta["spec_accept_length"] = counts.output_tokens / counts.spec_steps
    meta |= {"spec_num_correct_drafts": counts.accepted_tokens, "spec_num_proposed_drafts": counts.draft_tokens}
    if counts.histogram is not None:
        meta["spec_correct_drafts_histogram"] = list(counts.histogram)
    return {"meta_info": meta}


READERS: Mapping[str, Callable[[Data], Acceptance | None]] = {
    "spec_decode_acceptance": from_aiperf,
    "meta_info": from_sglang,
    "metrics": from_vllm,
}
"""which key of a record tells its engine's form, asked in this order: a line of AIPerf has `metrics` too"""
WRITERS: Mapping[str, Callable[[Acceptance], dict[str, Any]]] = {
    "vllm": to_vllm,
    "sglang": to_sglang,
    "aiperf": to_aiperf,
}


def _fields(counts: Acceptance, dense: bool) -> dict[str, Any]:
    _drafted(counts)
    stated: dict[str, Any] = {
        "mean_acceptance_length": counts.mean_length, "draft_acceptance_rate": counts.rate,
        "num_spec_steps": counts.spec_steps, "num_accepted_draft_tokens": counts.accepted_tokens,
        "num_draft_tokens": counts.draft_tokens,
    }  # fmt: skip
    if counts.histogram is not None:
        sparse = {str(j): count for j, count in enumerate(counts.histogram) if count}
        stated["acceptance_histogram"] = list(counts.histogram) if dense else sparse
    if counts.longest is not None:
        stated["num_spec_tokens"] = counts.longest
    if counts.per_step is not None:
        stated["per_step_accepted"] = [accepted for _, accepted in counts.per_step]
        stated["per_step_drafted"] = [drafted for drafted, _ in counts.per_step]
    if counts.per_step is not None and dense:
        stated["acceptance_histogram_by_draft_length"] = _by_length(counts.per_step)
    return stated


def _by_length(per_step: tuple[tuple[int, int], ...]) -> dict[str, list[int]]:
    lengths = sorted({drafted for drafted, _ in per_step})
    return {str(k): [sum(step == (k, j) for step in per_step) for j in range(k + 1)] for k in lengths}


def _usage(counts: Acceptance) -> dict[str, Any]:
    return {} if counts.output_tokens is None else {"usage": {"completion_tokens": counts.output_tokens}}


def _drafted(counts: Acceptance) -> None:
    if not counts.spec_steps:
        raise TraceError("this run drafted nothing, so there is no acceptance to write; export a run with a drafter.")


def _object(value: object, name: str) -> Data:
    if not isinstance(value, dict):
        raise TraceError(f"{name} is {shown(value)}, but must be an object.")
    return value


def _count(fields: Data, name: str) -> int:
    value = whole(fields, name)
    if value is None:
        raise TraceError(f"{name} is missing, but must be a whole number of at least 0.")
    return value


def _counts(fields: Data, name: str) -> tuple[int, ...]:
    values = fields.get(name)
    if not isinstance(values, list):
        raise TraceError(f"{name} is {shown(values)}, but must be a list of whole numbers.")
    return tuple(_count({name: value}, name) for value in values)


def _histogram(fields: Data, name: str) -> tuple[int, ...] | None:
    """Dense (a list) or sparse (an object with the numbers as keys); None where there is none."""
    value = fields.get(name)
    if value is None or isinstance(value, list):
        return None if value is None else _counts(fields, name)
    sparse = {}
    for key, count in _object(value, name).items():
        if not (key.isascii() and key.isdigit()) or int(key) > MOST_ACCEPTED:
            raise TraceError(f"{name} has the key {shown(key)}, but its keys are numbers of accepted tokens.")
        sparse[int(key)] = _count({name: count}, name)
    return tuple(sparse.get(j, 0) for j in range(max(sparse, default=0) + 1))


MOST_ACCEPTED = 10_000
"""no step accepts more: a sparse key must not make a list of millions"""


def _fraction(fields: Data, name: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if type(value) not in (int, float):
        raise TraceError(f"{name} is {shown(value)}, but must be a number.")
    return float(value)


ENGINES = {"metrics": "vllm", "meta_info": "sglang", "spec_decode_acceptance": "aiperf"}


def read(path: str | Path, limits: Limits = STANDARD) -> AcceptanceRun:
    """Raises TraceError; the sentence begins with the file's name."""
    return read_file(Path(path), lambda raw: loads(raw, Path(path).name, limits), limits)


def loads(raw: bytes, name: str, limits: Limits = STANDARD) -> AcceptanceRun:
    """Stored bytes, plain or gzip. Raises TraceError for whatever is neither a trace nor an acceptance record."""
    rows = list(rows_of(text_of(raw, limits), limits))
    if len(rows) == 1 and rows[0][1].get("format") == FORMAT:
        trace = codec.loads(raw, limits)
        trees, is_timed = any(map(branches, trace.rounds)), trace.summary.tokens_per_second is not None
        decode_s = trace.finished.decode_s if is_timed else None
        return AcceptanceRun(name, trace.started.producer, (of_trace(trace),), 0, True, trees, decode_s)
    return of_rows(rows, name)


def of_rows(rows: Sequence[Row], name: str) -> AcceptanceRun:
    """Records of requests, each with its place in the file. Raises TraceError as `loads`."""
    key = next((key for key in READERS for _, row in rows if key in row), None)
    if key is None:
        raise TraceError(
            "there is no acceptance record in it: neither metrics.speculative_decoding (vLLM, started with "
            "--per-request-spec-decode-metrics), nor meta_info (SGLang), nor spec_decode_acceptance (AIPerf)."
        )
    requests, silent, engine = list[Acceptance](), 0, ENGINES[key]
    for place, row in rows:
        try:
            counts = READERS[key](row) if key in row else None
        except TraceError as error:
            raise type(error)(f"{place}{error}") from None
        if counts is None:
            silent += 1
            continue
        requests.append(counts)
    if not requests:
        raise SilentError(f"its {silent} requests tell nothing of speculative decoding; it was off, or not reported.")
    if engine == "aiperf":
        engine = f"{_served(rows)}, by AIPerf"
    return AcceptanceRun(name, engine, tuple(requests), silent)


def _served(rows: Sequence[Row]) -> str:
    """The engine that AIPerf names; one name for one file."""
    stated = {str(row["spec_decode_acceptance"].get("engine")) for _, row in rows if row.get("spec_decode_acceptance")}
    return " and ".join(sorted(stated))[:60]
