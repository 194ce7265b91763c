"""Records that are JSON: responses and statistics of engines, one object, a list of them, or one per line.

vLLM's, SGLang's and AIPerf's records per request are read by `protocol.acceptance`; the forms here tell less. Field
names and their sources: `docs/doctor.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specviz.doctor.logs import off_by
from specviz.doctor.record import Record, total
from specviz.errors import TraceError, shown
from specviz.protocol.acceptance import Acceptance, of_trace
from specviz.trace.events import Trace
from specviz.trace.guard import whole
from specviz.trace.summary import ends_text

Data = Mapping[str, Any]
CLOSE = 1e-3
"""how far a printed fraction may lie from the one its counts give"""


@dataclass(frozen=True, slots=True)
class JsonForm:
    """One kind of response."""

    part: Callable[[Data], Data | None]
    """the object inside a row that holds the numbers; None: the row is not of this form"""
    read: Callable[[Sequence[Data]], Record]


def inside(*keys: str, needs: Sequence[str] = ()) -> Callable[[Data], Data | None]:
    """The first of these keys that holds an object with one of `needs`; without keys the row itself."""

    def part(row: Data) -> Data | None:
        for candidate in [row.get(key) for key in keys] if keys else [row]:
            if isinstance(candidate, dict) and any(name in candidate for name in needs):
                return candidate
        return None

    return part


def amount(row: Data, *names: str) -> float | None:
    """The same of a number of at least 0."""
    name = next((name for name in names if row.get(name) is not None), None)
    if name is None:
        return None
    value = row[name]
    if type(value) not in (int, float) or value < 0:
        raise TraceError(f"{name} is {shown(value)}, but must be a number of at least 0.")
    return float(value)


def seconds(rows: Sequence[Data], name: str, unit: float) -> float | None:
    """The sum of a time over all rows; None where one lacks it."""
    values = [amount(row, name) for row in rows]
    return None if None in values or not values else sum(value for value in values if value is not None) * unit


def more_accepted(accepted: int | None, drafted: int | None) -> list[str]:
    """The sentence of a record that accepts what was never drafted."""
    if accepted is None or drafted is None or accepted <= drafted:
        return []
    return [f"{accepted} candidates were accepted, but only {drafted} drafted."]


# --- llama.cpp, mlx-vlm ----------------------------------------------------------------------------------------------


def from_timings(rows: Sequence[Data]) -> Record:
    """`timings` of llama.cpp's server: `draft_n` and `draft_n_accepted` stand there only where something was drafted.
    Target passes are `predicted_n` less what was accepted. mlx-vlm writes the same fields and `draft_rounds`."""
    mlx = any("draft_kind" in row or "draft_rounds" in row for row in rows)
    drafting = [row for row in rows if whole(row, "draft_n")]
    drafted, accepted = (sum(whole(row, name) or 0 for row in drafting) for name in ("draft_n", "draft_n_accepted"))
    output = total(whole(row, "predicted_n") for row in rows)
    rounds = total(whole(row, "draft_rounds") for row in drafting) if mlx else None
    implied = sum(max(0, (whole(row, "predicted_n") or 0) - (whole(row, "draft_n_accepted") or 0)) for row in drafting)
    broken = [
        sentence for row in rows for sentence in more_accepted(whole(row, "draft_n_accepted"), whole(row, "draft_n"))
    ]
    for row in rows:
        made, accepted_here = whole(row, "predicted_n"), whole(row, "draft_n_accepted")
        if made is not None and accepted_here is not None and accepted_here > made:
            broken.append(f"{accepted_here} candidates were accepted, but the answer has only {made} tokens.")
    return Record(
        "mlx-vlm" if mlx else "llama.cpp",
        "timings of responses",
        drafted if drafting else 0,
        accepted if drafting else 0,
        rounds or implied or None,
        output,
        decode_s=seconds(rows, "predicted_ms", 1e-3),
        requests=len(rows),
        silent=len(rows) - len(drafting),
        speculates=bool(drafting),
        untold=("positions", "which tokens were rejected", "seconds of drafting"),
        broken=tuple(broken),
    )


def to_timings(counts: Acceptance, decode_s: float) -> dict[str, Any]:
    """Our counts in the field names of llama.cpp's server, as `from_timings` reads them; what was not drafted stands
    not there. llama.cpp tells no steps. Raises TraceError where nobody counted the output."""
    if counts.output_tokens is None:
        raise TraceError("it does not say how many tokens the answer has, which llama.cpp's timings begin with.")
    timings: dict[str, Any] = {"predicted_n": counts.output_tokens, "predicted_ms": decode_s * 1e3}
    if counts.output_tokens and decode_s > 0:
        timings["predicted_per_second"] = counts.output_tokens / decode_s
    if counts.draft_tokens:
        timings |= {"draft_n": counts.draft_tokens, "draft_n_accepted": counts.accepted_tokens}
    return {"timings": timings}


def timings_of(trace: Trace) -> dict[str, Any]:
    """A trace as `to_timings` writes it. llama.cpp counts an answer's tokens, too, before it looks for the end: those
    behind the end are among them, so that every target pass has one of its own. Raises as `to_timings`."""
    behind = sum(this.committed.trimmed_tokens for this in trace.rounds if ends_text(this))
    counts = replace(of_trace(trace), output_tokens=len(trace.finished.output_ids) + behind)
    return to_timings(counts, trace.finished.decode_s)


def from_llama_dump(rows: Sequence[Data]) -> Record:
    """llama.cpp's `LLAMA_SPEC_DUMP`: a line per verified draft, with the drafter's own probability at each position and
    whether it was accepted; position i is, exactly where i < n_accepted."""
    steps = [(whole(row, "n_draft") or 0, whole(row, "n_accepted") or 0) for row in rows]
    broken = [sentence for made, kept in steps for sentence in more_accepted(kept, made)]
    for row, (made, kept) in zip(rows, steps, strict=True):
        labels = [bool(entry.get("acc")) for entry in row["pos"] if isinstance(entry, dict)]
        if labels != [index < kept for index in range(made)]:
            broken.append(
                f"step {whole(row, 'step')} tells {kept} of {made} accepted, but its labels tell {sum(labels)} of "
                f"{len(labels)}."
            )
    longest = max((made for made, _ in steps), default=0)
    count = len(steps)
    return Record(
        "llama.cpp",
        "a dump of drafts, position by position",
        sum(made for made, _ in steps),
        sum(kept for _, kept in steps),
        count or None,
        by_position=tuple(sum(kept > d for _, kept in steps) / count for d in range(longest)) if longest else None,
        longest=longest or None,
        requests=len({row.get("seq") for row in rows if isinstance(row.get("seq"), int)}) or None,
        speculates=any(made for made, _ in steps),
        untold=("tokens of the answers", "seconds"),
        broken=tuple(broken[:3]),
    )


# --- LM Studio -------------------------------------------------------------------------------------------------------

LM_STUDIO = ("totalDraftTokensCount", "acceptedDraftTokensCount", "usedDraftModelKey", "predictedTokensCount")
LM_STUDIO_SNAKE = ("total_draft_tokens_count", "accepted_draft_tokens_count", "predicted_tokens_count")


def from_lm_studio(rows: Sequence[Data]) -> Record:
    """`stats` of a prediction: total = accepted + rejected + ignored; ignored ones stood behind a rejected one."""
    broken, drafted, accepted = list[str](), 0, 0
    drafting = 0
    for row in rows:
        made = whole(row, "totalDraftTokensCount", "total_draft_tokens_count")
        kept = whole(row, "acceptedDraftTokensCount", "accepted_draft_tokens_count")
        parts = [
            whole(row, f"{what}DraftTokensCount", f"{what}_draft_tokens_count")
            for what in ("accepted", "rejected", "ignored")
        ]
        summed = total(parts)
        if made is not None and summed is not None and summed != made:
            broken.append(f"accepted, rejected and ignored drafts sum to {summed}, but {made} are told in total.")
        broken += more_accepted(kept, made)
        drafted, accepted, drafting = drafted + (made or 0), accepted + (kept or 0), drafting + bool(made)
    output = total(whole(row, "predictedTokensCount", "predicted_tokens_count") for row in rows)
    speeds = [(whole(row, "predictedTokensCount"), amount(row, "tokensPerSecond")) for row in rows]
    decode = [made / speed for made, speed in speeds if made and speed]
    steps = output - accepted if output is not None and drafted and output > accepted else None
    return Record(
        "LM Studio",
        "statistics of predictions",
        drafted,
        accepted,
        steps,
        output,
        decode_s=sum(decode) if len(decode) == len(rows) else None,
        requests=len(rows),
        silent=len(rows) - drafting,
        speculates=drafted > 0,
        untold=("positions", "seconds of drafting"),
        broken=tuple(broken),
    )


# --- TensorRT-LLM ----------------------------------------------------------------------------------------------------


def from_tensorrt_iterations(rows: Sequence[Data]) -> Record:
    """`specDecodingStats` of iterations; a step is one request in one iteration:
    acceptanceLength = 1 + numAcceptedTokens ÷ numRequestsWithDraftTokens."""
    drafted, accepted, steps = (
        total(whole(row, name) for row in rows)
        for name in ("numDraftTokens", "numAcceptedTokens", "numRequestsWithDraftTokens")
    )
    broken = list[str]()
    for row in rows:
        here = whole(row, "numRequestsWithDraftTokens")
        if here:
            due = 1 + (whole(row, "numAcceptedTokens") or 0) / here
            broken += off_by("acceptanceLength", amount(row, "acceptanceLength"), due, CLOSE)
    broken += more_accepted(accepted, drafted)
    return Record(
        "TensorRT-LLM",
        "statistics of iterations",
        drafted,
        accepted,
        steps,
        draft_s=seconds(rows, "iterLatencyMS", 1e-3),
        speculates=bool(drafted),
        untold=("positions", "which tokens were rejected", "tokens of the answers"),
        broken=tuple(broken),
    )


def from_tensorrt_requests(rows: Sequence[Data]) -> Record:
    """`speculative_decoding` of a request's performance metrics."""
    drafted, accepted = (
        total(whole(row, name, other) for row in rows)
        for name, other in (
            ("total_draft_tokens", "totalDraftTokens"),
            ("total_accepted_draft_tokens", "totalAcceptedDraftTokens"),
        )
    )
    broken = more_accepted(accepted, drafted)
    for row in rows:
        made = whole(row, "total_draft_tokens", "totalDraftTokens")
        kept = whole(row, "total_accepted_draft_tokens", "totalAcceptedDraftTokens")
        if made and kept is not None:
            broken += off_by("acceptance_rate", amount(row, "acceptance_rate", "acceptanceRate"), kept / made, CLOSE)
    return Record(
        "TensorRT-LLM",
        "metrics of requests",
        drafted,
        accepted,
        requests=len(rows),
        speculates=bool(drafted),
        untold=("steps", "positions", "which tokens were rejected", "seconds of drafting"),
        broken=tuple(broken),
    )


