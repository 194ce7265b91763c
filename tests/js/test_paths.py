"""A list of paths in the page against the engine's reader: the same paths, the same sentence where there are none."""

import json
import random

from specviz.errors import OptionError
from specviz.trace.tree_shape import MOST_CHARACTERS, read_paths
from tests.js.node import run

READ = """
const { S } = require("./tests/js/load.js");
const texts = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
console.log(JSON.stringify(texts.map((text) => S.readPaths(text))));
"""
WRITTEN = [
    "0; 1; 0,0; 0,1", "[[0], [1], [0, 0], [0, 1]]", "((0,), (0, 0))", " 0 ;; 1 ;\n 0 , 2,", "007; 7", "0; 0", "0,0", "",
    " ; ", "a", "0; -1", "0; 1.5", "0; 123456", "[[0], x]", "[0", "0; ٣", "0,,1", "🚀🚀; 0", "[[0, 🚀]]",
    "0;" * MOST_CHARACTERS, "<b>0</b>", "0; 2", "1", "0\n1\n0,0",
]  # fmt: skip


def said_by_the_engine(text: str) -> dict[str, object]:
    try:
        return {"paths": [list(path) for path in read_paths(text)], "problem": ""}
    except OptionError as error:
        return {"paths": [], "problem": str(error)}


def test_the_page_reads_a_list_as_the_engine_does() -> None:
    some = random.Random(4)
    scrambled = ["".join(some.choices("0123,,;; []()\nx", k=some.randint(1, 24))) for _ in range(400)]
    texts = [*WRITTEN, *scrambled]
    read = run("-e", READ, stdin=json.dumps(texts))
    assert read.returncode == 0, read.stderr
    for text, found in zip(texts, json.loads(read.stdout), strict=True):
        shown = {**found, "problem": found["problem"].replace("\n", "\\n")}  # errors are one printable line
        assert shown == said_by_the_engine(text), text[:60]
