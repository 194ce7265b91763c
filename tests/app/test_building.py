"""The page as a whole: it builds over any source, with settings that keep it local and quiet."""

from pathlib import Path
from threading import Event

import gradio as gr
import httpx
import pytest

from specviz.app import tab
from specviz.app.form.request import Limits
from specviz.app.job import MOST_GONE, Cancellations
from specviz.app.page.build import build, settled
from specviz.app.page.settings import launch_settings
from specviz.app.runs.deferred import LOADING, DeferredSource
from specviz.app.runs.gallery import gallery, write_index
from specviz.app.tab import LAB, in_row, is_tab, opening
from specviz.errors import ModelError
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.trace import codec
from tests.app.doubles import ReplaySource, catalog, sample
from tests.browser.page_server import MEASURING, free_port

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> gr.Blocks:
    """The page over one recording."""
    folder = tmp_path_factory.mktemp("recordings")
    codec.write(sample(), folder / "sample.json.gz")
    return build(ReplaySource(sample()), gallery(folder), Limits())


def test_the_page_builds_with_every_event_private(demo: gr.Blocks) -> None:
    public = [fn.api_name for fn in demo.fns.values() if fn.api_visibility == "public" and fn.targets]
    assert public == []


def test_whatever_is_handed_in_is_read_in_the_lane_for_reading(demo: gr.Blocks) -> None:
    lanes = {fn.concurrency_id for fn in demo.fns.values() if any(event == "upload" for _, event in fn.targets)}
    assert lanes == {"reading"}


def test_every_tab_of_the_page_can_be_linked_to(demo: gr.Blocks) -> None:
    named = [str(block.id) for block in demo.blocks.values() if isinstance(block, gr.Tab)]
    assert named == [*(tab.name for tab in in_row("front")), LAB, *(tab.name for tab in in_row("lab"))]
    assert all(map(is_tab, named))


def test_the_page_around_the_tabs_imports_none_of_them_by_name() -> None:
    """They are found, so that adding one edits no list."""
    homes = {tab.build.__module__.removesuffix(".tab") for row in ("front", "lab") for tab in in_row(row)}
    assert {"specviz.app.race", "specviz.app.about"} <= homes
    around = [*(ROOT / "specviz" / "app" / "page").glob("*.py"), ROOT / "specviz" / "app" / "tab.py"]
    assert not [path.name for path in around if any(home in path.read_text(encoding="utf-8") for home in homes)]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("race", ("race", None)),
        ("lab", ("lab", None)),
        ("machine", ("lab", "machine")),
        ("step", ("watch", None)),
        ("speedup", ("when-it-pays", None)),
        ("nothing", (None, None)),
    ],
    ids=["of the first row", "the lab", "of the lab", "once Step", "once Speedup", "of none"],
)
def test_a_name_opens_its_tab_in_either_row(name: str, rows: tuple[str | None, str | None]) -> None:
    assert tuple(getattr(row, "selected", None) for row in opening(name)) == rows


def test_it_listens_here_only_and_on_a_space_everywhere() -> None:
    assert launch_settings(Limits(), {})["server_name"] == "127.0.0.1"
    assert launch_settings(Limits(), {"SPACE_ID": "someone/specviz"})["server_name"] == "0.0.0.0"


