"""Reading and writing: what goes in comes out, and whatever is wrong is named in one sentence."""

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz.errors import TraceError, TraceVersionError
from specviz.trace.codec import MIGRATIONS, assemble, dumps, loads, read, step_data, to_current, to_data, write
from specviz.trace.events import Node, Round, Step, TopK, Trace
from tests.trace.changing import SAMPLE, as_text, get, sample, sample_data


def test_a_trace_survives_writing_and_reading() -> None:
    trace = sample()
    assert loads(dumps(trace)) == trace
    assert loads(dumps(trace).encode()) == trace


def test_a_round_whose_nodes_are_formed_later_is_the_same_round() -> None:
    asked = []
    known = sample().rounds[4]

    def form(number: int) -> list[Node]:
        asked.append(number)
        return known.nodes

    later = replace(known)
    later.form_later(form, 4)
    assert asked == []
    assert later == known
    assert to_data(later) == to_data(known)
    assert replace(later, index=9).nodes == known.nodes
    assert asked == [4]
    with pytest.raises(AttributeError, match="a Round has no 'node'"):
        getattr(later, "node")  # noqa: B009 - the type checker knows that there is none


def test_every_float_survives_to_the_last_bit() -> None:
    """0.1 + 0.2 and its neighbours are where sloppy parsers differ."""
    trace = sample()
    values = [0.1 + 0.2, math.nextafter(1 / 3, 1), 5e-324, 1 - 2**-53]
    odd = replace(trace.rounds[4].nodes[0], target=TopK([1, 2, 3, 4], values, 0.0), x=1e22)
    rounds = [*trace.rounds[:4], replace(trace.rounds[4], nodes=[odd]), *trace.rounds[5:]]
    again = loads(dumps(replace(trace, rounds=rounds)))
    assert again.rounds[4].nodes[0].target.probs == values
    assert again.rounds[4].nodes[0].x == 1e22


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_a_file_plain_or_compressed_is_read_back_and_written_again_to_the_same_bytes(tmp_path: Path, name: str) -> None:
    (tmp_path / "other").mkdir()
    for file in (tmp_path / name, tmp_path / "other" / name):
        write(sample(), file)
        assert read(file) == sample()
    first = (tmp_path / name).read_bytes()
    assert (tmp_path / "other" / name).read_bytes() == first
    if name.endswith(".gz"):
        assert first[4:8] == b"\0\0\0\0", "the gzip header carries a time"
        assert first[3] == 0, "the gzip header carries a name"


def test_the_text_is_one_ascii_line_without_spaces_between_items() -> None:
    text = dumps(sample())
    assert text.isascii()
    assert "\n" not in text
    assert text.startswith('{"format":"specviz-trace","version":"1.3","started":{"run_id":"sample",')


def test_compression_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    (tmp_path / "misnamed.json").write_bytes(gzip.compress(SAMPLE.read_bytes()))
    assert read(tmp_path / "misnamed.json") == sample()


def test_a_byte_order_mark_is_skipped() -> None:
    assert loads(b"\xef\xbb\xbf" + SAMPLE.read_bytes()) == sample()
    assert loads("\ufeff" + SAMPLE.read_text()) == sample()


def test_unknown_fields_of_the_same_major_are_ignored() -> None:
    data = sample_data()
    data["version"] = "1.7"
    data["x_lab"] = {"note": [1, 2, {"deep": None}]}
    data["rounds"][0]["nodes"][1]["entropy"] = 0.5
    trace = loads(json.dumps(data))
    assert trace == replace(sample(), version="1.7")


def test_optional_fields_may_be_absent() -> None:
    data = sample_data()
    for name in ("prompt_name", "step_times", "draft_step_s", "branch"):
        del data["started"][name]
    assert loads(json.dumps(data)) == sample()


def test_a_newer_major_is_refused_with_the_release_to_get() -> None:
    with pytest.raises(TraceVersionError, match=r"version is 2\.0, but this release reads up to 1\.x; .*2\.x"):
        loads(as_text({"version": "2.0"}))


