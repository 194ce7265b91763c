"""Findings: which sentence a record leads to, with its numbers written out."""

import tomllib
from dataclasses import replace

import pytest

from specviz.doctor.findings import LESSONS, Costs, diagnose, stated_cost_ratio
from specviz.doctor.record import Record
from specviz.resources import ROOT
from specviz.theory.formulas import StepTimes

SOUND = Record(
    "vLLM", "records of requests", drafted=300, accepted=150, steps=100, by_position=(0.8, 0.5, 0.2), longest=3
)


def titles(record: Record, costs: Costs | None = None) -> list[str]:
    return [finding.title for finding in diagnose(record, costs)]


def test_nothing_drafted_is_off_or_idle_and_nothing_else_is_said() -> None:
    assert titles(Record("vLLM", "a log", drafted=0, accepted=0, output_tokens=40)) == ["Speculation is off or idle"]


def test_a_record_that_does_not_say_whether_it_speculates_is_not_called_off() -> None:
    record = Record("Ollama", "final responses", output_tokens=40, untold=("what was drafted",))
    assert titles(record) == ["Whether speculation is on", "What this record cannot tell"]


def test_a_contradiction_is_all_that_is_said() -> None:
    record = Record("vLLM", "a log", drafted=300, accepted=150, steps=100, broken=("The sum is wrong.",))
    assert [(finding.level, finding.sentence) for finding in diagnose(record)] == [
        ("alarm", "The sum is wrong. Nothing else is concluded from it.")
    ]


@pytest.mark.parametrize(
    ("accepted", "alarm"),
    [(44, "Acceptance is too low for a matching drafter"), (45, None), (291, None), (292, "Acceptance is near one")],
)
def test_alarms_begin_below_15_and_above_97_per_cent(accepted: int, alarm: str | None) -> None:
    said = titles(Record("vLLM", "a log", drafted=300, accepted=accepted, steps=100))
    assert [title for title in said if title.startswith("Acceptance is ")] == ([alarm] if alarm else [])


def test_a_rate_of_few_drafts_is_no_alarm() -> None:
    assert "Acceptance is near one" not in titles(Record("vLLM", "a log", drafted=49, accepted=49, steps=10))


def test_it_pays_where_it_is_faster_than_plain_decoding() -> None:
    record = Record("llama.cpp", "a log", 300, 150, 100, output_tokens=250, decode_s=2.0)
    pays, slow = (diagnose(record, Costs(plain_tokens_per_s=speed))[0] for speed in (100.0, 250.0))
    assert (pays.title, pays.formula) == ("It pays", "125.0 ÷ 100.0 tokens per second")
    assert (slow.level, slow.title) == ("alarm", "It does not pay")


def test_a_plain_speed_that_nothing_can_be_held_against_is_not_passed_over() -> None:
    assert titles(SOUND, Costs(plain_tokens_per_s=100.0))[:2] == [
        "Whether it pays there, measured", "What drafting may cost"
    ]  # fmt: skip


def test_without_a_cost_the_most_that_drafting_may_cost_is_told() -> None:
    finding = diagnose(SOUND)[0]
    assert (finding.title, finding.formula) == ("What drafting may cost", "(tokens per step - 1) ÷ γ = (2.50 - 1) ÷ 3")
    assert "less than 0.50 of a target pass" in finding.sentence


def test_a_draft_of_many_candidates_is_written_out() -> None:
    cost = next(one for one in diagnose(replace(SOUND, drafted=12_840)) if one.title == "What drafting may cost")
    assert ("for 128.4 drafted" in cost.sentence, cost.formula.endswith("÷ 128.4")) == (True, True)


def test_the_candidates_of_a_tree_are_no_speculation_length_and_a_small_share_of_them_no_alarm() -> None:
    """15 candidates a step in three levels: taken for a chain of 15, whatever it cost, it would be too long."""
    tree = replace(SOUND, drafted=1500, longest=None, branches=True)
    said = titles(tree, Costs(cost_ratio=0.1))
    assert said == [
        "Drafts fail at position 3", "Acceptance by position", "Acceptance rate", "Tokens per step", "Drafts are trees"
    ]  # fmt: skip
    assert titles(replace(tree, branches=False), Costs(cost_ratio=0.1))[:3] == [
        "Acceptance is too low for a matching drafter", "It should not pay", "Drafts are too long"
    ]  # fmt: skip


