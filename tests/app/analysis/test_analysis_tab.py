"""The Analysis tab without a browser: what is counted, what is said of it, where examples lead, and what is refused."""

import gzip
import json
import lzma
import zipfile
from dataclasses import replace

import gradio as gr
import pytest

from specviz.app.analysis.actions import FILES, RECORDED, STAGE, SWEPT, AnalysisActions, Counted
from specviz.app.analysis.charts import CHARTS, chart
from specviz.app.analysis.library import MOST_TRACES, SWEEP_ZIP, Library, shipped
from specviz.app.analysis.tables import (
    agreement_table,
    answer,
    comparison_table,
    drafters_table,
    first_sentence,
    pairs_table,
    rounds_list,
)
from specviz.app.form.request import Limits
from specviz.app.job import CURRENT, Job
from specviz.app.runs.gallery import gallery
from specviz.errors import TraceError
from specviz.live.catalog import saved
from specviz.resources import ROOT
from specviz.theory.analysis.analyse import analyse, compare, matching
from specviz.theory.analysis.facts import facts_of
from specviz.trace import codec
from tests.app.doubles import SAMPLE, sample

GREEDY = SAMPLE.with_name(SAMPLE.name.replace("sample", "greedy"))


@pytest.fixture
def folder(tmp_path):
    codec.write(sample(), tmp_path / "sample.json.gz")
    codec.write(codec.read(GREEDY), tmp_path / "greedy.json.gz")
    return tmp_path


@pytest.fixture
def actions(folder):
    return AnalysisActions(Library(gallery(folder), Limits()))


@pytest.fixture(scope="module")
def one():
    (found,) = analyse([("sample", sample())])
    return found


def pressed(run="sample", round=0, node=None, found=False):
    return gr.EventData(None, {"run": run, "round": round, "node": node, "found": found})


# --- what is said ----------------------------------------------------------------------------------------------------


def test_the_first_sentence_answers_why_with_the_most_frequent_kinds(one):
    kinds = one.failures[:3]
    said = first_sentence(one)
    assert said.startswith(f"Why are the tokens of {one.drafter} rejected? In ")
    for kind in kinds:
        assert kind.words in said
    assert f"of its {kinds[0].share.of} failed rounds" in said


def test_every_kind_has_examples_that_open_the_player_at_that_verdict(one):
    page = answer(one)
    for kind in one.failures[:3]:
        for example in kind.examples:
            node = "" if example.node is None else example.node
            assert f'data-run="sample" data-round="{example.round}" data-node="{node}"' in page


def test_nothing_rejected_and_nothing_drafted_are_said_as_such(one):
    assert "No token of" in first_sentence(replace(one, failures=()))
    assert "drafted nothing" in first_sentence(replace(one, failures=(), drafted=0))
    (plain,) = analyse([("plain", replace(sample(), rounds=[]))])
    assert "drafted nothing" in answer(plain)
    for each in CHARTS:
        assert each.draw(plain).layout.annotations, each.name


def test_several_drafters_are_listed_with_the_kinds_of_each_and_an_example(one):
    assert drafters_table([one]) == ""
    other = replace(one, drafter="<ngram>", failures=one.failures[:1])
    page = drafters_table([one, other])
    assert page.count('data-open="1"') == 3 + 1
    assert "&lt;ngram&gt;" in page
    assert f"<span>{one.failures[0].share.of}</span>" in page


def test_hostile_text_is_escaped_everywhere(one):
    """The sample drafts `<b>` and rejects it for `{{x}}`."""
    pages = (
        answer(one),
        pairs_table(one.pairs),
        rounds_list(facts_of("<i>x</i>", sample()).rounds, 8, "nothing accepted"),
        comparison_table(compare(("<i>a</i>", sample()), ("<i>b</i>", sample()))),
    )
    for page in pages:
        assert "<i>x" not in page
        assert "<i>a" not in page
    assert "&lt;b&gt;" in pages[1]
    assert "&lt;i&gt;x&lt;/i&gt;" in pages[2]


@pytest.mark.parametrize("name", [one.name for one in CHARTS])
def test_every_chart_draws_the_sample_and_says_how_it_is_read(one, name):
    chosen = chart(name)
    assert chosen.reading.endswith(".")
    figure = chosen.draw(one)
    assert figure.data or figure.layout.annotations


def test_a_bar_is_the_rate_of_its_row_with_its_interval(one):
    (bars,) = chart("depth").draw(one).data
    assert list(bars.x) == ["1", "2", "3", "4"]
    assert list(bars.y) == [row.rate.value for row in one.by_depth]
    first = one.by_depth[0].rate
    assert bars.error_y.array[0] == pytest.approx(first.high - first.value)


def test_an_old_trace_says_what_it_lacks():
    trace = sample()
    nodes = [
        [replace(node, rank=None, agreement=None, agreement_raw=None) for node in this.nodes] for this in trace.rounds
    ]
    old = replace(trace, rounds=[replace(this, nodes=some) for this, some in zip(trace.rounds, nodes, strict=True)])
    (found,) = analyse([("old", old)])
    assert "format 1.1" in found.missing[0]
    (said,) = chart("entropy").draw(found).layout.annotations
    assert "are older than format 1.1" in said.text
    assert "Σ min(p, q)" not in agreement_table(found)


