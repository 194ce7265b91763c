"""Costs are of the text's own length, a raised context has the same weights."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from specviz.errors import ModelError
from specviz.lm.checkpoint import read_config
from specviz.lm.llama.shape import write_raised
from specviz.lm.load import load
from specviz.proof.small_models import SHAPE, small_pair
from specviz.studies.long_context import measure as long_context
from specviz.studies.long_context.measure import bytes_of, costs
from specviz.studies.long_context.result import STUDY, ContextCost
from tests.lm.tiny_models import random_model, write_tokenizer


def test_only_longspec_keeps_as_much_of_a_long_text_as_of_a_short_one() -> None:
    target, drafter = small_pair(shape=replace(SHAPE, layers=3, context_length=200, hidden_size=24, head_size=12))
    found = {(one.drafter, one.context): one for one in costs(target, drafter, 2, (70, 140))}
    assert set(found) == {(name, n) for name in ("target", "longspec", "glide", "tandem", "model") for n in (70, 140)}
    assert found["longspec", 70].bytes == found["longspec", 140].bytes
    for name in ("target", "glide", "tandem", "model"):
        assert found[name, 140].bytes * 69 == found[name, 70].bytes * 139
    assert found["model", 70].bytes == bytes_of(drafter, 69)
    assert all(one.low_ms <= one.median_ms <= one.high_ms for one in found.values())


def test_a_raised_context_is_the_same_weights_with_another_base(tmp_path: Path) -> None:
    source = tmp_path / "small"
    random_model("llama", max_position_embeddings=32).save_pretrained(source)
    write_tokenizer(source)
    plain = load(str(source), device="cpu", dtype="float32").model
    raised = load(str(write_raised(source, tmp_path / "raised", 128)), device="cpu", dtype="float32").model
    assert raised.info.context_length == 128
    assert raised.info.weights_sha256 == plain.info.weights_sha256
    tokens = [1, 2, 3, 4, 5]
    first, second = (model.forward(tokens, model.new_cache()) for model in (plain, raised))
    torch.testing.assert_close(first[0], second[0])
    assert not torch.allclose(first[-1], second[-1], atol=1e-4), "the angles are the same"
    long = list(range(1, 21)) * 5
    assert raised.forward(long, raised.new_cache()).isfinite().all()
    with pytest.raises(ModelError, match="has a context of 128 tokens already"):
        write_raised(tmp_path / "raised", tmp_path / "again", 128)


def test_a_base_for_another_length_than_the_context_is_taken_as_asked(tmp_path: Path) -> None:
    source = tmp_path / "small"
    random_model("llama", max_position_embeddings=32).save_pretrained(source)
    write_tokenizer(source)
    thetas = []
    for times in (None, 1.0, 2.0):
        folder = write_raised(source, tmp_path / f"raised{times}", 128, times)
        thetas.append(json.loads((folder / "config.json").read_text())["rope_parameters"]["rope_theta"])
    size = read_config(source, "small")
    components = size.get("head_dim") or size["hidden_size"] // size["num_attention_heads"]
    power = components / (components - 2)
    assert thetas == pytest.approx([10_000.0 * 4.0**power, 10_000.0, 10_000.0 * 2.0**power])


def test_times_and_bytes_measured_anew_leave_acceptance_and_say_when_it_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = (ContextCost("longspec", 256, 1.0, 0.5, 2.0, 2**20),)
    monkeypatch.setattr(long_context, "_all_costs", lambda workplace: found)
    monkeypatch.setattr(long_context, "origin_here", lambda *models: f"Today, {len(models)} models.")
    place = SimpleNamespace(args=argparse.Namespace(repeats=3), model=lambda name: name)
    kept = STUDY.codec.read(STUDY.path)
    anew = long_context._costs_anew(place, replace(kept, origin="A day.", acceptance_origin=""))
    assert (anew.costs, anew.repeats) == (found, 3)
    assert (anew.origin, anew.acceptance_origin) == ("Today, 2 models.", "A day.")
    assert (anew.acceptance, anew.beyond) == (kept.acceptance, kept.beyond)
    again = long_context._costs_anew(place, replace(anew, acceptance_origin="Another day."))
    assert again.acceptance_origin == "Another day."
