"""The Studies tab: one question at a time, whatever of the shipped results is there."""

from __future__ import annotations

from dataclasses import replace

import gradio as gr
import pytest

from specviz.app.studies import tab
from specviz.app.studies.tab import shown, studies_tab

STUDIES = shown()


def empty(result: object) -> None:
    gr.HTML()


def columns(page: gr.Blocks) -> list[bool]:
    return [block.visible is True for block in page.blocks.values() if isinstance(block, gr.Column)]


def test_every_study_is_shipped_and_the_first_is_shown() -> None:
    with gr.Blocks() as page:
        (kept,) = studies_tab()
    assert [name for _, name in kept.controls["study"].choices] == [study.name for study in STUDIES]
    found = [block for block in page.blocks.values() if isinstance(block, gr.Column) and block.elem_id]
    assert [block.elem_id for block in found] == [f"sv-study-{study.name}" for study in STUDIES]
    assert columns(page) == [True, False, False, False, False, False]


def test_a_question_shows_its_study_and_hides_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    three = tuple(replace(study, build=empty) for study in STUDIES[:3])
    monkeypatch.setattr(tab, "shown", lambda: three)
    with gr.Blocks() as page:
        studies_tab()
    assert columns(page) == [True, False, False]
    (choose,) = [fn.fn for fn in page.fns.values() if fn.fn is not None]
    assert [column.visible for column in choose(three[2].name)] == [False, False, True]


def test_a_study_whose_result_is_missing_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    gone, there = replace(STUDIES[0], shipped=lambda: None), replace(STUDIES[1], build=empty)
    monkeypatch.setattr(tab, "shown", lambda: (gone, there))
    with gr.Blocks() as page:
        (kept,) = studies_tab()
    assert kept.controls["study"].choices == [(there.question, there.name)]
    assert columns(page) == [True]


def test_without_any_result_the_tab_says_what_to_restore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tab, "shown", lambda: (replace(STUDIES[0], shipped=lambda: None),))
    with gr.Blocks() as page:
        assert studies_tab() == []
    assert any("restore assets/studies" in str(getattr(block, "value", "")) for block in page.blocks.values())
