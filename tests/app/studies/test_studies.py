"""The Studies tab: one question at a time, whatever of the shipped results is there."""

from dataclasses import replace
from typing import Any

import gradio as gr
import pytest

from specviz.app.studies import tab
from specviz.app.studies.tab import studies_tab
from specviz.studies.study import Study, studies
from tests.app.doubles import unserved

STUDIES = [study for study in studies() if study.order is not None]


def offer(monkeypatch: pytest.MonkeyPatch, *some: Study[Any]) -> None:
    """These studies alone, drawn as nothing."""
    monkeypatch.setattr(tab, "studies", lambda: some)
    monkeypatch.setattr(tab, "build", lambda study, result: gr.HTML())


def without_result(study: Study[Any]) -> Study[Any]:
    return replace(study, file="studies/gone.json")


def columns(page: gr.Blocks) -> list[bool]:
    return [block.visible is True for block in page.blocks.values() if isinstance(block, gr.Column)]


def test_every_study_is_shipped_and_the_first_is_shown() -> None:
    with unserved() as page:
        (kept,) = studies_tab()
    assert [name for _, name in kept.controls["study"].choices] == [study.address for study in STUDIES]
    found = [block for block in page.blocks.values() if isinstance(block, gr.Column) and block.elem_id]
    assert [block.elem_id for block in found] == [f"sv-study-{study.address}" for study in STUDIES]
    assert columns(page) == [study is STUDIES[0] for study in STUDIES]


def test_a_question_shows_its_study_and_hides_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    three = STUDIES[:3]
    offer(monkeypatch, *three)
    with unserved() as page:
        studies_tab()
    assert columns(page) == [True, False, False]
    (choose,) = [fn.fn for fn in page.fns.values() if fn.fn is not None]
    assert [column.visible for column in choose(three[2].address)] == [False, False, True]


def test_a_study_whose_result_is_missing_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    gone, there = without_result(STUDIES[0]), STUDIES[1]
    offer(monkeypatch, gone, there)
    with unserved() as page:
        (kept,) = studies_tab()
    assert kept.controls["study"].choices == [(there.question, there.address)]
    assert columns(page) == [True]


def test_without_any_result_the_tab_says_what_to_restore(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, without_result(STUDIES[0]))
    with unserved() as page:
        assert studies_tab() == []
    assert any("restore assets/studies" in str(getattr(block, "value", "")) for block in page.blocks.values())
