"""The fold that compares acceptance: a line per run, what has no tree said plainly, bad files named."""

import json
from html import unescape
from pathlib import Path

from specviz.app.speedup.acceptance import MOST_RUNS, acceptance_figure, acceptance_table, opened, picture
from specviz.protocol.acceptance import Acceptance, AcceptanceRun
from tests.app.doubles import SAMPLE
from tests.protocol.acceptance.records import vllm

MB = 1_000_000


def test_a_trace_and_a_summary_stand_beside_each_other(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(vllm()))
    runs, line, plot, table = opened([str(SAMPLE), str(tmp_path / "v.json")], (), MB)
    assert [run.traced for run in runs] == [True, False]
    assert "Summary only: v.json. The engine tells how many drafts were accepted, not which" in str(line)
    assert (table.count("a whole trace"), table.count("summary only: no tree")) == (1, 1)
    assert plot.visible is True
    figure = acceptance_figure(runs)
    assert [trace.name for trace in figure.data] == [SAMPLE.name, "v.json (summary only)"]
    assert [trace.y[0] for trace in figure.data] == [6 / 7, 4 / 43]
    assert [trace.line.dash for trace in figure.data] == ["solid", "dot"]


def test_a_file_that_is_none_is_named_and_the_others_stay(tmp_path: Path) -> None:
    kept = (AcceptanceRun("a", "vllm", (Acceptance(1, 2, 1, (0, 1)),)),)
    (tmp_path / "bad.json").write_text("{}")
    runs, line, _, table = opened([str(tmp_path / "bad.json")], kept, MB)
    assert runs == kept
    assert "bad.json: there is no acceptance record in it" in unescape(str(line))
    assert "<td" in str(table)
    _, line, _, _ = opened([str(SAMPLE)], kept * MOST_RUNS, MB)
    assert "12 runs are open, which is the most that is shown" in str(line)
    _, line, _, _ = opened([str(SAMPLE)], kept, 10)
    assert "larger than the 1e-05 MB" in str(line)


def test_an_engine_without_a_histogram_has_a_row_and_no_line() -> None:
    run = AcceptanceRun("s", "sglang", (Acceptance(5, 15, 6),))
    _, _, plot, table = picture((run,), [])
    assert plot.visible is False
    assert "0.400" in str(table)


def test_names_of_strangers_stay_text() -> None:
    run = AcceptanceRun("<img src=x>", "<b>", (Acceptance(1, 2, 1, (0, 1)),))
    assert "<img" not in acceptance_table([run])
    assert "<b>" not in acceptance_table([run])
    assert "<img" not in acceptance_figure([run]).data[0].name