def test_a_machine_that_is_slow_to_answer_itself_serves_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradio asks for the page once it listens, and ends where no answer comes within three seconds."""
    monkeypatch.setattr("gradio.networking.url_ok", lambda url: False)
    with gr.Blocks() as small:
        gr.Markdown("small")
    settings = {**launch_settings(Limits(), {}), "server_port": free_port(), "mcp_server": False, "quiet": True}
    _, url, _ = small.launch(prevent_thread_lock=True, **settings)
    try:
        assert httpx.get(url, timeout=60).status_code == 200
    finally:
        small.close()


def test_only_a_page_without_a_recorded_sweep_says_that_nothing_is_measured(
    demo: gr.Blocks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(page: gr.Blocks) -> list[str]:
        shown = {block.elem_id: str(getattr(block, "value", "")) for block in page.blocks.values()}
        return [shown["sv-sweep-message"], shown["sv-lab-plot"]]

    assert all("Opening the recorded sweep…" in words for words in said(demo))
    needed = tuple(each for each in tab.found() if each.name in MEASURING)
    monkeypatch.setattr(tab, "found", lambda: needed)
    message, chart = said(build(ReplaySource(sample()), gallery(tmp_path), Limits(), sweeps=tmp_path))
    assert ("Nothing measured yet" in message, "Nothing is measured yet" in chart) == (True, True)


def test_nothing_is_kept_or_fetched_behind_the_visitors_back() -> None:
    settings = launch_settings(Limits(), {})
    assert (settings["run_history"], settings["ssr_mode"]) == (False, False)
    css = settings["theme"]._get_theme_css()
    assert "googleapis" not in css
    assert "IBMPlexSans-Regular" in css


def test_an_index_spares_reading_and_names_the_first_run(tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        codec.write(sample(), tmp_path / name)
    write_index(tmp_path, ["b.json.gz"])
    recorded = gallery(tmp_path)
    assert recorded.first == "b.json.gz"
    assert (
        recorded.cards[0].label
        == "sample tree + sequential for toy target: a, temperature 1 · 2.71 tokens per round · simulated"
    )


def test_a_broken_file_is_left_out_of_the_gallery(tmp_path: Path) -> None:
    (tmp_path / "broken.json.gz").write_bytes(b"not a trace")
    assert gallery(tmp_path).cards == ()


def test_the_engine_comes_later_and_the_page_says_so() -> None:
    ready = Event()

    def make() -> TraceSource:
        ready.wait(5)
        return ReplaySource(sample())

    source = DeferredSource(make, catalog())
    source.start(grace_s=0)
    assert (source.status(), settled(source)) == (LOADING, False)
    assert source.explain(RunRequest("x")) is None
    ready.set()
    source.warm()
    assert (source.status(), settled(source)) == ("models ready", True)
    assert len(list(source.run(RunRequest("x")))) == 10


def test_a_run_asked_for_too_early_can_still_be_stopped() -> None:
    source = DeferredSource(lambda: ReplaySource(sample()), catalog())
    with pytest.raises(ModelError, match="stopped before the engine was loaded"):
        list(source.run(RunRequest("x"), lambda: True))


def test_what_else_was_asked_for_too_early_ends_without_a_word_where_it_is_stopped() -> None:
    source = DeferredSource(lambda: ReplaySource(sample()), catalog())
    stopped = iter([True])  # asked once more it raises
    assert list(source.fetch("smollm2", stopped.__next__)) == []


def test_an_engine_that_cannot_load_says_why_and_keeps_saying_it() -> None:
    def make() -> TraceSource:
        raise ModelError("the folder assets/models/target is missing; run `specviz train`.")

    source = DeferredSource(make, catalog())
    source.start(grace_s=0)
    source.warm()
    assert "assets/models/target is missing" in source.status()
    with pytest.raises(ModelError, match="could not be loaded"):
        list(source.run(RunRequest("x")))


def test_arming_again_stops_the_run_before() -> None:
    cancellations = Cancellations()
    first = cancellations.arm("visitor")
    second = cancellations.arm("visitor")
    assert (first.is_set(), second.is_set()) == (True, False)
    cancellations.leave("visitor")
    assert second.is_set()


def test_work_that_begins_after_its_visitor_has_left_is_stopped_at_once() -> None:
    """It waited in the queue while the page was closed: the switch it finds there is the thrown one."""
    cancellations = Cancellations()
    cancellations.arm("visitor")
    cancellations.leave("visitor")
    assert cancellations.gone("visitor")
    assert cancellations.armed("visitor").is_set()
    assert not cancellations.arm("visitor").is_set(), "the page is back, and asks again"
    assert not cancellations.gone("visitor")
    assert not cancellations.armed("visitor").is_set()


def test_only_the_last_visitors_who_left_are_remembered() -> None:
    cancellations = Cancellations()
    for number in range(MOST_GONE + 2):
        cancellations.leave(str(number))
    assert [cancellations.gone(name) for name in ("0", "1", "2")] == [False, False, True]
