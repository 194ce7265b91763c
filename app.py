"""The door: the page first, the engine behind it.

The server is up in seconds with a recorded run on the stage; torch and the models are loaded in the background.
`python app.py`, a Space and `specviz app` all start here.
"""

from __future__ import annotations

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported: no telemetry, no version check

from specviz.app.page.build import build
from specviz.app.page.deferred import DeferredSource
from specviz.app.page.settings import launch_settings, on_a_space
from specviz.app.parts.gallery import gallery
from specviz.app.parts.request import Limits
from specviz.app.space import tier
from specviz.live import catalog
from specviz.protocol.runs import TraceSource
from specviz.resources import ROOT

TIER = tier(os.environ)
LIMITS = Limits(
    max_new_tokens=TIER.max_new_tokens,
    prompt_chars=TIER.prompt_chars,
    import_bytes=TIER.import_bytes,
    max_tree_nodes=TIER.max_tree_nodes,
    waiting=TIER.queue,
    any_model=not on_a_space(),
    shared_memory=not on_a_space(),
)


def engine() -> TraceSource:
    """Imported only here and only when called: torch takes longer than the whole page."""
    from specviz.live.source import LiveSource

    return LiveSource(threads=TIER.torch_threads)


source = DeferredSource(engine, catalog.saved())
demo = build(source, gallery(ROOT / "traces"), LIMITS)


def main() -> None:
    """Serve until interrupted."""
    demo.launch(prevent_thread_lock=True, **launch_settings(LIMITS))
    source.start()
    demo.block_thread()


if __name__ == "__main__":
    main()
