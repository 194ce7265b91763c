"""A visitor without a browser: asks the page's server for what the page in a browser would ask, and keeps its values.

    GET /config ─► components and their values ─► an event by its control ─► what came back, in the values again

Only what the server sees: the player, which steps through a run in the browser, sends nothing.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

PATIENCE_S = 900.0
"""a visitor waits so long for one answer: half an hour of queue is a fault, a few minutes are not"""


class TurnedAwayError(Exception):
    """The queue is full and says so; the text is its sentence."""


class PageError(Exception):
    """An answer that no visitor should see."""


@dataclass
class Layout:
    """The page as its configuration tells it; the same for all visitors."""

    config: dict[str, Any]
    by_name: dict[str, int] = field(default_factory=dict)
    """element id → component"""

    def __post_init__(self) -> None:
        for one in self.config["components"]:
            name = one.get("props", {}).get("elem_id")
            if name:
                self.by_name[name] = one["id"]

    def values(self) -> dict[int, Any]:
        return {one["id"]: one.get("props", {}).get("value") for one in self.config["components"]}

    def event(self, name: str, kind: str) -> dict[str, Any]:
        """The event that the server answers when `kind` happens to the control."""
        wanted = [self.by_name[name], kind]
        found = [one for one in self._answered() if wanted in one["targets"]]
        if not found:
            raise PageError(f"nothing on the page answers {kind} of {name}.")
        return found[0]

    def of_page(self, kind: str) -> list[dict[str, Any]]:
        """What happens to the page as a whole: `load`."""
        return [one for one in self._answered() if any(event == kind for _, event in one["targets"])]

    def after(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """What follows from it when it succeeded."""
        following = [one for one in self._answered() if one.get("trigger_after") == event["id"]]
        return [one for one in following if not one["trigger_only_on_failure"]]

    def choices(self, name: str) -> list[Any]:
        """The values that a control offers."""
        wanted = self.by_name[name]
        props = next(one["props"] for one in self.config["components"] if one["id"] == wanted)
        return [value for _, value in props["choices"]]

    def labelled(self, label: str) -> int:
        """The first control with that label."""
        return next(one["id"] for one in self.config["components"] if one["props"].get("label") == label)

    def _answered(self) -> list[dict[str, Any]]:
        return [one for one in self.config["dependencies"] if one["backend_fn"]]


class Visitor:
    """One open page."""

    def __init__(self, http: httpx.AsyncClient, layout: Layout) -> None:
        self.layout = layout
        self._http = http
        self.session = uuid.uuid4().hex[:11]
        self._values = layout.values()
        self._heartbeat: asyncio.Task[None] | None = None

    @staticmethod
    async def look(http: httpx.AsyncClient) -> Layout:
        """The page that is served there."""
        return Layout((await http.get("/config")).raise_for_status().json())

    async def open(self) -> None:
        """The page and its first events; from now on the server knows that somebody looks."""
        (await self._http.get("/")).raise_for_status()
        (await self._http.get("/config")).raise_for_status()
        self._heartbeat = asyncio.create_task(self._stay())
        for event in self.layout.of_page("load"):
            await self.happen(event)

    async def leave(self) -> None:
        """Close the page: whatever it asked for goes on or not, nobody looks."""
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            await asyncio.gather(self._heartbeat, return_exceptions=True)
            self._heartbeat = None

    def __getitem__(self, name: str) -> Any:
        return self._values[self.layout.by_name[name]]

    def start_over(self) -> None:
        """All controls as they were when the page opened."""
        self._values = self.layout.values()

    def put(self, name: str, value: Any) -> None:
        """Type into a control, or choose in it."""
        self._values[self.layout.by_name[name]] = value

    def labelled(self, label: str) -> Any:
        """The value of the first control with that label."""
        return self._values[self.layout.labelled(label)]

    def put_labelled(self, label: str, value: Any) -> None:
        self._values[self.layout.labelled(label)] = value

    async def do(self, name: str, kind: str = "click") -> None:
        """The event of a control and all that follows from it. Raises TurnedAwayError or PageError."""
        await self.happen(self.layout.event(name, kind))

    async def happen(self, event: dict[str, Any], follow: bool = True) -> None:
        """The event alone, or with all that follows from it."""
        if event["queue"]:
            async with self.waiting(event) as messages:
                async for message in messages:
                    if message["msg"] == "process_completed":
                        self._take(event, message["output"], message["success"])
                        break
        else:
            answer = await self._http.post("/gradio_api/run/predict", json=self._body(event))
            if answer.status_code != 200:
                raise PageError(f"{answer.status_code}: {answer.text[:300]}")
            self._take(event, answer.json(), True)
        for following in self.layout.after(event) if follow else ():
            await self.happen(following)

    @asynccontextmanager
    async def waiting(self, event: dict[str, Any]) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Join the queue; what the server says about the job, until the block is left."""
        job = await self.join(event)
        where = "/gradio_api/queue/data"
        async with self._http.stream("GET", where, params={"session_hash": self.session}) as stream:
            yield _messages(stream, job)

    async def join(self, event: dict[str, Any]) -> str:
        """Join the queue; the job's id. Raises TurnedAwayError where there is no place."""
        joined = await self._http.post("/gradio_api/queue/join", json=self._body(event))
        if joined.status_code == 503:
            raise TurnedAwayError(joined.json()["detail"])
        if joined.status_code != 200:
            raise PageError(f"{joined.status_code}: {joined.text[:300]}")
        job: str = joined.json()["event_id"]
        return job

    async def upload(self, name: str, path: Path, several: bool = False) -> None:
        """Hand in a file through an upload button, or through a control that takes `several`."""
        with path.open("rb") as file:
            answer = await self._http.post("/gradio_api/upload", files={"files": (path.name, file)})
        answer.raise_for_status()
        there = {"path": answer.json()[0], "orig_name": path.name, "meta": {"_type": "gradio.FileData"}}
        self.put(name, [there] if several else there)
        await self.do(name, "upload")

    async def download(self, file: dict[str, Any]) -> bytes:
        """A file that the page offers."""
        answer = await self._http.get(f"/gradio_api/file={file['path']}")
        return answer.raise_for_status().content

    async def _stay(self) -> None:
        async with self._http.stream("GET", f"/gradio_api/heartbeat/{self.session}") as stream:
            async for _ in stream.aiter_bytes():
                pass

    def _body(self, event: dict[str, Any]) -> dict[str, Any]:
        states = {one["id"] for one in self.layout.config["components"] if one["type"] == "state"}
        data = [None if one in states else self._values.get(one) for one in event["inputs"]]
        return {"data": data, "fn_index": event["id"], "session_hash": self.session, "trigger_id": None}

    def _take(self, event: dict[str, Any], output: dict[str, Any], success: bool) -> None:
        if not success or "data" not in output:
            raise PageError(f"event {event['api_name']}: {output.get('error') or output}")
        for component, value in zip(event["outputs"], output["data"], strict=False):
            if isinstance(value, dict) and value.get("__type__") == "update":
                if "value" in value:
                    self._values[component] = value["value"]
            else:
                self._values[component] = value


async def _messages(stream: httpx.Response, job: str) -> AsyncIterator[dict[str, Any]]:
    """Those about the job; the others of a page's stream are left out."""
    async for line in stream.aiter_lines():
        if not line.startswith("data:"):
            continue
        message = json.loads(line[5:])
        if message["msg"] == "unexpected_error":
            raise PageError(str(message.get("message")))
        if message.get("event_id") == job:
            yield message
        if message["msg"] == "close_stream":
            return
    raise PageError("the server closed the stream before the job was done.")


def client(address: str, visitors: int) -> httpx.AsyncClient:
    """One connection pool for all visitors."""
    limits = httpx.Limits(max_connections=6 * visitors + 10, max_keepalive_connections=visitors)
    return httpx.AsyncClient(base_url=address, timeout=httpx.Timeout(PATIENCE_S), limits=limits, follow_redirects=True)
