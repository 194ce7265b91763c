"""Links: what the browser writes, Python reads, and the other way round; what is no link is refused in a sentence."""

import json
import zlib
from base64 import urlsafe_b64encode
from dataclasses import asdict
from pathlib import Path

import pytest

from specviz.errors import OptionError
from specviz.protocol.choice import Choice
from specviz.protocol.links import MOST_CHARACTERS, pack, pack_request, read_request, text_hash
from specviz.protocol.runs import RunRequest, request_of
from specviz.trace import codec
from tests.js.node import ROOT, run

TRACES = sorted((ROOT / "assets" / "traces").glob("*.json.gz"))
GOLDEN = [ROOT / "tests" / "golden" / f"trace-1.0-{name}.json" for name in ("sample", "greedy")]
PACK = """
const { S } = require("%s/tests/js/load.js");
const all = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
Promise.all(all.map(async (trace) => {
  const text = await S.pack(S.requestOf(trace.started));
  return [text, S.textHash(trace.finished.text)];
})).then((found) => console.log(JSON.stringify(found)));
"""


def in_the_browser(traces: list[Path], folder: Path) -> list[tuple[str, str]]:
    file = folder / "pack.js"
    file.write_text(PACK % ROOT, encoding="utf-8")
    shown = [
        {"started": codec.to_data(one.started), "finished": codec.to_data(one.finished)}
        for one in map(codec.read, traces)
    ]
    done = run(str(file), stdin=json.dumps(shown))
    assert done.returncode == 0, done.stderr
    found: list[tuple[str, str]] = json.loads(done.stdout)
    return found


def test_the_request_that_the_browser_writes_is_the_one_that_makes_the_run_again(tmp_path: Path) -> None:
    traces = [*GOLDEN, *TRACES]
    assert len(traces) > 20
    for path, (text, written) in zip(traces, in_the_browser(traces, tmp_path), strict=True):
        trace = codec.read(path)
        expected = request_of(trace.started)
        known = {**asdict(expected), "prompt_name": None, "recorded": False}
        assert asdict(read_request(text)) == known, path.name
        assert written == text_hash(trace.finished.text), path.name
        assert len(text) < 2500, "too long for a QR code"


def test_a_request_survives_a_link() -> None:
    request = RunRequest("ä\n<b>", drafter=Choice("suffix", {"gamma": 3, "branching": [3, 2]}), stop=("\n",))
    assert read_request(pack_request(request)) == request
    assert "=" not in pack_request(request)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("%%%", "cannot be read"),
        (pack_request(RunRequest("one"))[:-9], "cannot be read"),
        ("A" * (MOST_CHARACTERS + 1), "at most 16,000"),
        (pack([1]), "carries no run"),
        (pack({"prompt": 3}), "names prompt as '3'"),
        (pack({"prompt": "a", "seed": True}), "names seed"),
        (pack({"prompt": "a", "dtype": "../x"}), "names dtype"),
        (pack({"prompt": "a", "drafter_options": {"gamma": {}}}), "names drafter_options"),
        (pack({"prompt": "a", "stop": [1]}), "names stop"),
    ],
)
def test_what_is_no_link_is_refused(text: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        read_request(text)


def test_a_small_link_cannot_hold_a_large_text() -> None:
    deflate = zlib.compressobj(9, wbits=-15)
    packed = deflate.compress(b'{"prompt":"' + b"a" * 5_000_000 + b'"}') + deflate.flush()
    with pytest.raises(OptionError, match="cannot be read"):
        read_request(urlsafe_b64encode(packed).decode().rstrip("="))


def test_files_of_one_machine_are_no_part_of_a_link() -> None:
    read = read_request(pack({"prompt": "a", "memory_file": "/etc/x", "datastore": "/etc/y", "record": False}))
    assert (read.memory_file, read.datastore, read.record) == ("", "", True)
