"""The generated corpus: the same for a seed, varied, and held out by combination and by phrasing."""

import csv
import json
import re

import pytest

from specviz.corpus.plain_english import facts, people, questions, styles, sums, words
from specviz.corpus.plain_english.facts import KINDS
from specviz.corpus.plain_english.generator import (
    FAMILIES,
    SHARES,
    distinct_runs,
    document,
    documents,
    new_skeleton_share,
    shares_with,
)
from specviz.corpus.plain_english.page import Draw, Page, is_held_out
from specviz.errors import TrainingError
from specviz.training import mixture

SUM = re.compile(r"(?<![+-] )\b(\d+) ([+-]) (\d+) = (\d+)")


@pytest.fixture(scope="module")
def train() -> list:
    return list(documents(0, 400_000, held_out=False))


@pytest.fixture(scope="module")
def held_out() -> list:
    return list(documents(0, 60_000, held_out=True))


def test_a_seed_gives_the_same_documents_and_another_seed_others(train) -> None:
    assert list(documents(0, 20_000, held_out=False)) == train[: len(list(documents(0, 20_000, held_out=False)))]
    assert document("story", 0, 0, False) != document("story", 1, 0, False)


def test_every_family_gets_its_share_of_the_characters(train) -> None:
    assert sum(SHARES.values()) == pytest.approx(1.0)
    total = sum(len(made.text) for made in train)
    for family, share in SHARES.items():
        part = sum(len(made.text) for made in train if made.family == family) / total
        assert part == pytest.approx(share, abs=0.01)


def test_no_slot_stays_unfilled_and_no_choice_unmade(train, held_out) -> None:
    for made in [*train, *held_out]:
        assert "|" not in made.text
        assert not re.search(r"\{[a-zA-Z]\w*[:}]", made.text.replace('{"', "")), made.text


def test_the_fact_base_holds_a_hundred_capitals_and_no_kind_is_small() -> None:
    assert len(facts.CAPITALS) >= 100
    assert len(facts.COUNTRIES) == len(facts.CAPITALS)
    assert facts.CAPITALS["France"] == "Paris"
    assert facts.CAPITALS["the Netherlands"] == "Amsterdam"
    assert sum(len(kind.pairs) for kind in KINDS) >= 600


def test_every_sum_of_the_corpus_is_right(train, held_out) -> None:
    found = [match for made in [*train, *held_out] for match in SUM.finditer(made.text)]
    assert len(found) > 1000
    for match in found:
        a, b = int(match[1]), int(match[3])
        assert int(match[4]) == (a + b if match[2] == "+" else a - b), match[0]


def test_steps_carry_and_borrow_digit_by_digit() -> None:
    assert sums.steps(345, 278, "+") == (
        "Ones: 5 + 8 = 13, write 3, carry 1. Tens: 4 + 7 + 1 = 12, write 2, carry 1. Hundreds: 3 + 2 + 1 = 6. "
    )
    assert sums.steps(523, 78, "-") == (
        "Ones: borrow, 13 - 8 = 5. Tens: borrow, 12 - 7 - 1 = 4. Hundreds: 5 - 0 - 1 = 4. "
    )


def test_steps_hold_only_right_sums() -> None:
    for a, b in ((7, 5), (99, 1), (480, 93), (703, 699), (100, 1)):
        for sign in "+-":
            for line in sums.steps(a, b, sign).split(". "):
                if "=" in line:
                    left, right = re.sub(r"^.*?(?=\d)", "", line).split(" = ")
                    numbers = [int(n) for n in re.findall(r"\d+", left)]
                    wanted = numbers[0] + sum(n if sign == "+" else -n for n in numbers[1:])
                    assert int(re.match(r"\d+", right)[0]) == wanted, line


def test_a_pair_of_operands_belongs_to_one_side(train, held_out) -> None:
    for side, made in [(False, m) for m in train] + [(True, m) for m in held_out]:
        if made.family in ("sums", "practice"):
            *_, last = SUM.finditer(made.text)
            assert is_held_out("sum", last[1], last[3], last[2]) is side


