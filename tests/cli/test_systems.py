"""Every command of `docs/systems.md` does something: runs decode a few tokens, the others know their flags."""

import shlex

import pytest

from specviz.app.map import recordings
from specviz.cli.commands import run as run_command
from specviz.cli.sources import SharedModels, live_source
from specviz.protocol.runs import TraceSource
from tests.cli.conftest import Call
from tests.generate.as_typed import command
from tests.generate.systems import commands

pytestmark = pytest.mark.slow
RUNS = [line for line in commands() if line.startswith("specviz run ")]
OTHERS = [line for line in commands() if line not in RUNS]


def test_a_recording_is_typed_with_every_setting_it_has() -> None:
    assert command(recordings()["opening"]) == (
        "specviz run --prompt-id sums-346-183 --drafter model --temperature 0.0 --seed 7 --max-new-tokens 64 "
        "--dtype bfloat16 --gamma 7"
    )
    assert "specviz run" not in OTHERS
    assert len(RUNS) > 40


@pytest.fixture(scope="module")
def source() -> TraceSource:
    """Models are loaded once for all runs."""
    return live_source(SharedModels())


@pytest.mark.parametrize("line", RUNS)
def test_the_run_decodes(specviz: Call, source: TraceSource, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setattr(run_command, "live_source", lambda: source)
    _, *words = shlex.split(line)
    result = specviz(*words, "--max-new-tokens", "3", "--quiet")
    assert result.code == 0, result.err
    assert result.out


@pytest.mark.parametrize("line", OTHERS)
def test_the_command_is_known(specviz: Call, line: str) -> None:
    _, *words = shlex.split(line)
    result = specviz(*words, "--help")
    assert result.code == 0
    assert words[-1] in result.out
