"""`make generate` leaves a clean tree clean, and gives a new method what it needs."""

import json
from pathlib import Path

import pytest

from specviz.app.runs.gallery import index_text
from specviz.drafters.base import DRAFTERS
from specviz.protocol.runs import Catalog, MethodDescription, OptionCard
from specviz.resources import ROOT as ASSETS
from specviz.trace.declared_method import KnownDrafter, known
from tests.generate import files, methods, new_methods, picture
from tests.generate.method_pages import pages

ECHO = MethodDescription(
    "echo",
    "Repeats the last token.",
    "Repeats the last token.\n\nNo model.",
    True,
    (OptionCard("gamma", "int", 3, "tokens drafted", 1, 8),),
)


@pytest.mark.parametrize("part", files.PARTS, ids=lambda part: part.__name__)
def test_every_generated_file_is_current(part):
    """If this fails: `make generate`; and where a format changed, think about its version."""
    assert [path.name for path, text in part().items() if path.read_text(encoding="utf-8") != text] == []


def test_a_file_that_lags_behind_is_found_with_what_it_must_say(tmp_path, monkeypatch):
    (tmp_path / "old").write_text("before")
    monkeypatch.setattr(files, "PARTS", (lambda: {tmp_path / "old": "after", tmp_path / "new": "first"},))
    assert list(files.stale()) == [(tmp_path / "old", "after"), (tmp_path / "new", "first")]


def test_a_method_without_a_page_gets_one_and_a_marked_table_follows_the_options(tmp_path):
    catalog = Catalog((), (ECHO,), (), ())
    ((path, text),) = pages(catalog, tmp_path).items()
    assert path == tmp_path / "echo.md"
    assert text == (
        "# `echo`\n\nRepeats the last token.\n\nNo model.\n\n<!-- options: written by `make generate` -->\n"
        "| option | meaning |\n| --- | --- |\n| `gamma` | tokens drafted (1…8; default 3) |\n<!-- /options -->\n"
    )
    path.write_text(text.replace("No model.", "Our own words.").replace("default 3", "default 9"))
    assert pages(catalog, tmp_path)[path] == text.replace("No model.", "Our own words.")


def test_a_page_without_marks_is_left_alone(tmp_path):
    (tmp_path / "echo.md").write_text("# All by hand\n")
    assert pages(Catalog((), (ECHO,), (), ()), tmp_path) == {}


def test_only_a_new_drafter_lacks_a_recorded_run(monkeypatch):
    folder = ASSETS / "traces"
    assert list(new_methods.unrecorded(folder)) == []
    monkeypatch.setattr(DRAFTERS, "_entries", {**dict(DRAFTERS.items()), "echo": object})
    assert list(new_methods.unrecorded(folder)) == [("drafter", "echo", ['drafter = "echo"'])]


def test_a_new_method_is_added_to_the_list_and_recorded_alone(tmp_path: Path, monkeypatch):
    (tmp_path / "recordings.toml").write_text("# list\n")
    asked = []
    monkeypatch.setattr(new_methods, "unrecorded", lambda folder: [("drafter", "own_echo", ['drafter = "own_echo"'])])
    monkeypatch.setattr(new_methods, "main", lambda arguments: asked.append(arguments) or 0)
    assert new_methods.record(tmp_path) == 0
    assert asked == [["record", "--folder", str(tmp_path), "--only", "drafter-own-echo"]]
    assert (tmp_path / "recordings.toml").read_text() == (
        '# list\n\n[[recording]]\nname = "drafter-own-echo"\nprompt = "code-uuid-fields"\ndrafter = "own_echo"\n'
        "max_new_tokens = 20\ntop = 5\n"
    )


def test_the_index_of_no_traces_opens_nothing(tmp_path):
    assert index_text(tmp_path) == '{\n "first": null,\n "openings": [],\n "traces": [],\n "examples": []\n}\n'


def test_the_picture_has_every_folder_and_no_arrow_upwards():
    graph = picture.folders()
    package = ASSETS.parent / "specviz"
    assert {path.parent.name for path in package.glob("*/__init__.py")} == set(graph) - {picture.GROUND}
    assert graph.has_edge("app", "trace")
    assert not graph.has_edge("trace", "app")


def test_a_file_of_before_a_new_field_is_read_by_the_command_that_writes_it_anew():
    declared = json.loads(methods.text())["drafters"]["rasd"]
    old = {name: value for name, value in declared.items() if name not in ("merged", "found", "most")}
    found = known(KnownDrafter, {**old, "a field of before": 3})
    assert (found.merged, found.found, found.most) == (False, frozenset(), "")
    assert known(KnownDrafter, declared).found == {"text", "datastore"}