def test_the_five_styles_work_one_sum_out_in_their_own_way() -> None:
    worked = {}
    for name, style in styles.STYLES.items():
        page = styles.question(Draw("one", held_out=False), name, 47, 38, "+")
        style(page, 47, 38, "+")
        worked[name] = page.text.partition("\n")[2]
    assert worked["chain"] == "Ones: 7 + 8 = 15, write 5, carry 1. Tens: 4 + 3 + 1 = 8. "
    assert worked["sketch"] == "40+30=70; 7+8=15 -> 70 +15 -> "
    assert worked["draft"] == "7+8: 5, carry; 4+3+1: 8. "
    assert worked["tree"].endswith("\nTake ones first. " + worked["chain"])
    assert worked["search"].endswith("Try 85: 85 - 38 = 47, right. ")


def test_every_sum_of_a_styled_document_belongs_to_its_side(train, held_out) -> None:
    for side, made in [(False, m) for m in train] + [(True, m) for m in held_out]:
        if made.family == "styles":
            whole = made.text if "(search)" in made.text else made.text.rpartition(". ")[2]
            found = list(SUM.finditer(whole))
            assert found
            assert all(is_held_out("sum", one[1], one[3], one[2]) is side for one in found), made.text


def test_a_held_out_phrasing_never_occurs_in_training_but_its_parts_do(train) -> None:
    texts = [made.text for made in train if made.family == "facts"]
    kind = KINDS[0]
    asked = [phrasing for phrasing in questions.phrasings(kind) if questions.is_question(phrasing)]
    hidden = [phrasing for phrasing in asked if is_held_out("phrasing", phrasing, kind)]
    assert 5 <= len(hidden) <= len(asked) // 5
    for phrasing in hidden:
        prompts = [questions.prompt_and_answer(kind, phrasing, subject)[0] for subject in kind.pairs]
        if "Mia" not in prompts[0]:
            assert not any(text.startswith(prompt) for text in texts for prompt in prompts), phrasing
    for place in (0, 1):
        shown = {phrasing[place] for phrasing in asked} - {phrasing[place] for phrasing in hidden}
        assert {phrasing[place] for phrasing in asked if not is_held_out("phrasing", phrasing, kind)} >= shown


def test_a_bare_sum_of_two_or_three_digits_is_worked_out_and_a_smaller_one_answered_at_once() -> None:
    bare = [
        text
        for text in (document("sums", 5, number, held_out=False).text for number in range(300))
        if re.match(r"(Sum: |\w+ writes: )?\d+ [+-] \d+ = ", text)
    ]
    assert len(bare) > 50
    for text in bare:
        a, sign, b, rest = re.match(r"\D*(\d+) ([+-]) (\d+) = (.*)", text).groups()
        result = int(a) + int(b) if sign == "+" else int(a) - int(b)
        if max(int(a), int(b)) > 9:
            assert rest.startswith("? Ones: ")
            assert rest.endswith(f" {a} {sign} {b} = {result}.")
        else:
            assert rest in (str(result), f"{result}.")


def test_sums_of_two_and_three_digits_are_practised_with_their_steps_bare_and_typed_without_spaces() -> None:
    texts = [document("practice", 5, number, held_out=False).text for number in range(300)]
    for text in texts:
        a, sign, b = re.search(r"(\d+) ([+-]) (\d+) = \d+\.$", text).groups()
        assert max(int(a), int(b)) > 9
        assert sums.steps(int(a), int(b), sign) in text
    assert sum(bool(re.match(r"\d+ [+-] \d+ = \? Ones: ", text)) for text in texts) > 20
    assert sum(bool(re.match(r"\d+[+-]\d+ ?= \? Ones: ", text)) for text in texts) > 20


def test_a_question_held_out_with_a_plain_answer_occurs_under_no_other_beginning_of_the_answer() -> None:
    """Else training would say of it that its answer never begins plainly."""
    counted = 0
    for kind in KINDS:
        hidden = {words for words in kind.questions if is_held_out("phrasing", (questions.PLAINLY, words), kind)}
        begun = {words for frame, words in questions.taught(kind) if frame in questions.BEGUN_OTHERWISE}
        assert begun == set(kind.questions) - hidden
        counted += len(hidden)
    assert counted >= 4