def test_older_majors_are_carried_forward_step_by_step() -> None:
    """The hook for the day when 2.0 exists: here 0 → 1, where an old file spelt one field differently."""
    old = {"format": "specviz-trace", "version": "0.3", "steps": [1]}
    new, changed = to_current(old, {0: lambda data: {"format": data["format"], "rounds": data["steps"]}})
    assert changed
    assert new == {"format": "specviz-trace", "rounds": [1]}


SPAN = {"lane": "drafter", "what": "draft", "start_s": 0.001, "end_s": 0.002, "tokens": 3}
STEP = {"rows": 1, "cached_rows": 0, "median_s": 0, "low_s": 0, "high_s": 0}


def exhibit(**changes: Any) -> dict[str, Any]:
    """What a drafter knew, as bare data: one row of two tokens that occur in the sample."""
    return {"title": "matched", "rows": [{"label": "here", "tokens": [1, 2], **changes}]}


VERSIONS = ["", "1", "1.0.0", "v1.0", "01.0", "1.-1", 1.0, None, "1.00000", "0.9"]
WRONG: list[tuple[str, Any, str]] = [
    ("format", "speedscope", "format is 'speedscope', but a trace says 'specviz-trace'"),
    *(("version", version, "version is") for version in VERSIONS),
    ("rounds[3].nodes[2].parent", 9, r"rounds\[3\].nodes\[2\].parent is 9, but only nodes 0 to 1 come before it"),
    ("rounds[3].nodes[2].parent", -1, r"rounds\[3\].nodes\[2\].parent is -1"),
    ("rounds[3].nodes[2].parent", "1", r"rounds\[3\].nodes\[2\].parent is '1', but must be a valid integer"),
    ("rounds[3].nodes[2].parent", True, r"rounds\[3\].nodes\[2\].parent is True, but must be a valid integer"),
    ("rounds[3].nodes[2].parent", 1.0, r"rounds\[3\].nodes\[2\].parent is 1.0, but must be a valid integer"),
    ("rounds[3].nodes[2].id", 7, r"rounds\[3\].nodes\[2\].id is 7, but ids count up from 0"),
    ("rounds[3].nodes[2].depth", 3, r"rounds\[3\].nodes\[2\].depth is 3, but its parent is at depth 1"),
    ("rounds[3].nodes[0].parent", 0, r"rounds\[3\].nodes\[0\] is node 0, but is not a root"),
    ("rounds[3].nodes[1].kind", "root", r"rounds\[3\].nodes\[1\] calls itself a root"),
    ("rounds[3].nodes[1].kind", "beam", r"rounds\[3\].nodes\[1\].kind is 'beam', but must be 'root', 'iid'"),
    ("rounds[3].nodes[1].fate", "dead", r"rounds\[3\].nodes\[1\].fate is 'dead'"),
    ("rounds[3].nodes[1].token", -1, r"nodes\[1\].token is token -1, but the vocabulary has ids 0 to 31"),
    ("rounds[3].nodes[1].token", 32, r"is token 32, but the vocabulary has ids 0 to 31"),
    ("rounds[3].nodes[1].target", None, r"rounds\[3\].nodes\[1\].target is None"),
    ("rounds[3].nodes[1].target.probs", [0.5], r"nodes\[1\].target has 6 tokens and 1 probabilities"),
    ("rounds[3].nodes[1].target.rest", None, r"nodes\[1\].target.rest is None, but must be a valid number"),
    ("rounds[3].nodes", [], r"rounds\[3\].nodes is empty, but node 0, the root, is always there"),
    ("rounds[3].index", 4, r"rounds\[3\].index is 4, but this is round 3"),
    ("rounds[3].base_length", -2, r"rounds\[3\].base_length is -2, but counts start at 0"),
    ("rounds[3].start_s", -0.5, r"rounds\[3\].start_s is -0.5, but a time is finite and not negative"),
    ("rounds[3].scored.seconds", -0.5, r"rounds\[3\].scored.seconds is -0.5"),
    ("rounds[3].judged.trials[0].node", 4, r"trials\[0\].node is 4, but this round has nodes 1 to 3"),
    ("rounds[4].judged.path", [1], r"path\[0\] is 1, but this round has no such nodes"),
    ("rounds[3].judged.path", [0], r"path\[0\] is 0, but this round has nodes 1 to 3"),
    ("rounds[3].judged.final_node", 4, r"final_node is 4, but this round has nodes 0 to 3"),
    ("rounds[3].judged.u", "0.5", r"rounds\[3\].judged.u is '0.5'"),
    ("rounds[3].judged.origin", "luck", r"rounds\[3\].judged.origin is 'luck'"),
    ("rounds[3].committed.tokens[0].node", 8, r"tokens\[0\].node is 8, but this round has nodes 1 to 3"),
    ("rounds[3].committed.cache_kept", -1, r"cache_kept is -1, but counts start at 0"),
    ("rounds[3].committed.trimmed_tokens", -1, r"trimmed_tokens is -1"),
    ("rounds[3].drafted.passes[0].rows", -1, r"rounds\[3\].drafted.passes\[0\].rows is -1"),
    ("rounds[3].drafted.note", {"a": {}}, r"rounds\[3\].drafted.note.a"),
    ("rounds[3].drafted.knew", [exhibit(tokens=[99])], r"drafted.knew\[0\].rows\[0\].tokens\[0\] is token 99"),
    ("rounds[3].drafted.knew", [exhibit(marks=[2])], r"rows\[0\].marks\[0\] is 2, but the row has 2 tokens"),
    ("rounds[3].drafted.learned", [exhibit(nodes=[4])], r"rows\[0\].nodes\[0\] is 4, but this round has nodes 0 to 3"),
    ("rounds[0].drafted.knew", [exhibit(position=8)], r"position is 8, but the text has 8 tokens so far"),
    ("rounds[3].drafted.knew", [exhibit(scores=[0.5])], r"scores has 1 numbers for 2 tokens"),
    ("rounds", {}, r"rounds is {}, but must be a valid"),
    ("started", None, r"started is None"),
    ("started.prompt_ids", [], r"started.prompt_ids is empty"),
    ("started.prompt_ids[0]", 99, r"started.prompt_ids\[0\] is token 99"),
    ("started.sampling.temperature", -1, r"started.sampling.temperature is -1"),
    ("started.sampling.top_p", 0, r"started.sampling.top_p is 0"),
    ("started.sampling.top_k", -3, r"started.sampling.top_k is -3"),
    ("started.max_new_tokens", -1, r"started.max_new_tokens is -1"),
    ("rounds[0].drafted.lanes", [SPAN | {"tokens": -1}], r"lanes\[0\].tokens is -1, but counts start at 0"),
    ("rounds[0].drafted.lanes", [SPAN | {"start_s": -0.1}], r"lanes\[0\].start_s is -0.1, but a time is finite"),
    ("rounds[0].drafted.lanes", [SPAN | {"what": "sleep"}], r"lanes\[0\].what is 'sleep'"),
    ("started.draft_step_s", -0.1, r"started.draft_step_s is -0.1, but a time is finite"),
    ("started.step_times", [STEP | {"median_s": -1}], r"step_times\[0\].median_s is -1"),
    ("started.step_times", [STEP | {"rows": -1}], r"step_times\[0\].rows is -1"),
    ("started.branch", {"run_id": "", "round": -1, "forced_token": None}, r"started.branch.round is -1"),
    ("started.branch", {"run_id": "", "round": 0, "forced_token": 77}, r"started.branch.forced_token is token 77"),
    ("started.source", "rumour", r"started.source is 'rumour'"),
    ("finished.output_ids[2]", 31.5, r"finished.output_ids\[2\] is 31.5"),
    ("finished.decode_s", -1, r"finished.decode_s is -1"),
    ("finished.text", 5, r"finished.text is 5, but must be a valid string"),
    ("vocab.03", {"bytes": "", "text": ""}, r"vocab\['03'\] is no token id"),
    ("vocab.x", {"bytes": "", "text": ""}, r"vocab\['x'\] is no token id"),
    ("vocab.3.bytes", "*", r"vocab\['3'\].bytes is '\*', which is not base64"),
    ("vocab.3.bytes", "אב", r"is not base64"),
]


