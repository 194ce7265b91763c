"""What visitors hand in: room for a class and an end to it, and gone with the page that used it."""

import random
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest

from specviz.app.form.request import Limits
from specviz.app.offered import served_folder
from specviz.app.page import sessions
from specviz.app.page import sessions as uploaded
from specviz.app.page.sessions import OF_A_NETWORK, OF_ALL, UNCLAIMED_S, UploadedFiles
from tests.app.doubles import SAMPLE
from tests.browser.page_server import serving
from tests.event_loop import run_to_the_end
from tests.load.behaviour import Guest, Notes, Room
from tests.load.echo import Echo, until
from tests.load.visitor import Visitor, client

LARGEST = 300_000


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def files(clock: Clock) -> UploadedFiles:
    return UploadedFiles(clock)


def handed(files: UploadedFiles, path: Path, network: str = "8.8.8.8", size: int = 4) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    assert files.refusal(network, size, LARGEST) is None
    files.arrived(network, size, [str(path)])
    return str(path)


def test_a_network_may_hand_in_twenty_of_the_largest_files_and_all_together_sixty(
    files: UploadedFiles, tmp_path: Path
) -> None:
    for network in range(OF_ALL // OF_A_NETWORK):
        assert files.refusal(str(network), OF_A_NETWORK * 10, 10) is None
        assert files.refusal(str(network), 1, 10) == (
            "Your network has uploaded the 0.0002 MB that this machine keeps at a time; try again in a few minutes."
        )
    assert "All visitors together have uploaded the 0.0006 MB" in (files.refusal("another", 1, 10) or "")
    files.arrived("0", OF_A_NETWORK * 10, [])
    assert files.refusal("0", 1, 10) is None, "what did not arrive takes no room"


def test_a_file_goes_with_the_last_page_that_uses_it(files: UploadedFiles, tmp_path: Path) -> None:
    path = handed(files, tmp_path / "sha" / "trace.json")
    files.claim("first", {"path": path})
    files.claim("second", [{"path": path}, {"path": "/etc/passwd"}])
    files.sweep(["first", "second"])
    files.sweep(["second"])
    assert Path(path).is_file()
    files.sweep([])
    assert not Path(path).parent.exists()
    assert files.refusal("8.8.8.8", OF_A_NETWORK * LARGEST, LARGEST) is None, "its room is free again"


def test_what_no_page_uses_goes_after_ten_minutes(files: UploadedFiles, clock: Clock, tmp_path: Path) -> None:
    path = handed(files, tmp_path / "sha" / "trace.json")
    clock.now = UNCLAIMED_S
    files.sweep(["somebody"])
    assert Path(path).is_file()
    clock.now += 1.0
    files.sweep(["somebody"])
    assert not Path(path).exists()


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[gr.Blocks]:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "served"))
    (tmp_path / "recorded").mkdir()
    with serving(Echo(), tmp_path / "recorded", Limits(import_bytes=LARGEST), ["watch"]) as demo:
        yield demo


def test_a_served_page_refuses_what_is_too_much_and_removes_a_file_when_its_page_has_closed(
    page: gr.Blocks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lying() -> list[str]:
        return [path.name for path in served_folder().rglob("*.json") if path.name.startswith("1")]

    async def scene() -> None:
        async with client(page.local_url, 4) as http:
            room = Room(http, await Visitor.look(http), Notes(), tmp_path, SAMPLE, ["code-a"], 0.0)
            guest = Guest(room, Visitor(http, room.layout), random.Random(7))
            await guest.visitor.open()
            await guest.act("upload")
            assert room.notes.errors == []
            assert len(lying()) == 1
            zipped = b"x" * (3 * LARGEST)
            answer = await http.post("/gradio_api/upload", files={"files": ("traces.zip", zipped)})
            assert answer.status_code == 200, "a zip of traces may be eight times as large as one"
            many = b"x" * (LARGEST - 1000)
            codes = []
            for number in range(OF_A_NETWORK + 1):
                answer = await http.post(
                    "/gradio_api/upload", files={"files": (f"{number}.txt", many + b"%d" % number)}
                )
                codes.append(answer.status_code)
            assert codes == [200] * (OF_A_NETWORK - 4) + [413] * 5
            assert "Your network has uploaded the 6 MB" in answer.text
            await guest.visitor.leave()

    run_to_the_end(scene())
    monkeypatch.setattr(sessions, "AFTER_LEAVING_S", 0.0)
    until(lambda: not lying())
    assert uploaded.UPLOADED._sizes, "those that no page claimed stay for some minutes"