# --- what is counted -------------------------------------------------------------------------------------------------


def test_the_run_on_the_stage_is_counted_and_again_only_where_it_is_another(actions):
    player = codec.dumps(sample())
    *_, last = actions.choose(Counted(), STAGE, player, None, "depth", "surprise", 6.0)
    counted = last["counted"]
    assert [len(one.runs) for one in counted.analyses] == [1]
    (kept,) = actions.enter(counted, STAGE, player, None, "depth", "surprise", 6.0)
    assert kept == {}, "every part is left as it is"
    *_, other = actions.enter(counted, STAGE, codec.dumps(codec.read(GREEDY)), None, "depth", "surprise", 6.0)
    assert other["counted"].stage != counted.stage


def test_an_empty_stage_is_said_and_nothing_is_lost(actions):
    *_, last = actions.choose(Counted(), STAGE, "", None, "depth", "surprise", 6.0)
    assert "no run is on the stage" in last["message"].lower()


def test_all_recorded_runs_are_counted_by_drafter(actions):
    counted = actions.count(RECORDED, "", None)
    assert set(counted.named) == {"sample", "greedy"}
    assert sum(len(one.runs) for one in counted.analyses) == 2
    assert actions.count(RECORDED, "", None) is counted


def test_files_and_zips_are_read_each_under_a_name_of_its_own(actions, folder):
    archive = folder / "both.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(folder / "sample.json.gz", "a/sample.json.gz")
        file.write(folder / "greedy.json.gz", "b/sample.json.gz")
        file.writestr("read me.txt", "no trace")
    counted = actions.count(FILES, "", [str(archive), str(folder / "sample.json.gz")])
    assert set(counted.named) == {"sample", "sample (2)", "sample (3)"}


def test_a_file_that_is_no_trace_is_named_and_the_others_are_counted(actions, folder):
    (folder / "bad.json").write_text("{}", encoding="utf-8")
    counted = actions.count(FILES, "", [str(folder / "bad.json"), str(folder / "sample.json.gz")])
    assert set(counted.named) == {"sample"}
    assert counted.refused[0].startswith("bad: ")
    with pytest.raises(TraceError, match="bad: "):
        actions.count(FILES, "", [str(folder / "bad.json")])


def test_what_is_too_much_or_nothing_is_refused_in_words(actions, folder):
    with pytest.raises(TraceError, match="these files hold no trace"):
        actions.count(FILES, "", [])
    many = folder / "many.zip"
    with zipfile.ZipFile(many, "w") as file:
        for number in range(MOST_TRACES + 1):
            file.writestr(f"{number}.json", "{}")
    with pytest.raises(TraceError, match="these are 301 traces, but at most 300 are read"):
        actions.count(FILES, "", [str(many)])


def test_the_shipped_sweep_is_offered_where_it_is_and_names_every_drafters_kinds_with_examples(folder):
    assert shipped(folder) is None
    seen = [name for _, name in AnalysisActions(Library(gallery(folder), Limits())).choices()]
    assert seen == [STAGE, RECORDED, FILES]
    with lzma.open(folder / SWEEP_ZIP, "wb") as packed, zipfile.ZipFile(packed, "w") as file:
        file.write(folder / "sample.json.gz", "sample.json.gz")
        other = replace(
            sample(), started=replace(sample().started, drafter=replace(sample().started.drafter, name="x"))
        )
        file.writestr("other.json", codec.dumps(other))
    actions = AnalysisActions(Library(gallery(folder), Limits(), shipped(folder)))
    assert ("a sweep of every drafter", SWEPT) in actions.choices()
    *_, last = actions.choose(Counted(), SWEPT, "", None, "depth", "surprise", 6.0)
    fold, everyone = last["fold"], last["everyone"]
    assert (fold.visible, fold.open) == (True, True)
    assert everyone.count('data-open="1"') == 2 * 3
    assert actions.count(SWEPT, "", None) is last["counted"]
    opened = actions.asked(last["counted"], None, "surprise", 6.0, pressed(run="other"))
    assert (opened.trace.started.drafter.name, opened.moment["round"]) == ("x", 0)


def test_a_member_that_unpacks_to_more_than_a_trace_may_be_is_refused(folder):
    bomb = folder / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("large.json", " " * 300_000)
    actions = AnalysisActions(Library(gallery(folder), Limits(import_bytes=100_000)))
    with pytest.raises(TraceError, match=r"it is larger than the 0\.1 MB this machine takes"):
        actions.count(FILES, "", [str(bomb)])


