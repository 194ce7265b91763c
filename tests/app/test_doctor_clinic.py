"""The Doctor tab: findings of what was pasted, and the clinic's questions to its source; strangers' text escaped."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from specviz.app.doctor.clinic import ClinicActions, diagnosis_view, example_fields
from specviz.app.doctor.tab import example_text, from_files, from_text
from specviz.app.form.request import Limits
from specviz.app.runs.deferred import DeferredSource
from specviz.doctor.answers import Written
from specviz.doctor.broken_rules import Broken
from specviz.doctor.clinic import Answer, Step, judge
from specviz.doctor.consultation import FORMATS, Cost, Diagnosis, Place, Question, without_target
from specviz.errors import ModelError, PromptError
from tests.trace.changing import SAMPLE, sample

VISITOR: Any = SimpleNamespace(session_hash="somebody")


def step(token: int, loss: float = 0.0) -> Step:
    return Step(token, token if not loss else 9, loss, loss, 1.0, 1.0)


def diagnosis(**changes: Any) -> Diagnosis:
    a, b = Answer("A", (step(1), step(2))), Answer("B", (step(1), step(3, 2.5)))
    place = Place(1, "so <i>far</i>", (Cost("A", "<b>", "<b>", 0.0, 0.0), Cost("B", " x", "<b>", 2.5, 2.25)))
    return Diagnosis(**{
        "target": "target", "format": "bfloat16", "prompt_tokens": 4, "answers": (a, b), "verdict": judge(a, b),
        "parting": place, "worst": None, **changes,
    })  # fmt: skip


class Targets:
    """A source with one model, which remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def catalog(self) -> Any:
        return SimpleNamespace(models=[SimpleNamespace(name="target")])

    def warm(self) -> None:
        pass

    def consult(self, question: Question, cancelled: Any = None) -> Iterator[Diagnosis]:
        self.asked.append(question)
        if question.target == "broken":
            raise ModelError("there is no model 'broken'.")
        yield diagnosis()


def started(source: Any) -> DeferredSource:
    deferred = DeferredSource(lambda: source, SimpleNamespace())
    deferred.start(grace_s=0.0)
    return deferred


def shown(source: Any, *given: Any, limits: Limits | None = None) -> str:
    answers = list(ClinicActions(source, limits or Limits()).compare(*given, VISITOR))
    assert answers[-1]["run"].interactive
    assert not answers[-1]["stop"].interactive
    return str(answers[-1]["shown"])


def test_the_target_is_asked_about_both_answers_and_the_prompt() -> None:
    source = Targets()
    html = shown(source, "target", "float16", "Say it", "[1, 2]", "plain text", None)
    (question,) = source.asked
    assert (question.target, question.format, question.prompt) == ("target", "float16", "Say it")
    assert question.answers == (Written("", (1, 2)), Written("plain text"))
    assert "Verdict: bug, confidence high." in html


def test_the_table_has_the_place_both_margins_and_the_targets_choice() -> None:
    html = diagnosis_view(diagnosis())
    assert "they part at token 1" in html
    assert '<td data-column="nats below it, float32">2.5</td>' in html
    assert '<td data-column="the same in the engine&#x27;s format">2.25</td>' in html
    assert "What would settle it: " in html
    assert "<b>" not in html
    assert "<i>" not in html


def test_a_broken_rule_is_named_where_a_trace_was_read() -> None:
    broken = Broken("cache", "rounds[0] is 1, but 2.")
    assert "Broken rule: the target&#x27;s cache holds" in diagnosis_view(diagnosis(traced=True, broken=broken))
    assert "The trace shows no broken rule" in diagnosis_view(diagnosis(traced=True))
    assert "roken rule" not in diagnosis_view(diagnosis())


def test_a_trace_gives_the_prompt_and_its_target_is_the_chosen_one() -> None:
    source = Targets()
    shown(source, "target", "bfloat16", " ", "[1]", "[2]", str(SAMPLE))
    (question,) = source.asked
    assert question.prompt is None
    assert question.prompt_ids == tuple(sample().started.prompt_ids)
    assert question.places == {sample().started.target.name: "target"}


