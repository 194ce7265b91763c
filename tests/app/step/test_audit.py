"""The button that recomputes a run from its checkpoints, called as Gradio calls it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.app.form.request import Limits
from specviz.app.runs.gallery import gallery
from specviz.app.step.actions import StepActions
from specviz.app.step.inquiries import AuditActions, audit_card
from specviz.app.step.tab import step_tab
from specviz.errors import ModelError
from specviz.protocol.audits import KINDS, Audit, Count, Difference
from specviz.trace import codec
from specviz.trace.events import Trace
from tests.app.doubles import ReplaySource, sample, unserved
from tests.app.step.test_actions import Visitor

HOSTILE = '<img src=x onerror="alert(1)">'


def found(done: int = 2, wrong: int = 0, place: str = "rounds[1].judged.token") -> Audit:
    counts = {kind: Count(10, wrong if kind == "verdicts" else 0) for kind in KINDS}
    differences = tuple(Difference(place, "3", "4") for _ in range(wrong))
    return Audit(done, 2, counts, differences, (f"q of {HOSTILE}",), ("Recomputed in float32.",))


class AuditingSource(ReplaySource):
    """Audits two rounds; fails where told to."""

    problem: Exception | None = None
    audited: Trace | None = None

    def audit(
        self, trace: Trace, cancelled: Callable[[], bool] = lambda: False, places: Mapping[str, str] | None = None
    ) -> Iterator[Audit]:
        self.audited = trace
        if self.problem is not None:
            raise self.problem
        for done in (1, 2):
            if cancelled():
                return
            yield found(done)


@pytest.fixture
def source() -> AuditingSource:
    return AuditingSource(sample())


def actions(source: ReplaySource, **limits: bool) -> AuditActions:
    return AuditActions(source, Limits(**limits))


PLAYER = codec.dumps(sample())


def test_the_run_that_the_player_shows_is_recomputed_round_by_round(source: AuditingSource) -> None:
    first, second, last = list(actions(source).audit(PLAYER, Visitor()))
    assert source.audited == sample()
    assert "1 of 2 rounds recomputed" in first[0]
    assert "Audited: 90 recorded values compared with the checkpoints, 0 wrong." in second[0]
    assert last[0] == second[0]
    assert [button.interactive for button in last[1:]] == [True, False]


def test_stop_ends_it_with_what_was_recomputed(source: AuditingSource) -> None:
    audits = actions(source)
    audits.arm(Visitor())
    steps = audits.audit(PLAYER, Visitor())
    next(steps)
    audits.stop(Visitor())
    (last,) = list(steps)
    assert "Stopped after 1 of 2 rounds: 90 recorded values compared" in last[0]
    assert [button.interactive for button in last[1:]] == [True, False]


def test_stop_before_anything_says_so(source: AuditingSource) -> None:
    audits = actions(source)
    audits.arm(Visitor())
    audits.stop(Visitor())
    ((line, *_),) = list(audits.audit(PLAYER, Visitor()))
    assert "Stopped before anything was recomputed." in line


def test_differences_are_listed_and_the_rest_is_counted() -> None:
    shown = audit_card(found(wrong=15))
    assert "sv-message-error" in shown
    assert shown.count("rounds[1].judged.token is 3, but the checkpoints give 4.") == 12
    assert "and 3 more" in shown


def test_everything_on_the_card_is_escaped() -> None:
    shown = audit_card(found(wrong=1, place=HOSTILE))
    assert "<img" not in shown
    assert shown.count("&lt;img src=x") == 2


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (ModelError(f"other weights {HOSTILE}"), "Not audited: other weights &lt;img"),
        (RuntimeError("secret"), "The audit failed (RuntimeError)"),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_the_buttons_come_back(
    problem: Exception, sentence: str, source: AuditingSource
) -> None:
    source.problem = problem
    ((line, run, stop),) = list(actions(source).audit(PLAYER, Visitor()))
    assert sentence in line
    assert "<img" not in line
    assert (run.interactive, stop.interactive) == (True, False)


def test_a_source_without_checkpoints_says_so() -> None:
    ((line, *_),) = list(actions(ReplaySource(sample())).audit(PLAYER, Visitor()))
    assert "there are no checkpoints behind this page" in line


def test_a_strangers_file_does_not_make_a_public_page_fetch_other_models(source: AuditingSource) -> None:
    trace = sample()
    started = replace(trace.started, target=replace(trace.started.target, name="stranger/model"))
    player = codec.dumps(replace(trace, started=started))
    ((line, *_),) = list(actions(source, any_model=False).audit(player, Visitor()))
    assert "the model &#x27;stranger/model&#x27; is not offered here" in line
    assert source.audited is None


def test_nor_does_one_among_the_further_models_of_its_drafter(source: AuditingSource) -> None:
    trace = sample()
    further = [replace(trace.started.target, name="stranger/third")]
    drafter = replace(trace.started.drafter, model=None, further_models=further)
    started = replace(trace.started, target=replace(trace.started.target, name="target"), drafter=drafter)
    player = codec.dumps(replace(trace, started=started))
    ((line, *_),) = list(actions(source, any_model=False).audit(player, Visitor()))
    assert "the model &#x27;stranger/third&#x27; is not offered here" in line
    assert source.audited is None


def test_an_empty_player_is_a_sentence(source: AuditingSource) -> None:
    ((line, *_),) = list(actions(source).audit("", Visitor()))
    assert "Not audited" in line


def test_the_button_stands_under_the_run_in_the_engines_lane(tmp_path: Path, source: AuditingSource) -> None:
    with unserved() as page:
        parts = step_tab(StepActions(source, gallery(tmp_path), Limits()))
    assert parts.audit.run.value == "Audit this run: recompute from the checkpoints"
    wired = [one for one in page.fns.values() if getattr(one.fn, "__name__", "") == "audit"]
    assert [one.concurrency_id for one in wired] == ["engine"]


def test_leaving_the_page_stops_its_audit(tmp_path: Path, source: AuditingSource) -> None:
    step = StepActions(source, gallery(tmp_path), Limits())
    step.audits.arm(Visitor())
    switch = step.audits.armed(Visitor())
    step.leave(Visitor())
    assert switch.is_set()