def packed(path, members):
    """A zip of these names and contents."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return str(path)


def test_of_a_zip_whose_members_unpack_to_more_than_is_read_the_first_are_counted_and_the_others_named(folder):
    content = codec.dumps(sample())
    many = packed(folder / "many.zip", [(f"{i}.json.gz", gzip.compress(content.encode())) for i in range(12)])
    limits = Limits(import_bytes=len(content) // 2)  # eight times that, unpacked
    counted = AnalysisActions(Library(gallery(folder), limits)).count(FILES, "", [many])
    assert list(counted.named) == ["0", "1", "2", "3"]
    (said,) = counted.refused
    assert said == f"8 traces left out: more than {8 * (len(content) // 2) / 1e6:.3g} MB, unpacked."


def test_an_analysis_ends_with_its_job(folder):
    content = codec.dumps(sample())
    two = packed(folder / "two.zip", [("a.json", content), ("b.json", content)])
    actions = AnalysisActions(Library(gallery(folder), Limits()))
    job = Job()
    token = CURRENT.set(job)
    job.leave()
    *_, last = actions.choose(Counted(), FILES, "", [two], "depth", "surprise", 6.0)
    CURRENT.reset(token)
    assert "Nobody is listening any more" in last["message"]


def test_a_zip_that_lists_more_members_than_traces_need_is_refused_before_its_list_is_read(folder, monkeypatch):
    long = packed(folder / "long.zip", [(f"{i}-{'x' * 200}.txt", "") for i in range(900)])
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(TraceError, match=r"long\.zip lists more members than 300 traces need"):
        AnalysisActions(Library(gallery(folder), Limits())).count(FILES, "", [long])


# --- where examples lead ---------------------------------------------------------------------------------------------


def test_an_example_leads_to_its_verdict_and_a_found_round_to_those_of_its_run(actions):
    counted = actions.count(STAGE, codec.dumps(sample()), None)
    (name,) = counted.named
    asked = actions.asked(counted, None, "nothing accepted", 6.0, pressed(name, 1, 2))
    assert asked.moment == {"run": asked.trace.started.run_id, "round": 1, "node": 2}
    assert asked.file is None
    moment = actions.asked(counted, None, "nothing accepted", 6.0, pressed(name, 3, found=True)).moment
    drafter = counted.analyses[0].drafter
    wanted = [this.index for this in matching(counted.rounds[drafter], "nothing accepted")]
    assert moment["found"] == {"words": "nothing accepted", "rounds": wanted}
    assert json.dumps(moment)
    assert actions.asked(counted, None, "surprise", 6.0, pressed("greedy")).file == "greedy.json.gz"


def test_a_press_that_names_no_place_is_refused(actions):
    counted = actions.count(STAGE, codec.dumps(sample()), None)
    with pytest.raises(TraceError, match="there is no run 'other' here"):
        actions.asked(counted, None, "surprise", 6.0, pressed("other"))
    with pytest.raises(TraceError, match="has no round 100"):
        actions.asked(counted, None, "surprise", 6.0, pressed(next(iter(counted.named)), 99))


def test_two_runs_are_laid_side_by_side_one_of_them_recorded(actions):
    counted = actions.count(STAGE, codec.dumps(sample()), None)
    page = actions.compare(counted, next(iter(counted.named)), "sample")
    assert "Both wrote the same text." in page
    assert "Choose two runs" in actions.compare(counted, "sample", None)


def test_the_real_pairs_recordings_are_counted_with_its_own_words_and_nothing_of_the_bundled_pair():
    library = Library(gallery(ROOT / "traces"), Limits(), shipped(ROOT / "sweeps"))
    actions = AnalysisActions(library, saved().pairs)
    labels = {name: words for words, name in actions.choices()}
    assert labels["recorded-smollm2"] == "recorded runs, SmolLM2-135M-Instruct (real)"
    assert labels[SWEPT] == "a sweep of every drafter, bundled (small world)", "it is of the bundled pair alone"
    *_, last = actions.choose(Counted(), "recorded-smollm2", "", None, "depth", "surprise", 6.0)
    counted = last["counted"]
    compared = [name for _, name in last["second"].choices]
    assert counted.refused == ()
    assert [name for name in compared if not name.startswith("smollm2")] == []
    assert {*compared} == {*counted.named}
    examples = [example for one in counted.analyses for kind in one.failures for example in kind.examples]
    assert len(examples) > 10
    for run in {example.run for example in examples}:
        assert actions.asked(counted, None, "surprise", 6.0, pressed(run)).trace.started.target.name == "smollm2"


@pytest.mark.slow
def test_the_shipped_sweeps_traces_name_every_drafters_kinds_with_examples(tmp_path):
    """Of every drafter the runs of two prompts."""
    with lzma.open(ROOT / "sweeps" / SWEEP_ZIP) as whole, zipfile.ZipFile(whole) as archive:
        two = [name for name in archive.namelist() if "-code-" in name or "-talk-" in name]
        members = [(name, archive.read(name)) for name in two]
    actions = AnalysisActions(Library(gallery(tmp_path), Limits()))
    counted = actions.count(FILES, "", [packed(tmp_path / "two.zip", members)])
    assert counted.refused == ()
    page = drafters_table(counted.analyses)
    drafted = [one for one in counted.analyses if one.drafted]
    assert len(drafted) > 15
    for one in drafted:
        assert page.count(f">{one.drafter}<") == 1
        assert all(kind.examples for kind in one.failures[:3]), one.drafter
    assert page.count('data-open="1"') == sum(len(one.failures[:3]) for one in counted.analyses)