def test_without_an_engine_it_says_where_the_answers_part_and_what_it_cannot_do() -> None:
    html = shown(SimpleNamespace(), "target", "bfloat16", "Say it", "[1, 2]", "[1, 3]", None)
    assert "They part at token 1." in html
    assert "There is no engine behind this page, so it cannot ask the target" in html


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"a": " "}, "Answer A is empty, so there is nothing to compare"),
        ({"b": "{}"}, "Answer B: there is no answer in it"),
        ({"b": "[1,"}, "Answer B: line 1"),
        ({"prompt": ""}, "Neither answer names its prompt"),
        ({"target": ""}, "No target is chosen"),
        ({"b": '{"text": ""}'}, "Answer B is empty"),
        ({"format": "int4"}, "The format is &#x27;int4&#x27;"),
        ({"trace": "no/such.json"}, "such.json"),
    ],
)
def test_bad_input_is_one_sentence(given: dict[str, str], sentence: str) -> None:
    usual = {"target": "target", "format": "bfloat16", "prompt": "x", "a": "[1]", "b": "[2]", "trace": None}
    html = shown(Targets(), *{**usual, **given}.values())
    assert sentence in html
    assert html.count("<p") == 1


def test_a_target_that_is_not_there_is_one_sentence_beside_where_they_part() -> None:
    html = shown(Targets(), "broken", "bfloat16", "x", "[1]", "[2]", None)
    assert "They part at token 0." in html
    assert "There is no model &#x27;broken&#x27;." in html


def test_the_page_asks_through_the_source_that_loads_in_the_background() -> None:
    targets, question = Targets(), Question("target", "bfloat16", (Written("a"), Written("b")), prompt="x")
    deferred = started(targets)
    assert len(list(deferred.consult(question))) == 1
    assert targets.asked == [question]
    with pytest.raises(ModelError, match="there is no engine behind this page"):
        list(started(SimpleNamespace(warm=lambda: None)).consult(question))


def test_where_strangers_come_only_models_on_offer_are_asked() -> None:
    html = shown(Targets(), "mine", "bfloat16", "x", "[1]", "[2]", None, limits=Limits(any_model=False))
    assert "the model &#x27;mine&#x27; is not offered here; choose one of: target." in html.replace("The", "the")


def test_the_example_is_two_answers_that_part() -> None:
    target, prompt, a, b = example_fields()
    assert (target, bool(prompt.strip())) == ("target", True)
    assert json.loads(a)[:5] == json.loads(b)[:5]
    assert json.loads(a)[5] != json.loads(b)[5]


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        (Written("", (1, 2)), Written("", (1, 3)), "They part at token 1."),
        (Written("one two"), Written("one too"), "They part at character 5, behind “one t”."),
        (Written("one"), Written("one two"), "A is the beginning of B."),
        (Written("one"), Written("one"), "They are the same, character by character."),
        (Written("one"), Written("", (1,)), "only the target's tokenizer can compare them."),
    ],
)
def test_two_answers_part_at_a_token_or_a_character(a: Written, b: Written, sentence: str) -> None:
    assert sentence in without_target(Question("", FORMATS[0], (a, b)))


def test_an_empty_answer_is_named() -> None:
    with pytest.raises(PromptError, match="answer B is empty"):
        without_target(Question("", FORMATS[0], (Written("x"), Written("", ()))))


def test_a_file_that_is_no_trace_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    assert "run.json" in shown(Targets(), "target", "bfloat16", "x", "[1]", "[2]", str(tmp_path / "run.json"))


TIMINGS = {"timings": {"predicted_n": 200, "predicted_ms": 4000.0, "draft_n": 300, "draft_n_accepted": 100}}


def test_the_example_leads_to_a_place_where_drafts_fail_and_to_a_length() -> None:
    html = from_text(example_text(), None, None)
    assert "Drafts fail at position 2" in html
    assert "It should pay" in html
    assert "#tab=learn&amp;lesson=4" in html


def test_costs_beside_the_record_are_taken_over() -> None:
    assert "50.0 ÷ 25.0 tokens per second" in from_text(json.dumps(TIMINGS), None, 25.0)
    assert "with a cost ratio of 0.25 (given)" in from_text(json.dumps(TIMINGS), 0.25, None)


def test_a_cost_of_0_is_one_that_is_not_known() -> None:
    assert "What drafting may cost" in from_text(json.dumps(TIMINGS), 0, 0)


def test_nothing_pasted_is_one_sentence() -> None:
    assert "Paste a record first" in from_text("  ", None, None)


def test_what_is_no_record_is_told_and_escaped() -> None:
    html = from_text('{"timings": {"predicted_n": "<img src=x>"}}', None, None)
    assert "must be a whole number" in html
    assert "<img" not in html


def test_files_are_answered_each_and_large_ones_named(tmp_path: Path) -> None:
    (tmp_path / "<b>.json").write_text(json.dumps(TIMINGS))
    (tmp_path / "large.json").write_text(json.dumps(TIMINGS) + " " * 1000)
    html = from_files([str(tmp_path / "<b>.json"), str(tmp_path / "large.json")], 500, None, None)
    assert "&lt;b&gt;.json: timings of responses of llama.cpp" in html
    assert "large.json: the file is larger than the 0.0005 MB" in html
    assert "<b>" not in html
