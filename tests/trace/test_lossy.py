"""A lossy run says so, with what was measured; a lossless one does not."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.cli.commands.run import as_data
from specviz.trace import cautions
from specviz.trace.codec import read
from specviz.trace.header import MethodCard

SAMPLE = Path(__file__).parents[1] / "golden" / "trace-1.0-sample.json"


def trace_of(**cards):
    trace = read(SAMPLE)
    return replace(trace, started=replace(trace.started, **cards))


def test_a_lossless_run_has_no_notice():
    trace = trace_of()
    assert cautions.lossy_sentence(trace.started) is None
    data = as_data(trace, None)
    assert (data["lossless"], data["lossy"], data["verifier"]["lossless"]) == (True, [], True)


@pytest.mark.parametrize("name", ["cascade", "ensemble", "fly", "lenience", "longest_path", "typical"])
def test_a_lossy_verifier_is_named_with_its_measured_distance(name):
    trace = trace_of(verifier=MethodCard(name, {}, lossless=False))
    assert f"{name}: total variation 0." in cautions.lossy_sentence(trace.started)
    data = as_data(trace, None)
    assert (data["lossless"], [one["name"] for one in data["lossy"]]) == (False, [name])
    assert not data["drafter"]["lossless"]
    assert not data["verifier"]["lossless"]


def test_the_conditions_of_a_distance_name_options_that_are_words_and_numbers():
    said = cautions.lossy_distance(MethodCard("cascade", {}, lossless=False))
    assert said.endswith(" prompts on the bundled pair (T=0.8, defer opt, alpha 0.3)")


def test_a_lossy_tree_policy_makes_the_run_lossy_whatever_judges_it():
    trace = trace_of(tree_policy=MethodCard("target_init", {}, lossless=False))
    assert cautions.lossy_sentence(trace.started).partition("target_init: ")[2].startswith("total variation 0.")
    data = as_data(trace, None)
    assert (data["lossless"], data["verifier"]["lossless"]) == (False, False)


def test_the_sequential_rule_measured_in_the_same_way_is_the_targets_law():
    rows = {row["method"]: row["total_variation"] for row in cautions.measured_distances()["rows"]}
    assert rows["sequential"] < 1e-5
    assert all(rows[name] > 0.01 for name in ("lenience", "typical", "longest_path"))
