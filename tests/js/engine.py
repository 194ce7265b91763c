"""Questions to the browser's engine under node."""

from __future__ import annotations

import json
from typing import Any

from tests.js.node import run


def answer(question: str, **asked: Any) -> Any:
    """What the browser's engine says (`engine_answers.js`)."""
    done = run("tests/js/engine_answers.js", stdin=json.dumps({"question": question, **asked}))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
