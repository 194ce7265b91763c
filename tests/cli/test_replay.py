"""`specviz replay`: the rounds in words that agree with u and threshold, and text that cannot command the terminal."""

import base64
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from specviz.cli.commands.replay import show_round
from specviz.cli.terminal import Terminal
from specviz.trace import codec
from specviz.trace.events import Trace, VocabEntry
from tests.cli.conftest import Call
from tests.js.node import ROOT

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202e\u200b\x00"


@pytest.fixture
def hostile(golden: Path, tmp_path: Path) -> Path:
    """The golden trace with terminal commands in every token, the prompt, names and messages."""
    trace = codec.read(golden)
    entry = VocabEntry(base64.b64encode(HOSTILE.encode("utf-8", "surrogatepass")).decode(), HOSTILE)
    started = replace(
        trace.started,
        run_id=HOSTILE,
        prompt_text=HOSTILE,
        target=replace(trace.started.target, name=HOSTILE),
        drafter=replace(trace.started.drafter, name=HOSTILE, options={HOSTILE: HOSTILE}),
    )
    path = tmp_path / "hostile.json"
    finished = replace(trace.finished, message=HOSTILE)
    codec.write(replace(trace, started=started, finished=finished, vocab=dict.fromkeys(trace.vocab, entry)), path)
    return path


def test_a_round_shows_its_tree_with_fates_arithmetic_and_verdicts(specviz: Call, golden: Path) -> None:
    """Round 0 of the golden trace: two accepted, one rejected, one unreached, a correction from the residual."""
    result = specviz("replay", golden, "--round", 0)
    assert result.code == 0
    assert "round 0 · 8 tokens so far · 4 drafted, 2 accepted" in result.out
    assert "● return               accepted · p 0.5000 · q 0.6000 · threshold 0.8333, u 0.5833 < it" in result.out
    assert "✗ ␣c                 rejected · p 0.1000 · q 0.5000 · threshold 0.2000, u 0.8960 ≥ it" in result.out
    assert "○ ␣+               unreached · p 0.5000 · q 0.4000" in result.out
    assert "→ correction ␣a · from the residual · residual mass 0.4933 · u 0.6351" in result.out
    assert "= ␣␣␣␣return␣a · 3 committed · cache 7 → 10 rows, 2 dropped" in result.out
    assert "round 1" not in result.out


def test_all_rounds_text_and_summary_without_a_number(specviz: Call, golden: Path) -> None:
    result = specviz("replay", golden)
    assert all(f"round {index} ·" in result.out for index in range(8))
    assert "acceptance rate" in result.out
    assert "simulated run" in result.out
    assert "round 7 · 26 tokens so far · 2 drafted, 2 accepted" in result.out, "the third lies behind the end"


def test_no_colour_where_no_terminal_listens(specviz: Call, golden: Path) -> None:
    assert "\x1b" not in specviz("replay", golden).out


def test_colour_in_a_terminal_unless_asked_not_to(
    terminal: Call, golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b[32m" in terminal("replay", golden)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in terminal("replay", golden)


def test_no_token_name_or_message_can_command_the_terminal(terminal: Call, hostile: Path) -> None:
    """Only our own colour sequences are left; every other control character is shown as its escape."""
    shown = COLOUR.sub("", terminal("replay", hostile))
    assert "\\x1b]0;owned\\x07" in shown
    assert all(one.isprintable() or one == "\n" for one in shown)


def test_check_of_hostile_text_cannot_command_the_terminal(terminal: Call, hostile: Path) -> None:
    shown = COLOUR.sub("", terminal("check", hostile))
    assert "error" in shown
    assert all(one.isprintable() or one == "\n" for one in shown)


def test_a_rounds_tree_is_written_for_graph_tools(specviz: Call, golden: Path, tmp_path: Path) -> None:
    nodes = len(codec.read(golden).rounds[1].nodes)
    for name, read in (("t.graphml", nx.read_graphml), ("t.json", _node_link)):
        assert specviz("replay", golden, "--round", 1, "--graph", tmp_path / name).code == 0
        graph = read(tmp_path / name)
        assert (len(graph), nx.is_arborescence(graph)) == (nodes, True)


def _node_link(path: Path) -> Any:
    return nx.node_link_graph(json.loads(path.read_text(encoding="utf-8")), edges="edges")


def test_a_candidate_that_passed_beside_a_longer_path_is_never_called_rejected_by_its_u(specviz: Call) -> None:
    """On longest-path runs u below the threshold passes, and the length of the path decides."""
    result = specviz("replay", Path("assets") / "traces" / "verifier-longest-path.json.gz")
    beaten = [line for line in result.out.splitlines() if "a longer path" in line]
    assert beaten
    assert all("passed" in line and " < it" in line for line in beaten)
    assert not [line for line in result.out.splitlines() if "rejected ·" in line and " < it" in line]
    assert "✕ lossy: the text does not follow the target's distribution; longest_path: total variation 0." in result.out


TRACES = sorted((ROOT / "assets" / "traces").glob("*.json.gz"))
TRIAL = re.compile(r" (accepted|rejected|passed|unreached) · .*threshold [\d.]+, u [\d.]+ ([<≥]) it(.*)$")
OTHER_REASON = " · rejected: a longer path, or one drafted earlier, is kept"
"""what is said of candidates that passed and are not on the path that was kept"""


def lines(trace: Trace) -> list[str]:
    """What `specviz replay` prints of the rounds, without colours."""
    stream = io.StringIO()
    for one in trace.rounds:
        show_round(Terminal(stream, colour=False), trace, one)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_replay_never_says_rejected_where_u_is_below_the_threshold(path: Path) -> None:
    trace = codec.read(path)
    printed = [found.groups() for line in lines(trace) if (found := TRIAL.search(line))]
    assert len(printed) == sum(trial.u is not None for one in trace.rounds for trial in one.judged.trials)
    for fate, sign, reason in printed:
        assert (fate, sign, reason) in {("accepted", "<", ""), ("rejected", "≥", ""), ("passed", "<", OTHER_REASON)}


def test_replay_says_of_nodes_that_ride_along_that_they_do() -> None:
    """Lookahead's window is judged, and none of it is a draft."""
    trace = codec.read(ROOT / "assets" / "traces" / "drafter-lookahead.json.gz")
    told = [line for line in lines(trace) if " rides along · " in line]
    assert len(told) == sum(len(one.drafted.riding) for one in trace.rounds) > 0
