"""What the controls of When it pays do with a sweep, called as Gradio calls them, over the golden trace."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from specviz.app.form.request import Limits
from specviz.app.runs.gallery import recorded
from specviz.app.speedup.actions import OUTPUTS, SpeedupActions
from specviz.app.speedup.running import SweepControls
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.definition import cases, expand
from specviz.protocol.sweeps.store import definition_of
from tests.app.doubles import ReplaySource, catalog, sample
from tests.app.step.test_actions import Visitor, form_of

SHAPES = {"gammas": "1,2", "trees": "2,1", "tree_policies": [], "budgets": "16", "stop_policies": []}
RUNS = {"families": ["code"], "temperatures": "0", "per_family": 1, "repeats": 1, "tokens": 16}
MODELS = {"target": "target", "drafter_model": "drafter", "chat": False}
SWEEP: dict[str, object] = {"drafters": ["model", "ngram"], **SHAPES, **RUNS, **MODELS}


def sweep_form(**changes: object) -> tuple[SweepControls, dict[Any, object]]:
    controls, given = form_of({**SWEEP, **changes})
    return SweepControls(controls.fields), given


def sweep_actions(**settings: object) -> SpeedupActions:
    return SpeedupActions(ReplaySource(sample(), **settings), Limits(), clock=iter(range(10_000)).__next__)


def by_name(update: tuple[object, ...]) -> dict[str, Any]:
    return dict(zip(OUTPUTS, update, strict=True))


def content(button: gr.DownloadButton) -> str:
    value = button.value
    return Path(value["path"] if isinstance(value, dict) else value).read_text(encoding="utf-8")


def test_a_sweep_measures_every_case_and_offers_its_files() -> None:
    actions = sweep_actions()
    controls, given = sweep_form()
    line, settings = actions.estimate(controls)(given, Visitor())
    assert "makes 6 runs" in line
    assert definition_of(content(settings)).trees == ((2, 1),)
    updates = list(actions.run(controls)(given, Visitor()))
    assert "6 of 6 runs" in updates[-2][0]
    last = by_name(updates[-1])
    assert "2.00× plain decoding" in last["message"]
    assert [trace.name for trace in last["plot"].data] == [
        "model, measured", "model, theory", "ngram, measured", "ngram, theory", "settings without γ, measured",
    ]  # fmt: skip
    assert last["table"].count("<tr") == 7
    assert ("sv-badge-live" in last["origin"], "target" in last["origin"]) == (True, True)
    stored = sweep_store.loads(content(last["as_json"]).encode())
    assert (len(stored.points), stored.complete, len(stored.curves)) == (6, True, 1)
    assert len(content(last["as_csv"]).splitlines()) == 7
    assert [last[name].interactive for name in ("run", "resume", "cancel")] == [True, False, False]


def test_tree_policies_are_measured_at_every_budget_and_every_shape_with_every_stop_policy() -> None:
    """model: a chain at two lengths, a tree, two budgets, each with `fixed` and with `doubt`; ngram: two lengths."""
    controls, given = sweep_form(tree_policies=["levels"], budgets="8,16", stop_policies=["doubt"])
    form = sweep_actions().definition(controls, given)
    found = [(case.label, case.gamma, str(case.policies)) for case in cases(expand(form, catalog()))]
    assert found == [
        ("none", None, ""),
        ("model", 1, ""), ("model", 2, ""), ("model", 1, "doubt"), ("model", 2, "doubt"),
        ("model tree 2,1", None, ""), ("model tree 2,1", None, "doubt"),
        ("model", None, "levels budget 8"), ("model", None, "levels budget 8 · doubt"),
        ("model", None, "levels budget 16"), ("model", None, "levels budget 16 · doubt"),
        ("ngram", 1, ""), ("ngram", 2, ""),
    ]  # fmt: skip


def test_a_case_that_cannot_run_is_refused_before_anything_runs() -> None:
    actions = sweep_actions()
    actions.source.explain = lambda request: (
        "the tree policy 'levels' has no rule here." if request.tree_policy.name != "auto" else None
    )
    controls, given = sweep_form(tree_policies=["levels"])
    line = unescape(actions.estimate(controls)(given, Visitor())[0])
    assert "Model · levels budget 16 cannot be measured: the tree policy 'levels' has no rule here." in line
    assert actions.source.requests == []


def test_a_running_sweeps_points_stand_under_its_own_badge_and_not_the_recorded_ones(tmp_path: Path) -> None:
    first = sweep_actions()
    controls, given = sweep_form()
    list(first.run(controls)(given, Visitor()))
    sweep_store.write(first.shown("visitor").result, tmp_path / "all_drafters.json.gz")
    times = iter(range(0, 100_000, 10))  # each look is late enough for a chart
    source = ReplaySource(sample(), round_wait_s=0.03)
    actions = SpeedupActions(source, Limits(), recorded(tmp_path), clock=times.__next__)
    assert "sv-badge-recorded" in by_name(actions.opened(Visitor()))["origin"]
    updates = [by_name(update) for update in actions.run(controls)(given, Visitor())]
    running = [update for update in updates[:-1] if update["plot"] != gr.skip()]
    assert running
    assert all("sv-badge-live" in update["origin"] for update in running)
    assert not any("sv-badge-recorded" in update["origin"] for update in running)


def test_a_sweep_file_that_opens_the_tab_keeps_its_sentence(tmp_path: Path) -> None:
    """Selecting the tab shows the recorded result, once; not after a file has said what it would measure."""
    first = sweep_actions()
    controls, given = sweep_form()
    list(first.run(controls)(given, Visitor()))
    sweep_store.write(first.shown("visitor").result, tmp_path / "all_drafters.json.gz")
    actions = SpeedupActions(ReplaySource(sample()), Limits(), recorded(tmp_path))
    file = tmp_path / "own.toml"
    file.write_text('title = "Own"\ndrafters = ["ngram"]\ngammas = [3]\nprompts = ["copy-a"]\n', encoding="utf-8")
    opened = by_name(actions.open_file(str(file), Visitor()))
    assert "Own: Run sweep makes its 2 runs" in opened["message"]
    assert "sv-badge-recorded" in opened["origin"]
    assert all(one == gr.skip() for one in actions.opened(Visitor()))


def test_a_cancelled_sweep_keeps_what_is_done_and_resume_runs_the_rest() -> None:
    actions = sweep_actions(round_wait_s=0.1)
    controls, given = sweep_form()
    actions.arm(Visitor())
    updates = actions.run(controls)(given, Visitor())
    while not re.search("[2-5] of 6", next(updates)[0]):  # a busy machine shows several at once
        pass
    actions.stop(Visitor())
    last = by_name(list(updates)[-1])
    assert "Cancelled." in last["message"]
    kept = actions.shown("visitor").result
    assert 2 <= len(kept.points) < 6
    assert (last["resume"].interactive, "of 6 runs" in last["origin"]) == (True, True)
    actions.source._round_wait_s = 0.0
    actions.arm(Visitor())
    last = by_name(list(actions.resume(Visitor()))[-1])
    result = actions.shown("visitor").result
    assert (len(result.points), result.complete, last["resume"].interactive) == (6, True, False)
    assert (result.points[: len(kept.points)], len(result.provenance.continued)) == (kept.points, 1)


def test_a_sweep_file_waits_for_run_and_the_form_takes_over_when_it_is_touched(tmp_path: Path) -> None:
    actions = sweep_actions()
    file = tmp_path / "own.toml"
    file.write_text('title = "Own"\ndrafters = ["ngram"]\ngammas = [3]\nprompts = ["copy-a"]\n', encoding="utf-8")
    assert "Own: Run sweep makes its 2 runs" in actions.open_file(str(file), Visitor())[0]
    controls, given = sweep_form()
    list(actions.run(controls)(given, Visitor()))
    assert [point.prompt for point in actions.shown("visitor").result.points] == ["copy-a", "copy-a"]
    actions.estimate(controls)(given, Visitor())
    actions.arm(Visitor())
    list(actions.run(controls)(given, Visitor()))
    assert len(actions.shown("visitor").result.points) == 6


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("gamas = [1]", "did you mean 'gammas'?"),
        ('drafters = ["modle"]', "There is no drafter 'modle'; did you mean 'model'?"),
        ('drafters = ["ngram"]\nmax_new_tokens = 900', "asks for 900 tokens, but this machine takes 256"),
        ('drafters = [{ name = "model", options = { branching = [20, 20] } }]', "makes 420 candidates per round"),
        ('every_drafter = true\nrepeats = 5000', "at most 2000 are made here"),
    ],
)  # fmt: skip
def test_a_sweep_file_that_asks_for_nonsense_or_too_much_is_refused(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(content, encoding="utf-8")
    assert words in unescape(sweep_actions().open_file(str(file), Visitor())[0])


def test_the_tab_opens_with_the_recorded_result_once_and_a_file_replaces_it(tmp_path: Path) -> None:
    actions = sweep_actions()
    controls, given = sweep_form()
    list(actions.run(controls)(given, Visitor()))
    path = tmp_path / "all_drafters.json.gz"
    sweep_store.write(actions.shown("visitor").result, path)
    later = SpeedupActions(ReplaySource(sample()), Limits(), recorded(tmp_path))
    opened = by_name(later.opened(Visitor()))
    assert ("sv-badge-recorded" in opened["origin"], opened["table"].count("<tr")) == (True, 7)
    assert all(one == gr.skip() for one in later.opened(Visitor()))
    other = SpeedupActions(ReplaySource(sample()), Limits())
    assert "2.00× plain decoding" in by_name(other.open_file(str(path), Visitor()))["message"]
    assert (recorded(tmp_path / "none"), other.shown("another")) == (None, None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"drafters": []}, "No drafter is chosen"),
        ({"families": []}, "No prompt family is chosen"),
        ({"gammas": "one"}, "The speculation lengths"),
        ({"gammas": "0"}, "between 1 and 64"),
        ({"trees": "a,b"}, "The children per level"),
        ({"temperatures": "warm"}, "The temperatures are 'warm'"),
        ({"drafters": ["oracle"]}, "There is no drafter 'oracle'"),
        ({"tree_policies": ["weed"]}, "There is no tree policy 'weed'"),
        ({"tree_policies": ["levels"], "budgets": "999"}, "node budgets between 1 and 256"),
        ({"drafters": ["ngram"], "stop_policies": ["doubt"]}, "Ngram can have no tree or stop policy"),
    ],
)
def test_a_sweep_that_cannot_run_says_why(change: dict[str, object], words: str) -> None:
    actions = sweep_actions()
    controls, given = sweep_form(**change)
    assert words in unescape(actions.estimate(controls)(given, Visitor())[0])
    (update,) = list(actions.run(controls)(given, Visitor()))
    assert words in unescape(update[0])
    assert by_name(update)["run"].interactive is True
