"""`specviz bench captions`: what is run, how rows are counted, what the table says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from specviz.cli.commands.bench.captions import table
from specviz.scenes.generator import scene_of
from specviz.studies.captions.measure import FIRST_SEED, measure, row
from specviz.studies.captions.result import DRAFTERS, CaptionReport
from specviz.trace.header import Started
from tests.app.doubles import ReplaySource, sample
from tests.theory.test_grounding import trace


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
    assert found.grammar is not None
    assert found.grammar.value == pytest.approx(2 / 3)
    assert found.grounded is not None
    assert found.grounded.value == 0.5
    assert found.tokens_per_pass is not None
    assert found.tokens_per_pass.value == 1.5
    assert (found.scenes, found.same_output) == (2, 1)


def test_speed_is_plain_decodings_time_over_the_drafters_where_the_caption_is_the_same() -> None:
    fast, slow = (run((5, "draft"), seconds=seconds) for seconds in (2.0, 3.0))
    other = run((7, "target"), seconds=50.0)
    found = row("caption-drafter-eyes", "chance", [fast, slow, other], [slow, slow, fast])
    assert found.speedup is not None
    assert found.speedup.value == pytest.approx(6 / 5)
    assert found.same_output == 2
    assert row("caption-drafter-eyes", "chance", [other], [fast]).speedup is None


def test_where_nothing_was_judged_there_is_no_share() -> None:
    assert row("caption-drafter-text", "chance", [run((5, "target"))], [FIRST]).grounded is None


class Asked(ReplaySource):
    def __init__(self) -> None:
        super().__init__(sample())
        self.asked: list[object] = []

    def run(self, request, *rest):
        self.asked.append(request)
        return super().run(request, *rest)


def test_every_drafter_runs_on_the_same_held_out_scenes_beside_plain_decoding() -> None:
    source = Asked()
    rows = [one for one, _ in measure(source, 2, 3)]
    assert [(one.drafter, one.split) for one in rows] == [
        (drafter, split) for split in ("chance", "combination") for drafter in DRAFTERS
    ]
    first, second = (str(scene_of("chance", FIRST_SEED + place)) for place in (0, 1))
    assert [one.scene for one in source.asked][:12] == [first] * 8 + [second] * 4, "the first warms up"
    turns = [one.drafter_model if one.drafter == "model" else "none" for one in source.asked[:12]]
    names = ["none", *DRAFTERS]
    assert turns == [names[-1], *names[:-1], *names, *names[1:], names[0]]
    assert {one.drafter_options["gamma"] for one in source.asked if one.drafter == "model"} == {3}
    assert {one.temperature for one in source.asked} == {0.0}


def test_a_cancelled_bench_keeps_the_rows_that_are_there() -> None:
    source = Asked()
    assert len(list(measure(source, 2, 3, lambda: len(source.asked) > 12))) == 3


def test_the_table_says_what_was_judged_and_where_it_comes_from() -> None:
    found = replace(row("caption-drafter-eyes", "chance", [FIRST, SECOND], [FIRST, FIRST]), scenes=2)
    text = table(CaptionReport(4, (found,), {}, "specviz bench captions", "a machine."))
    assert "| image adapter | new scenes | 0.67 [" in text
    assert "| 3 + 2 |" in text
    assert text.endswith("a machine. `specviz bench captions`")
    assert "scene" in Started.__dataclass_fields__
