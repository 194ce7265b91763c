"""An alignment from end to end on miniatures: texts, resume, export, the study and its file."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from specviz.errors import TraceError, TrainingError
from specviz.studies.alignment import result as alignments
from specviz.studies.alignment.measure import Material, Plan, bytes_per_pass, held_out_texts, plans, run_study
from specviz.training import generation
from specviz.training.alignment import align, texts
from specviz.training.alignment.align import Recipe, aligned, drafter_align, recipe_of, weights_key
from specviz.training.alignment.measure import WrittenText, judged, measured
from specviz.training.alignment.texts import Diet, Source, batches_of, joined_rows, training_streams
from specviz.training.loop import Loop
from specviz.training.options import TrainOptions
from specviz.training.publish import export_model
from specviz.training.stages import prepare
from specviz.training.target import model_config, new_model
from specviz.training.windows import load_tokenizer

LENGTH = 24
STEP = texts.ROWS_PER_STEP * LENGTH
TOKENS = 4 * STEP


def small(layers: int, intermediate: int, seed: int) -> LlamaForCausalLM:
    model = new_model(model_config(layers, 32, 2, intermediate, 320), seed)
    for parameter in model.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.15)
    return model


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, mini_corpus) -> Path:
    """An exported miniature pair and its texts, made once."""
    folder = tmp_path_factory.mktemp("prepared")
    made = TrainOptions(work_dir=folder / "work", out_dir=folder / "models", vocabulary=320, dtype="float32")
    prepare(made, mini_corpus)
    tokenizer = load_tokenizer(made.work_dir / "tokenizer")
    for name, model in (("target", small(3, 48, 0)), ("drafter", small(1, 16, 1)), ("drafter-weak", small(1, 16, 2))):
        export_model(model, tokenizer, made.out_dir / name)
    text = made.work_dir / f"of-{weights_key(made.out_dir / 'target')}" / "text"
    assert set(training_streams(text, tokenizer, 8_000)) == {
        "english",
        "python",
    }  # little of it, where it is looked for
    return folder


@pytest.fixture
def options(tmp_path: Path, prepared: Path, monkeypatch) -> TrainOptions:
    """A copy of them, and few rows at a time."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(texts, "GENERATED_ROWS", 16)
    monkeypatch.setattr(texts, "BLOCK_ROWS", 8)
    monkeypatch.setattr(generation, "PREFIX_LENGTHS", (3, 6))
    monkeypatch.setattr(texts, "GENERATED_LENGTH", LENGTH)
    monkeypatch.setattr(align, "TOKENS_PER_STEP", STEP)
    return TrainOptions(
        work_dir=tmp_path / "work",
        out_dir=tmp_path / "models",
        align_out=tmp_path / "aligned",
        vocabulary=320,
        dtype="float32",
        align_tokens=TOKENS,
        align_temperatures="0,1",
        align_lr=0.01,
    )


@pytest.fixture
def source(options: TrainOptions) -> Source:
    return align.source_of(options)


def quiet(row: dict[str, object]) -> None:
    """Hears a report."""


@pytest.mark.parametrize("data", ["corpus", "target", "drafter", "corpus+target+drafter"])
def test_every_text_carries_the_target_s_distribution(options: TrainOptions, source: Source, data: str) -> None:
    diet = Diet(data, "both", (0.0, 1.0), TOKENS)
    made = batches_of(diet, source, align.first_drafter(options), seed=0)
    for step in range(4):
        batch = made.batch(step)
        assert batch.n_tokens == STEP
        assert batch.teacher is not None
        with torch.inference_mode():
            logits = source.target(input_ids=batch.ids[:, :-1]).logits
        torch.testing.assert_close(batch.teacher @ source.target.lm_head.weight.T, logits, rtol=2e-2, atol=2e-2)


