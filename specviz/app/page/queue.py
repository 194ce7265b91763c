"""The page's queue: nobody fills it alone, and nothing goes on that nobody hears or that takes too long. And which
network a visitor comes from, by which places are counted: what a stranger cannot choose freely.

    join ─► a place? (own, network's, all) ─► turns of networks ─► Job ─► ends: done · time over · left · never heard

Gradio's own queue takes whatever is posted, runs it in the order of arrival, and asks only between two answers of it
whether anybody listens. Written against Gradio 6.31, which is pinned; tests hold what is relied on. A whole school may
stand behind one address, so what is counted by it is shared by many and must leave room for them.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Protocol
from uuid import uuid4

import gradio as gr
from gradio import queueing, utils

from specviz.app import job as jobs
from specviz.app.form.request import Limits
from specviz.app.job import CURRENT, Job
from specviz.app.look.events import ENGINE, FETCHING, READING, TRAINING

REST_S = 0.02
"""between two looks for work: at Gradio's thousandth of a second a page that nobody uses keeps a core busy for 3.5 % of
the time, beside which runs are timed"""
FORWARDED = "x-forwarded-for"
IPV6_PREFIX = 64
"""bits that a provider gives to one customer, who may choose the others at will"""


class Asked(Protocol):
    """What is looked at of a request."""

    @property
    def client(self) -> object: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


def network_of(request: Asked, behind_proxy: bool) -> str:
    """The visitor's IPv4 address, or the network of their IPv6 address; "" where nothing can be told.

    `behind_proxy`: the server is reached through a proxy alone, as a Space is. Each proxy on the way appends whom it
    heard, after whatever the visitor wrote there themselves: so the last public address counts, and those behind it are
    the host's own machines. Without a proxy the header is the visitor's invention, and only the connection counts.
    """
    named = request.headers.get(FORWARDED, "").split(",") if behind_proxy else []
    connected = str(getattr(request.client, "host", "") or "")
    for one in (*reversed(named), connected):
        address = _address(one)
        if address is not None and (address.is_global or one is connected):
            return _network(address)
    return ""


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.strip())
    except ValueError:
        return None


def _network(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ip_network((address, IPV6_PREFIX), strict=False))


# --- the queue -------------------------------------------------------------------------------------------------------


UNHEARD_S = 20.0
"""a page and `gradio_client` listen at once, and Gradio's stream comes back for more within ten seconds"""
LOOK_S = 1.0
OWN = 1
"""jobs of one session that may wait in a lane whose places are taken"""
OWN_OF = {READING["concurrency_id"]: 2}
"""the Analysis tab asks twice where another tab hands it files: on opening, and for what it is to count"""
SHARE = 0.75
"""of all places may be one network's: a class of sixty behind one address has most of them, and is not alone"""
MOST_NETWORKS = 256
"""whose last turn is remembered"""


