"""Runs a coroutine to its end whatever runs in the test process: a browser test leaves an event loop in its thread, and
`asyncio.run` refuses a second one there."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def run_to_the_end(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """What the coroutine returns or raises, from a thread of its own."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, coroutine).result()