def test_on_policy_text_is_the_drafter_s_and_follows_it(options: TrainOptions, source: Source) -> None:
    drafter = align.first_drafter(options)
    made = batches_of(Diet("drafter", "both", (0.0,), TOKENS), source, drafter, seed=0)
    first = made.batch(0).ids
    assert torch.equal(first, batches_of(Diet("drafter", "both", (0.0,), TOKENS), source, drafter, 0).batch(0).ids)
    with torch.no_grad():
        greedy = drafter(input_ids=first[:, :-1]).logits.argmax(-1)
    assert bool((greedy == first[:, 1:])[:, 8:].float().mean() > 0.9), "behind the given beginnings, its own words"
    with torch.no_grad():
        drafter.lm_head.weight.copy_(torch.randn_like(drafter.lm_head.weight))
    assert torch.equal(made.batch(0).ids, first), "a block is written once"
    assert not torch.equal(made.batch(1).ids, first), "the next by the drafter as it is then"


def test_texts_are_made_once_and_a_torn_one_is_none(options: TrainOptions, source: Source, monkeypatch) -> None:
    made = source.written("english", 1.0, 4)
    (source.folder / "target-python-1.partial").mkdir(parents=True)

    def never(*_: object) -> None:
        raise AssertionError("it is written already")

    whole = source.written("python", 1.0, 4)
    monkeypatch.setattr(texts, "continue_batch", never)
    assert np.array_equal(source.written("english", 1.0, 4).ids, made.ids)
    assert np.array_equal(source.written("python", 1.0, 4).ids, whole.ids)
    assert not np.array_equal(whole.ids, made.ids)


def test_rows_that_are_not_there_are_no_rows(source: Source) -> None:
    with pytest.raises(TrainingError, match="lower --align-tokens"):
        joined_rows([source.corpus("english", 4)], [10_000])


def test_an_interrupted_alignment_goes_on_and_ends_the_same(options: TrainOptions, source: Source, monkeypatch) -> None:
    recipe = Recipe("tvdpp-sampled", Diet("target", "both", (0.0, 1.0), TOKENS), 0.01)
    whole, _ = aligned(align.first_drafter(options), recipe, source, torch.float32, options.work_dir / "whole", quiet)
    run = Loop.run
    monkeypatch.setattr(Loop, "run", lambda self, report, validate: run(self, report, validate, most_steps=2))
    folder = options.work_dir / "halves"
    _, half = aligned(align.first_drafter(options), recipe, source, torch.float32, folder, quiet)
    assert half["steps"] == 2
    monkeypatch.setattr(Loop, "run", run)
    rest, after = aligned(align.first_drafter(options), recipe, source, torch.float32, folder, quiet)
    assert after["steps"] == 4
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(rest.state_dict()[name], value, msg=name)


def test_an_alignment_brings_the_drafter_nearer(options: TrainOptions, source: Source) -> None:
    """On the very rows that it learns from."""
    drafter = align.first_drafter(options)
    text = torch.from_numpy(source.written("python", 1.0, 4).ids[0].astype(np.int64))
    held = judged(source.target, [WrittenText("any", "python", text, 8)], 1.0)
    before = measured(drafter.eval(), held, 1.0, 4)["python"].alpha
    recipe = Recipe("fkl", Diet("target", "python", (1.0,), 12 * STEP), 0.02)
    source.written("python", 1.0, recipe.diet.rows(1))
    after, _ = aligned(align.first_drafter(options), recipe, source, torch.float32, options.work_dir / "one", quiet)
    assert measured(after, held, 1.0, 4)["python"].alpha > before * 1.02


