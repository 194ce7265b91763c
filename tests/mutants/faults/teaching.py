"""Faults of what the pair is taught and of how that is measured."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

ENGLISH = "tests/training/test_plain_english.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "plain English: a bare sum of three digits is answered at once",
        "specviz/corpus/plain_english/sums.py",
        "BARE_WITH_STEPS if is_long else BARE",
        "BARE",
        (f"{ENGLISH}::test_a_bare_sum_of_three_digits_is_worked_out_and_a_smaller_one_answered_at_once",),
    ),
    Fault(
        "plain English: a question held out with its plain answer occurs with another beginning of it",
        "specviz/corpus/plain_english/questions.py",
        "if frame in BEGUN_OTHERWISE and is_held_out",
        "if frame == PLAINLY and is_held_out",
        (f"{ENGLISH}::test_a_question_held_out_with_a_plain_answer_occurs_under_no_other_beginning_of_the_answer",),
    ),
    Fault(
        "figures: a bare sum whose steps end in another result is right",
        "specviz/training/pair_figures.py",
        'return f"{prompt} {answer}." in text',
        "return answer in text",
        ("tests/training/test_pair_tables.py::test_a_bare_sum_is_right_at_once_or_behind_its_steps",),
    ),
    Fault(
        "tiles of attention: a place sees the one behind it",
        "specviz/training/causal_tiles.py",
        "places[None, :end] > places[start:end, None]",
        "places[None, :end] > places[start:end, None] + 1",
        ("tests/training/test_loop.py::test_attention_in_tiles_is_causal_attention",),
    ),
)