# --- SGLang's server, Ollama -----------------------------------------------------------------------------------------


def from_sglang_server(rows: Sequence[Data]) -> Record:
    """`/server_info` (formerly `/get_server_info`): the mean length since the server started, and the settings."""
    row = rows[-1]
    states = row.get("internal_states")
    state = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else {}
    algorithm = row.get("speculative_algorithm")
    drafts = whole(row, "speculative_num_draft_tokens")
    return Record(
        "SGLang",
        "a server's own account",
        stated_length=amount(state, "avg_spec_accept_length"),
        longest=max(0, drafts - 1) if drafts is not None else None,
        speculates=algorithm is not None,
        untold=("counts", "positions", "which tokens were rejected", "seconds of drafting"),
    )


def from_ollama(rows: Sequence[Data]) -> Record:
    """A final response of `/api/generate` or `/api/chat`: tokens and nanoseconds, and nothing on drafts."""
    return Record(
        "Ollama",
        "final responses",
        output_tokens=total(whole(row, "eval_count") for row in rows),
        decode_s=seconds(rows, "eval_duration", 1e-9),
        requests=len(rows),
        untold=("whether speculation was on", "what was drafted", "what was accepted"),
    )


def dumped(row: Data) -> Data | None:
    """A line of llama.cpp's dump."""
    return row if "n_draft" in row and isinstance(row.get("pos"), list) else None


