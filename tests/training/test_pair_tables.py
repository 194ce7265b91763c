"""The pair's figures as tables: every number stands where it belongs, and an example cannot break the page."""

import pytest

from specviz.training.pair_figures import begins_with
from specviz.training.pair_report import example_lines, markdown

FIGURES = {"facts": 0.875, "python_bits_per_byte_sampled": 1.25}
FAMILY = {"rate": 0.75, "accepted": 3, "drafted": 4, "rounds": 2, "mean_length": 2.5}
ACCEPTANCE = {"draft_length": 4, "new_tokens": 64, "mean_rate": 0.75, "families": {"facts": FAMILY}}
EXAMPLE = {"prompt": "What is `34` + 28?", "drafter": "71\n", "target": "62"}


def test_the_page_holds_figures_acceptance_examples_and_history() -> None:
    pair = {
        "cases": 8,
        "figures": {"target": FIGURES, "drafter": {"facts": 0.125}},
        "acceptance": {"drafter": ACCEPTANCE},
        "examples": {"drafter": [EXAMPLE]},
    }
    page = markdown(pair, [{"tokens": 2_000_000, "facts": 0.5}, {"tokens": 3_000_000, **FIGURES}])
    assert "| facts right in unseen phrasings | 88% | 12% | 95 % |" in page
    assert "| Python, bits per byte (64 windows) | 1.250 | – |  |" in page
    assert "| facts | 0.75 (3 of 4), 2.50 |" in page
    assert "the drafter said `71`, the target `62`" in page
    assert "| figure | 2.00 M tokens | 3.00 M tokens |" in page
    assert "| facts right in unseen phrasings | 50% | 88% |" in page


def test_an_example_stays_code_whatever_a_model_wrote() -> None:
    line = example_lines([EXAMPLE | {"drafter": "a`b\n<script>"}, EXAMPLE | {"drafter": " "}], "drafter")
    assert "`a'b ↵ <script>`" in line
    assert "the drafter said nothing" in line
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("623.", True),
        ("6230.", False),
        ("? Ones: 5 + 8 = 13, write 3, carry 1. 345 + 278 = 623.", True),
        ("? Ones: 5 + 8 = 13, write 3, carry 1. 345 + 278 = 613.", False),
        ("? 623 - 278 = 345. 345 + 278 = 613.", False),
        ("613. Sum: 345 + 278 = 623.", False),
    ],
)
def test_a_bare_sum_is_right_at_once_or_behind_its_steps(text: str, is_right: bool) -> None:
    assert begins_with("345 + 278 =", "623", text) is is_right
