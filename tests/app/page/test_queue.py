"""The queue of a served page: what nobody hears ends, what takes too long ends with a sentence, and nobody fills it.

Time is the queue's own clock, which the tests put forward.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import pytest
from gradio import queueing
from gradio_client import Client
from gradio_client.exceptions import AppError

from specviz.app.form.request import Limits
from specviz.app.job import why_turned_away
from specviz.app.page import queue as fair
from specviz.app.page.queue import FairQueue
from tests.browser.page_server import MEASURING, serving
from tests.load.behaviour import Guest
from tests.load.echo import HELD, Echo, until, visit
from tests.load.visitor import TurnedAwayError, Visitor

WAITING = 4


class Ahead:
    """A clock that stands still until it is put forward."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.by_s = 0.0

    def __call__(self) -> float:
        return self._began + self.by_s


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[gr.Blocks, Echo, Ahead]]:
    """One page for all tests here: to build it takes longer than they do."""
    folder, source, clock = tmp_path_factory.mktemp("queue"), Echo(), Ahead()
    (folder / "recorded").mkdir()
    with pytest.MonkeyPatch.context() as change:
        change.setenv("GRADIO_TEMP_DIR", str(folder / "served"))
        change.setattr(fair, "LOOK_S", 0.05)
        with serving(source, folder / "recorded", Limits(waiting=WAITING, engine_seconds=100.0), MEASURING) as demo:
            demo._queue._clock = clock
            yield demo, source, clock


@pytest.fixture
def page(served: tuple[gr.Blocks, Echo, Ahead]) -> gr.Blocks:
    demo, source, clock = served
    until(lambda: not demo._queue._running)
    source.requests.clear()
    clock.by_s = 0.0
    return demo


@pytest.fixture
def source(served: tuple[gr.Blocks, Echo, Ahead]) -> Echo:
    return served[1]


@pytest.fixture
def clock(served: tuple[gr.Blocks, Echo, Ahead]) -> Ahead:
    return served[2]


def of(page: gr.Blocks) -> FairQueue:
    assert isinstance(page._queue, FairQueue)
    return page._queue


def waiting(page: gr.Blocks) -> int:
    return len(page._queue)


async def come(true: Callable[[], bool]) -> None:
    """Wait for what must come."""
    for _ in range(3000):
        if true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came.")


def held(visitor: Visitor) -> dict[str, Any]:
    """The event of a run that goes on until it is stopped, with the visitor's controls filled in for it."""
    visitor.put_labelled("new tokens", HELD)
    return visitor.layout.after(visitor.layout.event("sv-run", "click"))[0]


def play(page: gr.Blocks, tmp_path: Path, scene: Callable[[Callable[[], Guest]], Awaitable[None]]) -> None:
    assert visit(page, tmp_path, scene).errors == []


def test_a_page_that_nobody_uses_looks_for_work_fifty_times_a_second(page: gr.Blocks) -> None:
    assert of(page).sleep_when_free == 0.02
    assert "self.sleep_when_free" in inspect.getsource(queueing.Queue.start_processing)


def test_a_run_and_a_waiting_one_that_nobody_comes_to_hear_are_ended_after_twenty_seconds(
    page: gr.Blocks, source: Echo, clock: Ahead, tmp_path: Path
) -> None:
    async def scene(make: Callable[[], Guest]) -> None:
        first, second = make().visitor, make().visitor
        await first.join(held(first))
        await come(lambda: len(source.running) == 1)
        await second.join(held(second))
        clock.by_s = 19.0
        await asyncio.sleep(0.3)
        assert (len(source.running), waiting(page)) == (1, 1), "they may still come"
        clock.by_s = 21.0
        await come(lambda: waiting(page) == 0 and not source.running)
        assert len(source.requests) == 1, "the second never began"
        queue = of(page)
        await come(lambda: not queue._running)
        for one in (first, second):
            assert one.session not in queue.pending_messages_per_session, "nothing is kept for who never listened"
            assert one.session not in queue.pending_event_ids_session

    play(page, tmp_path, scene)


def test_a_sweep_that_nobody_comes_to_hear_is_ended(
    page: gr.Blocks, source: Echo, clock: Ahead, tmp_path: Path
) -> None:
    async def scene(make: Callable[[], Guest]) -> None:
        stranger = make().visitor
        file = tmp_path / "endless.toml"
        file.write_text(f'drafters = ["ngram"]\ngammas = [2]\nprompts = ["code-a"]\nmax_new_tokens = {HELD}\n')
        await stranger.upload("sv-sweep-upload", file)
        event = stranger.layout.event("sv-sweep-run", "click")
        await stranger.happen(event, follow=False)
        await stranger.join(stranger.layout.after(event)[0])
        await come(lambda: len(source.requests) == 3 and bool(source.running))  # after two warm-ups a run stands still
        clock.by_s = 21.0
        await come(lambda: not source.running)
        queue = of(page)
        await come(lambda: not queue._running)
        began = len(source.requests)
        await asyncio.sleep(0.3)
        assert len(source.requests) == began, "no further run begins"

    play(page, tmp_path, scene)


