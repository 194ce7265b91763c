"""A study of another package, two files, is found in the page, the command line, `remake --list` and the index."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from specviz import registry
from specviz.app.studies.tab import studies_tab
from specviz.cli.main import main
from specviz.errors import OptionError
from specviz.studies import study as shape
from specviz.studies.study import STUDIES
from tests.app.doubles import unserved
from tests.generate.studies import index

PAGE = "before\n<!-- weights of fruit -->\nold\n<!-- /weights of fruit -->\nafter\n"
RESULT = """
from dataclasses import dataclass
from specviz.studies.chart import Axis, Chart, Panel, Series
from specviz.studies.study import STUDIES, Codec, Remade, Study, Table, View, count

@dataclass(frozen=True, slots=True)
class Fruit:
    grams: tuple[float, ...]

def table(result):
    return Table(("fruit", "grams"), [(str(place), f"{grams:.1f}") for place, grams in enumerate(result.grams)])

def view(result):
    series = Series("fruit", list(range(len(result.grams))), result.grams, hover=": %{y}")
    return View("Fruit weighs.", Chart(Axis("fruit"), (Panel((series,), Axis("grams")),)), (table(result),), "a shop")

STUDY = STUDIES.add(Study(
    name="fruit", home=__package__, summary="weigh fruit", question="How heavy is fruit?",
    codec=Codec(Fruit, "study of fruit", 2, "specviz study fruit --write"), file="@HERE@/fruit.json",
    page="@HERE@/fruit.md", section="weights of fruit", view=view, tables=lambda result: table(result).markdown(),
    flags=(count("--pieces", 2, "to weigh"),), complaints=lambda result: ["a pear is light."] * (len(result.grams) > 2),
    remade=Remade("weighs fruit", 1),
))
"""
MEASURE = """
from fruit_shop.result import Fruit

def measure(workplace):
    workplace.say("weighing")
    return Fruit(tuple(1.234 * (1 + piece) for piece in range(workplace.args.pieces)))
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package, and nothing of it imported."""
    folder = tmp_path / "fruit_shop"
    folder.mkdir()
    (folder / "result.py").write_text(RESULT.replace("@HERE@", str(tmp_path)), encoding="utf-8")
    (folder / "measure.py").write_text(MEASURE, encoding="utf-8")
    (tmp_path / "fruit.md").write_text(PAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    STUDIES.names()
    monkeypatch.setattr(STUDIES, "_entries", dict(STUDIES._entries))
    monkeypatch.setattr(STUDIES, "_discovered", False)
    point = EntryPoint("fruit", "fruit_shop.result", "specviz.studies")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "specviz.studies" else [])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("fruit_shop")]:
        del sys.modules[name]


def test_it_is_measured_and_kept(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "fruit"]) == 0
    told = capsys.readouterr()
    assert told.out == "| fruit | grams |\n| --- | ---: |\n| 0 | 1.2 |\n| 1 | 2.5 |\n"
    assert told.err == "weighing\n"
    assert not (shop / "fruit.json").exists()
    assert main(["study", "fruit", "--write"]) == 0
    assert (shop / "fruit.json").read_text(encoding="utf-8") == '{"grams":[1.23,2.47]}\n'
    assert (shop / "fruit.md").read_text(encoding="utf-8") == PAGE.replace("old", told.out.rstrip())


def test_tables_shows_what_is_kept_and_measures_nothing(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "fruit.json").write_text('{"grams": [5.0]}', encoding="utf-8")
    (shop / "other.json").write_text('{"grams": [6.0]}', encoding="utf-8")
    assert main(["study", "fruit", "--tables", str(shop / "other.json")]) == 0
    assert (shop / "fruit.md").read_text(encoding="utf-8") == PAGE
    assert main(["study", "fruit", "--tables"]) == 0
    assert "| 0 | 5.0 |" in (shop / "fruit.md").read_text(encoding="utf-8")
    told = capsys.readouterr()
    assert "| 0 | 6.0 |" in told.out
    assert "weighing" not in told.err


@pytest.mark.parametrize("flag", ["--write", "--tables"])
def test_a_page_without_the_section_is_refused_before_anything_runs(
    shop: Path, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (shop / "fruit.md").write_text("no marks", encoding="utf-8")
    assert main(["study", "fruit", flag]) == 2
    told = capsys.readouterr().err
    assert "fruit.md has no place for the tables" in told
    assert "weighing" not in told


def test_bad_input_gets_a_sentence_and_a_complaint_ends_with_1(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "fruit", "--pieces", "0"]) == 2
    assert main(["study", "fruit", "--result", str(shop / "fruit.txt")]) == 2
    assert main(["study", "fruit", "--pieces", "3"]) == 1
    told = capsys.readouterr().err
    assert "--pieces is 0, but must be at least 1." in told
    assert "a study of fruit is written to a name ending in .json or .json.gz" in told
    assert "a pear is light." in told


def test_it_is_a_question_of_the_studies_tab(shop: Path) -> None:
    with unserved():
        (kept,) = studies_tab()
    assert "fruit" not in [value for _, value in kept.controls["study"].choices], "nothing is kept yet"
    (shop / "fruit.json").write_text('{"grams": [5.0]}', encoding="utf-8")
    with unserved() as page:
        (kept,) = studies_tab()
    assert ("How heavy is fruit?", "fruit") in kept.controls["study"].choices
    ids = {getattr(block, "elem_id", None) for block in page.blocks.values()}
    assert {"sv-study-fruit", "sv-fruit-plot", "sv-fruit-table"} <= ids


def test_it_is_a_step_of_remake_and_stands_in_the_index(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["remake", "--list", "--only", "fruit"]) == 0
    told = capsys.readouterr().out
    assert "$ specviz study fruit --write" in told
    assert f"{shop / 'fruit.json'}: not there" in told or "outdated" in told
    assert "| How heavy is fruit? | `specviz study fruit` |" in index()


def test_two_studies_of_one_name_name_both_homes(shop: Path) -> None:
    fruit = STUDIES.get("fruit")
    with pytest.raises(OptionError, match="two studies are called 'fruit': fruit_shop and fruit_shop; rename one"):
        shape.STUDIES.add(fruit)
