"""`specviz replay` on every recorded run: a verdict's words agree with the u and the threshold beside it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from specviz.cli.commands.replay import show_round
from specviz.cli.terminal import Terminal
from specviz.trace import codec
from specviz.trace.events import Trace
from tests.js.node import ROOT

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
