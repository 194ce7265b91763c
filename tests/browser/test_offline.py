"""The exported file and the static site, opened from disk with the network off."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

import specviz
from specviz.app.components.standalone import standalone_html
from specviz.app.lab.chart import charts
from specviz.app.runs.gallery import gallery
from specviz.app.site import write_site
from specviz.resources import ROOT
from specviz.trace import codec
from tests.app.doubles import sample

pytestmark = pytest.mark.browser

HANDLE = "document.querySelector('.sv-player').specviz"


@pytest.fixture
def offline(page: Page, context: BrowserContext) -> Page:
    context.set_offline(True)
    return page


@pytest.fixture
def exported(offline: Page, tmp_path: Path) -> Page:
    file = tmp_path / "run.html"
    moment = {"round": 1, "beat": 8, "node": 3}
    file.write_text(standalone_html(codec.dumps(sample()), moment), encoding="utf-8")
    offline.goto(f"file://{file}")
    expect(offline.locator("[data-ready]")).to_be_attached()
    return offline


def shared(page: Page, item: str, folder: Path) -> bytes:
    """What an item of the Share menu saves."""
    page.locator("summary", has_text="share").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=item).click()
    download.value.save_as(folder / "saved")
    return (folder / "saved").read_bytes()


def test_the_exported_file_opens_at_its_moment_and_plays_offline(exported: Page) -> None:
    where = exported.locator(".svp-where")
    expect(where).to_have_text("Round 2 of 8")
    assert exported.evaluate(f"{HANDLE}.selected") == 3
    exported.keyboard.press("Shift+ArrowRight")
    expect(where).to_have_text("Round 3 of 8")


def test_an_exported_run_without_a_lesson_leads_to_tests_homework_and_board(exported: Page) -> None:
    drawer = exported.locator(".svx-drawer")
    drawer.get_by_text("For a class").click()
    drawer.get_by_role("button", name="Trees and siblings").click()
    expect(exported.locator(".svx h2")).to_have_text("Homework: Trees and siblings")
    exported.keyboard.press("Escape")
    exported.evaluate("location.hash = '#exercises=class'")
    expect(exported.locator(".svx h2")).to_have_text("What a class has handed in")


def test_everything_of_the_share_menu_is_made_offline(exported: Page, tmp_path: Path) -> None:
    player = shared(exported, "player as PNG", tmp_path)
    assert player[:4] == b"\x89PNG"
    assert len(player) > 40_000, "an empty sheet compresses to less"
    png = shared(exported, "tree as PNG", tmp_path)
    assert png[:4] == b"\x89PNG"
    assert 1920 in (int.from_bytes(png[16:20], "big"), 0) or int.from_bytes(png[20:24], "big") == 1080
    svg = shared(exported, "tree as SVG", tmp_path).decode()
    assert svg.startswith("<svg")
    assert "stroke:rgb" in svg.replace(" ", "")
    assert b"foreignObject" in shared(exported, "player as SVG", tmp_path)
    assert shared(exported, "Markdown table", tmp_path).startswith(b"## Round 2 of 8")
    assert shared(exported, "GraphML", tmp_path).startswith(b"<?xml")
    tree = nx.read_graphml(tmp_path / "saved")
    assert len(tree) == len(sample().rounds[1].nodes)
    assert json.loads(shared(exported, "Perfetto", tmp_path))["displayTimeUnit"] == "ms"
    shared(exported, "trace", tmp_path)
    (tmp_path / "saved").rename(tmp_path / "saved.json")
    assert specviz.read(tmp_path / "saved.json") == sample()


def test_the_file_that_the_page_exports_is_the_one_of_the_command_line(exported: Page, tmp_path: Path) -> None:
    page = shared(exported, "one HTML file", tmp_path).decode()
    assert page.split() == standalone_html(codec.dumps(sample()), {"round": 1, "beat": 8, "node": 3}).split()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    codec.write(sample(), folder / "a-sample.json.gz")
    (folder / "b-greedy.json").write_text("")
    greedy = codec.read(Path(__file__).parents[1] / "golden" / "trace-1.0-greedy.json")
    codec.write(greedy, folder / "b-greedy.json.gz")
    out = tmp_path_factory.mktemp("site") / "out"
    write_site(out, gallery(folder), ROOT / "sweeps")
    return out


@pytest.fixture
def opened(offline: Page, site: Path) -> Callable[[str], Page]:
    def opened(rest: str = "") -> Page:
        offline.goto(f"file://{site}/index.html{rest}")
        expect(offline.locator("[data-ready]")).to_be_attached()
        return offline

    return opened


def test_the_site_shows_every_recording_from_disk(opened: Callable[[str], Page]) -> None:
    page = opened("")
    expect(page.locator(".svp-where")).to_contain_text("of 8")
    page.get_by_label("recorded run").select_option("b-greedy")
    expect(page.locator(".svp-where")).to_contain_text("of 2")
    expect(page).to_have_url(re.compile("#run=b-greedy&round="))
    again = opened(f"#{page.url.partition('#')[2]}")
    again.reload()
    expect(again.locator(".svp-where")).to_contain_text("of 2")


def test_the_site_lets_rules_be_written_and_opens_one_by_its_link(opened: Callable[[str], Page]) -> None:
    page = opened("")
    page.get_by_role("button", name="Write the rule").click()
    rule, verdict = page.get_by_label("the rule, a line each"), page.locator(".svs-rule .svw-verdict")
    expect(verdict).to_have_text("Biased towards b (+0.090), away from a (−0.150); total variation 0.150.")
    expect(page.locator("main")).to_be_hidden()
    rule.fill("accept = min(1, p / q)\nreplacement = max(0, p - q)")
    expect(verdict).to_have_text("Exact: the law is p, to rounding.")
    expect(page).to_have_url(re.compile("tab=proof&rule="))
    link = page.url.partition("#")[2]
    page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    again = opened(f"#{link}")
    expect(again.get_by_label("the rule, a line each")).to_have_value(
        "accept = min(1, p / q)\nreplacement = max(0, p - q)"
    )
    expect(again.locator(".svs-rule .svw-verdict")).to_have_text("Exact: the law is p, to rounding.")
    again.evaluate("location.hash = '#tab=proof&rule=nonsense'")
    expect(again.get_by_role("alert")).to_contain_text("The link's rule cannot be read")


def test_the_site_says_what_it_cannot_open(opened: Callable[[str], Page]) -> None:
    page = opened("#run=nothing")
    expect(page.locator(".svs-said")).to_have_text("This site has no recorded run 'nothing'.")


def test_the_site_draws_the_charts_of_the_recorded_sweeps(opened: Callable[[str], Page]) -> None:
    page = opened("")
    page.get_by_role("button", name="Speedup").click()
    expect(page.locator(".svs-plot .main-svg").first).to_be_visible()
    expect(page.get_by_role("heading", name="Speedup waterfall").first).to_be_visible()
    sweeps = list((ROOT / "sweeps").glob("*.json.gz"))
    expect(page.locator(".svs-plot")).to_have_count(len(sweeps) * len(charts()))


def test_a_page_around_drives_the_embedded_player(offline: Page, site: Path, tmp_path: Path) -> None:
    around = tmp_path / "around.html"
    around.write_text(
        f'<iframe src="file://{site}/index.html?embed" width="1200" height="700"></iframe><script>const told = [];'
        'addEventListener("message", (event) => told.push(event.data));'
        'const ask = (message) => frames[0].postMessage({type: "specviz", ...message}, "*");</script>',
        encoding="utf-8",
    )
    offline.goto(f"file://{around}")
    frame = offline.frame_locator("iframe")
    expect(frame.locator("[data-ready]")).to_be_attached()
    expect(frame.locator(".svs-nav")).to_be_hidden()
    offline.evaluate('ask({action: "load", run: "b-greedy"})')
    expect(frame.locator(".svp-where")).to_contain_text("of 2")
    offline.evaluate("trace => ask({action: 'load', trace})", json.loads(codec.dumps(sample())))
    expect(frame.locator(".svp-where")).to_contain_text("of 8")
    offline.evaluate('ask({action: "go", round: 2, beat: 9, node: 3})')
    expect(frame.locator(".svp-where")).to_have_text("Round 2 of 8")
    offline.evaluate('ask({action: "select", node: 1}); ask({action: "run", name: "nextRound"})')
    expect(frame.locator(".svp-where")).to_have_text("Round 3 of 8")
    offline.evaluate('ask({action: "load", run: "nothing"}); ask({action: "dance"}); ask({action: "load", trace: {}})')
    offline.wait_for_function("told.filter((one) => one.event === 'error').length === 3")
    state = offline.evaluate("told.filter((one) => one.event === 'state').at(-1)")
    assert (state["round"], state["rounds"]) == (3, 8)
