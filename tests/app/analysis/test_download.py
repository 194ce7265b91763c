"""The counted runs as a zip of tables: every run in every table, and nothing that a spreadsheet would run."""

import csv
import io
import zipfile
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.app.analysis.actions import FILES, RECORDED, AnalysisActions, Counted
from specviz.app.analysis.library import Library, tables_zip
from specviz.app.form.request import Limits
from specviz.app.runs.gallery import gallery
from specviz.protocol.sweeps.store import cell
from specviz.trace import codec
from specviz.trace.events import VocabEntry
from specviz.trace.exports.tables import term_columns
from tests.app.doubles import SAMPLE, sample

GREEDY = SAMPLE.with_name(SAMPLE.name.replace("sample", "greedy"))


def read(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {
            name: list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8"), newline="")))
            for name in archive.namelist()
        }


@pytest.fixture
def actions(tmp_path):
    codec.write(sample(), tmp_path / "sample.json.gz")
    codec.write(codec.read(GREEDY), tmp_path / "greedy.json.gz")
    return AnalysisActions(Library(gallery(tmp_path), Limits()))


def test_the_zip_has_the_lines_of_tables_of_every_run():
    greedy = codec.read(GREEDY)
    found = read(tables_zip([("a", sample()), ("b", greedy)], term_columns(sample())))
    assert list(found) == ["runs.csv", "rounds.csv", "nodes.csv", "trials.csv", "tokens.csv"]
    both = [sample().tables(), greedy.tables()]
    for name, lines in found.items():
        frames = [tables[Path(name).stem] for tables in both]
        assert [one["trace"] for one in lines] == ["a"] * len(frames[0]) + ["b"] * len(frames[1])
        assert list(lines[0])[1:] == list(frames[0].columns)
    first = found["rounds.csv"][0]
    assert (first["run"], first["round"], first["origin"]) == (sample().started.run_id, "0", "correction")


def test_a_verifiers_terms_are_columns_and_empty_where_a_run_has_none():
    rounds = sample().rounds
    trial = replace(rounds[0].judged.trials[0], terms={"=late": 0.25})
    judged = replace(rounds[0].judged, trials=[trial, *rounds[0].judged.trials[1:]])
    trace = replace(sample(), rounds=[replace(rounds[0], judged=judged), *rounds[1:]])
    assert term_columns(trace) == ("term_=late",)
    trials = read(tables_zip([("plain", sample()), ("named", trace)], term_columns(trace)))["trials.csv"]
    assert trials[0]["term_=late"] == ""
    assert trials[len(trials) // 2]["term_=late"] == "0.25"


def test_no_cell_begins_like_a_formula():
    hostile = "=HYPERLINK(1)"
    trace = sample()
    texts = {token: f"{hostile} {token}" for token in trace.vocab}
    vocab = {token: VocabEntry(b64encode(text.encode()).decode(), text) for token, text in texts.items()}
    trace = replace(trace, vocab=vocab, started=replace(trace.started, run_id="@run", prompt_text="\n=1+1"))
    found = read(tables_zip([("-name", trace)], ()))
    for lines in found.values():
        cells = [value for line in lines for value in line.values()]
        assert not [value for value in cells if value.startswith(("=", "@", "\n", "＝"))]
        assert lines[0]["trace"] == "'-name"
    assert found["tokens.csv"][0]["text"].startswith(f"'{hostile}")
    assert found["runs.csv"][0]["prompt"] == "'\n=1+1"
    seen = [cell(value) for value in ("＝1", "+1", "\t=1", -1.5, "a=1", "")]
    assert seen == ["'＝1", "'+1", "'\t=1", -1.5, "a=1", ""]


def test_equal_runs_give_the_same_bytes():
    assert tables_zip([("a", sample())], ()) == tables_zip([("a", sample())], ())


def test_a_press_packs_what_is_counted_and_says_how_much(actions):
    counted = actions.count(RECORDED, "", None)
    *_, (message, path) = actions.pack_tables(counted)
    size = f"{Path(path).stat().st_size / 1000:,.0f} kB"
    assert f"Tables of 2 runs, {size}: runs.csv, rounds.csv, nodes.csv, trials.csv, tokens.csv." in message
    assert {one["trace"] for one in read(Path(path).read_bytes())["runs.csv"]} == {"sample", "greedy"}


def test_nothing_counted_and_a_file_that_is_gone_are_said_and_nothing_is_handed_out(actions, tmp_path):
    ((message, path),) = actions.pack_tables(Counted())
    assert ("Nothing is counted yet" in message, path) == (True, None)
    mine = tmp_path / "mine.json.gz"
    codec.write(sample(), mine)
    counted = actions.count(FILES, "", [str(mine)])
    mine.unlink()
    *_, (message, path) = actions.pack_tables(counted)
    assert ("the file is gone" in message.lower(), path) == (True, None)
