"""Answers of engines: token ids where they are given, else the text."""

import json
from pathlib import Path

import pytest

from specviz.doctor.answers import Written, loads
from specviz.errors import TraceError
from specviz.trace import codec

GOLDEN = Path(__file__).parent.parent / "golden" / "trace-1.0-sample.json"
RESPONSES = {
    "SGLang": ({"text": " a b", "output_ids": [4, 5], "meta_info": {}}, Written(" a b", (4, 5))),
    "vLLM": (
        {"choices": [{"text": " a b", "token_ids": [4, 5], "prompt_token_ids": [1, 2]}]},
        Written(" a b", (4, 5), (1, 2)),
    ),
    "llama.cpp": ({"content": " a b", "tokens": [4, 5], "timings": {}}, Written(" a b", (4, 5))),
    "llama.cpp without return_tokens": ({"content": " a b", "tokens": []}, Written(" a b")),
    "Ollama": ({"response": " a b", "done": True}, Written(" a b")),
    "OpenAI chat": ({"choices": [{"message": {"role": "assistant", "content": " a b"}}]}, Written(" a b")),
    "specviz run --json": ({"text": " a b", "output_ids": [4, 5], "prompt_ids": [1]}, Written(" a b", (4, 5), (1,))),
}


@pytest.mark.parametrize("engine", RESPONSES)
def test_an_engines_response_gives_its_ids_or_its_text(engine: str) -> None:
    response, written = RESPONSES[engine]
    assert loads(json.dumps(response).encode()) == written


def test_a_list_is_token_ids_and_anything_else_is_text() -> None:
    assert loads(b"[4, 5]") == Written("", (4, 5))
    assert loads(b" a b\n") == Written(" a b")


def test_a_trace_gives_its_output_and_its_prompt() -> None:
    trace = codec.read(GOLDEN)
    assert loads(GOLDEN.read_bytes()) == Written("", tuple(trace.finished.output_ids), tuple(trace.started.prompt_ids))


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b'{"id": 3}', "there is no answer in it"),
        (b"[4, true]", "output_ids is \\[4, True\\], but must be a list of token ids."),
        (b"[4, -1]", "must be a list of token ids"),
        (b"[4, 5", "is not valid JSON"),
        (b'{"format": "specviz-trace"}', "finished is None, but must be an object"),
    ],
)
def test_what_holds_no_answer_is_refused_in_a_sentence(raw: bytes, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        loads(raw)
