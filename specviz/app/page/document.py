"""The document: what a browser is sent first, so arranged that a slow connection shows something in its first seconds.

    Gradio's document ─► its description of the page behind what is seen, an opening before it ─► brotli or gzip

Gradio describes the whole page in the document's head: some hundred kilobytes, before which nothing can be drawn. The
opening is words and one recorded round without a script; it leaves once the player is there. Written against Gradio
6.31, which is pinned; a test holds what is relied on. Knows no tab.
"""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from html import escape

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.app.runs.gallery import Gallery
from specviz.resources import asset_path, read_text
from specviz.trace.characters import token_alone
from specviz.trace.events import Round, Trace

TITLE = "SpecViz"
SENTENCES = (
    "A small model guesses a few tokens (pieces of words) ahead; the big one checks all of them in one pass. "
    "The text stays the big one's own; only the time changes."
)
DESCRIPTION = re.compile(r"<script>window\.gradio_config = .*?</script>", re.DOTALL)
"""written by Gradio without a `<` in its texts"""
BODY, END = re.compile(r"<body[^>]*>"), "</body>"
QUALITY = {"br": 6, "gzip": 6}
"""higher takes two or three times as long and saves three per cent"""


def opening(recorded: Gallery) -> str:
    """What stands in place of the page until it is there: its words, and the round with which it opens."""
    example = _round(recorded.read(recorded.first)) if recorded.first else ""
    style = read_text(asset_path("css", "tokens.css")) + read_text(asset_path("css", "opening.css"))
    return (
        f'<style>{style}</style><div id="sv-opening"><p class="svo-title"><b>{TITLE}</b> <span>{SENTENCES}</span></p>'
        f"{example}<p><noscript>It needs JavaScript. </noscript>The page is loading…</p></div>"
    )


def _round(trace: Trace) -> str:
    """The first of the rounds that add the most tokens, with which the player begins too."""
    index, this = max(enumerate(trace.rounds), key=lambda numbered: len(numbered[1].committed.tokens))
    drafted, kept = len(this.nodes) - 1, len(this.judged.path)
    ending = "" if this.committed.tokens[-1].origin == "draft" else " and added one of its own"
    return (
        f'<p><span class="svo-source">{trace.started.source}</span> Round {index + 1} of {len(trace.rounds)}: '
        f"{drafted} tokens were guessed ahead, and one pass of the big model kept {kept} of them{ending}.</p>"
        f'<p class="svo-text">{_text(trace, this)}</p>'
    )


def _text(trace: Trace, this: Round) -> str:
    """The tokens that the round adds, each with its origin, behind the one it began with."""
    spans = [("root", this.nodes[0].token), *((added.origin, added.token) for added in this.committed.tokens)]
    return "".join(f'<span class="svo-{origin}">{escape(token_alone(trace, token))}</span>' for origin, token in spans)


def arranged(document: str, first: str) -> str:
    """Gradio's document with `first` at the beginning of its body, and its description at the end; scripts that read
    it are modules, which wait for the end."""
    description, body = DESCRIPTION.search(document), BODY.search(document)
    if description is None or body is None:
        return document
    head, before = document[: description.start()], document[description.end() : body.end()]
    shown, after = document[body.end() :].split(END, 1)
    return "".join([head, before, first, shown, description[0], END, after])


class Document:
    """ASGI middleware for `/` alone; everything else is Gradio's, streams of events among it."""

    def __init__(self, app: ASGIApp, first: str = "") -> None:
        """`first`: HTML that is seen until the page is there."""
        self.app = app
        self._first = first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As the application answers; a whole document is arranged and compressed as the browser takes it."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        accepted = Headers(scope=scope).get("accept-encoding", "")
        start: Message = {}
        parts: list[bytes] = []

        async def gathered(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                how = next((how for how in QUALITY if how in accepted), "")
                body = _sent(b"".join(parts), self._first, how)
                headers = MutableHeaders(scope=start)
                headers["content-length"] = str(len(body))
                headers.add_vary_header("Accept-Encoding")
                if how:
                    headers["content-encoding"] = how
                await send(start)
                await send({"type": "http.response.body", "body": body})

        await self.app(scope, receive, gathered)


@lru_cache(maxsize=2)
def _sent(document: bytes, first: str, how: str) -> bytes:
    """All visitors are sent the same; to compress it takes a twentieth of a second."""
    body = arranged(document.decode(), first).encode()
    if how == "br":
        packed: bytes = brotli.compress(body, quality=QUALITY[how])
        return packed
    return gzip.compress(body, QUALITY[how], mtime=0) if how else body
