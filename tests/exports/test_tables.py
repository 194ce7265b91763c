"""A trace as pandas tables: a line per round, node, trial and token, plain types, the same after Parquet."""

import sys
from pathlib import Path

import pytest

import specviz
from specviz.errors import TraceError

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def tables():
    return specviz.read(GOLDEN / "trace-1.1-sample.json").tables()


def test_every_part_of_a_trace_has_its_lines(tables):
    seen = {name: len(table) for name, table in tables.items()}
    assert seen == {"runs": 1, "rounds": 8, "nodes": 36 + 8, "trials": 22, "tokens": 8 + 20}


def test_the_summary_follows_from_the_tables(tables):
    nodes, run = tables["nodes"], tables["runs"].iloc[0]
    text = nodes[~nodes.behind_end]
    assert (text.fate == "accepted").sum() == run.accepted == 13
    assert (text.kind != "root").sum() == run.drafted == 35
    assert tables["rounds"].drafted.sum() == 35
    assert tables["rounds"].deepest.tolist() == [4, 3, 3, 3, 0, 4, 2, 2], "of the last, 3 lay behind the end"
    assert tables["trials"].accepted.sum() == 14
    assert "".join(tables["tokens"].query("position < 0").text) == run.prompt


def test_a_node_behind_the_end_of_the_text_is_marked(tables):
    """A stop string ends the text with the second of the last round's candidates."""
    assert tables["nodes"].query("behind_end")[["round", "node"]].values.tolist() == [[7, 3]]


def test_a_line_says_what_the_trace_says(tables):
    rejected = tables["nodes"].query("round == 0 and fate == 'rejected'").iloc[0]
    assert (rejected.text, rejected.position, rejected["rank"], rejected.draft_prob) == (" c", 2, 3, 0.5)
    root = tables["nodes"].query("round == 0 and node == 0").iloc[0]
    assert (root.position, root.fate) == (-1, "root")
    assert root.overlap == pytest.approx(1 - 0.2, abs=0.02)
    last = tables["tokens"].iloc[-1]
    assert (last.text, last.origin, last["round"]) == ("END", "draft", 7)


def test_a_missing_number_is_missing_and_no_zero(tables):
    nodes = tables["nodes"]
    assert nodes.query("kind == 'root'")["rank"].isna().all()
    assert nodes.raw_overlap.isna().all(), "at temperature 1 the distributions are the models' own"
    old = specviz.read(GOLDEN / "trace-1.0-sample.json").tables()["nodes"]
    assert old["rank"].isna().all()


def test_every_column_has_one_plain_type(tables):
    greedy = specviz.read(GOLDEN / "trace-1.1-greedy.json").tables()
    for name, table in tables.items():
        assert {str(kind) for kind in table.dtypes} <= {"Int64", "Float64", "string", "boolean"}, name
        assert table.dtypes.equals(greedy[name].dtypes), "the types do not depend on the values"


def test_the_tables_go_through_parquet_unchanged(tables, tmp_path):
    pandas = pytest.importorskip("pandas")
    for name, table in tables.items():
        table.to_parquet(tmp_path / f"{name}.parquet")
        again = pandas.read_parquet(tmp_path / f"{name}.parquet")
        pandas.testing.assert_frame_equal(again, table)


def test_terms_of_a_verifier_are_columns():
    trials = specviz.read(GOLDEN / "recorded" / "verifier-kseq.json.gz").tables()["trials"]
    assert list(trials.columns[-2:]) == ["term_rho", "term_beta"]
    assert trials.term_rho.notna().all()


def test_without_pandas_the_cure_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(TraceError, match=r"pip install 'specviz\[analysis\]'"):
        specviz.read(GOLDEN / "trace-1.1-greedy.json").tables()
