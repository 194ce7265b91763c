"""A race by hand: who runs on what and when, ratios and spread, what a stop keeps, lanes and sentences of the view."""

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz.app.race.view import lane, race_json, race_view
from specviz.bench.race import Lap, Racer, RaceSpec, progress, race, result
from specviz.cli.commands.race import show
from specviz.cli.terminal import Terminal
from specviz.errors import BenchError, SpecVizError
from specviz.protocol import races as race_file
from specviz.protocol.choice import Choice
from specviz.protocol.races import Race, Runner
from specviz.protocol.runs import RunRequest
from specviz.resources import asset_path
from specviz.trace.codec import assemble
from specviz.trace.events import CommittedToken, LaneSpan, Step, Trace, VocabEntry

REQUEST = RunRequest(prompt="a", temperature=0.0, seed=3, max_new_tokens=20, memory="warm", tree_policy=Choice("chain"))
SPEC = RaceSpec(REQUEST, (Racer("ngram", {"gamma": 1}), Racer("model", {"gamma": 3})))
VOCAB = {
    "0": VocabEntry(base64.b64encode(b">").decode(), ">"),
    "1": VocabEntry(base64.b64encode(b"<b>").decode(), "<b>"),
    "2": VocabEntry(base64.b64encode(b"\xc3").decode(), "\ufffd"),
    "3": VocabEntry(base64.b64encode(b"\xa9").decode(), "\ufffd"),
}


def trace_of(source: Any, gamma: int) -> Trace:
    """8 tokens: at γ = 0 in 8 rounds of 1 s, above in 4."""
    options = {"gamma": gamma} if gamma else {}
    drafter = "model" if gamma else "none"
    steps = source.run(RunRequest(prompt="a", drafter=Choice(drafter, options)))
    return replace(assemble(steps), vocab=VOCAB)


def timed(trace: Trace, draft_s: float, judge_s: float, commit_s: float) -> Trace:
    """The same run with time in every phase."""
    rounds = [
        replace(
            one,
            drafted=replace(one.drafted, seconds=draft_s),
            judged=replace(one.judged, seconds=judge_s),
            committed=replace(one.committed, seconds=commit_s),
        )
        for one in trace.rounds
    ]
    return replace(trace, rounds=rounds)


def with_output(trace: Trace, ids: list[int]) -> Trace:
    return replace(trace, finished=replace(trace.finished, output_ids=ids))


def test_everyone_runs_the_same_request_but_for_the_drafter_and_warms_up_once(fake_source: Any) -> None:
    laps = list(race(fake_source, replace(SPEC, repeats=2)))
    asked = [(one.drafter.name, one.drafter.options.get("gamma"), one.max_new_tokens) for one in fake_source.requests]
    first = [("none", None), ("ngram", 1), ("model", 3)]
    assert asked[:6] == [(*who, tokens) for who in first for tokens in (8, 20)]
    assert asked[6:] == [(*who, 20) for who in first]
    assert [(lap.repeat, lap.place) for lap in laps] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    same = {
        (one.prompt, one.seed, one.temperature, one.record, one.memory, one.tree_policy.name)
        for one in fake_source.requests
    }
    assert same == {("a", 3, 0.0, False, "cold", "auto")}


def test_half_the_rounds_of_one_second_are_twice_as_fast(fake_source: Any) -> None:
    done = result(SPEC, list(race(fake_source, SPEC)))
    assert done is not None
    assert [(one.label, one.ratios) for one in done.runners] == [
        ("plain decoding", (1.0,)),
        ("ngram γ 1", (2.0,)),
        ("model γ 3", (2.0,)),
    ]


def test_the_median_run_is_shown_and_the_ratio_of_every_repeat_kept(fake_source: Any) -> None:
    plain, fast = trace_of(fake_source, 0), trace_of(fake_source, 1)

    def at(seconds: float, trace: Trace) -> Trace:
        rate = 8 / seconds
        finished = replace(trace.finished, decode_s=seconds)
        return replace(trace, finished=finished, summary=replace(trace.summary, tokens_per_second=rate))

    laps = [Lap(0, n, at(s, plain)) for n, s in enumerate((8.0, 10.0, 9.0))]
    laps += [Lap(1, n, at(s, fast)) for n, s in enumerate((4.0, 2.0, 6.0))]
    done = result(replace(SPEC, repeats=3), laps)
    assert done is not None
    assert [one.trace.finished.decode_s for one in done.runners] == [9.0, 4.0]
    assert done.runners[1].ratios == (2.0, 5.0, 1.5)
    told = race_view(done).runners[1]
    assert (told.ratio, told.spread, told.verdict) == (
        2.0,
        (1.5, 5.0),
        "2.00× plain decoding, engine time, median of 3 repeats (1.50 to 5.00)",
    )
    assert told.formula.startswith("the median of 3 repeats; of the runs shown (8 tokens / 4.0000 s) / (8 tokens / 9.")
    lines = io.StringIO()
    show(Terminal(lines, False), race_view(done))
    head, *rows = lines.getvalue().splitlines()[1:4]
    assert head.split("  ")[-6:] == ["least to most", "tokens/pass", "passes", " engine s", "repetition", "output"]
    assert " 2.00   1.50 to 5.00  " in rows[1]


