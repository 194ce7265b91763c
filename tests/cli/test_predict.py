"""`specviz predict` over a source with a clock chosen by hand."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from specviz.cli.commands import predict as command
from specviz.cli.main import main
from specviz.protocol.clocks import Clocked, ClockRequest
from specviz.protocol.sweeps import store as sweep_store
from tests.app.lab.sweeps import drafted, plain, sweep_result
from tests.bench.sweep.test_sweep_command import Drafters
from tests.theory.test_sweep_clock import CLOCK


class Machine(Drafters):
    """The fake source with the clock of `tests.theory.test_sweep_clock`."""

    def clock(self, request: ClockRequest, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Clocked]:
        yield Clocked(request.budget_s, request.budget_s, CLOCK)


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setattr(command, "live_source", lambda *given, **settings: Machine())
    points = [plain(prompt="one"), drafted(prompt="one")]
    sweep_store.write(sweep_result(*points), tmp_path / "r.json")
    return str(tmp_path / "r.json")


def test_a_recorded_sweep_is_printed_with_its_prediction_and_both_machines(result: str, capsys: Any) -> None:
    assert main(["predict", result]) == 0
    said = capsys.readouterr().out
    assert "| model | 2 | 0 | 1.33 | 1.25 |" in said
    assert "Recorded: Recorder, float32, 2026-01-02T03:04:05Z. Predicted: Here, float32" in said
    assert "measured here" not in said


def test_a_check_runs_the_same_cases_and_prints_the_error(result: str, capsys: Any) -> None:
    """The fake source writes 8 tokens in 4 rounds of a second where plain decoding takes 8: twice as fast."""
    assert main(["predict", result, "--check", "--drafters", "model"]) == 0
    said = capsys.readouterr().out
    assert "| model | 2 | 0 | 1.33 | 1.25 | 2.00 | -37.5% |" in said
    assert "1 cases: off by 37.5% in the median, at most by 37.5% (model at γ = 2)." in said


def test_the_rows_are_given_as_json(result: str, capsys: Any) -> None:
    assert main(["predict", result, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["machine"]["processor"], data["rows"][0]["predicted"]) == ("Here", pytest.approx(1.25))
