"""Pictures for the README and the docs: `python -m tests.browser.pictures docs/img`.

All are of what is shipped: `player` of a recorded run, `waterfall` and `plane` of the sweep that the When-it-pays tab
opens with, `batch` of the fold of the Machine tab. Needs Chromium, as the browser tests do. Names after the folder
choose these or other charts of the lab.
"""

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import plotly.graph_objects as go
from playwright.sync_api import Browser, sync_playwright
from plotly.offline import get_plotlyjs

from specviz.app.components.standalone import standalone_html
from specviz.app.lab.chart import chart
from specviz.app.studies.chart import draw as draw_chart
from specviz.cli.remake import SWEEP
from specviz.lm.load import load
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.points import Policies, SweepPoint
from specviz.protocol.sweeps.result import points_of
from specviz.resources import ROOT
from specviz.studies.batches.result import STUDY as BATCHES
from specviz.trace import codec
from specviz.trace.events import Trace
from tests.browser.conftest import FLAGS, chromium_path

SIZE = {"width": 900, "height": 460}
PATIENCE_MS = 120_000
DRAW = "(figure) => Plotly.newPlot('chart', figure.data, figure.layout, { displayModeBar: false })"
PLAYER, RECORDING = "player", "model-tree-story.json.gz"
PLAYER_SIZE = {"width": 1280, "height": 1000}
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
    file = BATCHES.shipped()
    assert file is not None, "there is no measurement of batches; `specviz study batches --write` makes one."
    return draw_chart(BATCHES.opening(file).chart).update_layout(height=SIZE["height"])


def telling_moment(trace: Trace) -> str:
    """The address of the end of the first round in which a candidate was accepted and another one rejected, with the
    card of the latter."""
    for number, found in enumerate(trace.rounds, 1):
        rejected = [one.node for one in found.judged.trials if not one.accepted]
        if rejected and len(rejected) < len(found.judged.trials):
            return f"#round={number}&beat=999&node={rejected[0]}"
    raise AssertionError("no round of this run has a candidate of each kind; choose another recording.")


def draw_player(browser: Browser, folder: Path) -> None:
    trace = codec.read(ROOT / "traces" / RECORDING)
    page = browser.new_page(viewport=PLAYER_SIZE, reduced_motion="reduce", color_scheme="light")
    page.set_default_timeout(PATIENCE_MS)
    with TemporaryDirectory() as place:
        file = Path(place) / "run.html"
        file.write_text(standalone_html(codec.dumps(trace)), encoding="utf-8")
        page.goto(f"file://{file}{telling_moment(trace)}")
        page.locator("[data-ready]").wait_for(state="attached")
        page.screenshot(path=folder / f"{PLAYER}.png")
    page.close()


def draw(names: list[str], folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        if PLAYER in names:
            draw_player(browser, folder)
        drawn = figures([name for name in names if name != PLAYER])
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("names", nargs="*", help="these alone: player, batch or charts of the lab")
    args = parser.parse_args()
    draw(args.names or [PLAYER, "waterfall", "plane", BATCH], args.folder)
    if not args.names:  # of some alone it would be said of the others too
        say_weights(args.folder)
