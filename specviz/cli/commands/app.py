"""`specviz app`: serve the page.

The server is up in seconds with a recorded run on the stage; torch and the models are loaded behind it. `python app.py`
and a Space come here too.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from specviz.allocator import resting
from specviz.errors import OptionError
from specviz.scratch import scratch, sweep

if TYPE_CHECKING:
    import gradio as gr

    from specviz.app.form.request import Limits
    from specviz.app.page.settings import Tier
    from specviz.app.runs.deferred import DeferredSource
    from specviz.protocol.runs import ModelDescription, TraceSource


@dataclass(frozen=True, slots=True)
class Page:
    """What is served: the page, the engine that is loaded behind it, and how the server is started."""

    demo: gr.Blocks
    source: DeferredSource
    settings: dict[str, Any]

    def launch(self, **settings: Any) -> None:
        """Serve it with these settings in place of its own, and return; the engine is loaded by `source.start`."""
        from specviz.app.page.sessions import keep_little

        self.demo.launch(prevent_thread_lock=True, **(self.settings | settings))
        keep_little(self.demo)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="ADDRESS", help="listen there (default: this machine alone)")
    parser.add_argument("--port", type=int, metavar="N", help="listen on this port (default: the first free from 7860)")
    parser.add_argument(
        "--trust-visitors",
        action="store_true",
        help="on a page that others can reach: let them name any model, folder and file of this machine, as you can",
    )


def run(args: argparse.Namespace) -> int:
    if args.port is not None and not 0 < args.port < 65536:
        raise OptionError(f"--port is {args.port}, but must lie between 1 and 65535.")
    page = load_page(host=args.host, trust_visitors=args.trust_visitors)
    chosen: dict[str, Any] = {"server_name": args.host, "server_port": args.port}
    try:
        page.launch(**{name: value for name, value in chosen.items() if value is not None})
    except OSError as error:
        raise OptionError(f"cannot serve on port {args.port}: {error}; choose another --port.") from None
    page.source.start()
    page.demo.block_thread()
    return 0


@resting()
def load_page(
    watched: Callable[[TraceSource], TraceSource] = lambda source: source,
    host: str | None = None,
    trust_visitors: bool = False,
) -> Page:
    """Build the page with this machine's limits for the address `host`, by default the usual one. Gradio is imported
    only here: it takes seconds. `watched` may put something between the page and its engine."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported: no telemetry, no version check
    sweep()
    os.environ.setdefault("GRADIO_TEMP_DIR", str(scratch() / "served"))  # what it serves and is handed goes with us
    from specviz.app.page.build import build
    from specviz.app.page.document import opening
    from specviz.app.page.settings import hub_models, is_public, launch_settings, on_zero_gpu, tier
    from specviz.app.runs.deferred import DeferredSource
    from specviz.app.runs.gallery import gallery
    from specviz.live import catalog
    from specviz.resources import ROOT

    machine = tier(os.environ)
    limits = _limits(machine, trusted=trust_visitors or not is_public(host))
    offered = hub_models(os.environ)

    if on_zero_gpu():
        _load_for_device(machine, offered)

    def engine() -> TraceSource:
        if on_zero_gpu():
            from specviz.live.zero import ZeroSource

            return watched(ZeroSource(machine.torch_threads, offered))
        from specviz.live.source import LiveSource  # only when called: torch takes longer than the whole page

        return watched(LiveSource(threads=machine.torch_threads, hub_models=offered))

    source = DeferredSource(engine, catalog.beside(catalog.at_once(), offered))
    recorded = gallery(ROOT / "traces")
    return Page(build(source, recorded, limits), source, launch_settings(limits, first=opening(recorded)))


def _load_for_device(machine: Tier, offered: Sequence[ModelDescription]) -> None:
    """Load every model for the GPU that will be lent: it must be done in this thread, before the page is launched."""
    from specviz.live import catalog
    from specviz.live.source import LiveSource
    from specviz.live.zero import load_for_device

    models = (*catalog.bundled_models(), *catalog.fetched_models(), *offered)
    names = [model.name for model in models if model.available]
    load_for_device(LiveSource(threads=machine.torch_threads, hub_models=offered), names)


def _limits(machine: Tier, trusted: bool) -> Limits:
    from specviz.app.form.request import Limits

    return Limits(
        max_new_tokens=machine.max_new_tokens,
        prompt_chars=machine.prompt_chars,
        import_bytes=machine.import_bytes,
        max_tree_nodes=machine.max_tree_nodes,
        waiting=machine.queue,
        engine_seconds=machine.engine_seconds,
        training_seconds=machine.training_seconds,
        reading_seconds=machine.reading_seconds,
        any_model=trusted,
        shared_memory=trusted,
    )
