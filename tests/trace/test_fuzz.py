"""Some 900 damaged traces: each is read or refused in a sentence, never anything else.

Seeds are fixed, so a failure names the mutation that caused it.
"""

import copy
import gzip
import json
import random
from typing import Any

import pytest

from specviz.errors import TraceError
from specviz.trace.characters import display_pieces, token_bytes
from specviz.trace.check import check
from specviz.trace.codec import loads
from specviz.trace.events import Trace
from specviz.trace.exports.tables import to_graph
from tests.trace.changing import SAMPLE

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 7, 31, 32, 10**6, 2**53 - 1, 2**53, -(2**60), 10**30, 0.0, -0.0, 0.5, 1.0, -0.5,
    1e-320, 1e300, float("nan"), float("inf"), "", "0", "accepted", "root", "\0", "\ud800", "אב\u202e", "<b>", "1.0",
    [], {}, [[]], [0], [None], {"a": 1}, {"": ""}, "x" * 3000,
]  # fmt: skip
ODD_BYTES = [*b'" { } [ ] , : \\ \\u - e9 \0 \xff null NaN'.split(), b"1" * 20]
BASES = [SAMPLE, SAMPLE.with_name("trace-1.3-greedy.json"), SAMPLE.with_name("trace-1.3-beside.json")]


def outcome(content: str | bytes) -> str:
    """`read` or `refused`; whatever is read must also bear checking, showing and drawing."""
    try:
        trace = loads(content)
    except TraceError as error:
        sentence = str(error)
        assert len(sentence) > 10
        assert sentence.isprintable(), "a foreign control character reached the message"
        assert len(sentence) < 400
        return "refused"
    assert isinstance(trace, Trace)
    for problem in check(trace):
        assert problem.place
        assert problem.sentence
    display_pieces(token_bytes(trace, token) for token in [*trace.started.prompt_ids, *trace.finished.output_ids])
    for this in trace.rounds:
        to_graph(this, trace)
    return "read"


def damage_bytes(rng: random.Random, content: bytes) -> bytes:
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.choice([0, 1, 1, 2, 8, 100, 5000]))
        new = rng.choice([b"", bytes([rng.randrange(256)]), rng.choice(ODD_BYTES), content[at:end] * 2])
        content = content[:at] + new + content[end:]
    return content


def damage_data(rng: random.Random, data: Any) -> None:
    """Replace, delete, duplicate or swap something at a random place."""
    parent, key, here = None, None, data
    while isinstance(here, dict | list) and here and (parent is None or rng.random() < 0.85):
        parent, key = here, rng.choice(list(here) if isinstance(here, dict) else range(len(here)))
        here = parent[key]
    action = rng.randrange(5)
    if action == 0:
        del parent[key]
    elif action == 1 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(here))
    elif action == 2 and isinstance(parent, list):
        other = rng.randrange(len(parent))
        parent[key], parent[other] = parent[other], parent[key]
    elif action == 3 and isinstance(parent, dict):
        parent[rng.choice(["x_more", "seed", "0", "", "\x1b[31m"])] = here
    else:
        parent[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def blocks(count: int) -> list[Any]:
    """Two quick ones for daily work, all for the whole suite; `python -m tests.fuzz` makes many more."""
    return [pytest.param(block, marks=pytest.mark.slow if block > 1 else ()) for block in range(count)]


@pytest.mark.parametrize("block", blocks(2))
def test_damaged_bytes(block: int) -> None:
    whole = BASES[block % 2].read_bytes()
    rng = random.Random(block)
    outcomes = {outcome(damage_bytes(rng, whole)) for _ in range(125)}
    assert outcomes == {"read", "refused"}, "the mutations all end alike: they test nothing"


@pytest.mark.parametrize("block", blocks(4))
def test_damaged_data(block: int) -> None:
    whole = BASES[block % 2].read_bytes()
    rng = random.Random(1_000 + block)
    outcomes = set()
    for _ in range(125):
        data = json.loads(whole)
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            damage_data(rng, data)
        outcomes.add(outcome(json.dumps(data)))
    assert outcomes == {"read", "refused"}


def test_damaged_archives() -> None:
    packed = gzip.compress(SAMPLE.read_bytes(), mtime=0)
    rng = random.Random(5)
    assert "refused" in {outcome(damage_bytes(rng, packed)) for _ in range(150)}


def test_every_cut_of_the_head() -> None:
    """A file cut anywhere is refused."""
    whole = SAMPLE.read_bytes()
    assert {outcome(whole[:end]) for end in range(0, len(whole) - 2, 331)} == {"refused"}
