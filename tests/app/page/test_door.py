"""Whatever is posted to the served page: events that it cannot have sent are answered in a sentence, before Gradio."""

import json
from collections.abc import Iterator
from typing import Any

import gradio as gr
import httpx
import pytest

from specviz.app.form.request import Limits
from specviz.app.page.door import Door
from tests.app.doubles import ReplaySource, sample
from tests.browser.page_server import serving
from tests.event_loop import run_to_the_end

JOIN, RUN, CALL = "/gradio_api/queue/join", "/gradio_api/run/predict", "/gradio_api/call"
SERVER = "/gradio_api/component_server"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gr.Blocks]:
    with serving(
        ReplaySource(sample()), tmp_path_factory.mktemp("recorded"), Limits(any_model=False), ["watch"]
    ) as page:
        yield page


@pytest.fixture
def visitor(demo: gr.Blocks) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=demo.local_url, timeout=60) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        (JOIN, b"{", 400, "The event cannot be read as JSON (JSONDecodeError)."),
        (JOIN, b"[" * 200_000, 400, "The event cannot be read as JSON (RecursionError)."),
        (JOIN, b'{"fn_index": 1' + b"0" * 5_000 + b"}", 400, "The event cannot be read as JSON (ValueError)."),
        (JOIN, b"[1]", 400, "The event is [1], but must be an object."),
        (JOIN, {"fn_index": 9_999, "data": [], "session_hash": "a"}, 404, "The page has no event 9999."),
        (JOIN, {"fn_index": True, "data": [], "session_hash": "a"}, 404, "The page has no event True."),
        (JOIN, {"fn_index": "x", "data": [], "session_hash": "a"}, 404, "The page has no event 'x'."),
        (JOIN, {"fn_index": 0, "data": {}, "session_hash": "a"}, 400, "data is {}, but must be a list of values."),
        (JOIN, {"fn_index": 0, "session_hash": "a"}, 400, "data is None, but must be a list of values."),
        (JOIN, {"fn_index": 0, "data": [1, 2], "session_hash": "a"}, 400, "data has 2 values, but this event takes 0."),
        (JOIN, {"fn_index": 0, "data": [], "session_hash": 7}, 400, "session_hash is 7, but must be up to 64"),
        (JOIN, {"fn_index": 0, "data": [], "session_hash": "a" * 65}, 400, "but must be up to 64 characters of text."),
        (JOIN, {"fn_index": 0, "data": [], "session_hash": "a", "batched": True}, 400, "Events come one at a time"),
        (JOIN, {"data": [], "session_hash": "a"}, 404, "There is no endpoint called None; there are catalogue, check"),
        (RUN, {"data": []}, 404, "There is no endpoint called 'predict'; there are catalogue, check, run, sweep."),
        (f"{CALL}/pick", {"data": []}, 404, "There is no endpoint called 'pick'; there are catalogue, check, run, sw"),
        (f"{CALL}/run", {"data": [1]}, 400, "data has 1 values, but this event takes 12."),
        (f"{CALL}/v2/open", {}, 404, "There is no endpoint called 'open'"),
        (SERVER, {"component_id": -1, "session_hash": "a"}, 404, "The page has no component -1."),
    ],
)
def test_an_event_that_the_page_cannot_have_sent_is_one_sentence(
    visitor: httpx.Client, capfd: pytest.CaptureFixture[str], path: str, body: Any, status: int, said: str
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = visitor.post(path, content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text[:300]
    assert "Traceback" not in "".join(capfd.readouterr())


def test_an_event_without_an_end_is_read_no_further_than_the_longest_that_is_taken() -> None:
    megabytes, answers = 0, []

    async def endless() -> dict[str, Any]:
        nonlocal megabytes
        megabytes += 1
        return {"type": "http.request", "body": b" " * 2**20, "more_body": True}

    async def send(message: Any) -> None:
        answers.append(message)

    async def page(*_: object) -> None:
        raise AssertionError("it went through")

    scope = {"type": "http", "method": "POST", "path": JOIN, "headers": []}
    run_to_the_end(Door(page)(scope, endless, send))
    assert (megabytes, answers[0]["status"]) == (65, 413)


def test_what_waits_in_the_queue_cannot_be_posted_past_it(visitor: httpx.Client, demo: gr.Blocks) -> None:
    waiting = [fn for fn in demo.fns.values() if fn.queue and fn.fn]
    assert {"run", "check", "sweep"} <= {fn.api_name for fn in waiting}
    for fn in waiting:
        body = {"fn_index": fn._id, "data": [None] * len(fn.inputs), "session_hash": "a"}
        answer = visitor.post(RUN, json=body)
        assert (answer.status_code, "join the queue" in answer.text) == (404, True), fn.api_name


@pytest.mark.parametrize(
    "path",
    [
        "deep_link",
        "runs",
        "run-history/buckets",
        "proxy=https://example.com",
        "dev/reload",
        "stream/a/b/1/playlist.m3u8",
        "custom_component/a/client/component",
    ],
)
def test_routes_that_the_page_does_not_use_are_closed(visitor: httpx.Client, path: str) -> None:
    answer = visitor.get(f"/gradio_api/{path}")
    assert (answer.status_code, answer.json()) == (404, {"detail": "This page does not offer that."})


def test_the_page_and_its_events_go_through(visitor: httpx.Client, demo: gr.Blocks) -> None:
    assert visitor.get("/").status_code == 200
    assert visitor.get("/gradio_api/info").status_code == 200
    assert visitor.post("/gradio_api/run/catalogue", json={"data": []}).json()["data"][0]["drafters"]
    joined = visitor.post(f"{CALL}/check", json={"data": [{}]})
    assert list(joined.json()) == ["event_id"]
