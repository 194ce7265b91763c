"""The run's id: a hash over its header, so that a header that was changed afterwards no longer fits its id.

The engine writes it, `check` recomputes it. It says that header and id belong together, not who wrote them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, replace
from typing import Any

from specviz.trace.exhibits import DatastoreCard, MemoryCard
from specviz.trace.header import (
    FORMER_NAMES,
    Branch,
    Machine,
    MethodCard,
    ModelCard,
    SamplingCard,
    Started,
    StepTime,
    TokenizerCard,
)  # fmt: skip

FIRST: Mapping[type, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in (
        (
            Started,
            "run_id created producer source target drafter verifier sampling tokenizer machine seed max_new_tokens "
            "eos_ids stop prompt_text prompt_ids prompt_name step_times draft_step_s branch tree_policy stop_policy "
            "memory datastore",
        ),
        (
            ModelCard,
            "name architecture adapter parameters layers hidden_size vocab_size context_length dtype weights_sha256",
        ),
        (MethodCard, "name options lossless model deployable"),
        (SamplingCard, "temperature top_k top_p"),
        (TokenizerCard, "name vocab_size sha256 special_ids"),
        (StepTime, "rows cached_rows median_s low_s high_s"),
        (Machine, "device dtype threads cores processor python torch transformers system"),
        (Branch, "run_id round forced_token"),
        (MemoryCard, "origin runs size_bytes sha256"),
        (DatastoreCard, "name tokens documents size_bytes sha256"),
    )
}
"""the fields of format 1.0, by today's names; those that came later count only where they say something"""


def seal(started: Started) -> str:
    """The id of a header: 16 hexadecimal digits of the SHA-256 of its JSON, keys sorted, as it was when it was run.

    Sources `live` and `recorded` are the same run. Fields added after format 1.0 are left out where they have their
    default, so that headers written before they existed keep their id. For the same reason the hash goes by the names
    that fields had before format 1.3.
    """
    data = asdict(replace(started, run_id="", source="live"))
    _without_later_defaults(started, data)
    data = {FORMER_NAMES.get(name, name): value for name, value in data.items()}
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def _without_later_defaults(record: Any, data: dict[str, Any]) -> None:
    first = FIRST[type(record)]
    for field in fields(record):
        value = getattr(record, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if field.name not in first and value == default:
            del data[field.name]
        elif type(value) in FIRST:
            _without_later_defaults(value, data[field.name])
        elif isinstance(value, list):
            for one, below in zip(value, data[field.name], strict=True):
                if type(one) in FIRST:
                    _without_later_defaults(one, below)
