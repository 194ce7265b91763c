"""`specviz app`: the page of `app.py`, at the host and port asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


class FakePage:
    """What `app.py` offers, with a server that only notes how it was started."""

    LIMITS = "limits"

    def __init__(self) -> None:
        self.launched: dict[str, Any] = {}
        self.calls: list[str] = []
        self.demo = self
        self.source = self

    def launch_settings(self, limits: str) -> dict[str, Any]:
        assert limits == self.LIMITS
        return {"server_name": "127.0.0.1", "show_error": True}

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
    monkeypatch.setattr("specviz.cli.commands.app.load_page", lambda: fake)
    return fake


def test_it_serves_this_machine_alone_unless_told_otherwise(specviz: Call, page: FakePage) -> None:
    """The server is up before the engine begins to load."""
    assert specviz("app").code == 0
    assert page.launched == {"server_name": "127.0.0.1", "show_error": True, "prevent_thread_lock": True}
    assert page.calls == ["launch", "start", "block"]


def test_host_and_port_reach_the_server(specviz: Call, page: FakePage) -> None:
    specviz("app", "--host", "0.0.0.0", "--port", "8080")
    assert (page.launched["server_name"], page.launched["server_port"]) == ("0.0.0.0", 8080)


def test_a_port_that_is_taken_or_impossible_is_a_sentence(specviz: Call, page: FakePage) -> None:
    assert specviz("app", "--port", "1").err == (
        "specviz: cannot serve on port 1: Cannot find empty port; choose another --port.\n"
    )
    assert specviz("app", "--port", "70000").code == 2
