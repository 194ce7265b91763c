"""What Python resolves and what the scripts play agree: each beat is found in the player, each live check exists."""

from __future__ import annotations

import json
from pathlib import Path

from specviz.trace import codec
from tests.js.node import ROOT, run
from tests.lessons.shipped import RUNS, resolved

ASK = """
const { S } = require(process.argv[1]);
const { lessons, traces } = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf-8"));
const found = [];
for (const lesson of lessons)
  for (const beat of lesson.beats) {
    const trace = traces[lesson.runs[beat.run].file];
    const cursor = S.lessonCursor(trace, { ...beat.at, back: 0 });
    found.push({ lesson: lesson.id, title: beat.title, ...S.beats(trace.rounds[cursor.round])[cursor.beat] });
  }
console.log(JSON.stringify({ found, checks: Object.keys(S.LIVE_CHECKS) }));
"""


def test_the_player_has_every_beat_and_every_check(tmp_path: Path) -> None:
    lessons = resolved()["lessons"]
    used = {one["file"] for lesson in lessons for one in lesson["runs"].values()}
    traces = {name: json.loads(codec.dumps(RUNS[name]())) for name in used}
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"lessons": lessons, "traces": traces}), encoding="utf-8")
    asked = run("-e", ASK, str(ROOT / "tests" / "js" / "load.js"), str(given))
    assert asked.returncode == 0, asked.stderr
    told = json.loads(asked.stdout)
    wanted = [(beat["at"], lesson["id"], beat["title"]) for lesson in lessons for beat in lesson["beats"]]
    assert len(told["found"]) == len(wanted)
    for got, (at, *where) in zip(told["found"], wanted, strict=True):
        assert got["phase"] == at["phase"], where
        if at["phase"] == "verdicts":
            assert got.get("trial") == at["trial"], where
            assert bool(got.get("drawn")) == (at["trial"] is None), where
    checks = {beat["live"]["check"] for lesson in lessons for beat in lesson["beats"] if beat["live"]}
    assert checks == set(told["checks"])
