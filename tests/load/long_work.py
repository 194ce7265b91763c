"""What visitors do beyond runs: what loads models anew, trains, or reads many traces; and what nobody listens to.

Place in the flow: `behaviour.ACTIONS` has these beside the short things.
"""

from __future__ import annotations

import asyncio
import json
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from specviz.trace import codec
from tests.load.visitor import PageError, Visitor

if TYPE_CHECKING:
    from tests.load.behaviour import Guest

ENDLESS = 'drafters = ["ngram", "model"]\ngammas = [1, 2, 3, 4]\nrepeats = 9\nmax_new_tokens = 96\n'
"""a sweep of more runs than anybody waits for"""
MEMBERS = 12
"""traces in the zip of an analysis"""


async def race(guest: Guest) -> None:
    """Record a race on a prompt of one's own."""
    number, page = guest.number(), guest.visitor
    prompt = f"Racer {number} says:"
    page.put("sv-race-prompt", prompt)
    await page.do("sv-race-run")
    shown = json.loads(page["sv-race"])
    if prompt not in json.dumps(shown):
        guest.notes.mixed_up.append(f"a race of {prompt!r} shows another prompt, and says {page['sv-race-message']}")


async def audit(guest: Guest) -> None:
    """Have the run on the stage recomputed from the checkpoints."""
    page = guest.visitor
    await page.do("sv-audit")
    if "failed" in page["sv-audit-shown"]:
        raise PageError(f"an audit ended with {page['sv-audit-shown'][:300]}")


async def others(guest: Guest) -> None:
    """Ask what every other drafter would have drafted."""
    page = guest.visitor
    await page.do("sv-ask-others")
    if not page["sv-others"]:
        raise PageError("nothing was said of the other drafters.")


async def train(guest: Guest) -> None:
    """Train, and stop after a few looks; what was learnt is kept until the visitor leaves."""
    await _some_of(guest.visitor, "sv-train", looks=6, stop="sv-train-stop")


async def analyse(guest: Guest) -> None:
    """Hand in a zip of traces and have it counted."""
    number, page = guest.number(), guest.visitor
    trace = codec.read(guest.room.trace)
    file = guest.room.folder / f"{number}.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for place in range(MEMBERS):
            named = replace(trace, started=replace(trace.started, run_id=f"load-{number}-{place}"))
            archive.writestr(f"{number}-{place}.json", codec.dumps(named))
    page.put("sv-analysis-of", "files")
    await page.upload("sv-analysis-files", file, several=True)
    file.unlink()
    if f"{MEMBERS} runs" not in page["sv-analysis-message"]:
        raise PageError(f"an analysis ended with {page['sv-analysis-message']}")


async def abandon_training(guest: Guest) -> None:
    """Close the page while it trains."""
    await _some_of(guest.visitor, "sv-train", looks=4)
    await guest.leave()


async def abandon_race(guest: Guest) -> None:
    """Close the page while a race is recorded."""
    await _some_of(guest.visitor, "sv-race-run", looks=2)
    await guest.leave()


async def unheard(guest: Guest) -> None:
    """Ask for a long sweep as a program may: nothing keeps the page open and nobody listens."""
    stranger = Visitor(guest.room.http, guest.visitor.layout)
    file = guest.room.folder / f"{guest.number()}.toml"
    file.write_text(f'{ENDLESS}prompts = ["{guest.chance.choice(guest.room.prompts)}"]\n', encoding="utf-8")
    await stranger.upload("sv-sweep-upload", file)
    file.unlink()
    event = stranger.layout.event("sv-sweep-run", "click")
    await stranger.happen(event, follow=False)
    await stranger.join(stranger.layout.after(event)[0])


async def _some_of(page: Visitor, button: str, looks: int, stop: str | None = None) -> None:
    """Press the button and look so often at what comes; then press the other and wait for the end, or go."""
    event = page.layout.event(button, "click")
    await page.happen(event, follow=False)
    work = page.layout.after(event)[0]
    async with page.waiting(work) as messages:
        try:
            async with asyncio.timeout(20.0):
                looks = await _look(messages, looks)
        except TimeoutError:
            pass  # it still waits in the queue, which is as good a moment to go
        if stop is not None:
            await page.do(stop)
            while looks >= 0:
                looks = await _look(messages, looks)


async def _look(messages: Any, looks: int) -> int:
    """Follow the job until that many pictures have come; -1 where it has ended."""
    async for message in messages:
        if message["msg"] == "process_completed":
            return -1
        looks -= message["msg"] == "process_generating"
        if looks <= 0:
            return 1
    return -1
