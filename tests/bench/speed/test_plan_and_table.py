"""Who takes part in the bench, and how the report reads."""

import json
from dataclasses import replace
from typing import Any

import pytest

from specviz.bench.core.contest import ContestRun, Measured, first_prompts
from specviz.bench.core.report import Origin, plain_data
from specviz.bench.passes import PassTable
from specviz.bench.speed import plan as plans
from specviz.bench.speed.table import Report, markdown, part, plain_rows, summary
from specviz.errors import SpecVizError
from specviz.protocol.runs import Catalog, PromptCard
from specviz.theory.rows import RunCounts
from specviz.trace import header

MACHINE = header.Machine("cpu", "float32", 1, 2, "A processor", "3.11", "2.13", "5.23", "Linux")
MODEL = header.ModelCard(
    "target", "LlamaForCausalLM", "lean-llama", 15_700_000, 8, 384, 4096, 1024, "float32", "ab" * 32
)


def test_the_plan_holds_plain_chains_tree_ngram_and_a_recorded_chain(fake_source: Any) -> None:
    names = [one.name for one in plans.own_contestants(fake_source, plans.BenchOptions(gammas=(2, 4)))]
    assert names == [
        "specviz: plain",
        "specviz: model γ=2",
        "specviz: model γ=4",
        "specviz: model tree 3,2,1",
        "specviz: ngram γ=2",
        "specviz: ngram γ=4",
        "specviz: model γ=4, recorded",
    ]


def test_trained_drafters_take_part_where_they_are_wanted(fake_source: Any) -> None:
    wanted = plans.own_contestants(fake_source, plans.BenchOptions(gammas=(2,), trained=True))[-3:]
    assert [(contestant.name, contestant.request.tree_policy.name) for contestant in wanted] == [
        ("specviz: small_model γ=2", "auto"),
        ("specviz: dspark γ=2", "auto"),
        ("specviz: dflash, ddtree of 9", "ddtree"),
    ]
    assert [contestant.request.drafter.options.get("gamma") for contestant in wanted] == [2, 2, None]
    assert not any(contestant.request.record for contestant in wanted)


def test_only_the_recorded_contestant_records(fake_source: Any) -> None:
    own_contestants = plans.own_contestants(fake_source, plans.BenchOptions())
    assert [one.name for one in own_contestants if one.request.record] == ["specviz: model γ=4, recorded"]


def test_prompts_are_taken_evenly_from_every_family() -> None:
    cards = tuple(PromptCard(f"{family}{i}", family, "", "", "x") for family in ("code", "prose") for i in range(3))
    chosen = first_prompts(Catalog((), (), (), cards), 2)
    assert [card.id for card in chosen] == ["code0", "code1", "prose0", "prose1"]
    with pytest.raises(SpecVizError, match="prompt set is empty"):
        first_prompts(Catalog((), (), (), ()), 2)


def test_quick_is_one_length_one_prompt_one_repeat_and_few_tokens() -> None:
    quick = plans.quick(plans.BenchOptions(gammas=(2, 4, 6)))
    assert (quick.gammas, quick.prompts_per_family, quick.repeats) == ((4,), 1, 1)
    assert quick.template.max_new_tokens == 32


def outcome(name: str, seconds: float, token: int) -> ContestRun:
    return ContestRun(name, "one", "code", 0, Measured(list(range(token, token + 8)), seconds, 0.0, RunCounts(8, 8)))


@pytest.fixture
def report() -> Report:
    """Plain: 8 tokens in 8 s of which none for the prompt. transformers: 10 s. A drafter: 4 s, and another text."""
    outcomes = [
        outcome("specviz: plain", 8, 1),
        outcome("specviz: model γ=4", 4, 2),
        outcome("transformers: generate", 10, 1),
    ]
    origin = Origin(MODEL, (replace(MODEL, name="drafter"),), MACHINE, "2026-01-01T00:00:00Z")
    parts = [part(0.0, outcomes, "specviz: plain")]
    return Report(parts, origin, 8, 1, 1, 7, (), True, {"target": {1: 0.001}}, None)


def test_the_table_shows_ratios_against_plain_with_their_spread(report: Report) -> None:
    text = markdown(report)
    assert "| specviz: plain | 1.0 | 1.00 [1.00–1.00] | 1.00 [1.00–1.00] | 1.00 | – | – | – | – | 1/1 | – |" in text
    assert "| specviz: model γ=4 | 2.0 | 2.00 [2.00–2.00] | 2.00 [2.00–2.00] | 1.00 | – | – | – | – | 0/1 | – |" in text


