"""The page's own files for the browser's engine: their types, how long a browser may keep them, and nothing else."""

import hashlib

import httpx
import pytest
from starlette.applications import Starlette

from specviz.app.components.engine_files import manifest
from specviz.app.form.request import Limits
from specviz.app.page.settings import launch_settings
from tests.event_loop import run_to_the_end

FOR_GOOD = "public, max-age=31536000, immutable"


def fetched(path: str) -> httpx.Response:
    """As the page answers, before anything of Gradio's."""
    served = httpx.ASGITransport(Starlette(**launch_settings(Limits(), {})["app_kwargs"]))

    async def answer() -> httpx.Response:
        async with httpx.AsyncClient(transport=served, base_url="http://page") as visitor:
            return await visitor.get(path)

    return run_to_the_end(answer())


@pytest.mark.parametrize(
    ("path", "kind", "keeping"),
    [
        ("/engine.js", "text/javascript; charset=utf-8", "no-cache"),
        ("/engine/manifest.json", "application/json", "no-cache"),
        ("/engine/engine/kernels.wasm", "application/wasm", FOR_GOOD),
        ("/engine/models/drafter-weak/model.safetensors", "application/octet-stream", FOR_GOOD),
    ],
)
def test_each_file_has_its_type_its_caching_and_a_policy_that_lets_it_run(path: str, kind: str, keeping: str) -> None:
    answer = fetched(path)
    assert (answer.status_code, answer.headers["content-type"], answer.headers["cache-control"]) == (200, kind, keeping)
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self' 'unsafe-inline' 'unsafe-eval';" in policy, "without it nothing is compiled"
    assert "worker-src 'self' blob:;" in policy


def test_what_arrives_is_what_the_manifest_names() -> None:
    named = fetched("/engine/manifest.json").json()
    assert named == manifest()
    (kernels,) = (file for file in named["files"] if file["name"] == "engine/kernels.wasm")
    content = fetched("/engine/engine/kernels.wasm").content
    assert (len(content), hashlib.sha256(content).hexdigest()) == (kernels["bytes"], kernels["sha256"])


@pytest.mark.parametrize("path", ["/engine/methods.json", "/engine/../catalog.json", "/engine/%2e%2e/README.md"])
def test_nothing_else_is_served(path: str) -> None:
    assert fetched(path).status_code == 404
