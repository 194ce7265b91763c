"""Pictures of charts for the README and the docs: `python -m tests.browser.pictures docs/img`.

All are of shipped measurements: `waterfall` and `plane` of the sweep that the Speedup tab opens with, `batch` of the
fold of the Machine tab. Needs Chromium, as the browser tests do. Names after the folder choose these or other charts of
the lab.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import plotly.graph_objects as go
from playwright.sync_api import sync_playwright
from plotly.offline import get_plotlyjs

from specviz.app.batch.figure import batch_figure
from specviz.app.batch.view import batch_view, shipped
from specviz.app.lab.charts import chart
from specviz.cli.remake.steps import SWEEP
from specviz.lm.load import load
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.points import Policies, SweepPoint
from specviz.protocol.sweeps.result import points_of
from specviz.resources import ROOT
from tests.browser.conftest import FLAGS, chromium_path

SIZE = {"width": 900, "height": 460}
PATIENCE_MS = 120_000
DRAW = "(figure) => Plotly.newPlot('chart', figure.data, figure.layout, { displayModeBar: false })"
BATCH = "batch"
"""the chart of the Machine tab's fold"""
LABELS = ("none", "model", "eagle", "ngram", "token_recycling", "early_exit")
"""of the sweep, at two speculation lengths and temperature 0: a picture has less room than the page"""
LENGTHS = (None, 2, 4)


def chosen_points() -> list[SweepPoint]:
    """Of the shipped sweep."""
    return [
        point
        for point in points_of(store.read(ROOT.parent / f"{SWEEP}.json.gz"))
        if point.label in LABELS
        and point.gamma in LENGTHS
        and point.temperature == 0.0
        and point.policies == Policies()
    ]


def figures(names: list[str]) -> dict[str, go.Figure]:
    """The charts of these names."""
    points = chosen_points()
    return {name: _batch() if name == BATCH else chart(name).build(points) for name in names}


def _batch() -> go.Figure:
    file = shipped()
    assert file is not None, "there is no measurement of batches; `specviz bench batch --write` makes one."
    return batch_figure(batch_view(file)).update_layout(height=SIZE["height"])


def draw(drawn: dict[str, go.Figure], folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.set_default_timeout(PATIENCE_MS)
        page.set_content('<style>body { margin: 0 } text { fill: black !important }</style><div id="chart"></div>')
        page.add_script_tag(content=get_plotlyjs())
        for name, figure in drawn.items():
            page.evaluate(DRAW, json.loads(figure.to_json()))
            page.screenshot(path=folder / f"{name}.png")
        browser.close()


def say_weights(folder: Path) -> None:
    """`made_with.json`: which models are in the pictures, because a picture cannot say it."""
    models = {name: load(name, device="cpu", dtype="float32").info.weights_sha256 for name in ("target", "drafter")}
    (folder / "made_with.json").write_text(json.dumps({"models": models}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    chosen = sys.argv[2:]
    draw(figures(chosen or ["waterfall", "plane", BATCH]), Path(sys.argv[1]))
    if not chosen:  # of some alone it would be said of the others too
        say_weights(Path(sys.argv[1]))
