"""Exports: what other tools need of them, and that page and command line write the same."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import specviz
from specviz.app.components import standalone
from specviz.errors import OptionError
from specviz.theory import metrics
from specviz.trace import codec
from specviz.trace.events import Trace, VocabEntry
from specviz.trace.exports.markdown import code, number, round_table
from specviz.trace.exports.perfetto import LANES, chrome_trace
from specviz.trace.exports.tables import graphml, to_graph
from tests.js.node import ROOT, run

GOLDEN = [ROOT / "tests" / "golden" / name for name in ("trace-1.0-sample.json", "trace-1.0-greedy.json")]
BESIDE = ROOT / "tests" / "golden" / "trace-1.3-beside.json"
TRACES = [*GOLDEN, BESIDE, *sorted((ROOT / "assets" / "traces").glob("*.json.gz"))[::9]]
HOSTILE = '`|`\n<b>&"\t\x00\x0b``\u2028 '
PIECE = b"\xf0\x9f"
WRITE = """
const { S } = require("./tests/js/load.js");
const traces = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
console.log(JSON.stringify(traces.map((trace) => ({
  tables: trace.rounds.map((_, index) => S.roundTable(trace, index)),
  graphs: trace.rounds.map((_, index) => S.treeGraphml(trace, index)),
  lanes: S.chromeTrace(trace),
  counters: S.counters(trace.rounds),
}))));
"""


@cache
def read(path: Path) -> Trace:
    return codec.read(path)


def hostile(trace: Trace) -> Trace:
    """The same run, whose every token reads like markup and ends inside a character."""
    content = b64encode(HOSTILE.encode() + PIECE).decode()
    entries = {name: VocabEntry(content, f"{HOSTILE}\ufffd") for name in trace.vocab}
    return replace(trace, vocab=entries, started=replace(trace.started, prompt_text=HOSTILE))


def in_the_browser(traces: list[Trace]) -> list[Any]:
    done = run("-e", WRITE, stdin=f"[{','.join(map(codec.dumps, traces))}]")
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def graph_of(text: bytes | str) -> nx.DiGraph[int]:
    content = text if isinstance(text, bytes) else text.encode()
    graph = nx.read_graphml(io.BytesIO(content), node_type=int)
    graph.graph.clear()
    return graph


@pytest.mark.parametrize("change", [list, lambda traces: [*map(hostile, traces[:5])]], ids=["recorded", "hostile"])
def test_page_and_command_line_write_the_same(change: Callable[[list[Trace]], list[Trace]]) -> None:
    traces = change([read(path) for path in TRACES])
    for trace, page in zip(traces, in_the_browser(traces), strict=True):
        are_the_same(trace, page)


def are_the_same(trace: Trace, page: dict[str, Any]) -> None:
    for index, this in enumerate(trace.rounds):
        assert page["tables"][index] == round_table(trace, index)
        one, other = graph_of(page["graphs"][index]), graph_of(graphml(to_graph(this, trace)))
        assert dict(one.nodes(data=True)) == dict(other.nodes(data=True))
        assert dict(one.edges) == dict(other.edges)
    counters = page["counters"]
    assert counters["rate"] == pytest.approx(metrics.acceptance_rate(trace.rounds))
    assert counters["length"] == pytest.approx(metrics.mean_acceptance_length(trace.rounds))
    assert counters["tokens"] / counters["passes"] == metrics.tokens_per_target_pass(trace.rounds)
    tested = counters["tested"]
    assert (counters["passed"] / tested if tested else None) == pytest.approx(metrics.alpha(trace.rounds))
    lanes = chrome_trace(trace)
    assert lanes["otherData"] == page["lanes"]["otherData"]
    assert len(lanes["traceEvents"]) == len(page["lanes"]["traceEvents"])
    for event, found in zip(lanes["traceEvents"], page["lanes"]["traceEvents"], strict=True):
        times = {name: pytest.approx(event[name], abs=0.0011) for name in ("ts", "dur") if name in event}
        assert found == {**event, **times}


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_the_lanes_are_what_perfetto_reads(path: Path) -> None:
    trace = read(path)
    content = json.loads(json.dumps(chrome_trace(trace), allow_nan=False))
    events = content["traceEvents"]
    assert [event["ts"] for event in events] == sorted(event["ts"] for event in events)
    slices = [event for event in events if event["ph"] == "X"]
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in slices)
    own = [event for event in slices if event["tid"] in LANES.values()]
    total = sum(event["dur"] for event in own if event["name"] not in ("drafter pass", "prompt"))
    assert total == pytest.approx(trace.finished.decode_s * 1e6, rel=1e-3), "not microseconds"
    for thread in LANES.values():
        inside: list[float] = []  # slices of one lane are nested or apart, never crossed
        for event in (one for one in slices if one["tid"] == thread):
            while inside and inside[-1] <= event["ts"] + 0.002:
                inside.pop()
            assert not inside or event["ts"] + event["dur"] <= inside[-1] + 0.01, event
            inside.append(event["ts"] + event["dur"])
    rejected = sum(not trial.accepted for this in trace.rounds for trial in this.judged.trials)
    assert sum(event["ph"] == "i" and event["cat"] == "rejection" for event in events) == rejected
    acceptance = [event["args"]["value"] for event in events if event["name"] == "running acceptance"]
    if acceptance:
        assert acceptance[-1] == pytest.approx(metrics.acceptance_rate(trace.rounds))
    accepted = sum(event["args"]["accepted"] for event in slices if event["name"].startswith("verdicts "))
    assert accepted == metrics.num_accepted_draft_tokens(trace.rounds)
    rows = [event["args"]["value"] for event in events if event["name"] == "cache rows"]
    assert rows[-1] == trace.rounds[-1].committed.cache_kept
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]
    beside = [one for this in trace.rounds for one in this.drafted.lanes]
    assert names[1:] == [*LANES, *dict.fromkeys(one.lane for one in beside)]
    assert len([event for event in events if event.get("cat") == "drafter"]) == len(beside)


def test_the_lane_of_a_drafter_beside_the_target_has_its_own_times() -> None:
    """Prefill takes 10 ms, so that the lane's first moment is that of the first round."""
    spans = [event for event in chrome_trace(read(BESIDE))["traceEvents"] if event.get("cat") == "drafter"]
    shown = [(one["name"], one["ph"], one["ts"], one.get("dur"), one["args"]["tokens"]) for one in spans[:7]]
    assert shown[:2] == [("draft", "X", 10_000.0, 2000.0, 1), ("draft", "X", 12_000.0, 2000.0, 1)]
    assert shown[6] == ("roll back", "i", 23_000.0, None, 6)
    assert {one["tid"] for one in spans} == {4}
    first = [event["name"] for event in chrome_trace(read(BESIDE))["traceEvents"] if event.get("cat") == "draft"]
    assert first == ["wait 1", "wait 2", "wait 3"], "the target waited, and did not draft"


