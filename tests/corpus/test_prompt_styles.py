"""Prompts of the five styles, which answers are right, and which texts have a style's form."""

import pytest

from specviz.corpus.plain_english import styles
from specviz.corpus.plain_english.page import Draw, is_held_out
from specviz.corpus.prompt_styles import ENDING, FORMS, INSTRUCTIONS, Question, followed, is_right, question, rendered
from specviz.studies.styles.numbers import TITLES

ASKED = Question("What is 61 - 35?", 26)


def test_every_style_has_a_template_a_form_and_a_name() -> None:
    assert set(INSTRUCTIONS) == set(FORMS) == set(TITLES)
    assert set(styles.STYLES) == set(TITLES) - {"direct"}, "the tags are the corpus's"


def test_a_style_is_asked_for_in_words_by_tag_or_in_a_message() -> None:
    assert rendered(ASKED, "chain", "words") == "What is 61 - 35? Show your work.\n"
    assert rendered(ASKED, "chain", "tag") == "(chain) What is 61 - 35?\n"
    assert rendered(ASKED, "chain", "message") == f"What is 61 - 35? Show your work. {ENDING}"
    assert rendered(ASKED, "direct", "words") == rendered(ASKED, "direct", "tag") == "What is 61 - 35?\n"


@pytest.mark.parametrize("number", range(6))
def test_a_question_is_held_out_and_knows_its_answer(number: int) -> None:
    found = question("sums", 7, number)
    a, sign, b = found.text.removeprefix("What is ").removesuffix("?").split()
    assert found.truth == (int(a) + int(b) if sign == "+" else int(a) - int(b))
    assert is_held_out("sum", int(a), int(b), sign)
    assert found == question("sums", 7, number)
    assert found.text.endswith("?")
    problem = question("problems", 7, number)
    assert problem.text.endswith(("?", "now?"))
    one, other = sorted(int(word.strip(".")) for word in problem.text.split() if word.strip(".").isdigit())
    assert problem.truth in (one + other, other - one)


@pytest.mark.parametrize(
    ("text", "ended", "right"),
    [
        ("Ones: 1 - 5. 61 - 35 = 26.", True, True),
        ("Ones: 1 - 5. 61 - 35 = 26.", False, False),  # cut off: perhaps in the middle of a step
        ("There are 26 pears, and 9 are red.", True, False),
        ("**Answer: 26** (checked twice: 61)", False, True),
        ("Answer: 27, or 26", True, False),
        ("It is 1,026.", True, False),
        ("It is -26.", True, False),
        ("I do not know.", True, False),
        ("", True, False),
    ],
)
def test_an_answer_is_the_last_number_of_a_text_that_ended_or_what_it_calls_its_answer(
    text: str, ended: bool, right: bool
) -> None:
    assert is_right(text, ended, 26) is right


def test_thousands_may_have_a_comma() -> None:
    assert is_right("61 x 61 = 3,721.", True, 3721)


@pytest.mark.parametrize("style", sorted(styles.STYLES))
@pytest.mark.parametrize("place", range(8))
def test_a_text_of_the_corpus_has_the_form_of_its_style_and_of_no_other_but_what_it_holds(
    style: str, place: int
) -> None:
    page = styles.question(Draw(f"form/{place}", held_out=False), style, 47, 38, "+")
    styles.STYLES[style](page, 47, 38, "+")
    page.say(styles.END)
    text = page.text.partition("\n")[2]
    assert [one for one in FORMS if one != "direct" and followed(text, one)] == [style], text


def test_a_bare_answer_has_the_form_of_no_style() -> None:
    for text in ("61 - 35 = 26.", "\n61 - 35 = 26.\nSo there are 26 pears now.", "See you soon,\nEva"):
        assert [one for one in FORMS if followed(text, one)] == ["direct"], text
