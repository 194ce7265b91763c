"""Links of every kind, opened by a visitor who was never here, show the moment they were copied at."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from specviz.app.machine.view import setting_label
from specviz.app.map import choices as map_choices
from specviz.app.map import matching
from specviz.app.runs.gallery import gallery
from specviz.app.what_if.tab import START, WhatIfActions
from specviz.app.what_if.view import what_if_view
from specviz.protocol.choice import Choice
from specviz.protocol.links import pack, pack_request, read_request, text_hash, unpack
from specviz.protocol.runs import RunRequest, request_of
from specviz.theory import roofline
from specviz.trace import codec
from specviz.trace.events import Trace
from tests.app.doubles import ReplaySource, sample
from tests.browser.conftest import PATIENCE_MS, forgotten
from tests.browser.page_server import opened, served
from tests.browser.tabs import is_open, open_tab

pytestmark = pytest.mark.browser

FILLED = ("watch", "race", "when-it-pays", "analysis", "machine", "proof", "map")
"""the tabs whose values a link holds, and those that they are wired to, but *What if*"""
GREEDY = Path(__file__).parents[1] / "golden" / "trace-1.0-greedy.json"


def another() -> Trace:
    """A second recorded run, told from the first by its id and its rounds."""
    trace = codec.read(GREEDY)
    return replace(trace, started=replace(trace.started, run_id="another"))


@pytest.fixture(scope="module")
def source() -> ReplaySource:
    trace = sample()
    drafter = replace(trace.started.drafter, name="ngram", options={"gamma": 4, "longest": 3})
    verifier = replace(trace.started.verifier, name="loose", options={})
    return ReplaySource(replace(trace, started=replace(trace.started, drafter=drafter, verifier=verifier)))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    codec.write(sample(), folder / "a-sample.json.gz")
    codec.write(another(), folder / "b-greedy.json.gz")
    return folder


@pytest.fixture(scope="module")
def address(source: ReplaySource, recordings: Path) -> Iterator[str]:
    with served(source, recordings, tabs=FILLED) as url:
        yield url


@pytest.fixture(scope="module")
def simulating(source: ReplaySource, recordings: Path) -> Iterator[str]:
    with served(source, recordings, tabs=["watch", "race", "proof", "what-if"]) as url:
        yield url


@pytest.fixture(scope="module")
def watch(source: ReplaySource, recordings: Path) -> Iterator[str]:
    """The same for links that open no other tab."""
    with served(source, recordings, tabs=["watch"]) as url:
        yield url


def where(page: Page) -> tuple[str, str, str]:
    """Which run, which moment, which node."""
    return (
        page.evaluate("document.querySelector('#sv-player .sv-player').specviz.trace.started.run_id"),
        page.locator("#sv-player .svp-where").inner_text(),
        page.evaluate("String(document.querySelector('#sv-player .sv-player').specviz.selected)"),
    )


def fresh(page: Page, url: str) -> Page:
    """The link opened by a visitor who was never here."""
    forgotten(page)
    return opened(page, url)


def choose_recording(page: Page) -> None:
    page.locator("#sv-settings").click()
    page.locator("#sv-recorded input").click()
    page.get_by_role("option", name=re.compile("greedy")).click()
    expect(page.locator("#sv-message")).to_contain_text("in 2 target passes")
    expect(page.locator("#sv-player .svp-where")).to_contain_text("of 2")


def test_a_recording_chosen_from_the_gallery_is_in_the_address(page: Page, watch: str) -> None:
    opened(page, watch)
    assert "#" not in page.url
    choose_recording(page)
    expect(page).to_have_url(re.compile("#run=b-greedy&round="))
    page.evaluate("document.querySelector('#sv-player .sv-player').specviz.run('nextRound')")
    round_ = page.evaluate("document.querySelector('#sv-player .sv-player').specviz.cursor.round") + 1
    link = page.evaluate("() => SpecViz.address()")  # now: the page writes it a moment after the step
    assert f"#run=b-greedy&round={round_}&" in link
    there = where(page)
    assert there[0] == "another"
    other = fresh(page, link)
    expect(other.locator("#sv-player .svp-where")).to_have_text(there[1])
    assert where(other) == there


LATE = """{
  let own, named;
  Object.defineProperty(globalThis, "SpecViz", {
    get: () => own,
    set: (value) => {
      if (own === value) return;
      own = value;
      const later = (names) => setTimeout(() => named(names), 3000);
      Object.defineProperty(own, "named", { get: () => named && later, set: (given) => (named = given) });
    },
  });
}"""
"""the component that knows the recorded runs' names mounts long after the player, as on a slow machine"""


