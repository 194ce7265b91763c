"""What is put on the page's answers on their way: the content security policy, by which nothing is run, shown or asked
for from elsewhere and only a Space may frame it; and gzip for the page's document.

Gradio starts itself by inline scripts and builds components by `new Function`, and both it and Plotly set styles
inline; so scripts and styles may be inline. What a text could still smuggle in has nowhere to load from and nowhere to
send to. Gradio's header of a Space asks huggingface.co for the Space's name and picture, on a Space alone. With its
scripts, its styles and every control in it, the document is three quarters of all bytes that a first visit takes;
Gradio compresses by the ending of an address, and this one has none.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HUB = "https://huggingface.co"
FRAMES = f"'self' {HUB} https://*.hf.space"
"""who may show the page in a frame"""


def policy(on_a_space: bool) -> str:
    """The header's text."""
    hub = f" {HUB}" if on_a_space else ""
    return "; ".join([
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "font-src 'self' data:",
        f"img-src 'self' data: blob:{hub}",
        f"connect-src 'self' data: blob:{hub}",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        f"frame-ancestors {FRAMES}",
    ])  # fmt: skip


class Policy:
    """ASGI middleware that puts it on every answer."""

    def __init__(self, app: ASGIApp, on_a_space: bool) -> None:
        self.app = app
        self.text = policy(on_a_space)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As the application answers, with the policy."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = self.text
                headers["x-content-type-options"] = "nosniff"
            await send(message)

        await self.app(scope, receive, told if scope["type"] == "http" else send)


class CompressedDocument(GZipMiddleware):
    """gzip for `/` alone; everything else is Gradio's, streams of events among it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/":
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)
