"""The lessons that ship, against the runs that ship: every moment is there, every answer computed, one choice right."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specviz.app.tab import found as found_tabs
from specviz.lessons.lesson import AREAS, TABS, WORDS, labels
from specviz.protocol.proofs import BREAKS
from specviz.resources import ROOT as ASSETS
from specviz.theory.speedup import gain
from specviz.trace import codec
from tests.js.node import ROOT, run
from tests.lessons.shipped import LESSONS, RUNS, resolved

EXERCISES = (3, 4)
MINUTES = range(3, 7)
OF_THE_FIELD = re.compile(
    r"(?<![\w'])[pqrQuαγ](?![\w'])"
    r"|\b(draft\w*|target|verdict|residual|candidate|node|cache|row|bonus|correction|verifier|lossy|lossless|sibling)s?\b",
    re.IGNORECASE,
)
"""what plain words do without"""
LABELS = re.compile(
    OF_THE_FIELD.pattern + r"|\b(law|accept\w*|reject\w*|probabilit\w+|distribution|stop polic\w+)\b", re.IGNORECASE
)
PLACEHOLDER = re.compile(r"\{[^}]*\}")
WORDS_A_MINUTE = 130
"""read slowly, with a look at the picture"""


def lesson(name: str) -> dict[str, Any]:
    return next(one for one in resolved()["lessons"] if one["id"] == name)


def beats() -> list[tuple[str, dict[str, Any]]]:
    return [(one["id"], beat) for one in resolved()["lessons"] for beat in one["beats"]]


def test_eight_lessons_and_the_recorded_runs_teach_them_all() -> None:
    assert len(LESSONS) == 8
    assert resolved()["missing"] == []
    assert [one["id"] for one in resolved()["lessons"]] == [one.id for one in LESSONS]


def test_no_beat_is_without_a_claim() -> None:
    counted = [len(beat.claims) for lesson in LESSONS for beat in lesson.beats]
    assert counted.count(0) == 0
    assert len(counted) == 100


def test_titles_questions_and_choices_have_plain_words() -> None:
    told = [(one.id, text, one.plain_words.get(text, text)) for one in LESSONS for text in labels(one)]
    assert [(name, text) for name, text, plain in told if LABELS.search(PLACEHOLDER.sub("", plain))] == []
    assert sum(text != plain for _, text, plain in told) > 60


def test_lessons_one_to_four_tell_one_sampled_story_faster_than_plain() -> None:
    told = [lesson(one.id)["runs"]["chain"]["file"] for one in LESSONS[:4]]
    assert set(told) == {"model-chain-story.json.gz"}
    trace = RUNS[told[0]]()
    assert trace.started.sampling.temperature == 0.8
    assert trace.finished.text.startswith(" A rabbit sat there and looked friendly.")
    assert trace.finished.text.endswith("The end.")
    assert (gain(trace) or 0) > 1.3


def test_every_placeholder_is_filled() -> None:
    texts = [beat[key] for _, beat in beats() for key in ("title", "text", "plain")]
    texts += [beat["question"][key] for _, beat in beats() if beat["question"] for key in ("ask", "why", "plain")]
    assert not [text for text in texts if "{" in text or "}" in text or " nan" in text or " inf" in text]
    assert not [text for text in texts if re.search(r"\b0\.00\b", text)]  # a probability that small says more elsewhere


def test_a_beat_has_one_idea_of_at_most_sixty_words() -> None:
    long = [
        (name, beat["title"], key)
        for name, beat in beats()
        for key in ("text", "plain")
        if len(beat[key].split()) > WORDS + 5
    ]
    assert not long  # a placeholder may become two or three words


@pytest.mark.parametrize("name", [one.id for one in LESSONS])
def test_a_lesson_takes_a_few_minutes_and_ends_in_exercises(name: str) -> None:
    one = lesson(name)
    kinds = [beat["exercise"] for beat in one["beats"]]
    assert sum(kinds) in EXERCISES
    assert kinds == sorted(kinds), "exercises come last"
    asked = [beat["question"] or beat["live"] or beat["write"] for beat in one["beats"] if beat["exercise"]]
    assert all(asked)
    last = one["beats"][-1]
    assert last["live"] or last["write"]["task"], "the last exercise is on a run or a rule of the visitor's own"
    words = sum(len(beat["text"].split()) for beat in one["beats"])
    assert one["minutes"] in MINUTES
    assert words / WORDS_A_MINUTE <= one["minutes"]


def test_in_plain_words_no_beat_has_a_letter_of_a_formula_or_a_word_of_the_field() -> None:
    said = [(beat["title"], beat["plain"]) for _, beat in beats()]
    said += [(beat["title"], beat["question"]["plain"]) for _, beat in beats() if beat["question"]]
    without_tokens = [(title, re.sub("\u2068[^\u2069]*\u2069", "…", text)) for title, text in said]
    assert not [(title, found[0]) for title, text in without_tokens if (found := OF_THE_FIELD.search(text))]


def test_each_question_has_one_right_answer_and_others_that_differ() -> None:
    for name, beat in beats():
        if beat["question"] is None:
            continue
        choices = beat["question"]["choices"]
        assert sum(choice["right"] for choice in choices) == 1, (name, beat["title"])
        assert len({choice["text"] for choice in choices}) == len(choices) >= 3, (name, beat["title"])


def test_the_right_answer_is_not_always_at_the_same_place() -> None:
    places = [
        [choice["right"] for choice in beat["question"]["choices"]].index(True)
        for _, beat in beats()
        if beat["question"]
    ]
    assert max(places.count(place) for place in set(places)) < 0.6 * len(places)


def test_areas_and_tabs_are_those_of_the_page() -> None:
    player = (ASSETS / "js" / "player" / "specviz.js").read_text(encoding="utf-8")
    drawn = set(re.findall(r'area\("(\w+)"', player))
    assert set(AREAS) <= drawn
    assert set(TABS) <= {tab.title for tab in found_tabs()}


def test_a_lesson_names_its_breaks_as_the_proof_tab_does() -> None:
    quoted = {found for _, beat in beats() if beat["link"] for found in re.findall("“(.+?)”", beat["link"]["label"])}
    assert quoted
    assert quoted <= {one.label for one in BREAKS}


# --- what a person must be able to answer afterwards -----------------------------------------------------------------


def raw(name: str, beat: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The run of a beat as plain JSON, and the beat's round in it."""
    trace = json.loads(codec.dumps(RUNS[lesson(name)["runs"][beat["run"]]["file"]]()))
    return trace, trace["rounds"][beat["at"]["round"]]


