"""`specviz app`: the page at the host and port asked for; `app.py` is the same under another name."""

import os
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from specviz.app.form.request import Limits
from specviz.app.page import build as specviz_build
from specviz.app.page.queue import fair_queue
from specviz.app.page.sessions import Sessions
from specviz.cli.commands.app import Page, load_page
from specviz.scratch import scratch
from tests.cli.conftest import Call

OPEN, CLOSED = Limits(any_model=True, shared_memory=True), Limits(any_model=False, shared_memory=False)


class FakePage:
    """What a page is made of, whose server only notes how it was started."""

    state_session_capacity = 1
    max_threads = 1

    def __init__(self) -> None:
        self.launched: dict[str, Any] = {}
        self.calls: list[str] = []
        self.app = SimpleNamespace()
        self.fns: dict[int, object] = {}
        this: Any = self
        fair_queue(this, Limits(), behind_proxy=False)

    def launch(self, **settings: Any) -> None:
        if settings.get("server_port") == 1:
            raise OSError("Cannot find empty port")
        self.launched = settings
        self.calls.append("launch")

    def start(self) -> None:
        self.calls.append("start")

    def block_thread(self) -> None:
        self.calls.append("block")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> FakePage:
    fake = FakePage()
    settings = {"server_name": "127.0.0.1", "show_error": True}
    made: Any = Page(fake, fake, settings)
    monkeypatch.setattr("specviz.cli.commands.app.load_page", lambda **_: made)
    return fake


def test_it_serves_this_machine_alone_unless_told_otherwise(specviz: Call, page: FakePage) -> None:
    """The server is up before the engine begins to load."""
    assert specviz("app").code == 0
    assert page.launched == {"server_name": "127.0.0.1", "show_error": True, "prevent_thread_lock": True}
    assert page.calls == ["launch", "start", "block"]
    assert isinstance(page.app.state_holder, Sessions), "no visitor's whole page is kept"


def test_host_and_port_reach_the_server(specviz: Call, page: FakePage) -> None:
    specviz("app", "--host", "0.0.0.0", "--port", "8080")
    assert (page.launched["server_name"], page.launched["server_port"]) == ("0.0.0.0", 8080)


@pytest.mark.parametrize(
    ("flags", "environment", "expected"),
    [
        ([], {}, OPEN),
        (["--host", "127.0.0.1"], {}, OPEN),
        (["--host", "127.8.9.1"], {}, OPEN),
        (["--host", "localhost"], {}, OPEN),
        (["--host", "::1"], {}, OPEN),
        (["--host", "0.0.0.0"], {}, CLOSED),
        (["--host", "::"], {}, CLOSED),
        (["--host", "192.168.1.7"], {}, CLOSED),
        (["--host", "workshop.example"], {}, CLOSED),
        ([], {"SPACE_ID": "a/b"}, CLOSED),
        ([], {"SPECVIZ_TIER": "cpu-basic"}, CLOSED),
        (["--host", "127.0.0.1"], {"SPECVIZ_TIER": "local"}, CLOSED),
        (["--host", "0.0.0.0", "--trust-visitors"], {}, OPEN),
        (["--trust-visitors"], {"SPECVIZ_TIER": "gpu"}, OPEN),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_where_strangers_may_come_no_model_of_the_machine_is_theirs_to_name(
    specviz: Call, monkeypatch: pytest.MonkeyPatch, flags: list[str], environment: dict[str, str], expected: Limits
) -> None:
    for name in ("SPACE_ID", "SPECVIZ_TIER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    built: list[Limits] = []
    fake: Any = FakePage()

    def build(source: object, gallery: object, limits: Limits) -> FakePage:
        built.append(limits)
        return fake

    monkeypatch.setattr(specviz_build, "build", build)
    monkeypatch.setattr("specviz.app.runs.deferred.DeferredSource.start", lambda self: None)
    assert specviz("app", *flags).code == 0
    assert [(one.any_model, one.shared_memory) for one in built] == [(expected.any_model, expected.shared_memory)]
    assert fake.launched["share"] is False


def test_a_port_that_is_taken_or_impossible_is_a_sentence(specviz: Call, page: FakePage) -> None:
    assert specviz("app", "--port", "1").err == (
        "specviz: cannot serve on port 1: Cannot find empty port; choose another --port.\n"
    )
    assert specviz("app", "--port", "70000").code == 2


def test_app_py_is_the_same_command(page: FakePage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["app.py", "--port", "8080"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(Path(__file__).parents[2] / "app.py"), run_name="__main__")
    assert end.value.code == 0
    assert page.launched["server_port"] == 8080


def test_a_missing_extra_is_named(specviz: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(**_: object) -> None:
        raise ModuleNotFoundError("No module named 'gradio'", name="gradio.themes")

    monkeypatch.setattr("specviz.cli.commands.app.load_page", without)
    answer = specviz("app")
    assert answer.err == "specviz: this needs gradio, which is not installed: pip install 'specviz[app]'.\n"
    assert answer.code == 2


def test_a_page_that_starts_sweeps_what_killed_ones_left_and_writes_into_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    swept: list[str] = []
    monkeypatch.setattr("specviz.cli.commands.app.sweep", lambda: swept.append("swept"))
    monkeypatch.setattr("specviz.app.page.build.build", lambda *given: None)
    monkeypatch.setenv("GRADIO_TEMP_DIR", "of another test")
    monkeypatch.delenv("GRADIO_TEMP_DIR")
    load_page()
    assert swept == ["swept"]
    assert Path(os.environ["GRADIO_TEMP_DIR"]).parent == scratch()