def test_progress_says_who_is_being_recorded() -> None:
    said = [progress(SPEC, done) for done in range(4)]
    assert said == [
        "recording plain decoding… 1 of 3",
        "recording ngram γ 1… 2 of 3",
        "recording model γ 3… 3 of 3",
        "all 3 runs are recorded",
    ]


def test_a_stop_keeps_what_is_done_and_loses_the_run_in_progress(fake_source: Any) -> None:
    """Stopped in the first drafter's timed run, the fourth with the warm-ups: plain decoding stands alone."""
    laps = list(race(fake_source, SPEC, lambda: len(fake_source.requests) == 4))
    assert [lap.place for lap in laps] == [0]
    done = result(SPEC, laps)
    assert done is not None
    assert [one.label for one in done.runners] == ["plain decoding"]
    assert result(SPEC, []) is None


@pytest.mark.parametrize(
    ("racers", "sentence"),
    [
        ((), "0 drafters were chosen"),
        ((Racer("a"), Racer("b"), Racer("c"), Racer("d")), "4 drafters were chosen"),
        ((Racer("a"), Racer("a")), "'a' was chosen twice"),
        ((Racer("none"),), "always runs"),
    ],
)
def test_a_field_that_cannot_start_is_refused_before_anything_runs(
    fake_source: Any, racers: tuple[Racer, ...], sentence: str
) -> None:
    with pytest.raises(SpecVizError, match=sentence):
        list(race(fake_source, RaceSpec(REQUEST, racers)))
    assert fake_source.requests == []


