"""Pictures of lab charts from a real, small sweep, for the README: `python -m tests.browser.pictures docs/img`.

Takes a few minutes: five drafters on two prompts, three times each, beside plain decoding, on whatever machine runs it.
Needs Chromium, as the browser tests do. Names of charts after the folder choose others than `waterfall` and `plane`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright
from plotly.offline import get_plotlyjs

from specviz.app.lab.charts import chart
from specviz.bench.sweep.runner import sweep
from specviz.live.source import LiveSource
from specviz.lm.load import load
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.spec import SweepDrafter, SweepSpec
from tests.browser.conftest import FLAGS

SIZE = {"width": 900, "height": 460}
PATIENCE_MS = 120_000
DRAW = "(figure) => Plotly.newPlot('chart', figure.data, figure.layout, { displayModeBar: false })"
DRAFTERS = ("model", "ngram", "suffix", "token_recycling", "early_exit")


def measured() -> list[SweepPoint]:
    source = LiveSource()
    shown: dict[str, str] = {}
    for card in source.catalog().prompts:
        shown.setdefault(card.family, card.id)
    drafters = [SweepDrafter(name, length_option="gamma" if _has_gamma(source, name) else None) for name in DRAFTERS]
    spec = SweepSpec(
        drafters=tuple(drafters),
        gammas=(2, 4),
        prompt_ids=tuple(shown.values())[:2],
        repeats=3,
        max_new_tokens=48,
    )
    return list(sweep(source, spec))


def _has_gamma(source: LiveSource, name: str) -> bool:
    method = next(one for one in source.catalog().drafters if one.name == name)
    return any(card.name == "gamma" for card in method.options)


def draw(points: list[SweepPoint], folder: Path, names: list[str]) -> None:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.set_default_timeout(PATIENCE_MS)
        page.set_content('<style>body { margin: 0 } text { fill: black !important }</style><div id="chart"></div>')
        page.add_script_tag(content=get_plotlyjs())
        for name in names:
            page.evaluate(DRAW, json.loads(chart(name).build(points).to_json()))
            page.screenshot(path=folder / f"{name}.png")
        browser.close()


def say_weights(folder: Path) -> None:
    """`made_with.json`: which models are in the pictures, because a picture cannot say it."""
    models = {name: load(name, device="cpu", dtype="float32").info.weights_sha256 for name in ("target", "drafter")}
    (folder / "made_with.json").write_text(json.dumps({"models": models}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    draw(measured(), Path(sys.argv[1]), sys.argv[2:] or ["waterfall", "plane"])
    say_weights(Path(sys.argv[1]))