def test_the_stage_leaves_a_drafter_that_loads_anywhere(options: TrainOptions) -> None:
    drafter_align(options, quiet)
    facts = json.loads((options.align_out / "alignment.json").read_text(encoding="utf-8"))
    assert (facts["loss"], facts["data"], facts["tokens"], facts["steps"]) == ("fkl", "target", TOKENS, 4)
    from specviz.lm.load import load

    loaded = load(str(options.align_out), dtype="float32")
    assert loaded.info.parameters == loaded.info.read_per_pass, "its embedding is its head"
    before = LlamaForCausalLM.from_pretrained(options.out_dir / "drafter").lm_head.weight
    assert not torch.equal(before, LlamaForCausalLM.from_pretrained(options.align_out).lm_head.weight)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"loss": "huber"}, "no loss 'huber': choose one of ce-hard"),
        ({"align_data": "corpus+web"}, "no data 'web': join corpus, target, drafter"),
        ({"align_domain": "french"}, "no domain 'french'"),
        ({"align_temperatures": "warm"}, "'warm' is no list"),
        ({"align_temperatures": "-1"}, "temperatures of 0 or more"),
        ({"align_tokens": 10}, "'target' needs 1536 tokens or more"),
        ({"align_data": "corpus+target", "align_tokens": 3_000}, "needs 3072 tokens or more .* raise --align-tokens"),
    ],
)
def test_wrong_choices_are_named(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(TrainingError, match=sentence.replace("+", r"\+")):
        recipe_of(dataclasses.replace(TrainOptions(), **change))


def test_a_drafter_of_another_tokenizer_is_refused(options: TrainOptions, tmp_path: Path) -> None:
    other = new_model(model_config(1, 32, 2, 16, 300), 0)
    export_model(other, load_tokenizer(options.work_dir / "tokenizer"), tmp_path / "other")
    with pytest.raises(TrainingError, match="has 300 tokens and the target 320"):
        align.first_drafter(dataclasses.replace(options, drafter_start=str(tmp_path / "other")))


def prompts() -> list[dict[str, object]]:
    texts = {"story": "One day", "code": "def name_1_2(x):"}
    return [{"id": family, "family": family, "text": text, "tokens": 4} for family, text in texts.items()]


@pytest.fixture
def study(options: TrainOptions, source: Source) -> Material:
    tokenizer = load_tokenizer(options.out_dir / "target")
    folder = options.work_dir / "study"
    texts = {
        heat: judged(source.target, held_out_texts(source.target, tokenizer, prompts(), heat, folder), heat)
        for heat in (0.0, 1.0)
    }
    return Material(options.out_dir, source, texts, torch.float32, folder, TOKENS)


def test_the_study_measures_before_and_after_and_goes_on(study: Material, tmp_path: Path, monkeypatch) -> None:
    wanted = [Plan("grid", "drafter-weak", "fkl", "target"), Plan("domains", "drafter", "tvd", "target", "python")]
    found = list(run_study(study, wanted, quiet))
    starts, cells = dict(found[:2]), tuple(found[2:])
    assert [cell.loss for cell in cells] == ["fkl", "tvd"]
    figures = cells[0].after["1"]["english"]
    ratio = starts["drafter-weak"].memory_ratio
    assert figures.mbsu == pytest.approx(figures.block_efficiency * ratio / (4 + ratio))
    assert cells[0].after != starts["drafter-weak"].before
    monkeypatch.setattr("specviz.studies.alignment.measure.aligned", None)
    assert tuple(run_study(study, wanted, quiet))[2:] == cells, "finished cells are not run again"
    whole = alignments.AlignmentStudy(
        4, TOKENS, {"english": 1, "python": 1}, starts, cells, 9, {}, "the command", "here"
    )
    alignments.STUDY.codec.write(whole, tmp_path / "study.json")
    again = alignments.STUDY.codec.read(tmp_path / "study.json")
    assert again.cells[0].after["1"]["english"].alpha == round(figures.alpha, 4)
    text = alignments.markdown(again)
    assert f"| target | fkl | {alignments.mean_over_domains(again.cells[0].after['0']).alpha:.3f} |" in text
    assert "the command" in text
    assert "2 of the study's 9 cells" in text


def test_a_file_that_is_no_study_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"cells": []}', encoding="utf-8")
    with pytest.raises(TraceError, match="fields are missing, and every alignment study has them"):
        alignments.STUDY.codec.read(tmp_path / "other.json")
    with pytest.raises(TraceError, match=r"^none\.json: cannot be read"):
        alignments.STUDY.codec.read(tmp_path / "none.json")


def test_every_plan_has_a_name_of_its_own_and_every_loss_a_cell() -> None:
    from specviz.training.alignment.align import LOSSES

    found = plans()
    assert len({plan.name for plan in found}) == len(found)
    assert {plan.loss for plan in found} == set(LOSSES)


def test_a_pass_reads_all_but_an_embedding_that_it_gathers_from() -> None:
    tied = small(1, 16, 0)
    assert bytes_per_pass(tied) == 2 * sum(parameter.numel() for parameter in tied.parameters())
    config = model_config(1, 32, 2, 16, 320)
    config.tie_word_embeddings = False
    untied = LlamaForCausalLM(config)
    assert bytes_per_pass(untied) == bytes_per_pass(tied), "the head is read, the embedding is not"
