"""The page's document, compressed on its way: with its scripts, its styles and every control in it, it is three
quarters of all bytes that a first visit takes. Gradio compresses by the ending of an address, and this one has none."""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send


class CompressedDocument(GZipMiddleware):
    """gzip for `/` alone; everything else is Gradio's, streams of events among it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/":
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)
