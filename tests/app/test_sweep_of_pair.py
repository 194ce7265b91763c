"""What of When it pays follows its target: drafters, families and chat of the pair, and the recorded sweep."""

from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from specviz.app.form.request import Limits
from specviz.app.page.build import build
from specviz.app.runs.gallery import ShownSweep, gallery
from specviz.app.speedup.actions import SpeedupActions
from specviz.app.speedup.following import FollowActions, target_of
from specviz.errors import OptionError
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.definition import expand, prompts_of
from specviz.protocol.sweeps.points import SweepPoint
from tests.app.doubles import FetchingSource
from tests.app.lab.sweeps import drafted, plain, sweep_result
from tests.app.step.test_actions import Visitor
from tests.app.test_sweep_actions import by_name, sweep_form

SOURCE = FetchingSource()
BUNDLED, REAL, MINE = "target", "smollm2", "./mine"


@pytest.fixture
def follow(tmp_path: Path) -> FollowActions:
    """Each pair has a recorded sweep of one drafter: `model` was measured for the bundled one, `ngram` for the real."""
    store.write(sweep_result(plain(), drafted(drafter="ngram", label="ngram")), tmp_path / f"{REAL}.json.gz")
    shipped = ShownSweep(sweep_result(plain(), drafted()), live=False)
    return FollowActions(SpeedupActions(SOURCE, Limits(), shipped), tmp_path)


def drawn(follow: FollowActions, target: str) -> list[str]:
    """The drafters of the sweep that the target's choice brings; empty: what stood there stays."""
    shown = by_name(follow.recorded(target, Visitor()))["points"]
    points: tuple[SweepPoint, ...] = () if shown == gr.skip() else shown.points
    return [point.drafter for point in points if point.drafter != "none"]


def test_drafters_families_and_chat_are_those_of_the_targets_pair(follow: FollowActions) -> None:
    assert follow.follow(REAL) == (["ngram"], ["ask"], True)
    assert follow.follow(BUNDLED) == (["model", "ngram"], ["code", "copy"], False)


def test_a_target_of_no_pair_has_every_drafter_and_keeps_how_its_prompts_are_read(follow: FollowActions) -> None:
    assert follow.follow(MINE) == (["model", "ngram"], ["code", "copy"], gr.skip())


def test_a_sweep_of_a_pair_runs_its_own_prompts_as_its_own_models_read_them(follow: FollowActions) -> None:
    drafters, families, chat = follow.follow(REAL)
    asked = {"drafters": drafters, "families": families, "chat": chat, "target": REAL, "gammas": "1", "trees": ""}
    controls, given = sweep_form(**asked)
    definition = follow.actions.definition(controls, given)
    assert (definition.target, definition.chat) == (REAL, True)
    assert [card.id for card in prompts_of(SOURCE, expand(definition, SOURCE.catalog()))] == ["ask-a"]


def test_a_drafter_of_the_other_pair_is_refused_by_name(follow: FollowActions) -> None:
    controls, given = sweep_form(drafters=["model"], families=["ask"], chat=True, target=REAL, gammas="1", trees="")
    with pytest.raises(OptionError, match="there is no drafter 'model'; known: ngram"):
        follow.actions.definition(controls, given)


def test_the_recorded_sweep_is_the_pairs_own_and_that_of_none_stays(follow: FollowActions) -> None:
    assert drawn(follow, REAL) == ["ngram"]
    assert drawn(follow, MINE) == []
    assert drawn(follow, BUNDLED) == ["model"]


def test_what_a_visitor_has_measured_is_never_put_away(follow: FollowActions) -> None:
    mine = ShownSweep(sweep_result(plain(), drafted(label="measured here")), live=True)
    follow.actions.results[Visitor().session_hash] = mine
    for target in (REAL, BUNDLED):
        follow.recorded(target, Visitor())
        assert follow.actions.shown(Visitor().session_hash) is mine


def test_the_pair_chosen_in_watch_is_the_sweeps(tmp_path: Path) -> None:
    catalog = SOURCE.catalog()
    assert [target_of(catalog, name) for name in ("bundled", "smollm2", "others")] == [BUNDLED, REAL, gr.skip()]
    page = build(SOURCE, gallery(tmp_path), Limits())
    wired = list(page.fns.values())

    def listeners(element: str, event: str) -> list[Any]:
        [number] = [block for block, one in page.blocks.items() if getattr(one, "elem_id", "") == element]
        return [one for one in wired if (number, event) in one.targets]

    def changed(functions: list[Any]) -> set[str]:
        return {getattr(one, "elem_id", "") or "" for function in functions for one in function.outputs}

    assert "sv-sweep-target" in changed(listeners("sv-models", "input"))
    followed = {"sv-sweep-drafters", "sv-sweep-families", "sv-sweep-chat", "sv-sweep-origin", "sv-sweep-plot"}
    assert changed(listeners("sv-sweep-target", "change")) >= followed
