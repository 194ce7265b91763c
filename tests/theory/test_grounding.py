"""Acceptance by what decides a token, counted by hand on a small run."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from specviz.theory.grounding import Judged, Split, split
from specviz.trace.header import SceneCard, ShapeCard


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
