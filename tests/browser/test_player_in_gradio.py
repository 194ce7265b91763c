"""The player as a gradio component: values arrive, events leave."""

import json
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest
from playwright.sync_api import Page, expect

from specviz.app.components.framed import Player
from specviz.app.components.standalone import css_paths, head
from tests.browser.page_server import free_port

pytestmark = pytest.mark.browser

GOLDEN = Path(__file__).parents[1] / "golden"
SAMPLE = (GOLDEN / "trace-1.0-sample.json").read_text(encoding="utf-8")
GREEDY = (GOLDEN / "trace-1.0-greedy.json").read_text(encoding="utf-8")


def asked(event: gr.EventData) -> str:
    return json.dumps([event.round, event.node, event.token])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with gr.Blocks(analytics_enabled=False) as demo:
        player = Player(SAMPLE)
        told = gr.Textbox(label="told", interactive=True)
        gr.Button("other run").click(lambda: GREEDY, None, player)
        player.branch(asked, None, told)
    local = {"server_name": "127.0.0.1", "server_port": free_port(), "ssr_mode": False, "run_history": False}
    _, url, _ = demo.launch(prevent_thread_lock=True, quiet=True, head=head(), css_paths=css_paths(), **local)
    yield url
    demo.close()


@pytest.fixture
def player(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.locator("[data-ready]")).to_be_attached()
    return page


def test_a_new_value_replaces_the_run(player: Page) -> None:
    expect(player.locator(".svp-where")).to_contain_text("of 8")
    rounds = len(json.loads(GREEDY)["rounds"])
    player.get_by_role("button", name="other run").click()
    expect(player.locator(".svp-where")).to_contain_text(f"of {rounds}")


def test_an_alternative_token_at_the_root_can_be_asked_for(player: Page) -> None:
    player.evaluate("location.hash = '#round=2&beat=9&node=3'")
    expect(player.locator(".svp-where")).to_contain_text("Round 2 of")
    player.get_by_role("button", name="<|end|>").click()
    expect(player.get_by_label("told")).to_have_value("[1, 3, 0]")


def test_keys_typed_into_gradios_fields_stay_there(player: Page) -> None:
    before = player.locator(".svp-where").inner_text()
    player.get_by_label("told").fill("")
    player.get_by_label("told").press("End")
    player.get_by_label("told").press_sequentially("bnN ?")
    expect(player.locator(".svp-where")).to_have_text(before)
    expect(player.get_by_role("dialog")).to_be_hidden()


def test_the_component_is_small_and_says_what_it_takes() -> None:
    assert Player().api_info()["type"] == "string"
