"""What a lesson says of prompt styles is what the measurement says, and nothing where nothing was right."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz.errors import LessonError
from specviz.lessons import values_beyond_run
from specviz.lessons.answers import computed
from specviz.studies.styles.result import STUDY
from tests.studies.test_styles import sample

HERE: Any = None
"""these values are of no run"""


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    STUDY.codec.write(sample(), tmp_path / "styles.json")
    read = values_beyond_run._sums
    monkeypatch.setattr(values_beyond_run, "_sums", lambda: read(tmp_path / "styles.json"))


@pytest.mark.usefixtures("measured")
def test_the_values_are_the_measurements() -> None:
    assert computed(HERE, "style_tokens", {"style": "chain"}) == 30
    assert computed(HERE, "style_accuracy", {"style": "direct"}) == 0.5
    assert computed(HERE, "style_cost", {"style": "direct"}) == pytest.approx(0.2)
    assert computed(HERE, "style_cost", {"style": "direct", "drafter": "model"}) == pytest.approx(0.1)
    assert computed(HERE, "cheaper_style", {"one": "chain", "other": "direct"}) == "direct"


@pytest.mark.usefixtures("measured")
def test_what_was_not_measured_or_never_right_has_no_value() -> None:
    for name, given, said in (
        ("style_cost", {"style": "draft"}, "no answer in style 'draft' was right"),
        ("style_tokens", {"style": "tree"}, "style 'tree' with 'plain' was not measured"),
        ("cheaper_style", {"one": "chain", "other": "draft"}, "no answer in style 'draft' was right"),
        ("cheaper_style", {"one": "chain", "other": "chain"}, "cost the same"),
    ):
        with pytest.raises(LessonError, match=said):
            computed(HERE, name, given)


def test_other_questions_are_not_taken_for_sums_in_words(tmp_path: Path) -> None:
    def tagged(one: Any) -> Any:
        return replace(one, cell=replace(one.cell, asked="tag"))

    file = replace(sample(), answers=tuple(map(tagged, sample().answers)), runs=tuple(map(tagged, sample().runs)))
    STUDY.codec.write(file, tmp_path / "styles.json")
    with pytest.raises(LessonError, match="sums asked in words were not measured"):
        values_beyond_run._sums(tmp_path / "styles.json")
    with pytest.raises(LessonError, match="are missing"):
        values_beyond_run._sums(tmp_path / "none.json")
