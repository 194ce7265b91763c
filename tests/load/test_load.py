"""The visitors of `python -m tests.load`, few and in turn: whose answers they get, what is stopped, what is kept.

Counts alone; how fast anything is, is the long measurement's.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from specviz.app.form.request import Limits
from specviz.app.offered import served_folder
from specviz.app.page import sessions
from tests.browser.conftest import MEASURING
from tests.browser.page_server import serving
from tests.load.behaviour import Guest
from tests.load.echo import HELD, Echo, until, visit
from tests.load.visitor import TurnedAwayError


@pytest.fixture
def source() -> Echo:
    return Echo()


@pytest.fixture
def places() -> int:
    """How many may wait."""
    return 2


@pytest.fixture
def page(source: Echo, places: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[gr.Blocks]:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "served"))
    (tmp_path / "recorded").mkdir()
    with serving(source, tmp_path / "recorded", Limits(waiting=places), MEASURING) as demo:
        yield demo


@pytest.mark.parametrize("places", [3])  # who is done may come again before the queue calls the next of the other two
def test_visitors_at_once_get_their_own_answers_and_leave_nothing_but_their_last_state(
    page: gr.Blocks, source: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def one(make: Callable[[], Guest]) -> None:
        guest = make()
        await guest.visitor.open()
        for name in ("step", "upload", "chart", "run", "sweep", "run"):
            await guest.act(name)
        await guest.visitor.leave()

    async def scene(make: Callable[[], Guest]) -> None:
        for _ in range(2):
            await asyncio.gather(one(make), one(make), one(make))

    notes = visit(page, tmp_path, scene)
    assert (notes.errors, notes.mixed_up, dict(notes.turned_away)) == ([], [], {})
    assert dict(notes.done) == {"step": 6, "upload": 6, "chart": 6, "run": 12, "sweep": 6}
    holder = page.app.state_holder
    assert len(holder.session_data) == 6
    assert all(len(one.config_values) == 0 for one in holder.session_data.values()), "no copy of anybody's page"
    for state in holder.session_data.values():
        first, own = page.default_config.blocks, state.blocks_config.blocks
        changed = [key for key in first if own[key] is not first[key]]
        assert changed
        for key in changed:
            known, kept = (
                {name: value for name, value in one[key].constructor_args.items() if name not in ("value", "render")}
                for one in (first, own)
            )
            # a button may have been switched off and on again
            assert known != kept or isinstance(first[key], gr.Button | gr.DownloadButton), "as it was, and kept"
    assert list(served_folder().glob("specviz-sweep-*")) == [], "nobody kept traces"
    monkeypatch.setattr(sessions, "AFTER_LEAVING_S", 0.0)
    until(lambda: not holder.session_data and not holder.time_last_used)


def test_a_run_whose_visitor_has_left_is_stopped_whether_it_had_begun_or_waited(
    page: gr.Blocks, source: Echo, tmp_path: Path
) -> None:
    async def scene(make: Callable[[], Guest]) -> None:
        guests = [make() for _ in range(2)]
        await asyncio.gather(*(guest.visitor.open() for guest in guests))
        await asyncio.gather(*(guest.act("leave") for guest in guests))

    notes = visit(page, tmp_path, scene)
    assert notes.errors == []
    assert len(notes.left) == 2
    until(lambda: not source.running)
    ran = {request.seed for request, _ in source.requests}
    assert ran <= set(notes.left)
    assert set(source.stopped) == ran, "none came to its end"
    assert page.app.state_holder.session_data.keys(), "kept for those whose connection was lost"


def test_who_finds_the_queue_full_is_told_so_in_a_sentence(page: gr.Blocks, source: Echo, tmp_path: Path) -> None:
    """One runs, two wait, the others are turned away."""

    async def scene(make: Callable[[], Guest]) -> None:
        guests = [make() for _ in range(5)]
        await asyncio.gather(*(guest.visitor.open() for guest in guests))
        told: list[Any] = []

        async def ask(guest: Guest) -> None:
            guest.visitor.put_labelled("new tokens", HELD)
            event = guest.visitor.layout.event("sv-run", "click")
            await guest.visitor.happen(event, follow=False)
            try:
                async with guest.visitor.waiting(guest.visitor.layout.after(event)[0]) as messages:
                    await anext(messages)
                    while len(told) < 2:
                        await asyncio.sleep(0.02)
            except TurnedAwayError as error:
                told.append(str(error))

        runner = asyncio.create_task(ask(guests[0]))
        while not source.running:  # it has left the queue
            await asyncio.sleep(0.02)
        await asyncio.gather(runner, *map(ask, guests[1:]))
        await asyncio.gather(*(guest.visitor.leave() for guest in guests))
        assert len(told) == 2
        assert all("queue" in sentence.lower() for sentence in told)

    visit(page, tmp_path, scene)
    until(lambda: not source.running)