def test_a_run_does_not_take_another_runs_moment_before_the_names_are_known(page_of_its_own: Page, watch: str) -> None:
    page = page_of_its_own
    page.add_init_script(LATE)
    opened(page, f"{watch}#run=b-greedy&round=2&beat=2")
    expect(page.locator("#sv-player .svp-where")).to_have_text("Round 2 of 2")
    page.wait_for_function("() => !SpecViz.AWAITS_NAMES")
    expect(page.locator("#sv-player .svp-where")).to_have_text("Round 2 of 2")
    expect(page).to_have_url(re.compile("#run=b-greedy&round=2&"))


def test_a_live_run_is_run_again_and_says_so(page: Page, watch: str, source: ReplaySource) -> None:
    opened(page, watch)
    page.locator("#sv-prompt textarea").fill("def second():\n")
    page.locator("#sv-run").click()
    expect(page.locator("#sv-message")).to_contain_text("engine time")
    expect(page.locator("#sv-run")).to_be_enabled()
    expect(page.locator("#sv-player .svp-where")).to_have_text("Round 8 of 8")
    page.evaluate("document.querySelector('#sv-player .sv-player').specviz.go({round: 1, beat: 8}, true, 3)")
    expect(page).to_have_url(re.compile(r"#ask=[\w-]+&text=[0-9a-f]{8}&round=2&beat=9&node=3"))
    asked = re.search(r"ask=([\w-]+)", page.url)
    assert read_request(asked[1]).prompt == "def second():\n"
    other = fresh(page, page.url)
    expect(other.locator("#sv-message")).to_contain_text("The text is the same as the link's.")
    expect(other.locator("#sv-player .svp-where")).to_have_text("Round 2 of 8")
    assert where(other)[2] == "3"
    expect(other.locator("#sv-prompt textarea")).to_have_value("def second():\n")
    assert source.requests[-1][0].prompt == "def second():\n"


def test_a_machine_that_writes_another_text_says_so(page: Page, watch: str) -> None:
    request = pack_request(
        replace(request_of(sample().started), drafter=Choice("model"), verifier=Choice("auto"), target="target")
    )
    opened(page, f"{watch}#ask={request}&text={text_hash('another text')}&round=2")
    expect(page.locator("#sv-message")).to_contain_text("The text differs from the link's")
    expect(page.locator("#sv-player .svp-where")).to_have_text("Round 2 of 8")


def test_a_link_s_run_that_waits_has_run_off_and_stop_on_as_a_pressed_one(page: Page, tmp_path: Path) -> None:
    gate = Event()
    with served(ReplaySource(sample(), gate), tmp_path, tabs=("watch",)) as url:
        opened(page, url)
        asked = pack_request(RunRequest("def second():", drafter=Choice("ngram")))
        page.evaluate("fields => { location.hash = fields }", f"ask={asked}")
        expect(page.locator("#sv-message")).to_contain_text("running it again")
        expect(page.locator("#sv-run")).to_be_disabled()
        expect(page.locator("#sv-stop")).to_be_enabled()
        gate.set()
        expect(page.locator("#sv-message")).to_contain_text("engine time")
        expect(page.locator("#sv-run")).to_be_enabled()
        expect(page.locator("#sv-stop")).to_be_disabled()


CANNOT = {
    "ask=%25%25": "this link is cut or changed",
    f"ask={pack_request(RunRequest('x', drafter=Choice('unknown')))}": "there is no drafter 'unknown'",
    f"ask={pack_request(RunRequest('x' * 3000))}": "shorten it",
    "run=<img src=x onerror=alert(1)>": "there is no recorded run '<img",
}
"""fields of a link, and what is said of it"""


def test_a_link_that_cannot_be_opened_says_why(page: Page, watch: str) -> None:
    """One opens the page, the others come into its address later."""
    opened(page, f"{watch}#{next(iter(CANNOT))}&round=2")
    for fields, said in CANNOT.items():
        page.evaluate("fields => { location.hash = fields }", f"{fields}&round=2")
        expect(page.locator("#sv-message")).to_contain_text(said, ignore_case=True)
    assert page.locator("#sv-message img").count() == 0


def set_values(page: Page) -> dict[str, dict[str, object]]:
    """The tabs' values in the address."""
    found = re.search(r"[#&]set=([\w-]+)", page.url)
    values: dict[str, dict[str, object]] = unpack(found[1]) if found else {}
    return values