JSON_FORMS: Sequence[JsonForm] = (
    JsonForm(dumped, from_llama_dump),
    JsonForm(inside("specDecodingStats", needs=("numDraftTokens",)), from_tensorrt_iterations),
    JsonForm(
        inside("speculative_decoding", "speculativeDecoding", needs=("total_draft_tokens", "totalDraftTokens")),
        from_tensorrt_requests,
    ),
    JsonForm(inside("timings", needs=("predicted_n", "draft_n")), from_timings),
    JsonForm(inside(needs=("draft_n", "predicted_n")), from_timings),
    JsonForm(inside("stats", needs=(*LM_STUDIO, *LM_STUDIO_SNAKE)), from_lm_studio),
    JsonForm(inside(needs=(*LM_STUDIO, *LM_STUDIO_SNAKE)), from_lm_studio),
    JsonForm(inside(needs=("speculative_algorithm", "internal_states")), from_sglang_server),
    JsonForm(inside(needs=("eval_duration",)), from_ollama),
)
"""asked in this order; the engines' own records per request are asked before (`protocol.acceptance`)"""
NESTED = ("request_perf_metrics", "perf_metrics", "requestPerfMetrics", "result", "model")
"""objects in which such a part may stand one level deeper"""


def part_of(form: JsonForm, row: Data) -> Data | None:
    """The form's object in a row, or one level deeper."""
    for holder in (row, *(row[name] for name in NESTED if isinstance(row.get(name), dict))):
        part = form.part(holder)
        if part is not None:
            return part
    return None
