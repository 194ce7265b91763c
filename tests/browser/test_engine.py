"""The browser's engine in Chromium: a worker, files from a plain static server, a trace that is sound."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from specviz.app.components.engine_files import write_engine
from specviz.app.runs.gallery import gallery
from specviz.app.site import write_site
from specviz.live.source import LiveSource
from specviz.protocol.choice import with_choices
from specviz.protocol.runs import RunRequest
from specviz.trace import codec
from specviz.trace.check import check
from specviz.trace.codec import assemble, loads
from tests.app.doubles import ReplaySource, sample
from tests.browser.conftest import PATIENCE_MS
from tests.browser.page_server import opened, served
from tests.browser.test_full_queue import full

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>engine</title><link rel="icon" href="data:,">
<script>
const said = [];
const worker = new Worker("engine.js");
worker.onmessage = ({ data }) => said.push(data);
const heard = (word) => said.filter((message) => message.say === word);
</script>
"""
SAMPLING = {"temperature": 0.8, "top_k": 0, "top_p": 1, "seed": 8}
REQUEST = {"prompt": "One day Leo was in the garden.", "drafter": "model", **SAMPLING, "max_new_tokens": 24}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *said: Any) -> None:
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("static")


@pytest.fixture(scope="module")
def static(folder: Path) -> Iterator[str]:
    """The engine's files and a page that starts the worker, on a server with nothing but files."""
    write_engine(folder)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def ask(page: Page, asked: dict[str, Any], answer: str) -> list[dict[str, Any]]:
    """Say something to the worker and wait for an answer of this kind, or for a failure."""
    page.evaluate("asked => { said.length = 0; worker.postMessage(asked); }", asked)
    page.wait_for_function(f"heard('{answer}').length || heard('failed').length", timeout=4 * PATIENCE_MS)
    assert page.evaluate("heard('failed')") == []
    messages: list[dict[str, Any]] = page.evaluate(f"heard('{answer}')")
    return messages


def load(page: Page, static: str) -> list[str]:
    """Open the page and let the worker load the models; the files of the engine that were fetched for that."""
    fetched: list[str] = []
    page.context.on("request", lambda request: fetched.append(request.url.removeprefix(static).partition("?")[0]))
    page.goto(static)
    fetched.clear()
    ask(page, {"ask": "load", "base": f"{static}engine/"}, "ready")
    page.evaluate("fetch('index.html').then(() => null)")  # what the worker asked for before is told before
    return [name for name in fetched if name.startswith("engine/")]


def test_a_tab_loads_the_models_writes_the_run_that_the_engine_writes_and_fetches_nothing_but_the_manifest_again(
    page: Page, static: str
) -> None:
    assert len(load(page, static)) == 19
    progress = page.evaluate("heard('progress').at(-1)")
    assert progress["bytes"] == progress["of"]
    [done] = ask(page, {"ask": "run", "request": REQUEST}, "done")
    trace = loads(json.dumps(done["trace"]))
    assert [str(problem) for problem in check(trace)] == []
    due = assemble(LiveSource(measure=False).run(RunRequest(**with_choices({**REQUEST, "dtype": "float32"}))))
    assert trace.finished.text == due.finished.text
    assert [this.judged.u for this in trace.rounds] == [this.judged.u for this in due.rounds]
    assert trace.started.machine.processor == "browser: WebAssembly SIMD"
    assert len(load(page, static)) == 1


GROWTH = """() => {
const player = document.querySelector(".sv-player").specviz;
const load = player.load;
globalThis.grown = [];
player.load = (text) => {
  const { rounds, finished } = JSON.parse(text);
  grown.push([rounds.length, finished !== null]);
  load(text);
};
}"""
"""keeps of every text that a page gives its player: how many rounds it has, and whether the run is over"""


@pytest.fixture(scope="module")
def site(static: str, folder: Path) -> str:
    """A site of one recorded run that carries the engine."""
    recorded = folder / "recorded"
    recorded.mkdir()
    codec.write(sample(), recorded / "a-sample.json.gz")
    write_site(folder / "site", gallery(recorded), folder / "no-sweeps", engine=True)
    return f"{static}site/index.html"


