"""What visitors do, and how each of them knows that the answer was theirs.

Every run, sweep and file of a visitor carries a number that nobody else has (a seed, a run id); it must be in what
comes back. `Notes` collects what happened.
"""

import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from specviz.trace import codec
from tests.load import long_work
from tests.load.visitor import Layout, PageError, TurnedAwayError, Visitor

QUEUE_FULL = "queue"
"""a word of the one sentence with which a visitor may be turned away"""
ERROR = "sv-message-error"
"""the class of a line that says what went wrong"""
DRAFTERS = ("model", "ngram", "suffix", "none")
TOKENS = (16, 32, 64)
SWEEP = 'title = "load {number}"\ndrafters = ["ngram"]\ngammas = [2]\nprompts = ["{prompt}"]\n' + (
    "max_new_tokens = 8\nseed = {number}\n"
)
NUMBERS = count(100_001)


@dataclass
class Notes:
    """What happened, over all visitors of a round."""

    done: Counter[str] = field(default_factory=Counter)
    turned_away: Counter[str] = field(default_factory=Counter)
    """by the sentence"""
    errors: list[str] = field(default_factory=list)
    mixed_up: list[str] = field(default_factory=list)
    """somebody else's answer"""
    waited: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """by what was done: seconds from asking to the whole answer"""
    left: dict[int, float] = field(default_factory=dict)
    """seed of a run that was left half-way → when its visitor was gone"""

    def expect(self, what: str, wanted: object, got: object) -> None:
        if wanted != got:
            self.mixed_up.append(f"{what}: asked for {wanted!r}, got {got!r}")


@dataclass(frozen=True)
class Room:
    """Where they meet."""

    http: httpx.AsyncClient
    layout: Layout
    notes: Notes
    folder: Path
    """for the files that they hand in"""
    trace: Path
    """what they hand in, but for its run id"""
    prompts: Sequence[str]
    """ids of the prompt set"""
    pause_s: float
    """between one thing and the next, on average"""
    long_tokens: int = 96
    """of a run that is left half-way"""
    stays_s: tuple[float, float] = (2.0, 20.0)
    """the shortest and the longest that a visitor waits before they leave it"""


@dataclass
class Guest:
    """A visitor with something to do."""

    room: Room
    visitor: Visitor
    chance: random.Random
    gone: bool = False

    @property
    def notes(self) -> Notes:
        return self.room.notes

    def number(self) -> int:
        """One that nobody else has."""
        return next(NUMBERS)

    async def leave(self) -> None:
        """Close the page; somebody else sits down."""
        await self.visitor.leave()
        self.gone = True

    async def act(self, name: str) -> None:
        """One thing; what went wrong is noted, in one line."""
        begun = time.monotonic()
        try:
            await ACTIONS[name](self)
            self.notes.done[name] += 1
            self.notes.waited[name].append(time.monotonic() - begun)
        except TurnedAwayError as error:
            self.notes.turned_away[str(error)] += 1
            if QUEUE_FULL not in str(error).lower():
                self.notes.errors.append(f"{name}: turned away with another sentence: {error}")
        except (PageError, httpx.HTTPError, KeyError, ValueError) as error:
            self.notes.errors.append(f"{name}: {type(error).__name__}: {error}")


