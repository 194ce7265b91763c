"""What the engine costs and brings in one visitor's tab: memory, the first token, tokens a second, what a draft gains.

    python -m tests.load.tab                    # a minute or two on a quiet machine
    python -m tests.load.tab --texts 3

A site with the engine is opened in Chromium, as a visitor opens it. Read from the browser's process of that tab: what
is its own (its private memory, as the browser's task manager has it), and what is resident with Chromium's code, which
all its processes share. Every text is decoded plainly and with the small model in turns, so that a busy moment hits
both; of texts that repeat themselves nothing counts, because a draft gains more on them. `tests/js/engine_speed.js`
measures the same under node, in processor time.
"""

import argparse
import re
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from specviz.app.runs.gallery import gallery
from specviz.app.site import write_site
from specviz.resources import ROOT, asset_path, read_json
from tests.browser.conftest import FLAGS, chromium_path
from tests.load.files import Files, Server

TEXTS, TOKENS, TURNS = 8, 64, 3
PATIENCE_MS = 600_000
REPEATED = 6
"""words that come once more, in this order: the text goes in circles"""
MODEL = {"drafter": "model", "drafter_options": {"gamma": 4}, "dtype": "float32"}
ASK = """asked => new Promise(done => {
const began = performance.now();
const at = {};
const stop = SpecViz.askTab(asked, said => {
  const word = said.step ? said.step.kind : said.say;
  at[word] ??= (performance.now() - began) / 1000;
  if (SpecViz.tabIsOver(said)) done({ at, said: { ...said, trace: null } });
});
})"""
"""asks the tab's engine: the seconds at which each kind of message first came, and the last message"""


def loops(text: str, words: int = REPEATED) -> bool:
    """Whether a text says so many words in a row twice."""
    said = re.findall(r"\w+", text.lower())
    runs = [tuple(said[at : at + words]) for at in range(len(said) - words + 1)]
    return len(set(runs)) < len(runs)


def megabytes_of(process: int) -> dict[str, float]:
    """Of a process: its own memory, what is resident, and the most that ever was."""
    kept = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    numbers = {name: int(size) / 1024 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", kept + status, re.MULTILINE)}
    return {
        "own": numbers["Private_Dirty"] + numbers["Private_Clean"],
        "resident": numbers["Rss"],
        "most": numbers["VmHWM"],
    }


def tabs_process(browser: Browser) -> int:
    """The process that shows the page: of all renderers the one that holds most."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return max((one["id"] for one in processes if one["type"] == "renderer"), key=lambda one: megabytes_of(one)["own"])


@contextmanager
def site() -> Iterator[str]:
    """The address of a site that carries the engine, on a server with nothing but files."""
    with tempfile.TemporaryDirectory() as folder:
        write_site(Path(folder) / "site", gallery(ROOT / "traces"), ROOT / "sweeps", engine=True)
        with Server(("127.0.0.1", 0), partial(Files, directory=f"{folder}/site")) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}/"
            server.shutdown()


def asked(page: Page, what: dict[str, Any]) -> dict[str, Any]:
    """What the tab's engine answers in the end. Raises RuntimeError with its sentence where it fails."""
    answer: dict[str, Any] = page.evaluate(ASK, what)
    if answer["said"]["say"] == "failed":
        raise RuntimeError(answer["said"]["message"])
    return answer


def raced(page: Page, prompt: str) -> dict[str, Any]:
    """A text, plain and drafted in turns."""
    course = {"prompts": [prompt], "tokens": TOKENS, "turns": TURNS}
    duel: dict[str, Any] = asked(page, {"ask": "duel", "draft": MODEL, "course": course})["said"]["duel"]
    return duel


def figures(duels: Sequence[dict[str, Any]], first_s: float, memory: dict[str, dict[str, float]]) -> str:
    """The figures, as docs/load.md has them."""
    counted = [one for one in duels if not loops(one["texts"][0])]
    plain = [one["tokens"] / median(one["plain"]) for one in counted]
    gains = [median(map(float.__truediv__, one["plain"], one["drafted"])) for one in counted]
    gained = f"{median(gains):.2f} ({min(gains):.2f} to {max(gains):.2f})" if gains else "–"
    lines = [
        f"texts: {len(duels)}, of which {len(counted)} do not repeat themselves and count",
        f"plain: {median(plain) if plain else 0:.0f} tokens a second, median",
        f"model, γ 4: × {gained}, median (least to largest)",
        f"first token: {first_s:.1f} s after the weights",
        *(
            f"memory {when}: " + ", ".join(f"{name} {size:.0f}" for name, size in of.items())
            for when, of in memory.items()
        ),
    ]
    return "\n".join(lines)


def measured(texts: int) -> str:
    """Open the site, run, race, and say what came out."""
    prompts = [one["text"] for one in read_json(asset_path("prompts", "prompts.json"))["prompts"]]
    chosen = prompts[:: max(1, len(prompts) // texts)][:texts]
    memory = {}
    with site() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address)
        page.locator("[data-ready]").first.wait_for()
        memory["opened"] = megabytes_of(tabs_process(browser))
        shape = {"temperature": 0, "top_k": 0, "top_p": 1, "seed": 0, "max_new_tokens": TOKENS}
        run = {"ask": "run", "request": {"prompt": chosen[0], **MODEL, **shape}}
        at = asked(page, run)["at"]
        memory["after a run"] = megabytes_of(tabs_process(browser))
        duels = [raced(page, prompt) for prompt in chosen]
        asked(page, {**run, "request": {**run["request"], "dtype": "int8"}})
        memory["after a run in int8"] = megabytes_of(tabs_process(browser))
        browser.close()
    return figures(duels, at["round"] - at["ready"], memory)


def processor() -> str:
    """Its name, as the system tells it."""
    told = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return told[1] if told else "a processor without a name"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=TEXTS)
    sys.stdout.write(f"{processor()}\n{measured(parser.parse_args().texts)}\n")


if __name__ == "__main__":
    main()