def test_with_a_cost_ratio_the_speedup_and_the_best_length_are_modelled() -> None:
    pays, length = diagnose(SOUND, Costs(cost_ratio=0.3))[:2]
    assert pays.formula == "tokens per step ÷ (t(γ + 1) + γ c) = 2.50 ÷ 1.90"  # 1 + 3 x 0.3
    # γ 2: (1 + 0.8 + 0.5) ÷ 1.6 = 1.44; γ 1: 1.8 ÷ 1.3 = 1.38; γ 3: 2.5 ÷ 1.9 = 1.32
    assert (length.title, length.formula) == ("Drafts are too long", "γ 2: 1.44, γ 3: 1.32 times plain decoding")


def test_a_curve_makes_wide_passes_dearer() -> None:
    curve = StepTimes((1, 4), (1.0, 2.5))
    (pays, length, *_) = diagnose(SOUND, Costs(cost_ratio=0.0, times=curve))
    assert pays.formula == "tokens per step ÷ (t(γ + 1) + γ c) = 2.50 ÷ 2.50"
    assert (length.title, length.formula) == ("Drafts are too long", "γ 1: 1.20, γ 3: 1.00 times plain decoding")


def test_a_hopeless_drafter_is_switched_off() -> None:
    record = Record("vLLM", "a log", drafted=300, accepted=60, steps=100, by_position=(0.5, 0.1, 0.0), longest=3)
    assert "Switch it off" in titles(record, Costs(cost_ratio=0.9))


def test_a_length_that_no_other_beats_is_right() -> None:
    record = Record("vLLM", "a log", drafted=200, accepted=130, steps=100, by_position=(0.8, 0.5, 0.0), longest=2)
    assert "The length is right" in titles(record, Costs(cost_ratio=0.2))
    [right] = [each for each in diagnose(record, Costs(cost_ratio=0.2)) if each.title == "The length is right"]
    assert right.formula == "γ 2: 1.64 times plain decoding"  # (1 + 0.8 + 0.5) ÷ 1.4, and named once


def test_without_positions_one_rate_stands_for_all() -> None:
    # 1 + a + a² = 1.75 at a = 0.5: free drafts could be longer without end
    record = Record("vLLM", "a log", drafted=200, accepted=75, steps=100)
    assert "Drafts are too short" in titles(record, Costs(cost_ratio=0.0))


def test_seconds_of_drafting_give_the_cost_ratio() -> None:
    record = Record("llama.cpp", "a log", 300, 150, 100, decode_s=2.0, draft_s=0.5)
    assert stated_cost_ratio(record) == pytest.approx(0.5 / 300 / (1.5 / 100))
    assert diagnose(record)[0].title in {"It should pay", "It should not pay"}


def test_the_position_where_drafts_fail_is_the_steepest_fall() -> None:
    # conditional: 0.9, 0.8, 0.25
    record = Record("vLLM", "a log", drafted=300, accepted=180, steps=100, by_position=(0.9, 0.72, 0.18), longest=3)
    finding = next(finding for finding in diagnose(record) if finding.title.startswith("Drafts fail"))
    assert (finding.title, finding.formula) == ("Drafts fail at position 3", "0.80 - 0.25 = 0.55")


def test_a_fall_that_few_steps_come_to_is_no_place_where_drafts_fail() -> None:
    # conditional: 0.3, 1.0, 0.8: of 100 steps 70 end at the first position, 6 at the third
    record = Record("vLLM", "a log", drafted=300, accepted=84, steps=100, by_position=(0.3, 0.3, 0.24), longest=3)
    assert not any(title.startswith("Drafts fail") for title in titles(record))
    (fact,) = [finding for finding in diagnose(record) if finding.title == "Acceptance by position"]
    assert "Position 1 ends most drafts: those of 70% of the steps." in fact.sentence


def test_an_even_fall_has_no_place_where_drafts_fail() -> None:
    record = Record("vLLM", "a log", drafted=300, accepted=110, steps=100, by_position=(0.6, 0.3, 0.15), longest=3)
    assert not any(title.startswith("Drafts fail") for title in titles(record))


def test_findings_lead_to_lessons_by_the_titles_that_these_have() -> None:
    for number, title in LESSONS.values():
        (path,) = (ROOT / "lessons").glob(f"{number}_*.toml")
        assert tomllib.loads(path.read_text(encoding="utf-8"))["title"] == title
