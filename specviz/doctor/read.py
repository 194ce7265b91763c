"""Which record is it? Bytes or text in, one `Record` out, or one sentence.

JSON is asked form by form: the engines' records per request first, then what tells less; text is asked for lines that
an engine writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from specviz.doctor.logs import TEXT_FORMS
from specviz.doctor.record import Record
from specviz.doctor.responses import JSON_FORMS, Data, part_of
from specviz.errors import ContradictionError, SilentError, TraceError
from specviz.protocol import acceptance
from specviz.protocol.acceptance import READERS, Row
from specviz.trace.events import FORMAT
from specviz.trace.files import STANDARD, Limits, read_file
from specviz.trace.guard import rows_of, text_of

NAMES = {"vllm": "vLLM", "sglang": "SGLang"}
KNOWN = (
    "responses, logs or /metrics of vLLM; responses, logs or /server_info of SGLang; statistics of TensorRT-LLM; "
    "timings or logs of llama.cpp; statistics of mlx-vlm, mlx-lm, LM Studio or Ollama; AIPerf's profile_export.jsonl; "
    "traces of SpecViz"
)

JSON = re.compile(r"\s*(\{|\[\s*[\[\]{]|\[\d+\s*[],])")
"""an object or a list; a line of a log may begin with a date in brackets"""


def read(path: str | Path, limits: Limits = STANDARD) -> Record:
    """Raises TraceError; the sentence begins with the file's name."""
    return read_file(Path(path), lambda raw: loads(raw, limits), limits)


def loads(raw: bytes, limits: Limits = STANDARD) -> Record:
    """Stored bytes, plain or gzip. Raises TraceError for whatever is no record of a known form."""
    if not raw:
        raise TraceError("the file is empty; give a log, counters or responses that an engine wrote.")
    text = text_of(raw, limits)
    if JSON.match(text):
        return _of_json(raw, text, limits)
    form = next((form for form in TEXT_FORMS if form.knows.search(text)), None)
    if form is None:
        raise TraceError(f"this is no record that is known here. Known are: {KNOWN}.")
    return form.read(text)


def _of_json(raw: bytes, text: str, limits: Limits) -> Record:
    placed = list(rows_of(text, limits))
    rows = [row for _, row in placed]
    if not rows:
        raise TraceError("the list is empty; give at least one response.")
    if rows[0].get("format") == FORMAT or any(key in row for key in READERS for row in rows):
        read = _of_requests(raw, placed, limits)
        if read is not None:
            return read
    for form in JSON_FORMS:
        parts = [part for part in (part_of(form, row) for row in rows) if part is not None]
        if parts:
            return form.read(parts)
    raise TraceError(f"this JSON is no record that is known here. Known are: {KNOWN}.")


def _of_requests(raw: bytes, placed: Sequence[Row], limits: Limits) -> Record | None:
    """Records that count step by step; one that contradicts itself is kept with its sentence. None where all of them
    are silent and another form knows more."""
    try:
        traced = len(placed) == 1 and placed[0][1].get("format") == FORMAT
        run = acceptance.loads(raw, "", limits) if traced else acceptance.of_rows(placed, "")
    except ContradictionError as error:
        return Record("an engine", "records of requests", broken=(str(error),))
    except SilentError:
        rows = [row for _, row in placed]
        if any(part_of(form, row) is not None for form in JSON_FORMS for row in rows):
            return None
        engine = NAMES.get(_engine(rows), "an engine")
        return Record(engine, "responses", requests=len(rows), silent=len(rows), speculates=False)
    engine = NAMES.get(run.engine, run.engine)
    untold = () if run.traced else ("which tokens were rejected", "seconds of drafting")
    form = "a trace" if run.traced else "records of requests"
    counts = run.total
    return Record(
        engine, form, counts.draft_tokens, counts.accepted_tokens, counts.spec_steps, counts.output_tokens,
        by_position=counts.reached, longest=counts.longest, branches=run.branches, decode_s=run.decode_s,
        requests=len(run.requests), silent=run.silent, speculates=counts.draft_tokens > 0, untold=untold,
    )  # fmt: skip


def _engine(rows: Sequence[Data]) -> str:
    return next((engine for key, engine in acceptance.ENGINES.items() for row in rows if key in row), "")
