"""The document: the opening stands before Gradio's description of the page, and travels as the browser takes it."""

import gzip
from pathlib import Path

import brotli
import gradio as gr
import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from specviz.app.form.request import Limits
from specviz.app.page.document import Document, arranged, opening
from specviz.app.page.settings import launch_settings
from specviz.app.runs.gallery import gallery
from specviz.trace import codec
from tests.app.doubles import sample
from tests.browser.page_server import free_port
from tests.event_loop import run_to_the_end

DESCRIBED = "<script>window.gradio_config = {};</script>"


def test_the_opening_comes_first_in_the_body_and_the_description_last() -> None:
    document = f"<html><head>{DESCRIBED}<link></head><body id=b><app></app></body></html>"
    expected = f"<html><head><link></head><body id=b>HELLO<app></app>{DESCRIBED}</body></html>"
    assert arranged(document, "HELLO") == expected
    assert arranged("<html></html>", "HELLO") == "<html></html>"


def test_what_gradio_sends_has_the_opening_in_its_first_kilobytes() -> None:
    with gr.Blocks() as small:
        gr.Markdown("small")
    settings = {**launch_settings(Limits(), {}, "<p>HELLO</p>"), "server_port": free_port(), "mcp_server": False}
    _, url, _ = small.launch(prevent_thread_lock=True, quiet=True, **settings)
    try:
        document = httpx.get(url, timeout=60).text
    finally:
        small.close()
    parts = ["<p>HELLO</p>", "<gradio-app", "window.gradio_config = {"]
    assert [document.count(part) for part in parts] == [1, 1, 1]
    assert document.index(parts[0]) < document.index(parts[1]) < document.index(parts[2])
    assert document.index(parts[0]) < 5_000


@pytest.mark.parametrize(("accepted", "how"), [("gzip, deflate, br, zstd", "br"), ("gzip", "gzip"), ("identity", None)])
def test_the_document_alone_is_compressed_as_the_browser_takes_it(accepted: str, how: str | None) -> None:
    page = "page " * 400
    routes = [Route("/", lambda request: HTMLResponse(page)), Route("/other", lambda request: Response(page))]
    served = httpx.ASGITransport(Document(Starlette(routes=routes)))

    async def fetched(path: str) -> tuple[httpx.Headers, bytes]:
        async with (
            httpx.AsyncClient(transport=served, base_url="http://page") as visitor,
            visitor.stream("GET", path, headers={"accept-encoding": accepted}) as answer,
        ):
            return answer.headers, b"".join([part async for part in answer.aiter_raw()])

    headers, sent = run_to_the_end(fetched("/"))
    assert (headers.get("content-encoding"), int(headers["content-length"])) == (how, len(sent))
    assert headers["vary"] == "Accept-Encoding"
    unpacked = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}[how]
    assert (len(sent) < 100, unpacked(sent).decode()) == (how is not None, page)
    headers, sent = run_to_the_end(fetched("/other"))
    assert ("content-encoding" in headers, sent.decode()) == (False, page)


def test_who_asks_for_the_head_alone_is_answered_as_the_application_answers() -> None:
    routes = [Route("/", lambda request: HTMLResponse("page"))]
    served = httpx.ASGITransport(Document(Starlette(routes=routes), "HELLO"))

    async def head() -> httpx.Headers:
        async with httpx.AsyncClient(transport=served, base_url="http://page") as visitor:
            return (await visitor.head("/", headers={"accept-encoding": "br"})).headers

    headers = run_to_the_end(head())
    assert (headers["content-length"], "content-encoding" in headers) == ("4", False)


def test_the_opening_shows_the_round_that_adds_most_and_says_where_it_is_from(tmp_path: Path) -> None:
    codec.write(sample(), tmp_path / "sample.json.gz")
    shown = opening(gallery(tmp_path))
    guessed = "simulated</span> Round 6 of 8: 4 tokens were guessed ahead, and one pass of the big model "
    assert f"{guessed}kept 4 of them and added one of its own." in shown
    assert '<span class="svo-draft">אב</span>' in shown
    assert '<span class="svo-bonus">&lt;/script&gt;</span>' in shown
    assert "<script" not in shown
    (tmp_path / "none").mkdir()
    assert "Round" not in opening(gallery(tmp_path / "none"))
