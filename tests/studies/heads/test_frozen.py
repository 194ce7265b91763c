"""The study of smaller heads says and draws what the fold of the Machine tab did; its tables are those of the docs."""

import json
from html import unescape
from pathlib import Path

import pytest

from specviz.app.studies.chart import draw
from specviz.bench.core.report import between
from specviz.studies.heads.result import STUDY

FROZEN = json.loads(Path(__file__).with_name("frozen.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("asked", FROZEN["views"], ids=lambda asked: f"{asked[0]}-{asked[1]}")
def test_sentence_origin_and_figure_are_as_before(asked) -> None:
    size, source, sentence, origin, figure = asked
    view = STUDY.view(STUDY.shipped(), size, source)
    assert (view.sentence, view.origin) == (sentence, origin)
    assert json.loads(unescape(draw(view.chart).to_json())) == json.loads(unescape(json.dumps(figure)))


def test_the_words_above_and_the_section_of_the_documentation_are_as_before() -> None:
    assert STUDY.intro == FROZEN["intro"]
    assert STUDY.tables(STUDY.shipped()).rstrip() == FROZEN["section"].rstrip()
    assert between(STUDY.document, STUDY.section).rstrip() == FROZEN["section"].rstrip()
