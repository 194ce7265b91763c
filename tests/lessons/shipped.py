"""The lessons and the recorded runs that ship: each run read once for all tests, and the lessons resolved over them."""

from functools import cache, partial
from typing import Any

from specviz.lessons.lesson import read
from specviz.lessons.resolve import lessons_json
from specviz.resources import ROOT
from specviz.trace import codec

LESSONS = read()
FOLDER = ROOT / "traces"
RUNS = {file.name: cache(partial(codec.read, file)) for file in sorted(FOLDER.glob("*.json.gz"))}


@cache
def resolved() -> dict[str, Any]:
    return lessons_json(LESSONS, RUNS)
