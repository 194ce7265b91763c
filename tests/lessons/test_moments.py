"""Moments and values against the trace they are read from, on every recorded run and on the golden ones."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from specviz.errors import LessonError
from specviz.lessons import values_beyond_run, values_of_run  # noqa: F401 - they register
from specviz.lessons.answers import ANSWERS, Here, computed
from specviz.lessons.moments import END, KINDS, MOMENTS, Moment, found, over_plain
from specviz.theory.speedup import at_least, is_noisy
from specviz.trace import codec
from specviz.trace.events import PlainDecoding, Round, Trace, Trial
from specviz.trace.summary import behind_the_end, deployable
from tests.app.doubles import sample
from tests.lessons.shipped import RUNS

PARAMETERS: dict[str, dict[str, Any]] = {
    "style_tokens": {"style": "chain"},
    "style_accuracy": {"style": "chain"},
    "style_cost": {"style": "chain"},
    "cheaper_style": {"one": "direct", "other": "chain"},
    "pass_ms": {"rows": 5},
    "pass_ratio": {"rows": 5},
    "expected_tokens": {"alpha": 0.5, "gamma": 2},
    "modelled_speedup": {"alpha": 0.5, "gamma": 2, "cost_ratio": 0.1},
    "round_cost": {"gamma": 2, "cost_ratio": 0.1},
    "best_gamma": {"alpha": 0.7, "cost_ratio": 0.1},
    "acceptance_of": {"p": 0.3, "q": 0.6},
    "overlap_of": {"p": [0.5, 0.5], "q": [0.25, 0.75]},
    "left_of": {"p": [0.5, 0.5], "q": [0.25, 0.75]},
    "residual_of": {"p": [0.5, 0.5], "q": [0.25, 0.75], "token": 0},
    "most_tokens": {"gamma": 4},
    "pass_rows": {"candidates": 4},
    "passes_saved_of": {"tokens": 12, "passes": 5},
    "modelled_pace": {"alpha": 0.5, "gamma": 2, "cost_ratio": 0.1},
    "toy_law": {"token": 1},
    "toy_accepted": {"token": 1},
    "written_law": {"rule": "accept = 1\nreplacement = p", "token": 1},
    "written_kept": {"rule": "accept = 0\nreplacement = p"},
}


@cache
def traces() -> list[Trace]:
    return [sample(), *(read() for read in RUNS.values())]


@cache
def heres() -> list[Here]:
    kinds = ("rejection", "sibling_trial", "residual_correction", "full_draft")
    return [Here(trace, one) for trace in traces() for kind in kinds if (one := found(trace, kind)) is not None]


@cache
def every(kind: str) -> list[tuple[Round, Moment]]:
    return [(trace.rounds[one.round], one) for trace in traces() for one in MOMENTS[kind](trace)]


def trial_of(this: Round, one: Moment) -> Trial:
    return this.judged.trials[one.trial]


def test_every_moment_exists_in_its_run() -> None:
    for kind in MOMENTS:
        for this, one in every(kind):
            assert one.phase in {"draft", "target", "verdicts", "commit"}
            assert one.node == END or this.nodes[int(one.node)].id == one.node
            if one.trial is not None:
                assert trial_of(this, one).node == one.node


def test_some_recorded_run_has_each_moment() -> None:
    assert [kind for kind in MOMENTS if not every(kind)] == []


def test_moments_are_what_they_are_called() -> None:
    assert all(not trial_of(this, one).accepted for this, one in every("rejection"))
    assert all(trial_of(this, one).accepted for this, one in every("drawn_acceptance"))
    for this, one in every("drawn_acceptance"):
        tried = trial_of(this, one)
        assert tried.u < tried.threshold < 1
    for this, one in every("drawn_rejection"):
        tried = trial_of(this, one)
        assert tried.u >= tried.threshold > 0
    for this, _ in every("wholly_accepted"):
        assert this.judged.origin == "bonus"
        path = this.judged.path
        assert all(node.parent != path[-1] for node in this.nodes), "nothing was drafted below its end"
        assert len(this.committed.tokens) == len(path) + 1 or this.committed.trimmed
    for this, one in every("saved_by_sibling"):
        parent = this.nodes[int(one.node)].parent
        assert any(this.nodes[t.node].parent == parent and not t.accepted for t in this.judged.trials[: one.trial])
    assert all(not this.judged.path for this, _ in every("nothing_accepted"))
    assert all(this.judged.residual is not None for this, _ in every("residual_correction"))
    assert all(this.nodes[int(one.node)].fate == "unreached" for this, one in every("unreached"))
    for this, _ in every("rollback"):
        assert this.committed.cache_dropped > 0
        assert any(not trial.accepted for trial in this.judged.trials), "accepted to its end, a round rejects nothing"
        assert this.judged.origin == "correction"
        assert not this.committed.trimmed, "at the end of a text rows are dropped without a rejection"


def test_a_rejected_candidate_has_nothing_left_in_the_residual() -> None:
    for trace in traces():
        for one in MOMENTS["residual_correction"](trace):
            here = Here(trace, one)
            if computed(here, "law", {}) == "lossless":
                assert computed(here, "left_for_rejected", {}) == 0
                assert here.this.judged.token != here.this.nodes[here.this.judged.trials[-1].node].token


def test_moments_are_counted_from_either_end() -> None:
    trace = sample()
    rejections = MOMENTS["rejection"](trace)
    assert found(trace, "rejection") == rejections[0]
    assert found(trace, "rejection", -1) == rejections[-1]
    assert found(trace, "rejection", len(rejections) + 1) is None


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_every_value_is_told_by_some_run_or_says_why_not(name: str) -> None:
    told, reasons = 0, 0
    needs = PARAMETERS.get(name, {})
    if name in ("faster_drafter", "deciding_quantity", "roofline_ratio", "free_rows", "limited_by"):
        return  # below, with the numbers that they are about
    for here in heres():
        try:
            value = computed(here, name, needs)
        except LessonError:
            reasons += 1
            continue
        assert isinstance(value, int | float | str)
        told += 1
    assert told, f"no run tells '{name}' ({reasons} said why)"


def test_the_counts_are_those_of_the_text() -> None:
    for trace in traces():
        here = Here(trace, MOMENTS["end"](trace)[0])
        stored = json.loads(codec.dumps(trace))["summary"]
        assert computed(here, "tokens", {}) == stored["num_output_tokens"]
        assert computed(here, "passes", {}) == stored["num_target_passes"]
        assert computed(here, "passes_saved", {}) == stored["num_output_tokens"] - stored["num_target_passes"]
        became_text = sum(one.origin == "draft" for this in trace.rounds for one in this.committed.tokens)
        if not any(this.drafted.riding for this in trace.rounds):
            assert computed(here, "accepted_in_run", {}) == became_text
        ended = any(behind_the_end(this) for this in trace.rounds)
        drafted = computed(here, "not_accepted_in_run", {}) + computed(here, "accepted_in_run", {})
        assert drafted < stored["num_draft_tokens"] if ended else drafted == stored["num_draft_tokens"]


def test_tokens_per_pass_are_the_tokens_over_the_passes_named_beside_them() -> None:
    for trace in traces():
        here = Here(trace, MOMENTS["end"](trace)[0])
        tokens, passes = float(computed(here, "tokens", {})), float(computed(here, "passes", {}))
        assert computed(here, "tokens_per_pass", {}) == pytest.approx(tokens / passes)


def test_the_gain_is_the_headlines_or_plain_time_over_the_runs_own() -> None:
    timed = [trace for trace in traces() if KINDS["timed"](trace)]
    assert timed
    for trace in timed:
        plain_s = next(one.median_s for one in trace.started.step_times if one.rows == 1)
        here = Here(trace, MOMENTS["end"](trace)[0])
        gain = computed(here, "gain", {})
        plain, tokens, seconds = trace.finished.plain, len(trace.finished.output_ids), trace.finished.decode_s
        measured = plain is not None and deployable(trace.started)
        each_s = plain.decode_s / plain.output_tokens if plain is not None and measured else plain_s
        turns = plain.ratios if plain is not None and measured else ()
        told = at_least(trace) or (median(turns) if turns else each_s * tokens / seconds)
        assert gain == pytest.approx(told)
        faster = "faster" if float(gain) > 1 else "slower"
        assert computed(here, "pace", {}) == ("too close to tell" if is_noisy(trace) else faster)
        assert KINDS["slower_than_plain"](trace) == (float(gain) < 1)


def test_of_a_run_whose_turns_were_disturbed_a_lesson_tells_the_least_as_the_headline_does() -> None:
    trace = replace(sample(), started=replace(sample().started, source="live"))
    plain = PlainDecoding(20, 1.0, runs=3, same_text=True, ratios=[2.0, 2.25, 3.0])
    disturbed = replace(trace, finished=replace(trace.finished, plain=plain))
    assert len(trace.finished.output_ids) / len(trace.rounds) == 2.5, "what no drafting can exceed"
    assert over_plain(disturbed) == 2.0
    unsure = replace(trace, finished=replace(trace.finished, plain=replace(plain, ratios=[0.9, 1.1, 1.2])))
    assert computed(Here(unsure, MOMENTS["end"](unsure)[0]), "pace", {}) == "too close to tell"
    sound = replace(plain, ratios=[2.0, 2.25, 2.5])
    assert over_plain(replace(trace, finished=replace(trace.finished, plain=sound))) == 2.25


def test_modelled_values_follow_their_formulas() -> None:
    here = Here(sample(), MOMENTS["start"](sample())[0])
    two = {"gamma": 4, "better_alpha": 0.8, "better_cost": 0.4, "cheaper_alpha": 0.6, "cheaper_cost": 0.05}
    assert values_beyond_run.faster_drafter(here, **two) == "cheaper"
    assert values_beyond_run.faster_drafter(here, **{**two, "better_cost": 0.05}) == "better"
    assert values_beyond_run.deciding_quantity(here, **two) == "speedup"
    assert values_beyond_run.deciding_quantity(here, **{**two, "better_cost": 0.06}) == "acceptance"
    gpu = {"billion_parameters": 7, "bytes_per_parameter": 2, "tb_per_s": 3.35, "tflop_per_s": 989}
    assert values_beyond_run.free_rows(here, **gpu) == int(989 / 3.35)
    assert values_beyond_run.roofline_ratio(here, 61, **gpu) == 1
    assert values_beyond_run.roofline_ratio(here, 590, **gpu) == pytest.approx(590 * 3.35 / 989)
    assert values_beyond_run.limited_by(here, 61, **gpu) == "reading"
    assert values_beyond_run.limited_by(here, 400, **gpu) == "arithmetic"
    assert [values_beyond_run.toy_law(here, token) for token in range(3)] == pytest.approx([0.5, 0.3, 0.2])
    assert sum(float(values_beyond_run.toy_law(here, token, broken=True)) for token in range(3)) == pytest.approx(1)
    drawn_from_p = "accept = min(1, p / q)\nreplacement = p"
    assert [values_beyond_run.written_law(here, drawn_from_p, token) for token in range(3)] == pytest.approx(
        [values_beyond_run.toy_law(here, token, broken=True) for token in range(3)]
    )
    assert values_beyond_run.written_kept(here, drawn_from_p) == pytest.approx(0.7)
    with pytest.raises(LessonError, match="there is no line 'replacement'"):
        values_beyond_run.written_kept(here, "accept = 1")


def test_the_guide_lists_every_name() -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "lessons.md").read_text(encoding="utf-8")
    for name in (*MOMENTS, *ANSWERS, *KINDS):
        assert f"`{name}`" in guide, f"docs/lessons.md says nothing of '{name}'"