def trace_on(player: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(player)
    return found


async def step(guest: Guest) -> None:
    """Open a recorded run."""
    page, notes = guest.visitor, guest.notes
    file = guest.chance.choice(page.layout.choices("sv-recorded"))
    page.put("sv-recorded", file)
    await page.do("sv-recorded", "input")
    shown = trace_on(page["sv-player"])["started"]
    notes.expect(f"the recording {file}", (False, shown["prompt_text"]), (shown["source"] == "live", page["sv-prompt"]))


async def run(guest: Guest) -> None:
    """Run live, and look whether it is one's own."""
    number = _ask(guest)
    page = guest.visitor
    await page.do("sv-run")
    if ERROR in page["sv-message"]:
        raise PageError(f"a run of {page['sv-drafter']} at {page['sv-temperature']}: {page['sv-message']}")
    shown = trace_on(page["sv-player"])
    if shown["finished"] is None or shown["finished"]["reason"] not in ("length", "eos", "stop"):
        raise PageError(f"a run ended with {page['sv-message']}")
    own = (number, f"Visitor {number} says:")
    guest.notes.expect("a run", own, (shown["started"]["seed"], shown["started"]["prompt_text"]))


async def sweep(guest: Guest) -> None:
    """Hand in a sweep file and run it."""
    number, page = next(NUMBERS), guest.visitor
    prompt = guest.chance.choice(guest.room.prompts)
    file = guest.room.folder / f"{number}.toml"
    file.write_text(SWEEP.format(number=number, prompt=prompt), encoding="utf-8")
    await page.upload("sv-sweep-upload", file)
    file.unlink()
    await page.do("sv-sweep-run")
    offered = page.labelled("Results as JSON")
    if not offered:
        raise PageError(f"a sweep ended with {page['sv-sweep-message']}")
    result = json.loads(await page.download(offered))
    found = (result["definition"]["seed"], result["definition"]["title"], {one["prompt"] for one in result["points"]})
    guest.notes.expect("a sweep", (number, f"load {number}", {prompt}), found)


async def upload(guest: Guest) -> None:
    """Open a trace file."""
    number, page = next(NUMBERS), guest.visitor
    trace = codec.read(guest.room.trace)
    file = guest.room.folder / f"{number}.json"
    codec.write(replace(trace, started=replace(trace.started, run_id=f"load-{number}")), file)
    await page.upload("sv-upload", file)
    file.unlink()
    guest.notes.expect("an uploaded trace", f"load-{number}", trace_on(page["sv-player"])["started"]["run_id"])


async def chart(guest: Guest) -> None:
    """Look at a chart of the lab and take its numbers."""
    page = guest.visitor
    page.put("sv-lab-choice", guest.chance.choice(page.layout.choices("sv-lab-choice")))
    await page.do("sv-lab-choice", "change")
    offered = page["sv-lab-csv"]
    if offered:
        await page.download(offered)


async def leave(guest: Guest) -> None:
    """Ask for a long run and close the page half-way, perhaps before it began."""
    number = _ask(guest, guest.room.long_tokens)
    page = guest.visitor
    first = page.layout.event("sv-run", "click")
    await page.happen(first, follow=False)
    patience = guest.chance.randint(1, 6)
    async with page.waiting(page.layout.after(first)[0]) as messages:
        try:
            async with asyncio.timeout(guest.chance.uniform(*guest.room.stays_s)):
                async for message in messages:
                    patience -= message["msg"] == "process_generating"
                    if patience <= 0 or message["msg"] == "process_completed":
                        break
        except TimeoutError:
            pass
    await guest.leave()
    guest.notes.left[number] = time.monotonic()


ACTIONS: dict[str, Callable[[Guest], Awaitable[None]]] = {
    one.__name__: one
    for one in (
        step, run, sweep, upload, chart, leave, long_work.race, long_work.audit, long_work.others, long_work.train,
        long_work.analyse, long_work.abandon_training, long_work.abandon_race, long_work.unheard,
    )
}  # fmt: skip
LIKELY = {
    "step": 10, "run": 8, "sweep": 2, "upload": 4, "chart": 4, "leave": 2, "race": 1, "audit": 2, "others": 2,
    "train": 1, "analyse": 2, "abandon_training": 1, "abandon_race": 1, "unheard": 1,
}  # fmt: skip
"""how often each is done, as weights"""


def _ask(guest: Guest, tokens: int | None = None) -> int:
    """Fill in a run that nobody else asks for; its seed."""
    number, page = next(NUMBERS), guest.visitor
    page.start_over()  # the last recording may have filled in a target that is not here
    page.put("sv-prompt", f"Visitor {number} says:")
    page.put("sv-drafter", guest.chance.choice([one for one in DRAFTERS if one in page.layout.choices("sv-drafter")]))
    page.put("sv-temperature", guest.chance.choice((0.0, 0.8)))
    page.put_labelled("seed", number)
    page.put_labelled("new tokens", tokens or guest.chance.choice(TOKENS))
    return number


async def sit(room: Room, chance: random.Random, until: Callable[[], bool]) -> None:
    """One seat in the room: a visitor does one thing after another; where one has left, the next sits down."""
    while not until():
        guest = Guest(room, Visitor(room.http, room.layout), chance)
        await guest.visitor.open()
        room.notes.done["open"] += 1
        while not until() and not guest.gone:
            await asyncio.sleep(chance.uniform(0, 2 * room.pause_s))
            await guest.act(chance.choices(list(LIKELY), list(LIKELY.values()))[0])
        await guest.visitor.leave()
