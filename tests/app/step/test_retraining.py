"""Retraining on a page's own runs: by visitor, with a way back."""

from pathlib import Path

import pytest

from specviz.app.form.methods import kinds
from specviz.app.form.request import Limits
from specviz.app.runs.gallery import gallery
from specviz.app.step.actions import Retraining, RetrainingActions, StepActions
from specviz.app.step.controls import learners
from tests.app.doubles import ReplaySource, catalog, sample
from tests.app.form.test_request import FORM
from tests.app.step.test_actions import Visitor, form_of

RUN = {**FORM, "stop_policy": "doubt"}


@pytest.fixture
def actions(tmp_path: Path) -> StepActions:
    return StepActions(ReplaySource(sample()), gallery(tmp_path), Limits())


def ran(actions: StepActions, visitor: Visitor) -> None:
    controls, given = form_of(RUN)
    list(actions.run_live(controls)(given, visitor))


def test_a_page_without_runs_says_what_to_do() -> None:
    retraining = RetrainingActions(ReplaySource(sample()), Retraining())
    assert "Nothing was run on this page yet" in retraining.retrain("doubt", Visitor())


def test_what_was_learnt_holds_for_this_visitor_until_it_is_reset(actions: StepActions) -> None:
    retraining = RetrainingActions(actions.source, actions.retraining)
    ran(actions, Visitor("a"))
    assert "doubt learnt from 1 runs" in retraining.retrain("doubt", Visitor("a")).lower()
    for visitor in ("a", "b"):
        ran(actions, Visitor(visitor))
    shown = [request for request, _ in actions.source.requests if request.record]  # the others: plain decoding beside
    assert [request.stop_policy_weights for request in shown] == [None, {"runs": 1}, None]
    assert "from this page" in retraining.choose("doubt", Visitor("a"))
    assert "shipped" in retraining.choose("doubt", Visitor("b"))
    assert "shipped" in retraining.reset("doubt", Visitor("a"))
    ran(actions, Visitor("a"))
    assert actions.source.requests[-1][0].stop_policy_weights is None


def test_leaving_forgets_runs_and_weights(actions: StepActions) -> None:
    ran(actions, Visitor())
    actions.leave(Visitor())
    assert "Nothing was run" in RetrainingActions(actions.source, actions.retraining).retrain("doubt", Visitor())


def test_only_policies_that_learn_can_be_retrained() -> None:
    assert [learners(kind) for kind in kinds(catalog()) if kind.group == "stop_policy"] == [["doubt"]]
