"""Sweep files, what they expand to, and results that are written, read and continued."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from specviz.bench.sweep.runner import runnable, sweep, warm_up
from specviz.errors import BenchError, ModelError, SpecVizError
from specviz.live import catalog
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.definition import (
    DrafterEntry,
    SweepDefinition,
    SweepDrafter,
    SweepSpec,
    cases,
    expand,
    fingerprint,
    run_count,
)
from specviz.protocol.sweeps.points import title
from specviz.protocol.sweeps.result import SweepResult, continued, introduce, points_of, with_points
from specviz.protocol.sweeps.store import definition_of, read_definition, to_toml
from specviz.resources import ROOT
from specviz.trace.header import Machine, StepTime

SHIPPED = sorted((ROOT / "sweeps").glob("*.toml"))
WHOLE = """
title = "Whole"
gammas = [1, 3]
trees = [[3, 2], [2]]
tree_policies = ["dyspec", "eagle2"]
budgets = [8]
stop_policies = ["confidence"]
temperatures = [0, 0.7]
families = ["code", "copy"]
max_new_tokens = 8
drafters = [
  "model",
  "ngram",
  { name = "jacobi", length = "block", lengths = [4] },
  { name = "rest", options = { max_nodes = 8 } },
  { name = "model", tree_policy = { name = "dyspec", options = { budget = 32 } }, stop_policy = "entropy" },
]
"""


@pytest.fixture(scope="module")
def listed() -> Any:
    return catalog.saved()


def test_a_drafter_whose_length_does_nothing_beside_its_other_options_runs_once(listed: Any) -> None:
    """`suffix` drafts no length of its own without a fallback, and of `merged` its branching replaces the length; who
    gives lengths means them."""
    spec = expand(definition_of('drafters = ["suffix", "merged", "ngram"]\ngammas = [1, 4]'), listed)
    assert [(case.label, case.gamma) for case in cases(spec)] == [
        ("none", None), ("suffix", None), ("merged", None), ("ngram", 1), ("ngram", 4),
    ]  # fmt: skip
    falls_back = (
        'drafters = [{ name = "suffix", options = { fallback = "model" } }, { name = "merged", lengths = [2] }]'
    )
    assert [case.gamma for case in cases(expand(definition_of(falls_back + "\ngammas = [1]"), listed))] == [None, 1, 2]


def test_a_drafter_is_measured_at_those_lengths_of_the_sweep_that_it_takes(listed: Any) -> None:
    """`pearl` takes 2 to 32; where it takes none of them, or who gives lengths means others, a run says so."""
    spec = expand(definition_of('drafters = ["pearl"]\ngammas = [1, 2, 40]'), listed)
    assert [case.gamma for case in cases(spec)] == [None, 2]
    for asked in ('drafters = ["pearl"]\ngammas = [1]', 'drafters = [{ name = "pearl", lengths = [1] }]'):
        assert [case.gamma for case in cases(expand(definition_of(asked), listed))] == [None, 1]


def test_a_sweep_file_is_the_product_of_its_axes(listed: Any) -> None:
    """Each shape of `model` with and without the stop policy; the others as they stand."""
    spec = expand(definition_of(WHOLE), listed)
    assert [(title(case), case.gamma) for case in cases(spec)] == [
        ("none", None),
        ("model", 1), ("model", 3), ("model · confidence", 1), ("model · confidence", 3),
        ("model tree 3,2", None), ("model tree 3,2 · confidence", None),
        ("model tree 2", None), ("model tree 2 · confidence", None),
        ("model · dyspec budget 8", None), ("model · dyspec budget 8 · confidence", None),
        ("model · eagle2 budget 8", None), ("model · eagle2 budget 8 · confidence", None),
        ("ngram", 1), ("ngram", 3),
        ("jacobi", 4),
        ("rest max nodes 8", None),
        ("model · dyspec budget 32 · entropy", None),
    ]  # fmt: skip
    assert [name.split("-")[0] for name in spec.prompt_ids] == ["code", "copy"]
    assert run_count(spec) == 18 * 2 * 2


def test_what_is_written_reads_the_same_and_the_title_changes_no_hash() -> None:
    whole = definition_of(WHOLE)
    assert definition_of(to_toml(whole)) == whole
    assert fingerprint(replace(whole, title="Other")) == fingerprint(whole)
    assert fingerprint(replace(whole, seed=8)) != fingerprint(whole)
    assert to_toml(SweepDefinition(drafters=(DrafterEntry("model"),))) == 'drafters = [\n  "model",\n]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gamas = [1]", "no key of a sweep file called 'gamas'; did you mean 'gammas'"),
        ('drafters = [{ name = "model", lenght = "gamma" }]', "called 'lenght'; did you mean 'length'"),
        ("gammas = [0]", "gammas has 0"),
        ("gammas = []", "gammas is empty"),
        ("gammas = [2, 2]", "gammas has an entry twice"),
        ("gammas = 3", "gammas is 3, but must be a valid"),
        ("gammas = ['3']", r"gammas\[0\] is '3', but must be a valid integer"),
        ("temperatures = [-1]", "temperatures has -1"),
        ("temperatures = [nan]", "temperatures has nan"),
        ("drafters = [3]", r"drafters\[0\] is 3"),
        ("drafters = [{ label = 'x' }]", "name"),
        ("gammas = [1", "no valid TOML"),
        ("gammas = [" + "9" * 5_000 + "]", "holds a number of thousands of digits; 100,000 is the largest taken"),
        ("gammas = [0x" + "f" * 5_000 + "]", "holds a number of thousands of digits; 100,000 is the largest taken"),
        ("x = " + "[" * 5000, "nested too deeply|no valid TOML"),
    ],
)
def test_a_sweep_file_is_strict(text: str, words: str) -> None:
    with pytest.raises(BenchError, match=words):
        definition_of(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('drafters = ["modle"]', "no drafter 'modle'; did you mean 'model'"),
        ('drafters = [{ name = "model", options = { gama = 1 } }]', "option of 'model' called 'gama'"),
        ('drafters = [{ name = "jacobi", length = "blok" }]', "'blok'; did you mean 'block'"),
        ('drafters = ["model"]\ngrowths = ["dispec"]', "tree policy 'dispec'; did you mean 'dyspec'"),
        ('drafters = ["ngram"]\nstoppings = ["entropy"]', "ngram can have no tree or stop policy"),
        ('drafters = ["model"]\nfamilies = ["cod"]', "prompt family 'cod'; did you mean 'code'"),
        ('drafters = ["model"]\nprompts = ["nothing"]', "no prompt 'nothing'"),
        ('drafters = ["model", { name = "model", lengths = [1] }]', "two drafters of the sweep are called 'model'"),
        ("gammas = [1]", "no drafter is chosen"),
    ],
)
def test_names_that_there_are_not_are_refused_with_the_nearest(listed: Any, text: str, words: str) -> None:
    with pytest.raises(SpecVizError, match=words):
        expand(definition_of(text), listed)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_sweep_expands(listed: Any, path: Path) -> None:
    spec = expand(read_definition(path), listed)
    assert len(cases(spec)) > 1


def test_the_sweep_of_all_drafters_measures_every_registered_one(listed: Any) -> None:
    spec = expand(read_definition(ROOT / "sweeps" / "all_drafters.toml"), listed)
    families = len({card.family for card in listed.prompts})
    assert {case.drafter for case in cases(spec)} == {method.name for method in listed.drafters}
    assert run_count(spec) <= 240 * families, "about nine minutes with thirteen families, a sixth of a second a run"


# --- results -------------------------------------------------------------------------------------------------------

DEFINITION = SweepDefinition(drafters=(DrafterEntry("model"),), gammas=(1, 3), prompts=("one", "two"))


def measured(source: Any, keep: int = 100) -> SweepResult:
    """A result of the hand-timed source, with its first points."""
    spec = SweepSpec((SweepDrafter("model"),), (1, 3), ("one", "two"))
    warm_ups = list(warm_up(source, spec))
    spec = runnable(spec, warm_ups)
    fresh = introduce(source, DEFINITION, spec, warm_ups, "test")
    return with_points(fresh, list(sweep(source, spec))[:keep])


def test_a_result_is_read_as_it_was_written(fake_source: Any, tmp_path: Path) -> None:
    result = measured(fake_source)
    for name in ("r.json", "r.json.gz"):
        sweep_store.write(result, tmp_path / name)
        assert sweep_store.read(tmp_path / name) == result
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "r.json.gz"]
    assert (result.complete, len(result.curves), points_of(result)[1].ratio) == (True, 1, 2.0)


def test_every_step_time_curve_is_stored_once(fake_source: Any) -> None:
    result = measured(fake_source)
    points = points_of(result)
    slow = (StepTime(1, 8, 0.5, 0.5, 0.5),)
    two = with_points(result, [*points[:2], *(replace(one, step_times=slow) for one in points[2:])])
    assert (two.curves, [one.curve for one in two.points]) == (((), slow), [0, 0, 1, 1, 1, 1])
    assert "step_times" not in json.loads(sweep_store.dumps(two))["points"][0]
    assert points_of(two)[2].step_times == slow


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("kind",), "other", "kind is 'other'"),
        (("version",), "2.0", "version is '2.0'"),
        (("definition", "seed"), 9, "definition_sha256 does not belong"),
        (("points", 0, "curve"), 3, r"points\[0\]\.curve is 3"),
        (("points", 1, "ratio"), 9.0, r"points\[1\]\.ratio is not"),
        (("points", 1, "decode_s"), 0.0, r"points\[1\] has a speed or a time"),
        (("points", 0, "rounds"), "8", r"points\[0\]\.rounds is '8', but must be"),
        (("provenance", "machine"), None, "provenance.machine"),
    ],
)
def test_a_damaged_result_is_refused_with_its_place(fake_source: Any, place: tuple, value: Any, words: str) -> None:
    data = json.loads(sweep_store.dumps(measured(fake_source)))
    inner = data
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(BenchError, match=words):
        sweep_store.loads(json.dumps(data).encode())


def test_other_json_is_no_sweep_result() -> None:
    for raw, words in ((b"[]", "a sweep result is one JSON object"), (b"", "is empty"), (b"{", "not valid JSON")):
        with pytest.raises(BenchError, match=words):
            sweep_store.loads(raw)


def test_the_shipped_schema_is_the_generated_one_and_holds_for_results(fake_source: Any) -> None:
    """After a change of the types: `make generate`; think about the version."""
    assert sweep_store.SCHEMA_FILE.read_text(encoding="utf-8") == sweep_store.schema_text()
    schema = sweep_store.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    data = json.loads(sweep_store.dumps(measured(fake_source)))
    jsonschema.validate(data, schema)
    data["points"][0]["ratio"] = "fast"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)
    assert schema["$defs"]["StoredPoint"]["properties"]["ratio"]["description"].startswith("tokens_per_s /")


def test_a_result_goes_on_only_with_the_same_sweep_weights_and_machine(fake_source: Any) -> None:
    kept, fresh = measured(fake_source, keep=2), measured(fake_source, keep=0)
    assert continued(kept, fresh).provenance.continued == ("2026-01-01T00:00:00Z",)

    def other(**changes: Any) -> SweepResult:
        return replace(fresh, provenance=replace(fresh.provenance, **changes))

    machine = Machine("cpu", "bfloat16", 1, 1, "test", "3", "2", "5", "test")
    for changed, words in (
        (replace(fresh, definition=replace(DEFINITION, seed=1)), "runs of another sweep"),
        (other(machine=machine), "measured with dtype 'float32', but here it is 'bfloat16'"),
        (other(target=replace(fresh.provenance.target, weights_sha256="11")), "another target than is here"),
        (other(prompts_sha256="11"), "another set of prompts"),
    ):
        with pytest.raises(BenchError, match=words):
            continued(kept, changed)


def test_who_cannot_run_is_named_with_the_reason_and_left_out(fake_source: Any) -> None:
    run = fake_source.run

    def needy(request: Any, *rest: Any) -> Any:
        if request.drafter.name == "needy":
            raise ModelError("there is no datastore; build one.")
        return run(request, *rest)

    fake_source.run = needy
    fake_source.explain = lambda request: "odd is odd." if request.drafter.name == "odd" else None
    spec = SweepSpec(tuple(SweepDrafter(name, {}, None) for name in ("needy", "model", "odd")), (1,), ("one",))
    warm_ups = list(warm_up(fake_source, spec))
    assert {one.name: one.reason for one in warm_ups if one.started is None} == {
        "needy": "there is no datastore; build one.",
        "odd": "odd is odd.",
    }
    assert [case.drafter for case in cases(runnable(spec, warm_ups))] == ["none", "model"]
    with pytest.raises(BenchError, match="no drafter of the sweep can run here; the first one: there is no datastore"):
        runnable(replace(spec, drafters=spec.drafters[:1]), warm_ups[:2])
    with pytest.raises(BenchError, match="stopped while warming up"):
        runnable(spec, warm_ups[:2])


def test_a_file_that_lies_elsewhere_is_named() -> None:
    with pytest.raises(BenchError, match=r"nothing\.toml: cannot be read"):
        read_definition("nothing.toml")


def test_the_recorded_result_is_of_the_shipped_sweep_and_weights() -> None:
    """If this fails: specviz bench sweep assets/sweeps/all_drafters.toml --out assets/sweeps/all_drafters.json.gz"""
    from specviz.lm.checkpoint import sha256_of, weight_files

    for path in (ROOT / "sweeps").glob("all_drafters.json*"):
        result = sweep_store.read(path)
        assert result.complete
        assert result.definition_sha256 == fingerprint(read_definition(ROOT / "sweeps" / "all_drafters.toml"))
        folder = ROOT / "models" / "target"
        assert result.provenance.target.weights_sha256 == sha256_of(weight_files(folder, "target"))
