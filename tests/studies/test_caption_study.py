"""Captions: what is counted as judged, what is run, how rows are counted, what chart, sentence and table say."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from specviz.app.studies.chart import draw
from specviz.protocol.sweeps.intervals import Estimate
from specviz.scenes.scene import scene_of
from specviz.studies.captions.measure import FIRST_SEED, Judged, Split, row, rows_of, split
from specviz.studies.captions.result import DRAFTERS, CaptionReport, CaptionRow, complaints, markdown, sentence, view
from specviz.studies.captions.result import rows_of as rows_of_kind
from specviz.trace.header import SceneCard, ShapeCard, Started
from tests.app.doubles import ReplaySource, sample


def trace(*committed: tuple[int, str], scene: bool = True):
    card = SceneCard([ShapeCard("small", "red", "circle", 8, 8)], [2], [7, 9])
    tokens = [SimpleNamespace(token=token, origin=origin) for token, origin in committed]
    rounds = [SimpleNamespace(committed=SimpleNamespace(tokens=part)) for part in (tokens[:2], tokens[2:])]
    return SimpleNamespace(started=SimpleNamespace(scene=card if scene else None), rounds=rounds)


RUN = ((5, "draft"), (7, "correction"), (7, "draft"), (5, "draft"), (9, "correction"), (9, "bonus"), (5, "target"))


def test_places_count_by_the_token_that_came_out_and_whether_the_draft_had_it() -> None:
    assert split(trace(*RUN)) == Split(grammar=Judged(2, 2), grounded=Judged(1, 3))


def test_bonus_tokens_and_those_of_the_target_alone_count_nowhere() -> None:
    assert split(trace((7, "bonus"), (5, "target"), (7, "forced"))) == Split()
    assert Split().grounded.rate is None


def test_without_a_picture_all_is_grammar() -> None:
    assert split(trace(*RUN, scene=False)) == Split(grammar=Judged(3, 5))


def test_runs_add_up() -> None:
    both = split(trace(*RUN)) + split(trace(*RUN))
    assert both.grounded == Judged(2, 6)
    assert both.grounded.rate == pytest.approx(1 / 3)
    assert replace(both, grammar=Judged()).grammar.rate is None


def run(*committed: tuple[int, str], passes: int = 2, seconds: float = 1.0):
    one = trace(*committed)
    one.summary = SimpleNamespace(num_output_tokens=len(committed), num_target_passes=passes)
    one.finished = SimpleNamespace(output_ids=[token for token, _ in committed], decode_s=seconds)
    return one


FIRST = run((5, "draft"), (7, "correction"), (7, "draft"), (5, "draft"))
SECOND = run((5, "correction"), (5, "bonus"))


def test_a_row_adds_up_the_places_of_all_scenes() -> None:
    found = row("caption-drafter-eyes", "chance", [FIRST, SECOND], [FIRST, FIRST])
    assert found.judged == (3, 2)
    assert found.grammar.value == pytest.approx(2 / 3)
    assert found.grounded.value == 0.5
    assert found.tokens_per_pass.value == 1.5
    assert (found.scenes, found.same_output) == (2, 1)


def test_speed_is_plain_decodings_time_over_the_drafters_where_the_caption_is_the_same() -> None:
    fast, slow = (run((5, "draft"), seconds=seconds) for seconds in (2.0, 3.0))
    other = run((7, "target"), seconds=50.0)
    found = row("caption-drafter-eyes", "chance", [fast, slow, other], [slow, slow, fast])
    assert found.speedup.value == pytest.approx(6 / 5)
    assert found.same_output == 2
    assert row("caption-drafter-eyes", "chance", [other], [fast]).speedup is None


def test_where_nothing_was_judged_there_is_no_share() -> None:
    assert row("caption-drafter-text", "chance", [run((5, "target"))], [FIRST]).grounded is None


def test_every_drafter_runs_on_the_same_held_out_scenes_beside_plain_decoding() -> None:
    source = ReplaySource(sample())
    rows = [one for one, _ in rows_of(source, 2, 3)]
    asked = [request for request, _ in source.requests]
    assert [(one.drafter, one.split) for one in rows] == [
        (drafter, split) for split in ("chance", "combination") for drafter in DRAFTERS
    ]
    first, second = (str(scene_of("chance", FIRST_SEED + place)) for place in (0, 1))
    assert [one.scene for one in asked][:12] == [first] * 8 + [second] * 4, "the first warms up"
    turns = [one.drafter_model if one.drafter.name == "model" else "none" for one in asked[:12]]
    names = ["none", *DRAFTERS]
    assert turns == [names[-1], *names[:-1], *names, *names[1:], names[0]]
    assert {one.drafter.options["gamma"] for one in asked if one.drafter.name == "model"} == {3}
    assert {one.temperature for one in asked} == {0.0}


def test_a_cancelled_bench_keeps_the_rows_that_are_there() -> None:
    source = ReplaySource(sample())
    assert len(list(rows_of(source, 2, 3, lambda: len(source.requests) > 12))) == 3


def test_the_table_says_what_was_judged_and_where_it_comes_from() -> None:
    found = replace(row("caption-drafter-eyes", "chance", [FIRST, SECOND], [FIRST, FIRST]), scenes=2)
    text = markdown(CaptionReport(4, (found,), {}, "specviz bench captions", "a machine."))
    assert "| image adapter | new scenes | 0.67 [" in text
    assert "| 3 + 2 |" in text
    assert text.endswith("a machine. `specviz bench captions`")
    assert "scene" in Started.__dataclass_fields__


def made(drafter: str, split: str, grammar: float, grounded: float | None, speedup: float | None = None) -> CaptionRow:
    def near(value: float) -> Estimate:
        return Estimate(value, round(value - 0.05, 4), round(value + 0.02, 4))

    grounded_near, speedup_near = (None if value is None else near(value) for value in (grounded, speedup))
    return CaptionRow(drafter, split, 20, near(grammar), grounded_near, (200, 80), near(2.5), speedup_near, 20)


REPORT = CaptionReport(
    4,
    (
        made("caption-drafter-eyes", "chance", 0.95, 0.75),
        made("caption-drafter-text", "chance", 0.4, 0.125),
        made("caption-drafter-tuned", "chance", 0.9, 0.25),
        made("caption-drafter-tuned", "combination", 0.8, 0.2),
        made("caption-drafter-eyes", "combination", 0.7, 0.5),
    ),
    {"captioner": "ab" * 32},
    "specviz bench captions --write",
    "a processor, 2 cores.",
)


def test_the_chart_has_a_bar_of_each_kind_per_drafter_with_its_interval() -> None:
    grammar, grounded = draw(view(REPORT, "chance").chart).data
    assert list(grammar.x) == ["text alone", "text, tuned on captions", "image adapter"]
    assert list(grounded.y) == [0.125, 0.25, 0.75]
    assert list(grounded.error_y.array) == pytest.approx([0.02] * 3)
    assert list(grounded.error_y.arrayminus) == pytest.approx([0.05] * 3)
    assert grounded.marker.pattern.shape == "/"


def test_a_drafter_without_a_judged_place_has_no_bar() -> None:
    _, grounded = draw(
        view(replace(REPORT, rows=(made("caption-drafter-text", "chance", 0.5, None),)), "chance").chart
    ).data
    assert list(grounded.x) == []


def test_the_sentence_says_what_the_adapter_gains() -> None:
    assert sentence(rows_of_kind(REPORT, "chance")) == (
        "Without seeing the picture, a drafter that read captions has 90% of its grammar accepted and 25% of what the "
        "picture decides; with a small image adapter it is 95% and 75%."
    )
    assert sentence(rows_of_kind(REPORT, "chance")[:1]) == ""


def test_the_sentence_says_how_fast_captions_came_where_both_drafters_were_timed() -> None:
    tuned, eyes = (made(f"caption-drafter-{kind}", "chance", 0.5, 0.5, 1.25) for kind in ("tuned", "eyes"))
    ending = " When this was recorded, captions came 1.25 and 1.25 times as fast as by plain decoding."
    assert sentence([tuned, eyes]).endswith(ending)
    assert "recorded" not in sentence([tuned, replace(eyes, speedup=None)])


def test_rows_stand_in_the_order_of_the_drafters() -> None:
    assert [found.drafter for found in rows_of_kind(REPORT, "chance")] == list(DRAFTERS)
    assert len(rows_of_kind(REPORT, "combination")) == 2


def test_a_drafter_that_wrote_another_caption_is_complained_of() -> None:
    assert complaints(REPORT) == []
    wrong = replace(REPORT, rows=(replace(REPORT.rows[0], same_output=18), *REPORT.rows[1:]))
    assert complaints(wrong) == ["'image adapter' wrote another caption than plain decoding on 2 of 20 new scenes."]