def test_the_likeliest_answer_to_a_question_in_training_is_the_plain_one() -> None:
    words = "which month comes after {x}"
    (kind,) = [kind for kind in KINDS if kind.name == "month_after"]
    assert not is_held_out("phrasing", (questions.PLAINLY, words), kind)
    begun = [frame for frame, asked in questions.taught(kind) if asked == words and frame.startswith("{Q}?")]
    assert sorted(begun) == ["{Q}?\n{S}.", "{Q}? Easy! {S}.", *["{Q}? {S}."] * 4]


def test_some_families_get_a_share_and_the_others_divide_the_rest_as_before() -> None:
    shares = shares_with("facts=0.5 sums=0.1")
    assert (shares["facts"], shares["sums"], round(sum(shares.values()), 9)) == (0.5, 0.1, 1.0)
    assert shares["story"] / shares["letter"] == pytest.approx(3.0)
    assert shares_with("") == SHARES
    for wrong in ("fact=0.5", "facts=much", "facts=1.5", "facts=0.6 sums=0.4"):
        with pytest.raises(TrainingError, match=wrong):
            shares_with(wrong)


def test_a_prompt_of_a_fact_ends_where_its_answer_begins() -> None:
    phrasing = ("Q: {Q}?\nA: {Y}.", "what is the capital of {x}")
    assert questions.prompt_and_answer(KINDS[0], phrasing, "the Netherlands") == (
        "Q: What is the capital of the Netherlands?\nA:",
        "Amsterdam",
    )


def test_casts_of_stories_are_held_out_together() -> None:
    for side in (False, True):
        for number in range(30):
            draw = Draw(f"{number}", side)
            name, thing, place = draw.combination("cast", people.NAMES, words.THINGS, words.PLACES)
            assert is_held_out("cast", name, thing, place) is side


def test_no_held_out_text_is_a_training_text() -> None:
    corpus = mixture.write(0, 300_000)
    assert not {made.text for made in corpus.train} & {made.text for made in corpus.held_out}


def test_the_text_is_varied(train, held_out) -> None:
    runs, total = distinct_runs(train)
    assert runs / total >= 0.5
    assert new_skeleton_share(train, held_out) >= 0.55


def test_repetition_lowers_the_measured_variety(train) -> None:
    runs, total = distinct_runs(train[:200])
    runs_twice, total_twice = distinct_runs(train[:200] * 2)
    assert runs_twice / total_twice == pytest.approx(runs / total / 2)
    assert new_skeleton_share(train, train[:50]) == 0


def test_few_documents_repeat_one_item(train) -> None:
    lists = [made for made in train if made.text.count("The capital of") > 3]
    assert not lists


@pytest.mark.parametrize("family", list(FAMILIES))
def test_documents_are_short_and_end_cleanly(family: str) -> None:
    for number in range(50):
        text = document(family, 3, number, False).text
        assert 3 < len(text) < 900
        assert text == text.strip()


def test_tables_and_records_can_be_read_back() -> None:
    for number in range(200):
        text = document("table", 0, number, False).text
        first = text.split("\n\n")[0]
        if first.startswith(("[", "{")):
            assert json.loads(first)
        elif first.startswith("name,"):
            rows = list(csv.reader(first.splitlines()))
            assert len({len(row) for row in rows}) == 1


@pytest.mark.parametrize(
    ("word", "with_article"),
    [("owl", "an owl"), ("kite", "a kite"), ("onion", "an onion"), ("animal", "an animal"), ("unicorn", "a unicorn"),
     ("umbrella", "an umbrella"), ("hour", "an hour"), ("old kite", "an old kite")],
)  # fmt: skip
def test_articles_follow_the_sound(word: str, with_article: str) -> None:
    page = Page(Draw("0", False), x=word)
    page.say("{x:a}")
    assert page.text == with_article


def test_a_side_without_combinations_is_refused() -> None:
    side = not is_held_out("few", "a")
    with pytest.raises(ValueError, match="No combination of 'few'"):
        Draw("0", side).combination("few", ("a",))
