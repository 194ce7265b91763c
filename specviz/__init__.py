"""SpecViz: watch speculative decoding think, step by step, with real models and true numbers.

The public interface: `run` decodes a prompt and gives the trace, `read` and `write` keep traces in files, `check` says
whether one is true to itself, `record` watches the runs of another engine. Importing this loads neither torch nor
pydantic; each function brings what it needs.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.version import __version__

if TYPE_CHECKING:
    from specviz import record
    from specviz.protocol.runs import TraceSource
    from specviz.trace.events import Trace
    from specviz.trace.structure import Problem

__all__ = ["Trace", "__version__", "check", "read", "record", "run", "write"]


def run(prompt: str, **settings: Any) -> Trace:
    """Decode `prompt` with real models and give the whole trace.

    `settings` are the fields of `specviz.protocol.runs.RunRequest`: `drafter`, `verifier`, `target`, `temperature`,
    `seed`, `max_new_tokens` and so on; what is left out is as on the command line. A method's options stand apart, as
    `drafter="model", drafter_options={"gamma": 4}`, or with it, as `drafter=Choice("model", {"gamma": 4})`.
    Models stay loaded for later runs. Raises OptionError, PairingError, PromptError or ModelError with one sentence
    where the run cannot be made. Needs the extra `engine`.
    """
    from specviz.errors import OptionError
    from specviz.protocol.choice import renamed, with_choices
    from specviz.protocol.runs import RunRequest, setting_names
    from specviz.trace.codec import assemble

    known = setting_names()
    for name in renamed(settings):
        if name not in known:
            raise OptionError(f"a run has no setting '{name}'; it has {', '.join(known)}.")
    return _shown(assemble(_engine().run(RunRequest(prompt, **{"stepwise": False, **with_choices(settings)}))))


def read(path: str | Path) -> Trace:
    """A trace from a `.json` or `.json.gz` file. Raises TraceError for whatever is none."""
    from specviz.trace import codec

    return _shown(codec.read(path))


def write(trace: Trace, path: str | Path) -> None:
    """Keep a trace in a file, compressed where the name ends in `.gz`."""
    from specviz.trace import codec

    codec.write(trace, path)


def check(trace: Trace) -> list[Problem]:
    """Where the trace contradicts itself, as `specviz check` reports it: place, sentence and severity."""
    from specviz.trace.check import check

    return check(trace)


def _shown(trace: Trace) -> Trace:
    """The same trace, which from now on shows itself as the player in a notebook."""
    from specviz.trace import codec, notebook

    def player(shown: Trace) -> str | None:
        from specviz.app.components.standalone import notebook_html

        return notebook_html(codec.dumps(shown))

    notebook.draw_with(player)
    return trace


@cache
def _engine() -> TraceSource:
    from specviz.live.source import LiveSource

    return LiveSource()


def __getattr__(name: str) -> Any:
    """`Trace` and `record`, when they are asked for: `Trace` takes longer to import than all of this module."""
    if name == "Trace":
        from specviz.trace.events import Trace

        return Trace
    if name == "record":
        return import_module("specviz.record")
    raise AttributeError(f"module 'specviz' has no attribute '{name}'")