def test_what_somebody_listens_to_goes_on_and_ends_when_they_leave(
    page: gr.Blocks, source: Echo, clock: Ahead, tmp_path: Path
) -> None:
    async def scene(make: Callable[[], Guest]) -> None:
        visitor = make().visitor
        async with visitor.waiting(held(visitor)) as messages:
            await anext(messages)
            await come(lambda: len(source.running) == 1)
            for _ in range(6):
                clock.by_s += 10.0
                await asyncio.sleep(0.1)
            assert len(source.running) == 1
        await come(lambda: not source.running)

    play(page, tmp_path, scene)


def test_a_run_that_takes_longer_than_a_job_may_is_ended_in_a_sentence(
    page: gr.Blocks, clock: Ahead, source: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair, "UNHEARD_S", inf)  # the clock leaps, and may do so between two looks of who listens

    async def scene(make: Callable[[], Guest]) -> None:
        visitor = make().visitor

        async def forward() -> None:
            await come(lambda: len(source.running) == 1)
            clock.by_s = 101.0

        await asyncio.gather(visitor.happen(held(visitor)), forward())
        assert "he 100 s that this machine gives one job are over" in visitor["sv-message"]

    play(page, tmp_path, scene)


def test_a_program_is_told_that_its_time_is_over(
    page: gr.Blocks, clock: Ahead, source: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair, "UNHEARD_S", inf)
    client = Client(page.local_url, verbose=False)
    job = client.submit("def mean(values):", max_new_tokens=HELD, api_name="/run")
    until(lambda: len(source.running) == 1)
    clock.by_s = 101.0
    with pytest.raises(AppError, match="the 100 s that this machine gives one job are over"):
        job.result(timeout=60)
    client.close()


def test_a_session_has_one_place_in_the_queue_and_another_session_the_next(
    page: gr.Blocks, source: Echo, tmp_path: Path
) -> None:
    async def scene(make: Callable[[], Guest]) -> None:
        running, eager, patient = (make().visitor for _ in range(3))
        await running.join(held(running))
        await come(lambda: len(source.running) == 1)
        await eager.join(held(eager))
        with pytest.raises(TurnedAwayError, match="You already have a job in the queue"):
            await eager.join(held(eager))
        await patient.join(held(patient))
        assert waiting(page) == 2
        assert "already have a job" in (why_turned_away(eager.session) or ""), "for the line on its page"
        assert why_turned_away(eager.session) is None, "told once"
        for one in (running, eager, patient):
            await of(page).clean_events(session_hash=one.session)

    play(page, tmp_path, scene)


def test_a_network_has_three_quarters_of_the_places_and_others_have_every_second_turn(
    page: gr.Blocks, source: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of(page), "_behind_proxy", True)

    async def scene(make: Callable[[], Guest]) -> None:
        async def joined(network: str) -> Visitor:
            visitor = make().visitor
            visitor._http.headers["x-forwarded-for"] = network
            await visitor.join(held(visitor))
            return visitor

        running = await joined("8.8.8.8")
        await come(lambda: len(source.running) == 1)
        class_of_sixty = [await joined("8.8.8.8") for _ in range(3)]
        with pytest.raises(TurnedAwayError, match="Your network already has its 3 places in the queue"):
            await joined("8.8.8.8")
        at_home = await joined("1.1.1.1")
        queue = of(page)
        await queue.clean_events(session_hash=running.session)
        await come(lambda: waiting(page) == 3)
        left = {event.session_hash for lane in queue.event_queue_per_concurrency_id.values() for event in lane.queue}
        assert left == {one.session for one in class_of_sixty}, "whose turn is longer ago comes first"
        for one in (*class_of_sixty, at_home):
            await queue.clean_events(session_hash=one.session)

    play(page, tmp_path, scene)


def test_a_program_that_posts_and_then_listens_by_its_jobs_name_gets_its_answer(page: gr.Blocks) -> None:
    posted = httpx.post(f"{page.local_url}gradio_api/call/check", json={"data": [{}]}).json()
    answer = httpx.get(f"{page.local_url}gradio_api/call/check/{posted['event_id']}", timeout=60.0).text
    assert answer.startswith("event: complete")
    assert '"verdict": "unreadable"' in answer or '"ok": false' in answer
