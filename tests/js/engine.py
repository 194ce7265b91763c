"""The browser's engine under node: questions to it, its runs, and whether they are the Python engine's."""

import json
from pathlib import Path
from typing import Any

import pytest

from specviz.app.components.engine_files import MODULES, engine_files
from specviz.live.source import LiveSource
from specviz.protocol.choice import with_choices
from specviz.protocol.runs import RunRequest
from specviz.trace.codec import assemble, loads
from specviz.trace.events import Trace
from tests.js.node import ROOT, run

CLOSE = 1e-5
"""of probabilities; recorded ones are rounded to six decimals"""


def answer(question: str, **asked: Any) -> Any:
    """What the browser's engine says (`engine_answers.js`)."""
    done = run("tests/js/engine_answers.js", stdin=json.dumps({"question": question, **asked}))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def asked(prompt: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {"prompt": prompt, "max_new_tokens": 40, "temperature": 0.0, "seed": 7, **settings}


def prompts(step: int) -> list[str]:
    data = json.loads((ROOT / "assets" / "prompts" / "prompts.json").read_text(encoding="utf-8"))
    return [prompt["text"] for prompt in data["prompts"]][::step]


def unpacked_modules(folder: Path) -> Path:
    """Trained modules as a browser fetches them."""
    contents = dict(engine_files())
    for module in MODULES:
        (folder / f"{module}.safetensors").write_bytes(contents[f"modules/{module}/model.safetensors"])
    return folder


def written(requests: list[dict[str, Any]], unpacked: Path) -> list[Trace]:
    """The traces of the browser's engine, each read as any other trace is."""
    return [loads(json.dumps(one)) for one in answer("traces", requests=requests, unpacked=str(unpacked))]


def engines(source: LiveSource, request: dict[str, Any]) -> Trace:
    return assemble(source.run(RunRequest(**with_choices({**request, "dtype": "float32"}))))


def nearly(noted: Any) -> Any:
    return noted if isinstance(noted, list) else pytest.approx(noted, abs=CLOSE)


def assert_same_run(trace: Trace, due: Trace, request: dict[str, Any]) -> None:
    """Nodes, verdicts, noise, what was noted and every pass are the other run's."""
    assert trace.finished.text == due.finished.text, request
    assert len(trace.rounds) == len(due.rounds)
    for this, other in zip(trace.rounds, due.rounds, strict=True):
        assert [(n.token, n.parent, n.kind, n.fate, n.source) for n in this.nodes] == [
            (n.token, n.parent, n.kind, n.fate, n.source) for n in other.nodes
        ]
        assert this.judged.path == other.judged.path
        assert this.judged.u == other.judged.u
        assert this.committed.trimmed == other.committed.trimmed
        for trial, same in zip(this.judged.trials, other.judged.trials, strict=True):
            assert (trial.node, trial.u, trial.accepted) == (same.node, same.u, same.accepted)
            assert trial.target_prob == pytest.approx(same.target_prob, abs=CLOSE)
        for node, same_node in zip(this.nodes, other.nodes, strict=True):
            assert node.target.tokens[:1] == same_node.target.tokens[:1]
            assert node.target.probs == pytest.approx(same_node.target.probs, abs=CLOSE)
        assert this.drafted.note == {name: nearly(value) for name, value in other.drafted.note.items()}, request
        assert [(one.rows, one.cached_rows, one.read) for one in this.drafted.passes] == [
            (one.rows, one.cached_rows, one.read) for one in other.drafted.passes
        ]