def test_the_short_table_has_the_fastest_length_of_each_kind_and_all_temperatures_beside_each_other(
    report: Report,
) -> None:
    chains = [outcome("specviz: plain", 8, 1), outcome("specviz: model γ=2", 5, 2), outcome("specviz: model γ=4", 4, 2)]
    sampled = [outcome("specviz: plain", 8, 1), outcome("specviz: model γ=4", 8, 3)]
    parts = [part(0.0, [*chains, outcome("specviz: model γ=4, recorded", 6, 2)], "specviz: plain")]
    text = summary(replace(report, parts=[*parts, part(0.8, sampled, "specviz: plain")]))
    assert text.splitlines()[:4] == [
        "| contestant | × plain, temperature 0 | tokens per target pass | same output | × plain, temperature 0.8 | "
        "tokens per target pass | same output |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| specviz: plain | 1.00 [1.00–1.00] | 1.00 | 1/1 | 1.00 [1.00–1.00] | 1.00 | 1/1 |",
        "| specviz: model γ=4 | 2.00 [2.00–2.00] | 1.00 | 0/1 | 1.00 [1.00–1.00] | 1.00 | 0/1 |",
    ]
    assert text.splitlines()[4:6] == [
        "",
        "Without texts that repeat more than 25% of their 4-grams: 0 of 1 at temperature 0, 0 of 1 at temperature 0.8.",
    ]


def test_aims_stand_beside_what_was_measured(report: Report) -> None:
    text = markdown(report)
    assert "- our plain decoding against transformers.generate (aim ≥ 1.8): 1.25×" in text
    assert "- best drafter against our plain decoding (aim ≥ 2.0): 2.00× (specviz: model γ=4)" in text
    assert "- drafter model at its best length (aim ≥ 1.8): 2.00× (specviz: model γ=4)" in text
    recorded = outcome("specviz: model γ=4, recorded", 1, 3)  # fastest, and a measurement of tracing alone
    sampled = [outcome("specviz: plain", 8, 1), outcome("specviz: model γ=4", 8, 3), recorded]
    above = markdown(replace(report, parts=[part(0.8, sampled, "specviz: plain")]))
    assert "- drafter model at its best length (aim ≥ 1.5): 1.00× (specviz: model γ=4)" in above


def test_the_machine_versions_and_weights_are_named_and_the_host_is_not(report: Report) -> None:
    text = markdown(report)
    for words in ("A processor, 2 cores, 1 thread, cpu, float32", "torch 2.13", "sha256 abababababab", "2026-01-01"):
        assert words in text


def test_a_bench_that_was_stopped_says_so(report: Report) -> None:
    assert "stopped early" not in markdown(report)
    assert "stopped early" in markdown(replace(report, complete=False))


def test_json_names_quartiles_and_survives_a_round_trip(report: Report) -> None:
    data = json.loads(json.dumps(plain_data(report)))
    assert data["parts"][0]["rows"][1]["ratio"] == {"low": 2.0, "median": 2.0, "high": 2.0}
    assert data["origin"]["machine"]["processor"] == "A processor"


def test_how_far_bare_passes_are_from_memory_stands_beside_the_efficiency(report: Report) -> None:
    """16 MB read in 2 ms are 8 GB/s; a pass over one row takes 3 ms."""
    text = markdown(replace(report, bare=[PassTable("target", "float32", 16_000_000, 0.002, {1: 0.003})]))
    assert (
        "- a bare pass of target over one row takes 1.50 × as long as reading its 16.0 MB from memory (3.00 ms ÷ "
        "2.00 ms, 8.0 GB/s)"
    ) in text
    assert "against memory" not in markdown(report)


def test_a_yardstick_has_rows_of_its_own_and_says_what_it_is(report: Report) -> None:
    rows = plain_rows(
        [outcome("specviz: plain, 1 thread", 8, 1), outcome("llama.cpp, 1 thread", 2, 1)], "specviz: plain, 1 thread"
    )
    text = markdown(replace(report, yardstick=rows))
    assert "**Yardstick: the same GGUF file in llama.cpp**" in text
    assert "| llama.cpp, 1 thread | 4.0 | 4.00 [4.00–4.00] |" in text
    assert "llama.cpp" not in markdown(report)