def test_a_failed_run_ends_the_race_with_its_sentence(fake_source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = trace_of(fake_source, 0)
    failed = replace(failed, finished=replace(failed.finished, reason="failed", message="no memory left."))
    monkeypatch.setattr(fake_source, "run", lambda *_: iter([Step(failed.started, {}), Step(failed.finished, {})]))
    with pytest.raises(BenchError, match="no memory left"):
        list(race(fake_source, SPEC))


def test_the_phases_of_all_rounds_stand_end_to_end_and_tokens_arrive_with_the_commit(fake_source: Any) -> None:
    """Rounds of ½ s drafting, 1 s target, no judging, ¼ s commit: 1¾ s each, two tokens at the end of each."""
    runner = Runner("model", timed(trace_of(fake_source, 1), 0.5, 0.0, 0.25), (1.0,))
    view = race_view(Race((runner,)))
    spans = [(one.start_s, one.end_s, one.phase, one.round) for one in view.runners[0].segments[:4]]
    assert spans == [
        (0.0, 0.5, "draft", 0),
        (0.5, 1.5, "target", 0),
        (1.5, 1.75, "commit", 0),
        (1.75, 2.25, "draft", 1),
    ]
    assert [one.time_s for one in view.runners[0].arrivals] == [1.75, 1.75, 3.5, 3.5, 5.25, 5.25, 7.0, 7.0]
    assert [(one.text, one.origin) for one in view.runners[0].arrivals[:2]] == [("<b>", "draft"), ("<b>", "bonus")]
    assert view.longest_s == view.runners[0].finish_s == 7.0
    seen = lane(view.runners[0].segments, 14.0, 16)[:9]
    assert seen == ["draft", "target", "draft", "target", "draft", "target", "draft", "target", ""]


def test_a_drafter_beside_the_target_has_a_lane_of_its_own_and_the_target_waits_where_it_does_nothing(
    fake_source: Any,
) -> None:
    """Rounds of ½ s waiting, 1 s target and ½ s commit; the drafter drafts from ½ s to 2¼ s and then throws it away."""
    trace = timed(trace_of(fake_source, 1), 0.5, 0.0, 0.5)
    spans = [[], [LaneSpan("drafter", "draft", 0.5, 2.25, 2), LaneSpan("drafter", "roll back", 2.25, 2.25, 2)], [], []]
    rounds = [
        replace(one, start_s=2.0 * one.index, drafted=replace(one.drafted, lanes=own))
        for one, own in zip(trace.rounds, spans, strict=True)
    ]
    view = race_view(Race((Runner("beside", replace(trace, rounds=rounds), (1.0,)),)))
    told = view.runners[0]
    assert [(one.start_s, one.end_s, one.phase, one.round) for one in told.segments[:3]] == [
        (0.5, 1.5, "target", 0),
        (1.5, 2.0, "commit", 0),
        (2.5, 3.5, "target", 1),
    ]
    assert [(one.time_s, one.text) for one in told.arrivals[:2]] == [(2.0, "<b>"), (2.0, "<b>")]
    assert told.finish_s == 8.0
    assert lane(told.lanes, 4.0, 8) == ["", "draft", "draft", "draft", "draft", "", "", ""]
    assert lane(told.segments, 4.0, 8) == ["", "target", "target", "commit", "", "target", "target", "commit"]
    assert json.loads(race_json(view))["runners"][0]["lanes"] == [
        [0.5, 2.25, "draft", 1, 2],
        [2.25, 2.25, "roll back", 1, 2],
    ]


def test_a_character_split_over_tokens_arrives_with_the_token_that_completes_it(fake_source: Any) -> None:
    trace = trace_of(fake_source, 0)
    halves = [CommittedToken(2, "target", None), CommittedToken(3, "target", None)]
    rounds = [
        replace(one, committed=replace(one.committed, tokens=[half]))
        for one, half in zip(trace.rounds[:2], halves, strict=True)
    ]
    view = race_view(Race((Runner("plain", replace(trace, rounds=rounds), (1.0,)),)))
    assert [(one.time_s, one.text) for one in view.runners[0].arrivals] == [(1.0, ""), (2.0, "é")]


def test_equal_outputs_are_said_to_be_equal_and_slower_is_said_to_be_slower(fake_source: Any) -> None:
    plain, fast = trace_of(fake_source, 0), trace_of(fake_source, 1)
    slow = replace(fast, finished=replace(fast.finished, decode_s=16.0))
    slow = replace(slow, summary=replace(slow.summary, tokens_per_second=0.5))
    view = race_view(Race((Runner("plain", plain, (1.0,)), Runner("fast", fast, (2.0,)), Runner("slow", slow, (0.5,)))))
    assert view.equality == "All 3 outputs are the same, token for token: 8 tokens."
    assert [one.verdict for one in view.runners] == [
        "the baseline",
        "2.00× plain decoding, engine time",
        "0.50× plain decoding, engine time, slower",
    ]
    assert view.runners[1].formula.startswith("(8 tokens / 4.0000 s) / (8 tokens / 8.0000 s)")


@pytest.mark.parametrize(
    ("dtype", "temperature", "ids", "why"),
    [
        ("bfloat16", 0.0, [1, 1, 2, 1, 1, 1, 1, 1], "from token 3 on: in bfloat16"),
        ("float32", 0.0, [1, 1, 2, 1, 1, 1, 1, 1], "from token 3 on: at temperature 0 in float32 only a tie"),
        ("float32", 0.9, [1, 1, 2, 1, 1, 1, 1, 1], "from token 3 on: texts are sampled"),
        ("float32", 0.0, [1, 1, 1], "from token 4 on: one of the two ended earlier"),
    ],
)
def test_where_outputs_differ_the_place_and_the_reason_are_said(
    fake_source: Any, dtype: str, temperature: float, ids: list[int], why: str
) -> None:
    plain, other = trace_of(fake_source, 0), with_output(trace_of(fake_source, 1), ids)
    header = other.started
    sampling = replace(header.sampling, temperature=temperature)
    other = replace(other, started=replace(header, machine=replace(header.machine, dtype=dtype), sampling=sampling))
    view = race_view(Race((Runner("plain", plain, (1.0,)), Runner("model", other, (2.0,)))))
    assert view.equality.startswith("0 of 1 drafters gave plain decoding's output. model differs")
    assert why in view.equality


def test_a_lossy_method_is_named_as_the_reason(fake_source: Any) -> None:
    other = with_output(trace_of(fake_source, 1), [2] * 8)
    other = replace(other, started=replace(other.started, verifier=replace(other.started.verifier, lossless=False)))
    view = race_view(Race((Runner("plain", trace_of(fake_source, 0), (1.0,)), Runner("model", other, (2.0,)))))
    assert "greedy is lossy" in view.equality
    assert not view.runners[1].lossless


def test_a_race_file_gives_the_race_back(fake_source: Any, tmp_path: Path) -> None:
    whole = Race((Runner("plain", trace_of(fake_source, 0), (1.0,)),))
    for name in ("race.json", "race.json.gz"):
        race_file.write(whole, tmp_path / name)
        assert race_file.read(tmp_path / name) == whole
    assert race_json(race_view(whole)).isascii()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{}", "no race"),
        ('{"format":"specviz-race","version":"9.0"}', "version '9.0'"),
        ('{"format":"specviz-race","version":"1.0","runners":[]}', "1 to 4 runners"),
        ('{"format":"specviz-race","version":"1.0","runners":[{"label":3}]}', "no label"),
        ('{"format":"specviz-race","version":"1.0","runners":[{"label":"a","ratios":[-1]}]}', "positive numbers"),
        ('{"format":"specviz-race","version":"1.0","runners":[{"label":"a","ratios":[],"trace":{}}]}', "format"),
    ],
)
def test_what_is_no_race_is_refused_with_one_sentence(content: str, sentence: str) -> None:
    with pytest.raises(SpecVizError, match=sentence):
        race_file.loads(content)


def test_the_shipped_race_is_small_and_everyone_wrote_the_same() -> None:
    path = asset_path("races", "opening.json.gz")
    assert path.stat().st_size < 200_000
    view = race_view(race_file.read(path))
    assert view.runners[0].label == "plain decoding"
    assert [one.differs_at for one in view.runners] == [None] * len(view.runners)
    assert all(one.ratio for one in view.runners[1:])
