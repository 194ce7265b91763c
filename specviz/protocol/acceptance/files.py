"""Files that tell acceptance: responses of vLLM or SGLang (one, a list, or one per line), AIPerf's
`profile_export.jsonl`, and our own traces. Read with a bound and refused with one sentence that names the line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from specviz.errors import TraceError
from specviz.protocol.acceptance.counts import Acceptance, AcceptanceRun, of_trace
from specviz.protocol.acceptance.engines import READERS
from specviz.trace import codec
from specviz.trace.events import FORMAT
from specviz.trace.files import read_file
from specviz.trace.guard import json_of, text_of
from specviz.trace.limits import STANDARD, Limits

ENGINES = {"metrics": "vllm", "meta_info": "sglang", "spec_decode_acceptance": "aiperf"}


def read(path: str | Path, limits: Limits = STANDARD) -> AcceptanceRun:
    """Raises TraceError; the sentence begins with the file's name."""
    path = Path(path)
    return read_file(path, lambda raw: loads(raw, path.name, limits), limits)


def loads(raw: bytes, name: str, limits: Limits = STANDARD) -> AcceptanceRun:
    """Stored bytes, plain or gzip. Raises TraceError for whatever is neither a trace nor an acceptance record."""
    rows = list(_rows(text_of(raw, limits), limits))
    if len(rows) == 1 and rows[0][1].get("format") == FORMAT:
        trace = codec.loads(raw, limits)
        return AcceptanceRun(name, trace.started.producer, (of_trace(trace),), traced=True)
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
            raise TraceError(f"{place}{error}") from None
        if counts is None:
            silent += 1
            continue
        requests.append(counts)
    if not requests:
        raise TraceError(f"its {silent} requests tell nothing of speculative decoding; it was off, or not reported.")
    if engine == "aiperf":
        engine = f"{_served(rows)}, by AIPerf"
    return AcceptanceRun(name, engine, tuple(requests), silent)


def _served(rows: list[tuple[str, dict[str, Any]]]) -> str:
    """The engine that AIPerf names; one name for one file."""
    told = {str(row["spec_decode_acceptance"].get("engine")) for _, row in rows if row.get("spec_decode_acceptance")}
    return " and ".join(sorted(told))[:60]


def _rows(text: str, limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object) of a file that is one object, a list of them, or one per line."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) > 1 and all(line.strip().startswith("{") and line.strip().endswith("}") for _, line in lines[:2]):
        for number, line in lines:
            try:
                yield f"line {number}: ", json_of(line, limits)
            except TraceError as error:
                raise TraceError(f"line {number}: {error}") from None
    elif text.lstrip().startswith("["):
        for number, row in enumerate(json_of(f'{{"rows":{text}}}', limits)["rows"]):
            if not isinstance(row, dict):
                raise TraceError(f"entry {number} of the list is no object; a response is one.")
            yield f"entry {number}: ", row
    else:
        yield "", json_of(text, limits)
