"""Faults of what the pair is taught and of how that is measured."""

from tests.mutants.faults.fault import Edits, edit

ENGLISH = "tests/training/test_plain_english.py"

FAULTS: Edits = {
    (
        "specviz/corpus/plain_english/sums.py",
        f"{ENGLISH}::test_a_bare_sum_of_two_or_three_digits_is_worked_out_and_a_smaller_one_answered_at_once",
    ): {
        "plain English: a bare sum of two digits is answered at once": edit(
            "BARE_WITH_STEPS if max(a, b) > 9 else BARE", "BARE_WITH_STEPS if is_long else BARE"
        )
    },
    (
        "specviz/corpus/plain_english/questions.py",
        f"{ENGLISH}::test_a_question_held_out_with_a_plain_answer_occurs_under_no_other_beginning_of_the_answer",
    ): {
        "plain English: a question held out with its plain answer occurs with another beginning of it": edit(
            "if frame in BEGUN_OTHERWISE and is_held_out", "if frame == PLAINLY and is_held_out"
        )
    },
    (
        "specviz/training/pair_figures.py",
        "tests/training/test_pair_tables.py::test_a_bare_sum_is_right_at_once_or_behind_its_steps",
    ): {
        "figures: a bare sum whose steps end in another result is right": edit(
            'return f"{prompt} {answer}." in text', "return answer in text"
        )
    },
    (
        "specviz/training/mixture.py",
        "tests/training/test_mixture.py::test_a_window_shows_the_end_of_text_token_before_its_document_as_a_prompt_does",
    ): {
        "windows: a document has nothing before it": edit(
            "max(int(self.window_starts[order[place]]) - 1, 0)", "int(self.window_starts[order[place]])"
        )
    },
    (
        "specviz/training/mixture.py",
        "tests/training/test_mixture.py::test_short_documents_begin_windows_again_as_often_as_long_ones",
    ): {"windows: short documents seldom begin one": edit("max(cut - again, 0)", "cut")},
    (
        "specviz/training/generation.py",
        "tests/training/test_drafter_and_export.py"
        "::test_a_row_begins_with_end_of_text_and_what_it_is_given_and_is_given_more_after_each_end",
    ): {"taught text: a row has nothing before its beginning": edit("ids if ids[0] == end else [end, *ids]", "ids")},
    ("specviz/training/loop.py", "tests/training/test_loop.py::test_attention_in_tiles_is_causal_attention"): {
        "tiles of attention: a place sees the one behind it": edit(
            "places[None, :end] > places[start:end, None]", "places[None, :end] > places[start:end, None] + 1"
        )
    },
}
