"""What the measurement of a tab makes of its numbers: which texts count, and what is said of them."""

from __future__ import annotations

from tests.load.tab import figures, loops


def test_a_text_that_says_six_words_in_a_row_twice_goes_in_circles() -> None:
    assert loops("and then he ran to the sea. And then he ran to the house")
    assert not loops("and then he ran to the sea. And then he ran home")


def test_gains_are_medians_over_turns_of_the_texts_that_count() -> None:
    straight = {"tokens": 60, "plain": [1.0, 2.0, 1.0], "drafted": [0.5, 0.5, 0.4], "texts": ["a b c"]}
    slow = {"tokens": 60, "plain": [3.0, 3.0, 3.0], "drafted": [3.0, 3.0, 3.0], "texts": ["d e f"]}
    circle = {**straight, "texts": ["so on and on we go so on and on we go"]}
    memory = {"opened": {"own": 40.0, "resident": 150.0, "most": 151.0}}
    assert figures([straight, circle, slow], 1.25, memory).splitlines() == [
        "texts: 3, of which 2 do not repeat themselves and count",
        "plain: 40 tokens a second, median",
        "model, γ 4: × 1.75 (1.00 to 2.50), median (least to largest)",
        "first token: 1.2 s after the weights",
        "memory opened: own 40, resident 150, most 151",
    ]