def test_a_site_that_carries_the_engine_shows_a_run_while_it_is_made_and_after_that_needs_no_network(
    page: Page, site: str
) -> None:
    page.goto(site)
    expect(page.locator(".svs-kept")).to_have_text("Kept in this browser: it opens without a network, too.")
    expect(page.locator("[data-ready]")).to_be_attached()
    page.evaluate(GROWTH)
    page.get_by_label("prompt").fill("Once upon a time")
    page.get_by_label("who drafts").select_option("ngram")
    page.get_by_role("button", name="Run here").click()
    expect(page.locator(".svs-here > p[role=status]")).to_contain_text(
        "Run in this browser: 64 tokens in", timeout=4 * PATIENCE_MS
    )
    expect(page.locator(".svp-prompt").first).to_contain_text("Once upon a time")
    *growing, (rounds, is_over) = page.evaluate("grown")
    assert is_over
    assert growing[0] == [1, False]
    assert growing == sorted([many, False] for many, _ in growing)
    assert growing[-1][0] <= rounds
    page.get_by_role("button", name="Prove the rule here").click()
    expect(page.locator(".svs-here > p[role=status]")).to_contain_text("27 texts, and their probabilities are")
    page.context.set_offline(True)
    page.reload()
    expect(page.locator(".svp-where")).to_have_text("Round 1 of 8")
    page.get_by_role("button", name="Run here").click()
    expect(page.locator(".svs-here > p[role=status]")).to_contain_text("Run in this browser: ", timeout=4 * PATIENCE_MS)


def test_a_site_races_ways_to_draft_in_the_tab_and_says_what_each_was_worth_there(page: Page, site: str) -> None:
    page.goto(site)
    page.get_by_role("button", name="Race and sweep here").click()
    page.get_by_label("way 3").select_option("")
    page.get_by_label("repeats").select_option("1")
    page.get_by_label("tree, by levels").first.fill("2, 1")
    page.get_by_role("button", name="Run them here").click()
    expect(page.locator(".svw-result")).to_be_visible(timeout=4 * PATIENCE_MS)
    ways = ["a small model, tree 2,1", "copies from the text, γ 4"]
    expect(page.locator(".svw-result tbody th")).to_have_text(ways)
    expect(page.locator(".svw-result > p").first).to_contain_text("Measured in your browser (WebAssembly SIMD")
    expect(page.locator(".svs-race .svr-name")).to_have_text(["plain decoding", *ways])
    expect(page.locator(".svs-race .svr-equality")).to_have_text(
        "All 3 outputs are the same, token for token: 64 tokens."
    )
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save every run as CSV").click()
    rows = list(csv.reader(Path(saved.value.path()).read_text(encoding="utf-8").splitlines()))
    seen = [row[:4] for row in rows[1:]]
    assert seen == [["none", "", "1", "64"], ["model", "t2,1", "1", "64"], ["ngram", "g4", "1", "64"]]
    page.locator(".svw-open").get_by_role("button", name=ways[0]).click()
    expect(page.locator("main")).to_be_visible(timeout=4 * PATIENCE_MS)
    drafter = page.evaluate("document.querySelector('main .sv-player').specviz.trace.started.drafter")
    assert (drafter["name"], drafter["options"]["branching"]) == ("model", [2, 1])


SHOWN = "document.querySelector('#sv-player .sv-player').specviz.trace"


@pytest.fixture
def bundled(tmp_path: Path) -> Iterator[str]:
    """The page with a recording that fills its controls with the bundled pair."""
    started = sample().started
    small = replace(started.drafter.model, name="drafter")
    drafter = replace(started.drafter, name="model", options={"gamma": 3}, model=small)
    pair = replace(started, drafter=drafter, target=replace(started.target, name="target"))
    codec.write(replace(sample(), started=pair), tmp_path / "pair.json.gz")
    with served(ReplaySource(sample()), tmp_path, tabs=["watch"]) as url:
        yield url


def test_where_the_servers_queue_is_full_the_page_offers_the_browser_and_it_runs_what_stands_in_the_controls(
    context: BrowserContext, bundled: str
) -> None:
    page = context.new_page()  # a queue that refuses is an error in the console, which `page` would not have
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    opened(page, bundled)
    page.route("**/queue/join*", full)
    page.locator("#sv-run").click()
    expect(page.locator("#sv-message")).to_contain_text("Or press Run here: your own browser has no queue")
    expect(page.locator("#sv-here .is-offered")).to_be_visible()
    page.evaluate(GROWTH)
    page.get_by_role("button", name="Run here", exact=True).click()
    expect(page.locator("#sv-message")).to_contain_text("Run in your browser: ", timeout=4 * PATIENCE_MS)
    assert page.evaluate("grown[0]") == [1, False], "rounds are shown while they are made"
    shown = page.evaluate(f"{SHOWN}.started")
    seen = (shown["prompt_text"], shown["drafter"]["name"], shown["machine"]["processor"])
    assert seen == ("def add(a, b):\n", "model", "browser: WebAssembly SIMD")
    page.locator("#sv-settings").click()
    page.locator("#sv-verifier").get_by_text("loose").first.click()
    page.locator("#sv-settings").click()
    page.get_by_role("button", name="Run here", exact=True).click()
    expect(page.locator("#sv-message")).to_have_text(
        "The browser's engine has no verifier 'loose'; run it on the server."
    )
    assert faults == []