def trial(beat: dict[str, Any], this: dict[str, Any]) -> dict[str, Any]:
    return this["judged"]["trials"][beat["at"]["trial"]]


def whole_draft(beat: dict[str, Any], this: dict[str, Any]) -> str:
    depth = max(node["depth"] for node in this["nodes"])
    assert len(this["judged"]["path"]) == depth
    return str(depth + 1)


def from_residual(beat: dict[str, Any], this: dict[str, Any]) -> str:
    assert this["judged"]["residual"] is not None
    assert not this["judged"]["trials"][-1]["accepted"]
    return "what is left of p after q is taken off"


def against_the_rest(beat: dict[str, Any], this: dict[str, Any]) -> str:
    tried = trial(beat, this)
    node = this["nodes"][tried["node"]]
    assert tried["target_prob"] != node["target_prob"]
    return "against what is left of the target after the rejected sibling"


def sum_of_series(_beat: dict[str, Any], _this: dict[str, Any]) -> str:
    return f"{sum(0.9**power for power in range(5)) / (4 * 1 + 1):.2f}"


def weights_take_longer(_beat: dict[str, Any], _this: dict[str, Any]) -> str:
    parameters = 7e9
    reading_s, arithmetic_s = 2 * parameters / 3.35e12, 61 * 2 * parameters / 989e12
    assert reading_s > 4 * arithmetic_s
    return "for the weights from memory: the rows add nothing"


def after_the_last_guess(_beat: dict[str, Any], this: dict[str, Any]) -> str:
    assert this["judged"]["origin"] == "bonus"
    assert this["judged"]["residual"] is None
    return "from the target's own distribution after the last guess, out of the same pass"


def neither_alone(_beat: dict[str, Any], _this: dict[str, Any]) -> str:
    def speed(alpha: float, cost: float) -> float:
        return sum(alpha**power for power in range(5)) / (4 * cost + 1)

    assert speed(0.6, 0.05) > speed(0.8, 0.4), "the less accepted one is faster"
    assert speed(0.8, 0.05) > speed(0.6, 0.05), "and not because it is the cheaper one"
    return "tokens per round divided by the cost of the round, γc + 1"


Known = Callable[[dict[str, Any], dict[str, Any]], str]
MUST_SHOW: dict[tuple[str, str], Known] = {
    ("four_verdicts", "Exercise: a full house"): whole_draft,
    ("four_verdicts", "Exercise: the last one"): after_the_last_guess,
    ("the_law_stays", "Exercise: the correction"): from_residual,
    ("trees", "Exercise: the sibling's test"): against_the_rest,
    ("when_it_pays", "Exercise: acceptance 0.9"): sum_of_series,
    ("when_it_pays", "Exercise: 60 candidates"): weights_take_longer,
    ("when_it_pays", "Exercise: what decides?"): neither_alone,
}


@pytest.mark.parametrize(("name", "title"), MUST_SHOW)
def test_what_a_person_must_be_able_to_answer(name: str, title: str) -> None:
    beat = next(one for one in lesson(name)["beats"] if one["title"] == title)
    _, this = raw(name, beat)
    right = next(choice["text"] for choice in beat["question"]["choices"] if choice["right"])
    assert right == MUST_SHOW[name, title](beat, this)


def test_the_residuals_lesson_counts_as_a_pencil_does() -> None:
    text = next(beat["text"] for beat in lesson("the_law_stays")["beats"] if beat["title"] == "Break it")
    p, q = (0.5, 0.3, 0.2), (0.2, 0.45, 0.35)
    left = 1 - sum(map(min, p, q))
    assert f"{min(p[0], q[0]) + left * p[0]:.2f} instead of 0.5" in text
    assert f"{min(p[1], q[1]) + left * p[1]:.2f} instead of 0.3" in text


def test_the_cache_lesson_says_what_the_drafters_next_pass_holds() -> None:
    beat = next(one for one in lesson("four_verdicts")["beats"] if one["title"] == "The drafter's cache")
    trace, this = raw("four_verdicts", beat)
    assert this["judged"]["origin"] == "bonus"
    following = trace["rounds"][beat["at"]["round"] + 1]["drafted"]["passes"][0]
    assert following["rows"] > 1
    assert f"has {following['rows']} rows" in beat["text"]


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