def settled(page: Page, wanted: Callable[[dict[str, dict[str, object]]], bool]) -> None:
    """Wait until the tabs' values in the address are these: it follows at its own pace."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not wanted(set_values(page)):
        assert time.monotonic() < deadline, set_values(page)
        page.wait_for_timeout(100)


def choose(page: Page, control: str, option: str) -> None:
    page.locator(f"{control} input").click()
    page.get_by_role("option", name=option).first.click()


def test_what_if_values_come_back_and_its_simulated_run_is_drawn_again(
    page: Page, simulating: str, recordings: Path
) -> None:
    opened(page, simulating)
    open_tab(page, "What if")
    expect(page).to_have_url(re.compile("[#&]tab=what-if"))
    page.locator("#sv-what-if-tree input, #sv-what-if-tree textarea").fill("3,2")
    choose(page, "#sv-what-if-clock", "measured curve")
    place = page.get_by_label("context and batch")
    name, curve = next(iter(roofline.curves().items()))
    context, batch = roofline.settings(curve)[-1]
    chosen = f"context {context}, batch {batch}"
    place.click()
    page.get_by_role("option", name=chosen, exact=True).click()
    expect(place).to_have_value(chosen)
    wanted = {"tree": "3,2", "clock": name, "place": f"{context},{batch}"}
    settled(page, lambda values: values.get("what-if") == wanted)
    said = what_if_view(WhatIfActions(gallery(recordings)).setting({**START, **wanted})).verdict
    expect(page.locator("#sv-what-if-verdict")).to_contain_text(said)
    page.get_by_role("button", name="Step through a simulated run").click()
    is_open(page, "Watch")
    expect(page.locator("#sv-message")).to_contain_text("no model ran")
    expect(page.locator("#sv-message")).to_contain_text("95 % of such runs lie between")
    expect(page.locator("#sv-badges")).to_contain_text("times modelled")
    expect(page.locator("#sv-player")).to_contain_text("[simulated: no model, no text]")
    page.evaluate("document.querySelector('#sv-player .sv-player').specviz.go({round: 3, beat: 1}, true)")
    expect(page).to_have_url(re.compile("#run=simulated&round=4&beat=2.*&tab=watch&set="))
    there = page.locator("#sv-player .sv-player").inner_text()
    other = fresh(page, page.url)
    expect(other.locator("#sv-message")).to_contain_text("no model ran")
    expect(other.locator("#sv-player .svp-where")).to_contain_text("Round 4 of")
    expect(other.locator("#sv-player .sv-player")).to_have_text(there, use_inner_text=True)
    open_tab(other, "What if")
    expect(other.locator("#sv-what-if-tree input, #sv-what-if-tree textarea")).to_have_value("3,2")
    expect(other.get_by_label("context and batch")).to_have_value(chosen)
    expect(other.locator("#sv-what-if-verdict")).to_contain_text(said)


def test_controls_that_a_link_fills_in_at_once_are_worked_out_once_with_all_their_values(
    page: Page, simulating: str, recordings: Path
) -> None:
    """A call for each of them would be answered in any order: what is shown could be of values before the last."""
    name, curve = next(iter(roofline.curves().items()))
    context, batch = roofline.settings(curve)[-1]
    values = {"tree": "3,2", "clock": name, "place": f"{context},{batch}", "cost_ratio": 0.1}
    asked: list[list[object]] = []
    page.on("request", lambda request: asked.append((request.post_data_json or {}).get("data", [])))
    opened(page, f"{simulating}#tab=what-if&set={pack({'what-if': values})}")
    said = what_if_view(WhatIfActions(gallery(recordings)).setting({**START, **values})).verdict
    expect(page.locator("#sv-what-if-verdict")).to_contain_text(said)
    filled = [[value for value in given if value in values.values()] for given in asked if name in given]
    assert filled == [[name, f"{context},{batch}", 0.1, "3,2"]]


def test_race_settings_come_back_and_nothing_runs(page: Page, simulating: str, source: ReplaySource) -> None:
    opened(page, simulating)
    open_tab(page, "Race")
    page.locator("#sv-race-prompt textarea").fill("two words")
    choose(page, "#sv-race-drafter-1", "model")
    page.locator("#sv-race-drafter-1 ~ * input[type=number]").first.fill("7")
    page.get_by_label("seed").locator("visible=true").fill("11")
    page.get_by_label("seed").locator("visible=true").blur()
    wanted = {"prompt": "two words", "0.drafter": "model", "0.gamma": 7, "seed": 11}
    settled(page, lambda values: values.get("race") == wanted)
    before = len(source.requests)
    other = fresh(page, page.url)
    expect(other.locator("#sv-race-prompt textarea")).to_have_value("two words")
    expect(other.locator("#sv-race-drafter-1 input")).to_have_value("model")
    expect(other.locator("#sv-race-drafter-1 ~ * input[type=number]").first).to_have_value("7")
    expect(other.get_by_label("seed").locator("visible=true")).to_have_value("11")
    expect(other.locator("#sv-race-message")).to_contain_text("Run race records it here")
    assert len(source.requests) == before
    # Going on: the race stays in the address while another tab's value joins it.
    open_tab(other, "Proof")
    other.locator("#sv-proof-p input, #sv-proof-p textarea").fill("0.2, 0.2, 0.6")
    other.locator("#sv-proof-p input, #sv-proof-p textarea").blur()
    settled(other, lambda values: values == {"race": wanted, "proof": {"p": "0.2, 0.2, 0.6"}})


def test_machine_speedup_and_map_come_back(page: Page, address: str) -> None:
    curve = list(roofline.curves().values())[-1]
    label = f"{curve.name} · {curve.model.name}, {curve.machine.dtype}"
    setting = setting_label(*roofline.settings(curve)[-1])
    facet = map_choices("drafts")[1]
    values = {
        "machine": {"curve": label, "setting": setting},
        "heads": {"head_size": 512},
        "speedup": {"gammas": "3,5", "chart": "plane", "per_family": 1},
        "map": {"drafts": [facet]},
    }
    opened(page, f"{address}#tab=machine&set={pack(values)}")
    expect(page.locator("#sv-machine-curve input")).to_have_value(label)
    expect(page.locator("#sv-machine-setting input")).to_have_value(setting)
    expect(page.locator("#sv-machine-plot .js-plotly-plot")).to_be_visible()
    open_tab(page, "When it pays")
    expect(page.locator("#sv-lab-choice input:checked")).to_have_value("plane")
    page.locator("#sv-sweep-form button").first.click()
    expect(page.locator("#sv-sweep-gammas input, #sv-sweep-gammas textarea")).to_have_value("3,5")
    open_tab(page, "Map")
    expect(page.locator("#sv-map article")).to_have_count(len(matching({"drafts": [facet]})))


def test_values_that_no_control_could_have_are_left_out(page: Page, address: str) -> None:
    values = {
        "race": {"0.drafter": "unknown", "seed": "x", "temperature": 99, "nothing": 1},
        "machine": {"curve": "<img src=x onerror=alert(1)>", "setting": "x"},
        "speedup": {"drafters": ["unknown"], "families": "x"},
        "map": {"drafts": [{}]},
        "proof": {"candidates": True},
    }
    opened(page, f"{address}#set={pack(values)}")
    for tab in ("Race", "Machine", "When it pays", "Map", "Proof"):
        open_tab(page, tab)
    expect(page.locator("#sv-proof-summary")).to_be_visible()
    expect(page.locator("#sv-machine-message")).to_contain_text("is not in the link")
    assert page.locator(".toast-body").count() == 0
    assert page.locator("[role=tabpanel] img[src=x]").count() == 0


def test_a_link_to_the_run_that_opens_the_page_holds_its_node_what_is_hidden_and_a_qr_code_of_itself(
    page: Page, watch: str
) -> None:
    opened(page, f"{watch}#run=a-sample&round=2&beat=9&node=3&hide=card,costs")
    expect(page.locator("#sv-player .svp-where")).to_have_text("Round 2 of 8")
    assert where(page)[2] == "3"
    expect(page.locator("#sv-player .sv-player")).to_have_attribute("data-hidden", "card costs")
    page.locator("#sv-player summary", has_text="share").click()
    page.get_by_role("button", name="QR code").click()
    box = page.get_by_role("dialog", name="QR code")
    expect(box.get_by_role("img")).to_be_visible()
    expect(box).to_contain_text("#run=a-sample&round=2&beat=9&node=3")


def test_an_old_link_without_a_run_opens_the_first_and_one_that_chooses_methods_runs_nothing(
    page: Page, watch: str, source: ReplaySource
) -> None:
    before = len(source.requests)
    chosen = pack({"prompt": "", "drafter": "ngram", "drafter_options": {"longest": 5}})
    opened(page, f"{watch}#round=2&beat=9&node=3&tab=step&choose={chosen}")
    expect(page.locator("#sv-player .svp-where")).to_have_text("Round 2 of 8")
    assert where(page)[2] == "3"
    page.locator("#sv-settings").click()
    expect(page.get_by_label("longest", exact=False).locator("visible=true").first).to_have_value("5")
    assert len(source.requests) == before


@pytest.mark.parametrize("link", ["", "#run=b-greedy&round=2"])
def test_a_prompt_that_was_typed_outlives_a_reload_as_after_a_lost_connection_and_no_new_visit(
    page: Page, address: str, link: str
) -> None:
    prompt, where = page.locator("#sv-prompt textarea"), page.locator(".svp-where")
    shown = "Round 2 of 2" if link else "of 8"
    opened(page, address + link)
    expect(where).to_contain_text(shown)
    filled = prompt.input_value()
    prompt.fill("my own question")
    for _ in range(2):
        page.reload()
        expect(where).to_contain_text(shown)
        expect(prompt).to_have_value("my own question")
    page.goto("about:blank")
    opened(page, address + link)
    expect(where).to_contain_text(shown)
    expect(prompt).to_have_value(filled)
