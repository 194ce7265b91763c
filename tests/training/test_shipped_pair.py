"""What the cards say is measured again on the shipped weights; nothing here says how good they are."""

from hashlib import sha256
from pathlib import Path

import pytest

from specviz.lm.text import TextCodec
from specviz.training.options import TrainOptions
from specviz.training.pair_figures import SUM_TOKENS, answers, fact_cases, repetition, sum_cases
from specviz.training.pair_report import (
    MODELS,
    TARGET,
    acceptance_by_family,
    acceptance_table,
    as_data,
    figures_table,
    first_of_each,
)
from specviz.training.publication import prompts_of, read_json, tokens_so_far
from specviz.training.publish import load_exported
from specviz.training.windows import load_tokenizer

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "assets" / "models"
OPTIONS = TrainOptions(out_dir=SHIPPED, prompts=ROOT / "assets" / "prompts" / "prompts.json")
FIGURES = {name: read_json(SHIPPED / name / "figures.json") for name in MODELS}

measured = pytest.mark.skipif(
    not all(FIGURES.values()), reason="`specviz bench pair --write` has not run on the models of this checkout"
)


@measured
@pytest.mark.parametrize("name", MODELS)
def test_the_figures_are_of_the_shipped_weights(name: str) -> None:
    weights = (SHIPPED / name / "model.safetensors").read_bytes()
    assert sha256(weights).hexdigest() == FIGURES[name]["weights_sha256"]


@measured
@pytest.mark.parametrize("name", MODELS)
def test_a_prompt_is_read_behind_the_end_of_text_token_as_documents_are_in_training(name: str) -> None:
    text = TextCodec.from_folder(SHIPPED / name, name)
    assert [text.token_text(token) for token in text.encode("34 + 28")] == ["<|endoftext|>", "3", "4", " +", " 2", "8"]
    assert text.eos_ids == (text.encode("")[0],)


@measured
def test_cards_and_page_say_what_the_figures_say() -> None:
    table = figures_table(FIGURES)
    assert table in (ROOT / "docs" / "pair.md").read_text(encoding="utf-8")
    for name in MODELS:
        card = (SHIPPED / name / "MODEL_CARD.md").read_text(encoding="utf-8")
        assert table in card
        if name != TARGET:
            assert acceptance_table({name: read_json(SHIPPED / name / "acceptance.json")}) in card


@measured
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_facts_and_sums_measured_again_are_as_right_as_the_card_says(name: str) -> None:
    """Two cases either way: another processor rounds otherwise."""
    model, tokenizer = load_exported(SHIPPED / name), load_tokenizer(SHIPPED / name)
    cases = FIGURES[name]["cases_asked"]
    asked = {"facts": (fact_cases(cases), 40), "sums_two_digits_bare": (sum_cases(cases // 2, 2, "bare"), SUM_TOKENS)}
    for figure, (found, most) in asked.items():
        share = answers(model, tokenizer, found, most).share
        assert abs(share - FIGURES[name][figure]) <= 2 / len(found) + 1e-4


@measured
@pytest.mark.slow
def test_acceptance_measured_again_on_two_families_is_what_the_card_says() -> None:
    models = {name: load_exported(SHIPPED / name) for name in MODELS}
    prompts = [one for one in first_of_each(prompts_of(OPTIONS), 6) if one["family"] in ("facts", "copy")]
    target, tokenizer = models.pop(TARGET), load_tokenizer(SHIPPED / TARGET)
    for name, found in acceptance_by_family(target, models, tokenizer, prompts).items():
        kept = read_json(SHIPPED / name / "acceptance.json")["families"]
        for family, row in as_data(found)["families"].items():
            assert row["rate"] == pytest.approx(kept[family]["rate"], abs=0.05)


@measured
def test_the_targets_history_counts_tokens_over_all_its_runs() -> None:
    facts = read_json(SHIPPED / TARGET / "training.json")
    tokens = [row["tokens"] for row in facts["history"]]
    assert tokens == sorted(tokens)
    assert all(count <= tokens_so_far(facts) for count in tokens)


def test_repetition_is_the_share_of_four_token_runs_that_came_before() -> None:
    assert repetition([1, 2, 3, 4, 5]) == 0
    assert repetition([1, 2, 3, 4, 1, 2, 3, 4]) == pytest.approx(1 / 5)
    assert repetition([1] * 8) == pytest.approx(4 / 5)
