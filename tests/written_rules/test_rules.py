"""Written rules: what can be read, which mistakes are recognised however they are written, and that browser and Python
give the same."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from specviz.written_rules.language import RuleError, parse
from specviz.written_rules.law import Law, World
from specviz.written_rules.tasks import check_task, hand_in_line, tasks
from specviz.written_rules.verdict import is_exact_everywhere, mistakes, mistakes_of, shipped
from tests.js.node import run

CASES = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))
RIGHT = {"accept": "accept = min(1, r / Q)", "replacement": "replacement = max(0, r - Q)"}
FOUR = {"p": [0.1, 0.25, 0.4, 0.25], "q": [0.36, 0.16, 0.19, 0.29], "gamma": 2}
THREE = {"p": [0.5, 0.3, 0.2], "q": [0.2, 0.45, 0.35]}
WAYS = [(case["id"], way, case.get("world", {})) for case in CASES["mistakes"] for way in case["ways"]]


def whole(lines: str) -> str:
    """A rule with these lines, the others as they should be."""
    there = {line.partition(" ")[0] for line in lines.split("\n")}
    return "\n".join([lines, *(line for name, line in RIGHT.items() if name not in there)])


def recognised(text: str, given: dict[str, Any]) -> list[str]:
    return _recognised(text, json.dumps(given))


@cache
def _recognised(text: str, given: str) -> list[str]:
    rule, world = parse(text), World(**json.loads(given))
    return [mistake.id for mistake in mistakes_of(rule, world, is_exact_everywhere(rule, world))]


@pytest.mark.parametrize(("mistake", "lines", "world"), WAYS)
def test_a_mistake_is_recognised_in_whatever_way_it_is_written(mistake: str, lines: str, world: dict[str, Any]) -> None:
    assert mistake in recognised(whole(lines), {**FOUR, **world})


def test_more_than_twelve_mistakes_are_written_in_three_ways_each() -> None:
    assert len(CASES["mistakes"]) >= 12
    assert {len(set(case["ways"])) for case in CASES["mistakes"]} == {3}
    assert {case["id"] for case in CASES["mistakes"]} == {mistake.id for mistake in mistakes()} - {"keeps_nothing"}


def test_the_right_rule_makes_no_mistake_and_two_mistakes_are_both_named() -> None:
    assert recognised(whole(""), FOUR) == []
    assert recognised(whole(""), {**FOUR, "siblings": 2}) == ["wrong_sum"]
    assert recognised("accept = 0\nreplacement = max(0, p - q)", FOUR) == ["keeps_nothing"]
    assert recognised("accept = q / p\nreplacement = p - q", FOUR) == ["upside_down", "forgot_max"]


@pytest.mark.parametrize(("text", "sentence"), CASES["errors"])
def test_an_error_says_its_place_and_what_to_write(text: str, sentence: str) -> None:
    with pytest.raises(RuleError) as error:
        Law(parse(text), World(**THREE)).text(2)
    assert str(error.value) == sentence


def test_a_rule_that_is_too_long_or_nested_too_deeply_is_refused() -> None:
    for text in ("accept = " + "(" * 50 + "1", "accept = " + "-" * 50 + "1", "accept = " + "not " * 50 + "1"):
        with pytest.raises(RuleError, match="nested too deeply"):
            parse(text)
    with pytest.raises(RuleError, match="1000 characters"):
        parse("accept = 1 " * 100)
    with pytest.raises(RuleError, match="40 lines"):
        parse("\n" * 40)


def test_the_law_of_the_rule_without_a_residual_is_the_one_worked_out_by_hand() -> None:
    """Kept: .2, .3, .2; rejected: .3, which p shares out as .15, .09, .06."""
    law = Law(parse("accept = min(1, p / q)\nreplacement = p"), World(**THREE))
    assert law.text(1) == pytest.approx([0.35, 0.39, 0.26])
    assert sum(law.level().kept) == pytest.approx(0.7)


def test_the_second_position_hangs_on_the_first() -> None:
    """After a both rows are turned by one place, after c by three, which is none."""
    pairs = Law(parse(whole("")), World(**THREE, gamma=3)).text(2)
    assert pairs == pytest.approx([0.15, 0.1, 0.25, 0.06, 0.15, 0.09, 0.1, 0.06, 0.04])


def test_what_is_lost_is_missing_in_the_law() -> None:
    for weights in ("p - q", "p - 0.8 * q"):  # some below 0; the first add up to nothing, the second to 0.2
        rule = parse(f"accept = min(1, p / q)\nreplacement = {weights}")
        assert sum(Law(rule, World(**THREE)).text(1)) == pytest.approx(0.7)


def test_the_browser_gives_the_same_laws_mistakes_and_verdicts_on_tasks() -> None:
    rules = [(whole(lines), {**FOUR, **world}) for _, lines, world in WAYS]
    rules += [("accept = min(1, p / q)\nreplacement = p - 0.8 * q", THREE)]
    rules += [(text, {**THREE, "gamma": 3, "siblings": 3}) for text in shipped()["built_in"].values()]
    handed = [(task, text) for task in tasks().values() for text in (task.start, task.solution, "accept = 1")]
    usual = {"gamma": 1, "siblings": 1, "draw": "iid"}
    asked = {
        "rules": [{"text": text, "world": {**usual, **world}} for text, world in rules],
        "tasks": [{"task": task.id, "text": text} for task, text in handed],
    }
    done = run("tests/js/rule_answers.js", stdin=json.dumps(asked))
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for (text, given), answer in zip(rules, answers["rules"], strict=True):
        law = Law(parse(text), World(**given))
        assert answer["pairs"] == pytest.approx(law.text(2), abs=1e-12), text
        assert answer["acceptance"] == pytest.approx(sum(law.level().kept), abs=1e-12), text
        assert answer["mistakes"] == recognised(text, given), text
    for (task, text), answer in zip(handed, answers["tasks"], strict=True):
        checked = check_task(task, text)
        assert answer["passed"] == checked.passed
        assert answer["missing"] == list(checked.missing)
        assert answer["mistakes"] == list(checked.mistakes)
        assert answer["line"] == hand_in_line(task.id, "Anna", text)