@pytest.mark.parametrize(("place", "value", "sentence"), WRONG, ids=[f"{p}={v!a}" for p, v, _ in WRONG])
def test_a_wrong_value_is_refused_with_its_place(place: str, value: Any, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        loads(as_text({place: value}))


@pytest.mark.parametrize(
    ("place", "gone", "sentence"),
    [
        ("rounds[2].judged", "path", r"rounds\[2\].judged.path is missing"),
        ("vocab", "10", "is token 10, but vocab has no entry for it"),
    ],
)
def test_what_is_missing_is_named(place: str, gone: str, sentence: str) -> None:
    data = sample_data()
    del get(data, place)[gone]
    with pytest.raises(TraceError, match=sentence):
        loads(json.dumps(data))


SEED, RUN = '"seed":7', '"run_id":"sample"'
MISREAD = [
    *(('"start_s":0.0', f'"start_s":{word}', f"holds {word}, which is") for word in ("NaN", "Infinity", "-Infinity")),
    *((SEED, f'"seed":{big}', "beyond the largest double") for big in ("1e999", "-1e400", "123.5e5000")),
    *((SEED, f'"seed":{n}', r"beyond ±\(2\^53 - 1\)") for n in (2**53, -(2**53), "99999999999999999999")),
    (SEED, '"seed":--12345678901234567', "the integer --12345678901234567 is"),
    (SEED, '"seed":7,"seed":8', "the key 'seed' stands twice in one object"),
    *(
        (RUN, f'"run_id":"{half}"', "started.run_id holds half of a surrogate pair")
        for half in ("\\ud83d", "\\ude80", "\\ude80\\ud83d", "\\uD83Dx")
    ),
]
"""part of the sample → what some reader of JSON would take in its place, and what is said of it"""


@pytest.mark.parametrize(("before", "after", "sentence"), MISREAD, ids=[after for _, after, _ in MISREAD])
def test_what_readers_of_json_understand_differently_is_refused(before: str, after: str, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        loads(SAMPLE.read_text().replace(before, after, 1))


@pytest.mark.parametrize("text", ["9" * 60 + " 1e999 NaN", "\\ud83d"], ids=["digits", "an escaped backslash before u"])
def test_inside_a_string_digits_and_backslashes_are_just_text(text: str) -> None:
    assert loads(as_text({"started.run_id": text})).started.run_id == text


def test_the_largest_safe_integer_is_read() -> None:
    assert loads(as_text({"started.seed": 2**53 - 1})).started.seed == 9007199254740991


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"[]", "a trace is one JSON object, but this file holds a list"),
        (b"null", "this file holds null"),
        (b"{", r"line 1, column 2 is not valid JSON"),
        (b'{"format": "specviz-trace"', "is not valid JSON"),
        (b"\xff\xfe{}", "byte 0 is not valid UTF-8"),
        (b"{}", "format is None"),
        (b"\x1f\x8bnot gzip at all", "the compressed file is damaged"),
    ],
)
def test_what_is_no_trace_is_said_to_be_none(content: bytes, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        loads(content)


def test_a_file_cut_off_while_downloading_is_recognised() -> None:
    with pytest.raises(TraceError, match="ends too early"):
        loads(gzip.compress(SAMPLE.read_bytes())[:-400])


def test_a_gzip_file_of_a_few_parts_is_read_and_one_of_thousands_is_refused_at_once() -> None:
    text, empty = gzip.compress(SAMPLE.read_bytes()), gzip.compress(b"")
    assert loads(empty * 63 + text) == loads(text)
    with pytest.raises(TraceError, match="more than 64 parts"):
        loads(empty * 64 + text)


def test_the_name_of_the_file_stands_first(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(TraceError, match=r"^bad\.json: format is None"):
        read(tmp_path / "bad.json")
    with pytest.raises(TraceError, match=r"^gone\.json: cannot be read"):
        read(tmp_path / "gone.json")


def test_an_old_file_is_read_through_its_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 0.x had called the summary by another name."""
    data = sample_data()
    data |= {"version": "0.9", "totals": data.pop("summary")}
    monkeypatch.setitem(MIGRATIONS, 0, lambda old: {**old, "version": "1.3", "summary": old["totals"]})
    assert loads(json.dumps(data)) == sample()


def first(**parts: Any) -> Trace:
    trace = sample()
    return replace(trace, rounds=[replace(trace.rounds[0], **parts), *trace.rounds[1:]])


def with_node(**parts: Any) -> Trace:
    nodes = sample().rounds[0].nodes
    return first(nodes=[nodes[0], replace(nodes[1], **parts), *nodes[2:]])


ROUND = sample().rounds[0]
TRIALS = ROUND.judged.trials


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (first(start_s=math.nan), r"rounds\[0\].start_s is nan"),
        (first(start_s=math.inf), r"rounds\[0\].start_s is inf"),
        (with_node(draft_prob=math.nan), r"nodes\[1\].draft_prob is nan, which is no number"),
        (with_node(x=math.inf), r"nodes\[1\] is laid out at \(inf, 0.0\), which is nowhere"),
        (with_node(target_raw=TopK([1], [math.nan], 0.0)), r"nodes\[1\].target_raw holds something that is no finite"),
        (first(judged=replace(ROUND.judged, trials=[replace(TRIALS[0], u=math.nan)])), r"trials\[0\] holds something"),
        (first(judged=replace(ROUND.judged, residual_mass=math.nan)), r"rounds\[0\].judged holds something"),
        (first(drafted=replace(ROUND.drafted, note={"odd": math.nan})), r"some number is not finite"),
    ],
)
def test_a_number_that_is_not_finite_is_never_written(broken: Trace, sentence: str) -> None:
    with pytest.raises(TraceError, match=rf"^this trace cannot be written: .*{sentence}"):
        dumps(broken)


def test_records_go_to_a_page_one_by_one() -> None:
    trace = sample()
    assert to_data(trace)["rounds"][1] == to_data(trace.rounds[1])
    streamed = step_data(Step(trace.rounds[4], {"8": trace.vocab["8"]}))
    assert streamed["kind"] == "round"
    assert streamed["event"]["judged"]["origin"] == "target"
    assert streamed["vocab"] == {"8": {"bytes": "Cg==", "text": "\n"}}
    assert json.loads(json.dumps(streamed)) == streamed


def test_a_run_is_assembled_from_its_steps() -> None:
    trace = sample()
    half = {key: trace.vocab[key] for key in list(trace.vocab)[16:]}
    steps = [Step(trace.started, half), *(Step(one, {}) for one in trace.rounds), Step(trace.finished, trace.vocab)]
    assert assemble(steps) == trace
    assert list(assemble(steps).vocab) == list(trace.vocab), "ids stand in numerical order whatever came first"


def test_steps_out_of_order_are_refused() -> None:
    trace = sample()
    started, one, finished = Step(trace.started, {}), Step(trace.rounds[0], {}), Step(trace.finished, {})
    for steps in ([one], [started, started], [finished], [started, finished, one], [started, one], []):
        with pytest.raises(TraceError, match=r"a trace needs both|out of order"):
            assemble(steps)


def test_properties_are_not_part_of_the_format() -> None:
    assert "seconds" not in to_data(sample().rounds[0])
    assert {type(item).__name__ for item in sample().rounds} == {Round.__name__}
    assert isinstance(sample().rounds[0].nodes[0], Node)
