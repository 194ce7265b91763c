"""The shipped JSON Schema says what the types say, and accepts what the reader accepts."""

import json
from typing import Any

import jsonschema
import pytest

from specviz.trace.codec import SCHEMA_FILE, schema, schema_text
from tests.trace.changing import put, sample_data

VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_shipped_schema_is_the_generated_one() -> None:
    """If this fails after a change of the types: `make generate`, and think about the version."""
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()


def test_the_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_every_golden_trace_is_valid() -> None:
    for path in sorted((SCHEMA_FILE.parents[2] / "tests" / "golden").glob("trace-*.json")):
        VALIDATOR.validate(json.loads(path.read_text()))


def test_unknown_fields_are_valid() -> None:
    VALIDATOR.validate(sample_data() | {"x_lab": {"any": "thing"}})


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("rounds[3].nodes[2].parent", "1"),
        ("rounds[3].nodes[1].kind", "beam"),
        ("rounds[3].judged.u", "0.5"),
        ("started.source", "rumour"),
        ("version", "2.0"),
        ("format", "speedscope"),
        ("vocab.3", "x"),
    ],
)
def test_what_the_reader_refuses_by_type_the_schema_refuses_too(place: str, value: Any) -> None:
    assert not VALIDATOR.is_valid(put(sample_data(), place, value))


def test_fields_carry_their_docstrings() -> None:
    judged = schema()["$defs"]["Judged"]["properties"]
    assert judged["path"]["description"] == "accepted nodes from depth 1 on"
    assert "vLLM" in schema()["$defs"]["Summary"]["description"]