def test_a_table_has_a_row_for_every_candidate() -> None:
    trace = read(GOLDEN[0])
    lines = round_table(trace, 0).splitlines()
    rows = [line for line in lines if line.startswith("| ")][2:]
    assert len(rows) == len(trace.rounds[0].nodes) - 1
    assert [row.split(" | ")[3] for row in rows] == [node.fate for node in trace.rounds[0].nodes[1:]]
    with pytest.raises(OptionError, match="there is no round 99; this trace has rounds 0 to 7"):
        round_table(trace, 99)


def test_at_temperature_zero_p_and_q_are_those_of_the_card() -> None:
    """What both models believe, or what they can at most where a token is not in the head, instead of 0 and 1."""
    rows = [line.split(" | ") for line in round_table(read(GOLDEN[1]), 0).splitlines() if line.startswith("| ")][2:]
    seen = [(row[4], row[5]) for row in rows[:3]]
    assert seen == [("0.3000", "0.5000"), ("0.6000", "0.4000"), ("<0.0100", "<0.0067")]
    assert "believe before temperature 0" in round_table(read(GOLDEN[1]), 0)
    assert "believe before temperature 0" not in round_table(read(GOLDEN[0]), 0)


def test_what_was_judged_behind_the_end_of_the_text_is_no_text() -> None:
    """A stop string ends the text with the second of the last round's three candidates."""
    table = round_table(read(GOLDEN[0]), 7)
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][2:]
    assert [row[3] for row in rows] == ["accepted", "accepted", "behind the end"]
    assert "The text ends with `END`: what was judged behind it is no text; 2 tokens from one target pass" in table


def test_no_token_can_leave_its_cell() -> None:
    for line in round_table(hostile(read(GOLDEN[0])), 0).splitlines():
        if line.startswith("| "):
            assert line.replace("\\|", "").count("|") == 9
    assert code("a`b") == "`` a`b ``"
    assert code("") == "(no text)"


def test_halves_go_up_as_in_the_browser() -> None:
    assert (number(0.03125), number(None), number(1.0)) == ("0.0313", "–", "1.0000")


def test_printed_it_is_one_line() -> None:
    line = repr(specviz.read(GOLDEN[0]))
    assert "\n" not in line
    assert len(line) < 250
    assert line.endswith("20 tokens in 8 target passes>")


def test_in_a_notebook_it_is_the_player_and_asks_nobody() -> None:
    shown = specviz.read(GOLDEN[0])._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    page = unescape(shown[len('<iframe srcdoc="') :])
    assert "default-src 'none'" in page
    assert "SpecViz.standAlone(document)" in page
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert shown.count("<") == 2, "nothing of the page or the trace may end the attribute"


def test_a_trace_that_is_too_large_is_printed_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standalone, "MOST_CHARACTERS", 1000)
    assert specviz.read(GOLDEN[0])._repr_html_() is None
