"""The statistics of real runs are what they were before contests and sweeps had one kind of them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from specviz.bench.core.contest import ContestRun, Measured
from specviz.bench.core.report import plain_data
from specviz.bench.core.rows import beside_plain, engine_speed, ratios, row_statistics
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.points import title
from specviz.protocol.sweeps.result import points_of
from specviz.resources import ROOT
from specviz.theory import metrics
from specviz.theory.rows import counts_of, repeats_itself, summarise, varied
from specviz.trace import codec

BEFORE = json.loads((Path(__file__).parent / "frozen_rows.json").read_text())


def near(value):
    """Sums of floats may be added up in another order."""
    if isinstance(value, list | tuple):
        return [near(one) for one in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


@pytest.mark.parametrize("kind", [0, 1])
def test_the_rows_of_the_shipped_sweep(kind):
    points = points_of(store.read(ROOT / "sweeps" / "all_drafters.json.gz"))
    chosen = [varied(points), [point for point in points if repeats_itself(point)]][kind]
    rows = []
    for row in summarise(chosen):
        counted = row.statistics
        rate = None if counted.acceptance_rate is None else counted.acceptance_rate.value
        rows.append(
            [title(row), row.gamma, row.temperature, counted.prompts, counted.runs, *row.ratio, row.tokens_per_s,
             row.baseline_tokens_per_s, rate, counted.same_output, counted.nodes_per_pass.value, row.memory_ratio,
             row.alpha]
        )  # fmt: skip
    assert near(rows) == near([before[:-2] for before in BEFORE["sweep"][kind]])


def test_the_statistics_of_contests_over_the_shipped_traces():
    runs = []
    with zipfile.ZipFile(ROOT / "sweeps" / "failures.traces.zip") as archive:
        for name in sorted(archive.namelist()):
            trace = codec.loads(archive.read(name))
            started, finished = trace.started, trace.finished
            counts = counts_of(trace.rounds, len(finished.output_ids), metrics.mbsu(started, trace.rounds))
            measured = Measured(finished.output_ids, 1.0, 0.0, counts, engine_s=finished.decode_s)
            runs.append(ContestRun(started.drafter.name, started.prompt_name, "f", 0, measured))
    paired, plain = beside_plain(runs, "none")
    found = {}
    for name in dict.fromkeys(run.contestant for run in paired):
        group = [run for run in paired if run.contestant == name]
        speeds = [ratio for of_prompt in ratios(group, plain, engine_speed).values() for ratio in of_prompt]
        found[name] = {key: near(value) for key, value in plain_data(row_statistics(group, plain)).items()}
        found[name]["speed"] = near(speeds)
    assert found == {name: {key: near(value) for key, value in row.items()} for name, row in BEFORE["contest"].items()}
