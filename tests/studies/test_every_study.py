"""What is true of every study: its shipped file comes back as it was, every choice can be drawn, no name is markup."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from html import escape
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from specviz.app.studies.chart import draw
from specviz.app.studies.tab import build, show, tables_html
from specviz.bench.core.report import between
from specviz.errors import OptionError, TraceError
from specviz.studies.study import Choice, Slider, Study, studies
from tests.app.doubles import unserved

BAD = "<img src=x>"
STUDIES = studies()
KEPT = [study for study in STUDIES if study.codec is not None]
SHOWN = [study for study in STUDIES if study.view is not None]


def named(study: Study[Any]) -> str:
    return study.name


def result_of(study: Study[Any]) -> Any:
    result = study.shipped()
    assert result is not None, f"{study.file} is not shipped"
    return result


def offered(choice: Choice | Slider) -> list[Any]:
    return [choice.least, choice.most] if isinstance(choice, Slider) else [value for _, value in choice.options]


@pytest.mark.parametrize("study", KEPT, ids=named)
def test_a_shipped_file_is_read_and_written_back_as_it_was_packed_or_not(study: Study[Any], tmp_path: Path) -> None:
    result = result_of(study)
    for name in ("study.json", "study.json.gz"):
        study.codec.write(result, tmp_path / name)
        assert study.codec.read(tmp_path / name) == result
    assert not study.codec.indented or (tmp_path / "study.json").read_bytes() == study.path.read_bytes()


@pytest.mark.parametrize("study", KEPT, ids=named)
def test_another_file_is_refused_in_a_sentence(study: Study[Any], tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    for content in ("{}", "[]", '{"format": 1', '{"rows": null}'):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(TraceError, match=r"^other\.json: .+\.$"):
            study.codec.read(path)


@pytest.mark.parametrize("study", [study for study in KEPT if study.codec.format], ids=named)
def test_a_file_of_another_format_or_version_is_refused_by_what_it_says(study: Study[Any], tmp_path: Path) -> None:
    codec, path = study.codec, tmp_path / "other.json"
    codec.write(result_of(study), path)
    known = json.loads(path.read_text(encoding="utf-8"))
    for change in ({"format": "other"}, {"version": "9"}):
        path.write_text(json.dumps(known | change), encoding="utf-8")
        saying = {"format": codec.format, "version": codec.version} | change
        said = (
            f"this is no {codec.noun} of version {codec.version}, but says {saying['format']!r} {saying['version']!r};"
        )
        with pytest.raises(TraceError, match=re.escape(f"other.json: {said}")):
            codec.read(path)


@pytest.mark.parametrize("study", KEPT, ids=named)
def test_a_damaged_file_is_logged_and_left_out(
    study: Study[Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert study.shipped(tmp_path / "none.json") is None
    assert not caplog.records
    path = tmp_path / study.path.name
    path.write_bytes(study.path.read_bytes()[:200])
    assert study.shipped(path) is None
    assert "is missing or damaged, and left out" in caplog.text


@pytest.mark.parametrize("study", STUDIES, ids=named)
def test_its_page_of_the_documentation_has_its_tables(study: Study[Any]) -> None:
    assert re.search(r"^\|( ---:? \|)+$", between(study.document, study.section), re.MULTILINE)


@pytest.mark.parametrize("study", SHOWN, ids=named)
def test_every_choice_can_be_drawn_and_any_other_is_refused(study: Study[Any]) -> None:
    result = result_of(study)
    choices = study.choices(result)
    for chosen in product(*map(offered, choices)):
        view = study.view(result, *chosen)
        assert view.sentence
        drawn = () if view.chart is None else draw(view.chart).data
        assert view.chart is None or drawn
        listed = [each.name for each in drawn if each.name and each.showlegend is not False]
        assert len(listed) == len(set(listed)), "a name stands once in the legend"
    for place, choice in enumerate(choices):
        if isinstance(choice, Choice):
            values = [one.value for one in choices]
            values[place] = "of no kind"
            with pytest.raises(OptionError):
                study.view(result, *values)


@pytest.mark.parametrize("study", SHOWN, ids=named)
def test_the_page_draws_what_is_chosen(study: Study[Any]) -> None:
    result = result_of(study)
    with unserved() as page:
        build(study, result)
    ids = {getattr(block, "elem_id", None) for block in page.blocks.values()}
    parts = ["sentence", "plot", "table", *(choice.name for choice in study.choices(result))]
    assert {f"sv-{study.address}-{part}" for part in parts} <= ids
    opening = study.opening(result)
    sentence, *_ = show(study, result, *(choice.value for choice in study.choices(result)))
    assert escape(opening.sentence[1:10]) in sentence
    if study.choices(result):
        refused, *kept = show(study, result, *([None] * len(study.choices(result))))
        assert "sv-message-error" in refused
        assert len(kept) == 3


def hostile(value: Any) -> Any:
    """A view whose every text has markup in it."""
    if isinstance(value, str):
        return f"{value}{BAD}"
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        return replace(value, **{name: hostile(one) for name, one in own.items() if name not in AUTHORS})
    return type(value)(map(hostile, value)) if isinstance(value, list | tuple) else value


AUTHORS = ("mode", "hover", "legend", "dash", "form", "pattern")
"""fields that the author of a study writes and no file"""


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


@pytest.mark.parametrize("study", SHOWN, ids=named)
def test_no_text_of_a_result_becomes_markup(study: Study[Any]) -> None:
    view = hostile(study.opening(result_of(study)))
    assert "<img" not in tables_html(view)
    if view.chart is not None:
        drawn = list(texts(json.loads(draw(view.chart).to_json())))
        assert any("&lt;img" in text for text in drawn)
        assert not [text for text in drawn if "<img" in text]