class _Messages(asyncio.Queue[Any]):
    """What a session is to hear, and when somebody last listened."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._listening = 0
        self._left_at = 0.0

    @property
    def heard_at(self) -> float:
        return self._clock() if self._listening else self._left_at

    async def get(self) -> Any:
        self._listening += 1
        try:
            return await super().get()
        finally:
            self._listening -= 1
            self._left_at = self._clock()


class FairQueue(queueing.Queue):
    """`queueing.Queue`, with a place for everybody."""

    def __init__(
        self, demo: gr.Blocks, limits: Limits, behind_proxy: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(
            live_updates=True,
            concurrency_count=demo.max_threads,
            update_intervals=1,
            max_size=limits.waiting,
            blocks=demo,
        )
        self.sleep_when_free = REST_S
        self._limits = limits
        self._behind_proxy = behind_proxy
        self._clock = clock
        self._running: dict[str, Job] = {}
        """by event"""
        self._turns: OrderedDict[str, int] = OrderedDict()
        """network → the number of its last turn"""
        self._turn = 0

    def start(self) -> None:
        super().start()  # type: ignore[no-untyped-call]
        utils.run_coro_in_background(self._watch)

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """As Gradio's, but for who has their share already."""
        body.session_hash = body.session_hash or uuid4().hex
        fn = self.blocks.fns.get(body.fn_index)
        refusal = None if fn is None else self._why_not(body.session_hash, self._network(request), fn)
        if refusal is not None:
            jobs.turn_away(body.session_hash, refusal)
            return False, refusal, "queue_full"
        if body.session_hash not in self.pending_messages_per_session:
            self.pending_messages_per_session[body.session_hash] = _Messages(self._clock)
        joined = await super().push(body, request, username)
        event = self.event_ids_to_events.get(str(joined[1])) if joined[0] else None
        if event is not None:
            event.enqueue_time = self._clock()
        return joined

    def get_events(self) -> Any:
        """The next job of each lane is that of the network whose last turn is longest ago; within one, the oldest."""
        for lane in self.event_queue_per_concurrency_id.values():
            if len(lane.queue) > 1 and self._free(lane):
                lane.queue.sort(key=lambda event: self._turns.get(self._network(event.request), 0))
        return super().get_events()

    async def process_events(self, events: Any, batch: bool, begin_time: float, fn: Any) -> None:
        """One event at a time: nothing on the page is a batch."""
        [event] = events
        self._turn += 1
        network = self._network(event.request)
        self._turns[network] = self._turn
        self._turns.move_to_end(network)
        while len(self._turns) > MOST_NETWORKS:
            self._turns.popitem(last=False)
        job = self._running[event._id] = Job(self._seconds(fn.concurrency_id), self._clock)
        CURRENT.set(job)  # of this task, and so of every thread that it has work done in
        try:
            await super().process_events(events, batch, begin_time, fn)
        finally:
            job.leave()
            del self._running[event._id]

    @property
    def begun(self) -> int:
        """How many jobs have begun since the start."""
        return self._turn

    @property
    def is_working(self) -> bool:
        return bool(self._running)

    async def clean_events(self, *, session_hash: str | None = None, event_id: str | None = None) -> None:
        """As Gradio's, which asks for it where a stream was left; what runs learns of it at once."""
        for event in self._active():
            if event.session_hash == session_hash or event._id == event_id:
                self._running[event._id].leave()
        await super().clean_events(session_hash=session_hash, event_id=event_id)

    async def end_unheard(self) -> None:
        """End what nobody has come to hear, in the queue or at work."""
        waiting = [event for lane in self.event_queue_per_concurrency_id.values() for event in lane.queue]
        for event in [*waiting, *self._active()]:
            messages = self.pending_messages_per_session.get(event.session_hash)
            heard_at = max(event.enqueue_time, messages.heard_at if isinstance(messages, _Messages) else 0.0)
            if event.alive and self._clock() - heard_at > UNHEARD_S:
                await self.clean_events(event_id=event._id)
                self._forget(event)

    def _forget(self, event: Any) -> None:
        """What was kept for whoever would have listened."""
        left = self.pending_event_ids_session.get(event.session_hash, set())
        left.discard(event._id)
        if not left:
            self.pending_event_ids_session.pop(event.session_hash, None)
            self.pending_messages_per_session.pop(event.session_hash, None)

    async def _watch(self) -> None:
        while not self.stopped:
            await asyncio.sleep(LOOK_S)
            await self.end_unheard()

    def _active(self) -> list[Any]:
        return [event for events in self.active_jobs for event in events or () if event._id in self._running]

    def _why_not(self, session: str, network: str, fn: Any) -> str | None:
        """A sentence where a lane's places are taken and this session, or its network, has its share of those who
        wait."""
        lane = self.event_queue_per_concurrency_id.get(fn.concurrency_id)
        if lane is None:
            return None
        free = self._free(lane)
        own = sum(event.session_hash == session for event in lane.queue)
        if own >= OWN_OF.get(fn.concurrency_id, OWN) + free:
            return "You already have a job in the queue; wait until it has begun, or stop it."
        theirs = sum(self._network(event.request) == network for event in lane.queue)
        if self.max_size is not None and theirs >= self._most_of_a_network() + free:
            return f"Your network already has its {theirs} places in the queue; try again in a moment."
        return None

    def _free(self, lane: Any) -> int:
        """How many more jobs can begin in the lane."""
        return max(0, int(lane.concurrency_limit or self.max_thread_count) - int(lane.current_concurrency))

    def _most_of_a_network(self) -> int:
        assert self.max_size is not None
        return self.max_size - int(self.max_size * (1 - SHARE))

    def _network(self, request: Any) -> str:
        return network_of(request, self._behind_proxy)

    def _seconds(self, lane: str) -> float:
        """That a job in the lane may take; small answers take what reading takes at most."""
        by_lane = {
            ENGINE["concurrency_id"]: self._limits.engine_seconds,
            FETCHING["concurrency_id"]: self._limits.engine_seconds,
            TRAINING["concurrency_id"]: self._limits.training_seconds,
        }
        return by_lane.get(lane, self._limits.reading_seconds)


def fair_queue(demo: gr.Blocks, limits: Limits, behind_proxy: bool) -> FairQueue:
    """Put it in place of Gradio's. Call it before the page is launched."""
    queue = demo._queue = FairQueue(demo, limits, behind_proxy)
    return queue
