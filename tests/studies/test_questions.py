"""One document, many questions: the same answers in each way, and what each way computes."""

from dataclasses import replace

import pytest

from specviz.proof.small_models import SHAPE, small_pair
from specviz.studies.questions.measure import WAYS, Task, all_at_once, compare, document_kept, read_again

TASK = Task([1, 2, 3, 4, 5], [[6, 7], [2], [3, 1, 4]], 4)
"""a document of five tokens, three questions of two, one and three, four tokens an answer"""


def never(token: int) -> bool:
    return False


@pytest.fixture(scope="module")
def model():
    return small_pair(shape=replace(SHAPE, layers=2, context_length=128))[0]


def test_the_answers_are_the_same_in_each_way_and_differ_from_question_to_question(model):
    alone = read_again(model, TASK, never).answers
    assert [len(answer) for answer in alone] == [4, 4, 4]
    assert len({tuple(answer) for answer in alone}) == 3
    assert document_kept(model, TASK, never).answers == alone
    assert all_at_once(model, TASK, never).answers == alone


def test_an_answer_ends_alone_and_the_others_go_on(model):
    last = read_again(model, TASK, never).answers[0][1]
    found = [way(model, TASK, lambda token: token == last).answers for way in WAYS.values()]
    assert found[0] == found[1] == found[2]
    assert len({len(answer) for answer in found[0]}) > 1
    assert all(last not in answer[:-1] for answer in found[0])


@pytest.mark.parametrize(
    ("way", "passes", "rows", "held"),
    [
        (read_again, 3 * 4, 3 * 5 + 6 + 3 * 3, 5 + 3 + 3),
        (document_kept, 1 + 3 * 4, 5 + 6 + 3 * 3, 5 + 3 + 3),
        (all_at_once, 1 + 4, 5 + 6 + 3 * 3, 5 + 6 + 3 * 3),
    ],
)
def test_what_a_way_computes(model, way, passes, rows, held):
    """Document 5, questions 6 in all, the longest 3; of an answer's four tokens three are read again."""
    done = way(model, TASK, never)
    assert (done.passes, done.rows, done.held) == (passes, rows, held)


def test_every_way_is_measured_against_reading_again(model):
    rows = compare(model, TASK, never, repeats=2)
    assert [row.way for row in rows] == ["read again", "document kept", "all at once"]
    assert (rows[0].ratio, rows[0].ratio_low, rows[0].ratio_high) == (1.0, 1.0, 1.0)
    assert all(row.same == 3 and row.tokens_per_s > 0 for row in rows)
