"""What is too large is refused early, in words, and cheaply."""

import gzip
import json
import tracemalloc
import zlib
from dataclasses import replace
from typing import Any

import pytest

from specviz.errors import TraceError
from specviz.trace.codec import loads
from specviz.trace.files import STANDARD, UPLOAD, Limits
from specviz.trace.structure import bound_counts
from specviz.tree_policies.base import MOST_NODES
from tests.trace.changing import SAMPLE, sample_data

SMALL = replace(STANDARD, stored_bytes=200_000, text_bytes=1_000_000, string_chars=1_000, containers=10_000)


def refused(content: str | bytes, sentence: str, limits: Limits = SMALL) -> None:
    with pytest.raises(TraceError, match=sentence):
        loads(content, limits)


def test_the_sample_is_within_every_preset() -> None:
    for limits in (STANDARD, UPLOAD, SMALL):
        assert loads(SAMPLE.read_bytes(), limits).started.run_id == "sample"


def test_uploads_are_never_allowed_more_than_files() -> None:
    assert all(getattr(UPLOAD, name) <= getattr(STANDARD, name) for name in Limits.__slots__)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param(b" " * 200_001, "has 200,001 bytes, but at most 200,000 are read", id="as stored"),
        pytest.param(
            "{" + " " * 1_000_000, "has 1,000,001 characters, but at most 1,000,000 are read", id="characters"
        ),
        pytest.param(gzip.compress(b" " * 300_000) * 4, "unpacks to more than 1,000,000 bytes", id="members together"),
        pytest.param("[" * 20_000, "nested deeper than 16 levels", id="deep lists"),
        pytest.param('{"a":' * 20_000, "nested deeper than 16 levels", id="deep objects"),
        pytest.param('{"a":[' + "[]," * 10_000, "more than 10,000 objects and lists", id="containers"),
        pytest.param('{\n"a":\n"' + "b" * 1_001 + '"}', "on line 3 is longer than 1,000 characters", id="a string"),
        pytest.param('{"a":"' + "b" * 1_003, "a string starting on line 1", id="a string without end"),
        pytest.param('{"a":' + "7" * 500_000 + "}", "has more than 40 characters", id="half a million digits"),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_parsed(content: str | bytes, sentence: str) -> None:
    refused(content, sentence)


def test_bytes_that_are_too_many_as_text() -> None:
    refused(b" " * 150_000, "has 150,000 bytes of text, but at most 100,000", replace(SMALL, text_bytes=100_000))


def test_a_small_file_that_unpacks_to_a_huge_one_is_stopped_at_the_limit() -> None:
    """64 MiB of zeros in 64 kB: refused at 1 MB, with no more than a few MB ever in memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    bomb = b"".join(packer.compress(b"\0" * 2**20) for _ in range(64)) + packer.flush()
    assert len(bomb) < 100_000
    tracemalloc.start()
    refused(bomb, "unpacks to more than 1,000,000 bytes")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000


def test_brackets_inside_strings_do_not_count_as_nesting() -> None:
    data = sample_data()
    data["started"]["run_id"] = '[{"' * 100
    assert loads(json.dumps(data), SMALL).started.run_id == '[{"' * 100


@pytest.mark.parametrize("piece", ['\\"', '"', "\\", "\\\\", '"\\'])
def test_quotes_and_backslashes_are_scanned_in_linear_time(piece: str) -> None:
    """A backtracking scanner would need minutes for these; the test would simply never end."""
    refused('{"a":"' + piece * 100_000, "is longer|not valid JSON|stands twice|delimiter")


def with_counts(**counts: int) -> dict[str, Any]:
    data = sample_data()
    if "rounds" in counts:
        data["rounds"] = data["rounds"][:1] * counts["rounds"]
    if "nodes" in counts:
        data["rounds"][0]["nodes"] = data["rounds"][0]["nodes"][:1] * counts["nodes"]
    if "vocab" in counts:
        data["vocab"] = {str(i): {"bytes": "", "text": ""} for i in range(counts["vocab"])}
    if "prompt" in counts:
        data["started"]["prompt_ids"] = [1] * counts["prompt"]
    if "top" in counts:
        data["rounds"][0]["nodes"][0]["target"]["tokens"] = [1] * counts["top"]
    return data


@pytest.mark.parametrize(
    ("counts", "ceiling", "sentence"),
    [
        ({"rounds": 9}, {"rounds": 8}, "rounds has 9 rounds, but at most 8 are read"),
        ({"nodes": 17}, {"nodes_per_round": 16}, r"rounds\[0\].nodes has 17 nodes, but at most 16 are read"),
        ({"rounds": 3}, {"nodes": 14}, "rounds has 15 nodes in all, but at most 14 are read"),
        ({"vocab": 40}, {"vocab": 39}, "vocab has 40 entries, but at most 39 are read"),
        ({"prompt": 9}, {"prompt_ids": 8}, "started.prompt_ids has 9 ids, but at most 8 are read"),
        ({"top": 9}, {"top": 8}, r"target.tokens has 9 tokens, but at most 8 are read"),
    ],
)
def test_counts_are_bounded(counts: dict[str, int], ceiling: dict[str, int], sentence: str) -> None:
    refused(json.dumps(with_counts(**counts)), sentence, replace(STANDARD, **ceiling))


def test_the_promised_ceilings() -> None:
    assert (STANDARD.rounds, STANDARD.nodes_per_round) == (5_000, 1_024)


def test_a_round_of_the_widest_draft_is_read_wherever_it_comes_from() -> None:
    """An upload of the largest legal draft was refused once: the root was counted as one of its 512 candidates."""
    for limits in (STANDARD, UPLOAD):
        assert limits.nodes_per_round > MOST_NODES
        bound_counts(with_counts(nodes=1 + MOST_NODES), limits)
