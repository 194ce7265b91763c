"""The comparison of styles: what is asked, what is counted, what a cancelled one keeps."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from specviz.errors import BenchError
from specviz.protocol.runs import RunRequest
from specviz.studies.styles.measure import StylePlan, compare
from specviz.studies.styles.numbers import PLAIN, TITLES
from tests.fake_source import FakeSource

TEMPLATE = RunRequest(prompt="", record=False)
WAYS = ((PLAIN, TEMPLATE.with_drafter("none")), ("model", TEMPLATE.with_drafter("model", {"gamma": 3})))


def plan(questions: int = 2, repeats: int = 1) -> StylePlan:
    return StylePlan(WAYS, ("sums", "problems"), ("words", "tag"), questions, 7, repeats)


def ticks() -> Any:
    """A clock that moves by a second whenever it is read."""
    found: Iterator[int] = count()
    return lambda: float(next(found))


def test_every_question_is_asked_in_every_style_and_way_by_everyone() -> None:
    source = FakeSource()
    found = compare(source, plan(), ticks())
    cells = list(plan().cells())
    assert len(cells) == len(set(cells)) == 2 * 2 * 2 * len(TITLES)
    assert [one.cell for one in found.answers] == cells
    assert {(one.cell, one.drafter) for one in found.runs} == {(cell, name) for cell in cells for name, _ in WAYS}
    asked = [one.prompt for one in source.requests[len(WAYS) :]]
    assert asked == [plan().prompt(cell) for cell in cells for _ in WAYS]
    firsts = [one.drafter.name for one in source.requests[len(WAYS) :: len(WAYS)]]
    assert firsts[:4] == ["none", "model", "none", "model"], "they take turns in being first"


def test_a_run_is_counted_by_its_own_rounds_and_by_the_clock() -> None:
    run = next(one for one in compare(FakeSource(), plan(1), ticks()).runs if one.drafter == "model")
    assert (run.drafts, run.drafted, run.tested, run.accepted) == (4, 12, 8, 4), (
        "of three drafted the third is unreached"
    )
    assert (run.tokens, run.seconds, run.same) == (8, 1.0, True)


def test_a_text_that_was_cut_off_is_not_right() -> None:
    """The source's text ends at the limit and says x."""
    assert not any(one.right for one in compare(FakeSource(), plan(1), ticks()).runs)


def test_another_text_than_plain_decodings_is_named() -> None:
    class Lossy(FakeSource):
        def run(self, request: RunRequest, *given: Any) -> Any:
            self.output = (1,) * 8 if request.drafter.name == "none" else (2,) * 8
            return super().run(request, *given)

    found = compare(Lossy(), StylePlan(WAYS, ("sums",), ("tag",), 1, 7, 1), ticks())
    assert [run.same for run in found.runs] == [run.drafter == PLAIN for run in found.runs]


def test_a_question_that_was_not_asked_in_every_style_is_left_out() -> None:
    source = FakeSource()
    per_question = 2 * 2 * len(TITLES) * len(WAYS)
    most = len(WAYS) + per_question + 5
    found = compare(source, plan(), ticks(), lambda: len(source.requests) >= most)
    assert {one.cell.number for one in found.runs} == {0}
    assert len(found.runs) == per_question
    assert len(found.answers) == per_question / len(WAYS)
    with pytest.raises(BenchError, match="not a single question was finished in every style"):
        compare(FakeSource(), plan(), ticks(), lambda: True)


def test_a_drafter_that_cannot_run_here_is_refused_before_anything_is_measured() -> None:
    class Refusing(FakeSource):
        def explain(self, request: RunRequest) -> str | None:
            return "no weights." if request.drafter.name == "model" else None

    source = Refusing()
    with pytest.raises(BenchError, match="'model' cannot run here: no weights"):
        compare(source, plan(), ticks())
    assert len(source.requests) == 1
