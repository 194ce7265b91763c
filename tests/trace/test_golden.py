"""Golden traces stay readable for ever: one per released version, never rewritten once released."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from specviz.trace.check import check, errors
from specviz.trace.codec import dumps, loads, read
from specviz.trace.events import VERSION, Round
from specviz.trace.files import UPLOAD

ROOT = Path(__file__).parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("trace-*.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_golden_trace_is_read_and_sound(path: Path) -> None:
    assert check(read(path)) == []


POLICIES = sorted((ROOT / "tests" / "golden" / "policies").glob("trace-*.json.gz"))
"""two runs of each format before 1.3, which called the policies by other names"""


def test_there_are_policies_of_every_format_that_had_other_names_for_them() -> None:
    names = [
        f"trace-{version}-{name}.json.gz"
        for version in ("1.0", "1.1", "1.2")
        for name in ("growth-chain", "stop-entropy")
    ]
    assert [path.name for path in POLICIES] == names


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.name)
def test_the_policies_of_an_older_trace_are_read_by_the_names_of_today(path: Path) -> None:
    old, trace = json.loads(gzip.decompress(path.read_bytes())), read(path)
    started = {
        **old["started"],
        "tree_policy": old["started"].pop("growth"),
        "stop_policy": old["started"].pop("stopping"),
    }
    assert (started["tree_policy"] is None, started["stop_policy"] is None) in ((True, False), (False, True))
    assert loads(json.dumps({**old, "version": VERSION, "started": started})) == trace
    assert TypeAdapter(list[Round]).validate_python(old["rounds"]) == trace.rounds
    assert errors(check(trace)) == [], "among others, the id fits the header"


def test_there_is_a_golden_trace_of_this_version() -> None:
    assert any(path.name.startswith(f"trace-{VERSION}-") for path in GOLDEN)


@pytest.mark.parametrize("name", ["sample", "greedy", "beside"])
def test_the_samples_are_what_their_script_writes(name: str) -> None:
    """To twelve decimals: Python adds floats up more exactly from 3.12 on."""
    command = f"from tests.golden.make_sample import SAMPLES, dumps; print(dumps(SAMPLES[{name!r}]()))"
    made = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    kept = dumps(read(ROOT / "tests" / "golden" / f"trace-{VERSION}-{name}.json"))
    assert rounded(made.stdout) == rounded(kept)


def rounded(text: str) -> object:
    return json.loads(text, parse_float=lambda digits: round(float(digits), 12))


def test_every_bundled_trace_is_sound() -> None:
    bundled = [path for path in (ROOT / "assets" / "traces").glob("*.json*") if path.name != "index.json"]
    for path in bundled:
        assert errors(check(read(path, UPLOAD))) == [], path.name
