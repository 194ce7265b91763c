"""The page for programs: four named endpoints, asked over the network as a client asks them, and nothing else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from specviz.app.endpoints import Answers, mcp_installed
from specviz.app.form.request import Limits
from specviz.protocol.sweeps import store
from specviz.trace import codec
from tests.app.doubles import SAMPLE, ReplaySource, sample
from tests.browser.page_server import served
from tests.event_loop import run_to_the_end

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def source() -> ReplaySource:
    return ReplaySource(sample())


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, source: ReplaySource) -> Iterator[str]:
    limits = Limits(max_new_tokens=40)
    with served(source, tmp_path_factory.mktemp("recorded"), limits, ["watch"]) as url:
        yield url


@pytest.fixture(scope="module")
def client(address: str) -> Client:
    return Client(address, verbose=False)


def test_the_guide_names_every_endpoint_with_its_parameters_and_no_other(client: Client) -> None:
    guide = (ROOT / "docs" / "endpoints.md").read_text(encoding="utf-8")
    told = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert sorted(told) == ["/catalogue", "/check", "/run", "/sweep"]
    for name, endpoint in told.items():
        section = guide.partition(f"\n## `{name}`\n")[2].partition("\n## ")[0]
        parameters = [one["parameter_name"] for one in endpoint["parameters"]]
        assert [one for one in parameters if f"| `{one}`" not in section] == []


def test_the_catalogue_has_drafters_with_their_options_and_prompts(client: Client) -> None:
    told = client.predict(api_name="/catalogue")
    assert [one["name"] for one in told["drafters"]] == ["none", "model", "ngram"]
    assert told["drafters"][1]["options"][0]["name"] == "gamma"
    assert {"copy-a"} <= {one["id"] for one in told["prompts"]}


def test_a_run_gives_text_and_summary_and_its_trace_where_that_is_asked_for(client: Client) -> None:
    told = client.predict("def add(a, b):\n", drafter_options={"gamma": 3}, api_name="/run")
    assert told["text"] == sample().finished.text
    assert told["summary"]["num_accepted_draft_tokens"] == 14
    assert "trace" not in told
    told = client.predict("x", with_trace=True, api_name="/run")
    trace = codec.loads(json.dumps(told["trace"]))
    assert trace.rounds == sample().rounds


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"max_new_tokens": 900}, "must lie between 1 and 40"),
        ({"drafter": "oracle"}, "There is no drafter 'oracle'"),
        ({"drafter_options": {"gama": 3}}, "has no option 'gama'; it has gamma"),
        ({"drafter_options": {"gamma": "many"}}, "must be a whole number"),
        ({"drafter_options": {"branching": [20, 20]}}, "makes 420 candidates per round"),
        ({"temperature": -1.0}, "temperature"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_sentence(client: Client, asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AppError) as refused:
        client.predict("x", api_name="/run", **asked)
    assert sentence.lower() in str(refused.value).lower()


def test_a_trace_is_checked_as_on_the_command_line(client: Client) -> None:
    data = json.loads(SAMPLE.read_text())
    told = client.predict(data, api_name="/check")
    assert (told["ok"], told["verdict"], told["rounds"]) == (True, "sound", 8)
    data["summary"]["num_draft_tokens"] += 1
    del data["finished"]["reason"]
    told = client.predict(data, api_name="/check")
    assert [one["sentence"] for one in told["problems"]] == ["finished.reason is missing; every trace has it."]


def test_a_sweep_tells_its_progress_and_ends_with_the_result(client: Client) -> None:
    job = client.submit(
        'drafters = ["ngram"]\ngammas = [3]\nprompts = ["copy-a"]\nmax_new_tokens = 16\n', api_name="/sweep"
    )
    last = list(job)[-1]
    assert (last["done"], last["of"]) == (2, 2)
    result = store.loads(json.dumps(last["result"]).encode())
    assert (result.complete, [point.prompt for point in result.points]) == (True, ["copy-a", "copy-a"])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("gamas = [1]", "did you mean 'gammas'?"),
        ('drafters = ["ngram"]\nmax_new_tokens = 900', "asks for 900 tokens, but this machine takes 40"),
        ('prompt_file = "p.jsonl"', "prompt_file names a file beside the sweep file"),
    ],
)
def test_a_sweep_that_cannot_run_is_refused_with_its_sentence(client: Client, settings: str, sentence: str) -> None:
    with pytest.raises(AppError) as refused:
        client.predict(settings, api_name="/sweep")
    assert sentence in str(refused.value)


def test_a_cancelled_sweep_gives_the_engine_back(
    client: Client, source: ReplaySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes next waits in the same lane: it is answered long before the sweep's 560 runs could be over."""
    monkeypatch.setattr(source, "_round_wait_s", 0.02)
    source.requests.clear()
    job = client.submit("every_drafter = true\nrepeats = 40\nmax_new_tokens = 40\n", api_name="/sweep")
    assert next(one for one in job if one["done"] >= 2)["of"] == 560
    job.cancel()
    assert client.predict("next", api_name="/run")["text"] == sample().finished.text
    assert source.requests[-1][0].prompt == "next"
    assert len(source.requests) < 560


@pytest.mark.skipif(not mcp_installed(), reason="the extra mcp is not installed")
def test_the_same_are_mcp_tools(address: str) -> None:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def ask() -> tuple[list[str], Any, Any]:
        async with (
            streamable_http_client(f"{address}gradio_api/mcp/") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = await session.list_tools()
            answer = await session.call_tool(
                next(one.name for one in tools.tools if one.name.endswith("run")), {"prompt": "x"}
            )
            return sorted(one.name for one in tools.tools), tools.tools, answer

    names, tools, answer = run_to_the_end(ask())
    assert [name.rpartition("_")[2] for name in names] == ["catalogue", "check", "run", "sweep"]
    run = next(tool for tool in tools if tool.name.endswith("run"))
    assert "speculative decoding" in run.description
    assert {"prompt", "drafter", "seed"} <= set(run.inputSchema["properties"])
    assert "num_accepted_draft_tokens" in answer.content[0].text


@pytest.mark.parametrize("options", [[1], "gamma", 4], ids=str)
def test_options_that_are_no_object_are_a_sentence_without_a_traceback(options: Any) -> None:
    answers = Answers(ReplaySource(sample()), Limits())
    with pytest.raises(gr.Error, match="but must be an object, such as") as refused:
        answers.run(gr.Request(session_hash="a"), "x", drafter_options=options)
    assert refused.value.print_exception is False


def test_a_trace_that_cannot_even_be_written_is_a_sentence() -> None:
    told = Answers(ReplaySource(sample()), Limits()).check({"rounds": 16**5_000})
    assert (told["ok"], told["problems"][0]["sentence"]) == (False, "the trace cannot be written as JSON (ValueError).")
