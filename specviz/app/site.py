"""Write the static site: one page, a script per recorded run and per sweep, Plotly's script, what keeps them for
reading without a network, and a Space's README.

A page opened from a folder may not read files, but it may load scripts; so every recording is a script that hands its
gzip over as base64. Nothing is fetched from anywhere else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from specviz.app.components.engine_files import MANIFEST, SCRIPT, megabytes, write_engine
from specviz.app.components.standalone import ENGINE, scripts, styles
from specviz.app.lab.chart import charts
from specviz.app.page.settings import front_matter
from specviz.app.runs.gallery import Gallery, name_of, recorded_names
from specviz.errors import OptionError, SpecVizError
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.result import points_of
from specviz.resources import asset_path, file_sha256
from specviz.theory import machines
from specviz.trace.files import SUFFIXES

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' file:; style-src 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'none'; worker-src 'self' blob:"
)
PAGE = """<!doctype html>
<html lang="en" class="sv-standalone sv-site">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>SpecViz: see speculative decoding think</title>
<style data-specviz>
{styles}</style>
<style>
{site}</style>
</head>
<body>
<header class="svs-head"><h1>SpecViz</h1><p>Recorded runs, no server.</p><p class="svs-kept"></p></header>
<nav class="svs-nav" aria-label="what to see"></nav>
<main class="svs-runs"><div class="sv-player"></div></main>
<section class="svs-rule sv-rule" hidden></section>
<section class="svs-charts" hidden></section>
<section class="svs-race" hidden></section>
<p class="svs-said" role="status"></p>
<script type="application/json" id="sv-site">{data}</script>
<script data-specviz>
{scripts}</script>
<script>
SpecViz.site(document);
</script>
</body>
</html>
"""
OFFLINE = "offline.js"
KEPT = "specviz-site-"
"""what a browser calls what it keeps of a site; the engine keeps its files apart"""
KEEPER = """\
/* The page, its runs and its engine's script are kept on the first visit, all else of this site when it is first used;
   what the engine keeps itself is left to it. A site that is written anew has another name here, and is kept anew. */
const [OWN, CACHE, FIRST] = @KEPT@;
const others = async () => (await caches.keys()).filter((name) => name.startsWith(OWN) && name !== CACHE);
const keep = async () => (await caches.open(CACHE)).addAll(FIRST);
const drop = async () => Promise.all((await others()).map((name) => caches.delete(name)));
const answer = async (request) => {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept) return kept;
  const fetched = await fetch(request);
  if (fetched.ok) await cache.put(request, fetched.clone());
  return fetched;
};
addEventListener("install", (event) => event.waitUntil(keep().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(drop().then(() => clients.claim())));
addEventListener("fetch", (event) => {
  const { href, search } = new URL(event.request.url);
  const isEngines = href.startsWith(registration.scope + "engine/") && search;
  if (event.request.method === "GET" && href.startsWith(registration.scope) && !isEngines)
    event.respondWith(answer(event.request));
});
"""
README = """
Recorded runs of SpecViz, without a server: open `index.html`, or put this folder on any static host. A free static
Space takes it as it is. `index.html?embed` is the player alone; it obeys messages of the page around it:

    frame.contentWindow.postMessage({type: "specviz", action: "load", run: "RUN"}, "*")
    frame.contentWindow.postMessage({type: "specviz", action: "go", round: 2, beat: 3, node: 1}, "*")

Runs in this folder: @RUNS@.
"""


def write_site(
    out: Path, gallery: Gallery, sweeps: Path, lessons: dict[str, Any] | None = None, engine: bool = False
) -> list[Path]:
    """Write the site into `out`, a new or empty folder, and return its files.

    `lessons`: as `specviz.lessons` resolves them against the recordings. `engine`: carry the models, so that visitors
    make runs in their own browsers. Raises OptionError where the folder holds
    something else or there is no recording.
    """
    if not gallery.cards:
        raise OptionError("there is no recorded run to show; record some with `specviz record`.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not (out / "index.html").is_file():
        raise OptionError(f"'{out}' is not empty and holds no site; choose a new folder.")
    (out / "runs").mkdir(parents=True, exist_ok=True)
    (out / "sweeps").mkdir(exist_ok=True)
    files = [_delivered(out / "runs" / f"{name_of(card.file)}.js", _run(gallery, card.file)) for card in gallery.cards]
    beside = {machines.FILE.name}  # lies with the sweeps and is none
    charted = [path for path in sorted(sweeps.glob("*")) if path.name.endswith(SUFFIXES) and path.name not in beside]
    files += [_delivered(out / "sweeps" / f"{_stem(path)}.js", _charts(path)) for path in charted]
    files.append(_text(out / "plotly.js", get_plotlyjs()))
    files += write_engine(out) if engine else []
    names = [name_of(card.file) for card in gallery.cards]
    data = {
        "first": name_of(gallery.first or gallery.cards[0].file),
        "runs": [{"name": name_of(card.file), "label": card.label} for card in gallery.cards],
        "recorded": recorded_names(gallery),
        "sweeps": [_stem(path) for path in charted],
        "lessons": lessons,
        "engine": megabytes() if engine else 0,
    }
    site = asset_path("css", "site.css").read_text(encoding="utf-8")
    page = PAGE.replace("{policy}", POLICY).replace("{site}", site).replace("{styles}", styles())
    page = page.replace("{data}", json.dumps(data).replace("<", "\\u003c")).replace("{scripts}", scripts())
    files.append(_text(out / "index.html", page))
    files.append(_text(out / OFFLINE, _keeper(out, files)))
    files.append(_text(out / "README.md", front_matter("static") + README.replace("@RUNS@", ", ".join(names))))
    return files


def _keeper(out: Path, files: Sequence[Path]) -> str:
    """The service worker of a site of these files, which is another one where any of them is."""
    hashes = "".join(file_sha256(file) for file in files)
    names = [file.relative_to(out).as_posix() for file in files]
    first = ["./", *(name for name in names if name.startswith(("index", "runs/", SCRIPT, f"{ENGINE}/{MANIFEST}")))]
    kept = [KEPT, f"{KEPT}{hashlib.sha256(hashes.encode()).hexdigest()[:16]}", first]
    return KEEPER.replace("@KEPT@", json.dumps(kept))


def _run(gallery: Gallery, file: str) -> tuple[str, str]:
    """A recording's gzip, after it was read: a broken file stops the site instead of its visitor."""
    gallery.read(file)
    return f"run:{name_of(file)}", base64.b64encode((gallery.folder / file).read_bytes()).decode("ascii")


def _charts(path: Path) -> tuple[str, Sequence[dict[str, Any]]]:
    """Every chart of the lab over one sweep, as Plotly's own data."""
    try:
        points = points_of(store.read(path))
    except SpecVizError as error:
        raise OptionError(f"the sweep {path.name} cannot be shown: {error}") from None
    drawn = []
    for chart in charts():
        figure = json.loads(chart.build(points).to_json())
        drawn.append({"title": chart.title, "question": chart.question, "reading": chart.reading, "figure": figure})
    return f"sweep:{_stem(path)}", drawn


def _delivered(path: Path, content: tuple[str, Any]) -> Path:
    name, data = content
    return _text(path, f"SpecViz.deliver({json.dumps(name)}, {json.dumps(data)});\n")


def _text(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".json")
