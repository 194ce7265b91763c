"""The page's events as anybody may post them: values of other types, of no type at all, too many and too few, texts of
any length, fields of an event missing. Each is answered, or refused in one sentence; nothing is written to the log.

`python -m tests.fuzz --events 40` posts so many times to every event of the page; the tests take a part of them.
"""

import logging
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing, redirect_stderr
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr

from specviz.app.form.request import Limits
from specviz.app.page.build import build
from specviz.app.page.sessions import Session
from specviz.app.runs.gallery import gallery
from tests.app.doubles import SAMPLE, ReplaySource, sample
from tests.event_loop import run_to_the_end
from tests.fuzz.doors import FaultError, sentence
from tests.fuzz.mutations import ASSETS

HUGE = 10**4_000
LONGEST_S = 20.0
"""of the processor, for one event: what takes longer is looked into"""
SCALARS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3.5, 1e300, -1e300, float("nan"), float("inf"), HUGE, 2**53, "", " ", "0", "-1",
    "1e999", "nan", "none", "{}", "[]", "null", "{", "\0", "\ud800", "é🌳", "<img src=x onerror=alert(1)>",
    "../../etc/passwd", "9" * 5_000, "x" * 100_000, "[" * 100_000, '{"a":' * 50_000, "0x" + "f" * 5_000,
)  # fmt: skip
NESTED: tuple[Any, ...] = (
    [], {}, [None], [[]], [1, "a", None], {"path": "/etc/passwd"}, {"path": None, "meta": {"_type": "gradio.FileData"}},
    {"value": None}, {"__type__": "update", "visible": True}, [{"path": "x", "meta": {"_type": "gradio.FileData"}}],
)  # fmt: skip
EVENTS: tuple[Any, ...] = (
    None, 1, "x", [], {}, {"index": None}, {"round": "x", "node": -1}, {"round": HUGE, "token": 1.5},
    {"file": 7, "files": 7}, {"file": "../x", "files": [7]}, {"run": "none", "round": 3, "node": True, "found": 1},
    {"run": [], "tab": {}, "set": "x", "ask": "x", "choose": "[", "text": 9, "doc": "../x"},
    {"index": HUGE, "value": {}}, {"round": 0, "token": -1},
)  # fmt: skip


def page(folder: Path) -> gr.Blocks:
    """The whole page over recorded rounds, its shipped recordings among them."""
    return build(ReplaySource(sample()), gallery(ASSETS / "traces"), Limits(any_model=False), sweeps=folder)


def values_for(function: Any, rng: random.Random) -> list[Any]:
    """What may be posted to it: mostly what its controls hold, and one or all of them something else."""
    held = [getattr(one, "value", None) for one in function.inputs]
    held = [
        SAMPLE.read_text() if type(one).__name__ == "Player" else value
        for one, value in zip(function.inputs, held, strict=True)
    ]
    way = rng.random()
    if way < 0.1:
        return [*held, rng.choice(SCALARS)] if rng.random() < 0.5 else held[:-1]
    changed = range(len(held)) if way < 0.3 else [rng.randrange(len(held))] if held else []
    for at in changed:
        held[at] = rng.choice(SCALARS if rng.random() < 0.75 else NESTED)
    return held


async def posted(demo: gr.Blocks, function: Any, values: Sequence[Any], event: Any) -> str:
    """What the page says of it: taken, or refused. Raises FaultError where it says what no visitor should see."""
    visitor = gr.Request(session_hash="fuzz", request=SimpleNamespace(client=None, headers={}, query_params={}))  # type: ignore[arg-type]
    try:
        found = await demo.process_api(
            function, list(values), Session(demo), visitor, event_data=gr.EventData(None, event), session_hash="fuzz"
        )
    except gr.Error as error:
        if error.print_exception:
            raise FaultError(f"a traceback for {error.message[:200]!r}") from error
        return sentence(str(error.message))
    iterator = found.get("iterator")
    if iterator is not None and hasattr(iterator, "aclose"):
        async with aclosing(iterator):
            pass
    return "taken"


class Heard(logging.Handler):
    """What the log says."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {type(record.exc_info[1]).__name__}: {str(record.exc_info[1])[:200]}"
        self.lines.append(text)


def outcomes(demo: gr.Blocks, numbers: Sequence[int], times: int, seed: int) -> Iterator[tuple[str, str]]:
    """(event, what went wrong) of everything that is posted; empty where it is as it should be."""
    heard = Heard()
    logging.getLogger("specviz").addHandler(heard)
    try:
        for number in numbers:
            function = demo.fns[number]
            for at in range(times):
                rng = random.Random(f"{seed} {number} {at}")
                values, event = values_for(function, rng), rng.choice(EVENTS)
                said, begun = StringIO(), time.process_time()
                try:
                    with redirect_stderr(said):
                        run_to_the_end(posted(demo, function, values, event))
                    wrong = ""
                except FaultError as fault:
                    wrong = str(fault)
                except Exception as error:
                    wrong = f"{type(error).__name__}: {error}"[:300]
                traced = said.getvalue()[-300:] if "Traceback" in said.getvalue() else ""
                wrong = "; ".join(filter(None, [wrong, *heard.lines, traced]))
                if time.process_time() - begun > LONGEST_S:
                    wrong += f"; took {time.process_time() - begun:.0f} s of the processor"
                heard.lines.clear()
                shown = ", ".join(ascii(one)[:40] for one in values)[:200]
                yield f"{number} {function.api_name}({shown}) {ascii(event)[:60]}", wrong
    finally:
        logging.getLogger("specviz").removeHandler(heard)


def everything(folder: Path, times: int, seed: int) -> Iterator[tuple[str, str]]:
    """`outcomes` of every event of the page that the server has a function for."""
    demo = page(folder)
    yield from outcomes(demo, [number for number, function in demo.fns.items() if function.fn], times, seed)
